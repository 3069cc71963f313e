"""Coded answers as a Parquet file, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.files import whole_file
from isogloss.records import Status

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow import parquet

JSON_COLUMNS = ("value", "order", "factors")
"""Columns that are JSON text in the file, so that one column can hold words, numbers and lists."""

VARIED = frozenset({"prompt_id", "repeat", "reply", "note"})
"""Columns with about as many distinct values as rows, or that are numbers."""


def write_answers(frame: pd.DataFrame, path: Path) -> None:
    """Write answers to Parquet. Rows of other coder versions that are in the file already are kept."""
    import pandas as pd

    flat = frame.copy()
    for name in JSON_COLUMNS:
        flat[name] = list(map(_JsonText(), flat[name]))
    held = _read(path) if path.exists() else None
    if held is not None:
        held = held[~held["coder"].isin(set(flat["coder"]))]
        if len(held):
            flat = pd.concat([held, flat], ignore_index=True)
    with whole_file(path) as partial:
        flat.to_parquet(partial, index=False)


class _JsonText:
    """Cells as JSON text; each distinct tuple, word or number is written out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[type, object], str] = {}

    def __call__(self, cell: object) -> str | None:
        if cell is None:
            return None
        if isinstance(cell, Mapping):
            return json.dumps(dict(cell), ensure_ascii=False) if cell else "{}"
        key = (type(cell), cell)
        text = self._known.get(key)
        if text is None:
            text = self._known[key] = json.dumps(cell, ensure_ascii=False)
        return text


def _read(path: Path) -> pd.DataFrame | None:
    """The rows of a file; None where it is damaged, since it can be made again from the ledger."""
    import pandas as pd
    from pyarrow import ArrowException

    try:
        return pd.read_parquet(path)
    except (ArrowException, ValueError, KeyError, OSError):
        return None


def read_answers(path: Path, coders: Collection[str], *, all_replies: bool = True) -> pd.DataFrame | None:
    """Read what `write_answers` wrote: the rows of some coders, with the values they had; None where it is damaged.

    Without `all_replies` the raw text is there only for rows that aren't `ok`: of a long run it is most of the file.
    """
    import pandas as pd
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
        if not {"coder", "repeat", "status", *JSON_COLUMNS} <= set(names):
            return None
        lean = not all_replies and "reply" in names
        few = [name for name in names if name not in VARIED]
        table = parquet.read_table(
            path, columns=[name for name in names if not (lean and name == "reply")], read_dictionary=few
        )
        columns = {
            name: _cells(table.column(name), _value if name in JSON_COLUMNS else None) for name in table.schema.names
        }
        if lean:
            columns["reply"] = _replies_without_value(file)
    except (ArrowException, ValueError, KeyError, OSError):
        return None
    frame = pd.DataFrame({name: pd.Series(columns[name], dtype=object) for name in names if name in columns})
    frame = frame[frame["coder"].isin(set(coders))].reset_index(drop=True)
    return frame.astype({"repeat": "int64"})


def _cells(column: pa.ChunkedArray, convert: Callable[[str], object] | None) -> NDArray[np.object_]:
    """A column as Python values, each distinct one made once; None where there is no value."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return _objects(column.to_pylist())
    parts = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        known = _objects([*(words if convert is None else map(convert, words)), None])
        parts.append(known[chunk.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else _objects([])


def _objects(values: Collection[object]) -> NDArray[np.object_]:
    """An array of Python values as they are, tuples too."""
    import numpy as np

    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def _replies_without_value(file: parquet.ParquetFile) -> NDArray[np.object_]:
    """The raw text of rows that aren't `ok`, None for the others; a piece of the file at a time."""
    replies: list[str | None] = []
    for batch in file.iter_batches(batch_size=10_000, columns=["status", "reply"]):
        statuses, texts = (batch.column(name) for name in ("status", "reply"))
        replies += [None if status == Status.OK else texts[k].as_py() for k, status in enumerate(statuses.to_pylist())]
    return _objects(replies)


def _value(text: str) -> object:
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value
