"""A table that a person may correct: written for a spreadsheet, its decisions read back and kept.

Texts that a spreadsheet would take for a formula, a number or a date get an apostrophe before them, which is taken off
when read: ids, by which a row is known again, may look like numbers ("12e4").
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from isogloss.annotation.cells import guarded, unguarded
from isogloss.errors import DataError
from isogloss.files import separator_of, whole_file

DECISION = "decision"


def write_review(path: Path, rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows with a column `decision` last; UTF-8 with a mark, so that spreadsheets read it right.

    Raises
    ------
    DataError
        If the file can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial, partial.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*columns, DECISION])
            for row in rows:
                writer.writerow([_safe(row.get(column)) for column in (*columns, DECISION)])
    except OSError as error:
        raise DataError(f"can't write {path}: {error.strerror}") from error


def _safe(cell: object) -> str:
    return guarded(cell) if isinstance(cell, str) else "" if cell is None else str(cell)


def read_decisions(path: Path, keys: Sequence[str], allowed: Sequence[str]) -> dict[tuple[str, ...], str]:
    """What a person decided: key cells → one of `allowed`; rows without a decision are left out.

    Raises
    ------
    DataError
        For a column that is gone, a decision that isn't allowed, or two on the same thing that differ, naming file and
        row.
    """
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text; save it as CSV UTF-8") from error
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=separator_of(text))
    for column in (*keys, DECISION):
        if column not in (reader.fieldnames or ()):
            raise DataError(f"{path} has no column {column!r}; it is needed to take decisions back")
    found: dict[tuple[str, ...], str] = {}
    for number, row in enumerate(reader, start=2):
        decision = (row[DECISION] or "").strip().lower()
        if not decision:
            continue
        if decision not in allowed:
            raise DataError(f"{path} row {number}: decision {decision!r}; expected {' or '.join(allowed)}, or nothing")
        about = tuple(unguarded(row[key] or "") for key in keys)
        if (other := found.setdefault(about, decision)) != decision:
            raise _both(f"{path} row {number}", about, (other, decision))
    return found


def read_pairs(path: Path, allowed: Sequence[str]) -> dict[tuple[str, str], str]:
    """What a person decided on pairs, by the columns a_id and b_id: (id, id) in order → one of `allowed`.

    Raises
    ------
    DataError
        As for `read_decisions`; also where a pair has one decision and, the other way round, another.
    """
    found: dict[tuple[str, str], str] = {}
    for (a, b), decision in read_decisions(path, ("a_id", "b_id"), allowed).items():
        pair = (min(a, b), max(a, b))
        if (other := found.setdefault(pair, decision)) != decision:
            raise _both(str(path), pair, (other, decision))
    return found


def of_absent(decided: Mapping[tuple[str, str], str], listed: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Rows for decisions on pairs that aren't listed, as one of them isn't there at present: kept for when it is."""
    there = {(str(row["a_id"]), str(row["b_id"])) for row in listed}
    return [
        {"a_id": a, "b_id": b, "decision": decision}
        for (a, b), decision in decided.items()
        if (a, b) not in there and (b, a) not in there
    ]


def _both(where: str, about: Sequence[str], said: tuple[str, str]) -> DataError:
    ids, (one, other) = " and ".join(about), sorted(said)
    return DataError(f"{where}: {ids} called {one!r} in one row and {other!r} in another; keep one of them")
