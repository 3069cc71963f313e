"""Coded answers as a Parquet file, and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.files import whole_file
from isogloss.records import Status

if TYPE_CHECKING:
    import pandas as pd

JSON_COLUMNS = ("value", "order", "factors")
"""Columns that are JSON text in the file, so that one column can hold words, numbers and lists."""


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

    frame = _read(path) if all_replies else _read_lean(path)
    if frame is None or not {"coder", "repeat", *JSON_COLUMNS} <= set(frame.columns):
        return None
    frame = frame[frame["coder"].isin(coders)].reset_index(drop=True)
    columns: dict[str, object] = {}
    for name in frame.columns:
        cells = frame[name].astype(object).where(frame[name].notna(), None)
        if name in JSON_COLUMNS:
            values = {text: _value(text) for text in set(cells)}
            cells = pd.Series([values[text] for text in cells], dtype=object)
        columns[name] = pd.Series(cells, dtype=object)
    return pd.DataFrame(columns).astype({"repeat": "int64"})


def _read_lean(path: Path) -> pd.DataFrame | None:
    """The rows of a file, with the reply only where no value was read from it."""
    import pandas as pd
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        names = [name for name in file.schema_arrow.names if name != "reply"]
        frame: pd.DataFrame = file.read(columns=names).to_pandas()
        if "reply" in file.schema_arrow.names:
            replies: list[str | None] = []
            for batch in file.iter_batches(batch_size=10_000, columns=["status", "reply"]):
                statuses, texts = (batch.column(name) for name in ("status", "reply"))
                replies += [
                    None if status == Status.OK else texts[k].as_py() for k, status in enumerate(statuses.to_pylist())
                ]
            frame["reply"] = pd.Series(replies, dtype=object)
    except (ArrowException, ValueError, KeyError, OSError):
        return None
    return frame


def _value(text: str | None) -> object:
    if text is None:
        return None
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value
