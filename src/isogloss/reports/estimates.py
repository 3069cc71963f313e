"""Estimates to JSON and CSV, and back from CSV without loss. Quick: no data frame library."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from isogloss.errors import DataError
from isogloss.files import whole_file
from isogloss.records import Estimate, Status

if TYPE_CHECKING:
    import pandas as pd

GROUP_KEYS = (
    "model", "country", "area", "region", "language", "category", "split", "domain", "role", "group", "element",
    "format", "reading", "baseline", "writer",
)  # fmt: skip
"""Group keys in the order of every table; keys that a study adds follow in alphabetical order."""

MISSING = tuple(status for status in Status if status is not Status.OK)
HEAD = ("study", "measure")
NUMBERS = ("value", "low", "high", "n_items", "n_answers", "n_scored")
MISSING_COLUMNS = tuple(f"missing_{status.value}" for status in MISSING)
TAIL = (*NUMBERS, *MISSING_COLUMNS, "method")


def group_keys(estimates: Iterable[Estimate]) -> list[str]:
    """Group keys in use, in the one order of all tables."""
    used = {key for estimate in estimates for key in estimate.group}
    return [key for key in GROUP_KEYS if key in used] + sorted(used.difference(GROUP_KEYS))


def to_json(estimates: Sequence[Estimate]) -> str:
    """A JSON list with exactly the fields of an estimate; `value` is null when nothing was scored."""
    rows = [
        {
            "study": estimate.study,
            "measure": estimate.measure,
            "group": dict(estimate.group),
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n_items": estimate.n_items,
            "n_answers": estimate.n_answers,
            "n_scored": estimate.n_scored,
            "missing": {status.value: count for status, count in estimate.missing.items()},
            "method": estimate.method,
        }
        for estimate in estimates
    ]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def to_csv(estimates: Sequence[Estimate]) -> str:
    """A flat table: study, measure, group keys, value, low, high, counts, missing by status, method.

    Floats are written in full. An empty cell is "none": no such group key, or no value. Read it with `read_estimates`,
    or with `read_frame` when it should be a data frame: pandas on its own takes the country `NA` for a gap.
    """
    keys = group_keys(estimates)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*HEAD, *keys, *TAIL])
    for estimate in estimates:
        for key, word in estimate.group.items():
            if word == "":
                raise DataError(f"{estimate.measure}: group {key!r} is empty; leave the key out instead")
        numbers = (estimate.value, estimate.low, estimate.high, estimate.n_items, estimate.n_answers, estimate.n_scored)
        writer.writerow(
            [
                estimate.study,
                estimate.measure,
                *(estimate.group.get(key, "") for key in keys),
                *("" if number is None else repr(number) for number in numbers),
                *(estimate.missing.get(status, 0) for status in MISSING),
                estimate.method,
            ]
        )
    return out.getvalue()


def write_estimates(path: Path, estimates: Sequence[Estimate]) -> None:
    """Write `estimates.csv`, whole or not at all."""
    text = to_csv(estimates)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def read_estimates(path: Path) -> list[Estimate]:
    """Read what `write_estimates` wrote. Statuses without any missing answer are left out of `missing`.

    Raises
    ------
    DataError
        For a file that can't be read or isn't such a table; names file, row and column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            absent = [name for name in (*HEAD, *TAIL) if name not in columns]
            if absent:
                raise DataError(f"{path.name} has no column {absent[0]!r}; expected a table written by isogloss")
            keys = [name for name in columns if name not in (*HEAD, *TAIL)]
            return [_estimate(row, keys, f"{path.name} row {number}") for number, row in enumerate(reader, start=2)]
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} isn't UTF-8 at byte {error.start}; save it as UTF-8") from error


def _estimate(row: Mapping[str, str | None], keys: Sequence[str], where: str) -> Estimate:
    def number(column: str, convert: type[int] | type[float]) -> float | int | None:
        text = row[column]
        if not text:
            return None
        try:
            return convert(text)
        except ValueError:
            raise DataError(f"{where}: column {column!r} holds {text!r}; expected a number or nothing") from None

    missing = {status: number(column, int) for status, column in zip(MISSING, MISSING_COLUMNS, strict=True)}
    try:
        return Estimate.model_validate(
            {
                "study": row["study"],
                "measure": row["measure"],
                "group": {key: row[key] for key in keys if row[key]},
                **{name: number(name, float) for name in ("value", "low", "high")},
                **{name: number(name, int) for name in ("n_items", "n_answers", "n_scored")},
                "missing": {status: count for status, count in missing.items() if count},
                "method": row["method"],
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(f"{where}: {'.'.join(str(part) for part in first['loc']) or 'row'}: {first['msg']}") from error


def estimates_frame(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Estimates as a data frame with the columns of `estimates.csv`; absent group keys are "", absent values NaN."""
    import pandas as pd

    keys = group_keys(estimates)
    columns: dict[str, list[object]] = {name: [] for name in (*HEAD, *keys, *TAIL)}
    for estimate in estimates:
        for name in (*HEAD, *NUMBERS, "method"):
            columns[name].append(getattr(estimate, name))
        for key in keys:
            columns[key].append(estimate.group.get(key, ""))
        for status, name in zip(MISSING, MISSING_COLUMNS, strict=True):
            columns[name].append(estimate.missing.get(status, 0))
    frame = pd.DataFrame(columns)
    return frame.astype(dict.fromkeys(("value", "low", "high"), "float64"))


def read_frame(path: Path) -> pd.DataFrame:
    """`estimates.csv` as a data frame: the codes `NA` and `NO` stay text, floats are exact.

    With pandas alone: `read_csv(path, keep_default_na=False, na_values=dict.fromkeys(("value", "low", "high"), ""))`.
    """
    return estimates_frame(read_estimates(path))
