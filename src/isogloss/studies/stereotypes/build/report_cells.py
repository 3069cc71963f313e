"""Cells of the tables in a construction's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isogloss.construction import Table as Rows
from isogloss.construction.pipeline import Row
from isogloss.records import Estimate
from isogloss.reports import Table
from isogloss.reports.sections import Cell

MOST_ROWS = 500
"""Rows of a list that can grow with the data; the tables beside the report hold all."""
LONG = 30
"""Rows from which on a table is shown closed."""


def estimate_of(measure: str, value: float | None, row: Row, n: int) -> Estimate:
    """A number of a table with its interval, as the report prints it."""
    return Estimate(
        study="stereotypes", measure=measure, value=value if n else None, low=real(row.get("low")) if n else None,
        high=real(row.get("high")) if n else None, n_items=n, n_answers=n, n_scored=n, method="",
    )  # fmt: skip


def place_of(row: Row, names: Mapping[str, str]) -> str:
    """The country of a row in words; "all" where it has none."""
    code = str(row.get("country") or "")
    return names.get(code, code) or "all"


def whole(value: object) -> int | None:
    """A cell that is a number as a whole one."""
    return int(value) if isinstance(value, int | float) else None


def real(value: object) -> float | None:
    """A cell that is a number."""
    return float(value) if isinstance(value, int | float) else None


def text_of(value: object) -> str:
    """A cell as text; None is empty."""
    return "" if value is None else str(value)


def listed(value: object) -> list[Any]:
    """A cell that is a list; empty for any other."""
    return value if isinstance(value, list) else []


def count_of(number: int, noun: str) -> str:
    """`1 call`, `1,240 calls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cut_words(rows: Sequence[Row]) -> str:
    """What is said where a list is cut."""
    rest = len(rows) - MOST_ROWS
    return f" {rest:,} more are left out here; the folder tables holds all." if rest > 0 else ""


def folded_if_long(table: Table) -> Table:
    """A long table is shown closed."""
    if len(table.rows) <= LONG:
        return table
    return Table(table.id, table.title, table.columns, table.rows, note=table.note, caption=table.caption, folded=True)


def plain_rows(rows: Rows) -> tuple[dict[str, Cell], ...]:
    """Rows as the data behind a figure."""
    return tuple({key: cell for key, cell in row.items() if isinstance(cell, str | int | float | None)} for row in rows)
