"""Replies that could not be read, grouped by what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isogloss.errors import DataError
from isogloss.reports.context import InvalidRow

if TYPE_CHECKING:
    import pandas as pd

MOST_EXAMPLES = 3
COLUMNS = ("model", "format", "reading", "status", "note")


def invalid_replies(answers: pd.DataFrame) -> list[InvalidRow]:
    """Answers without a value by model, format, reading, status and reason, the most frequent first.

    Parameters
    ----------
    answers : DataFrame
        Columns `model`, `format`, `reading`, `status`, `note`; with a column `reply` (the raw text) up to three
        different replies are quoted for each group.

    Raises
    ------
    DataError
        If a column is missing.
    """
    absent = [column for column in COLUMNS if column not in answers.columns]
    if absent:
        raise DataError(f"the answers have no column {absent[0]!r}; expected {', '.join(COLUMNS)}")
    bad = answers.loc[answers["status"].astype(str) != "ok"]
    keys = [_words(bad[column]) for column in COLUMNS]
    replies = _words(bad["reply"]) if "reply" in bad.columns else [""] * len(bad)
    counts: dict[tuple[str, ...], int] = {}
    examples: dict[tuple[str, ...], list[str]] = {}
    for *key, reply in zip(*keys, replies, strict=True):
        group = tuple(key)
        counts[group] = counts.get(group, 0) + 1
        kept = examples.setdefault(group, [])
        if reply and len(kept) < MOST_EXAMPLES and reply not in kept:
            kept.append(reply)
    rows = [
        InvalidRow(model, form, reading, status, reason, count, tuple(examples[model, form, reading, status, reason]))
        for (model, form, reading, status, reason), count in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.count, row.model, row.format, row.reading, row.status, row.reason))


def _words(column: pd.Series) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column]
