"""What raters have told of themselves, if anything: free columns that are summed up in words and go no further."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from isogloss.annotation.grids import decoded
from isogloss.errors import DataError
from isogloss.registry import unknown_name


def describe_raters(path: Path, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """One line for each group and free column of a table of raters: "XA, age: 20 to 29 (3), not told (2)".

    Parameters
    ----------
    path : Path
        CSV with a column `rater` (the code) and any others, such as an age group or where somebody grew up. Nothing of
        it enters a table or the data set.
    groups : mapping of str to sequence of str
        Country → codes of its raters.

    Raises
    ------
    DataError, UnknownNameError
        If the file can't be read, has no column `rater`, a code that nobody has or that comes twice, or a cell that
        looks like an address.
    """
    try:
        text, _ = decoded(path)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    if "rater" not in (reader.fieldnames or ()):
        raise DataError(f"{path} has no column 'rater'; it needs one with the raters' codes")
    known = {rater for raters in groups.values() for rater in raters}
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
    lines = []
    for group, raters in groups.items():
        for column in [name for name in reader.fieldnames or () if name and name != "rater"]:
            counts = Counter(told.get(rater, {}).get(column) or "not told" for rater in raters)
            words = ", ".join(
                f"{value} ({n})" for value, n in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
            )
            lines.append(f"{group}, {column}: {words}")
    return lines
