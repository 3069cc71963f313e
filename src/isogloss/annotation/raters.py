"""What raters have told of themselves, if anything: free columns that are only ever summed up."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TypeAlias

from isogloss.annotation.grids import decoded
from isogloss.errors import DataError
from isogloss.files import separator_of
from isogloss.registry import unknown_name

RaterFacts: TypeAlias = "dict[str, Counter[str]]"
"""Column of a table of raters → answer ("" from who told nothing) → raters."""


def rater_facts(path: Path, groups: Mapping[str, Sequence[str]]) -> dict[str, RaterFacts]:
    """How many raters of each group gave each answer.

    Parameters
    ----------
    path : Path
        CSV with a column `rater` (the code) and any others, such as an age group or where somebody grew up.
    groups : mapping of str to sequence of str
        Country → codes of its raters.

    Raises
    ------
    DataError, UnknownNameError
        If the file can't be read, has no column `rater`, a code that nobody has or that comes twice, or a cell that
        looks like an address.
    """
    columns, told = _read(path, {rater for raters in groups.values() for rater in raters})
    return {
        group: {name: Counter(told.get(rater, {}).get(name, "") for rater in raters) for name in columns}
        for group, raters in groups.items()
    }


def describe(facts: RaterFacts, *, least: int = 1) -> list[str]:
    """A line for each column: "age: 20 to 29 (3), not told (2)".

    Parameters
    ----------
    facts : mapping
        Of one group.
    least : int
        Answers of fewer raters aren't named: those who gave them are counted together with those who told nothing. A
        column without an answer of so many is left out.

    Examples
    --------
    >>> facts = {"age": Counter({"20 to 29": 3, "60 to 69": 1, "": 1}), "town": Counter({"Norte": 2, "Sur": 3})}
    >>> describe(facts)
    ['age: 20 to 29 (3), 60 to 69 (1), not told (1)', 'town: Sur (3), Norte (2)']
    >>> describe(facts, least=3)
    ['age: 20 to 29 (3), another answer or none (2)', 'town: Sur (3), another answer or none (2)']
    """
    lines = []
    for column, counts in facts.items():
        named = {answer or "not told": n for answer, n in counts.items() if least == 1 or (answer and n >= least)}
        if not named:
            continue
        words = [f"{answer} ({n})" for answer, n in sorted(named.items(), key=lambda one: (-one[1], one[0]))]
        rest = counts.total() - sum(named.values())
        lines.append(f"{column}: {', '.join(words + ([f'another answer or none ({rest})'] if rest else []))}")
    return lines


def _read(path: Path, known: Set[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Free columns, and rater → column → what was told."""
    try:
        text, _ = decoded(path)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator_of(text))
    if "rater" not in (reader.fieldnames or ()):
        raise DataError(f"{path} has no column 'rater'; it needs one with the raters' codes")
    told: dict[str, dict[str, str]] = {}
    for number, row in enumerate(reader, 2):
        rater = (row["rater"] or "").strip()
        if rater not in known:
            raise DataError(f"{path} row {number}: {unknown_name('rater', rater, known)}")
        if rater in told:
            raise DataError(f"{path} row {number}: rater {rater!r} comes twice")
        told[rater] = {name: cell.strip() for name, cell in row.items() if name and isinstance(cell, str)}
        if any("@" in cell for cell in told[rater].values()):
            raise DataError(f"{path} row {number} holds an address; personal data don't belong here, take them out")
    return [name for name in reader.fieldnames or () if name and name != "rater"], told
