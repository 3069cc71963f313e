"""Sheets as they come back, before anything is made of them: a heading and rows of cells."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from zipfile import BadZipFile

from isogloss.annotation.cells import Typed, as_text, unguarded
from isogloss.annotation.language import folded
from isogloss.errors import DataError

KEYS = ("item_id", "task", "rater")
"""Columns by which a row is known again."""
SEPARATORS = (",", ";", "\t", "|")
MOST_BLANK = 1000
"""Rows without any cell after which a workbook's sheet is taken to have ended."""


@dataclass(frozen=True)
class Grid:
    """The one table of a file that has all of `KEYS`."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Typed, ...]], ...]
    """(number as a spreadsheet shows it, cells, as many as the header has); rows without any cell are left out."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the file was read."""
    warnings: tuple[str, ...] = ()
    """What may make that wrong."""

    def texts(self, name: str) -> list[str]:
        """A column of `KEYS`."""
        place = [folded(title) for title in self.header].index(name)
        return [unguarded(as_text(cells[place]).strip()) for _, cells in self.rows]


def open_grid(path: Path) -> Grid:
    """Read a CSV file (parted by comma, semicolon or tab) or a workbook.

    Raises
    ------
    DataError
        If the file can't be read, is of another kind, or no table in it has the columns `item_id`, `task`, `rater`.
    """
    kind = path.suffix.lower()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    try:
        if kind in (".xlsx", ".xlsm"):
            header, rows, warnings = from_workbook(path)
        elif kind in (".csv", ".tsv", ".txt"):
            header, rows, notes = from_text(path)
        else:
            raise DataError(f"{path} is neither CSV nor xlsx; save it as one of them")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}") from error
    doubled = [title for title, n in Counter(folded(title) for title in header if title).items() if n > 1]
    if doubled:
        raise DataError(f"{path}: the column {doubled[0]!r} comes twice; take one of them away")
    n = len(header)
    whole = ((number, (*cells, *(None,) * (n - len(cells)))[:n]) for number, cells in rows)
    return Grid(
        header, tuple((number, cells) for number, cells in whole if any(map(is_filled, cells))), notes, warnings
    )


def is_filled(cell: Typed) -> bool:
    """Whether anything but white space is in a cell."""
    return bool(as_text(cell).strip())


def place_of(header: Sequence[str], titles: Iterable[str]) -> int | None:
    """Index of the first column with one of some titles, case and accents aside."""
    names = [folded(title) for title in header]
    return next((names.index(folded(title)) for title in titles if folded(title) in names), None)


def places_of(path: Path, grid: Grid, columns: Mapping[str, str]) -> dict[str, int]:
    """Index of each column by its name, found by its title or name.

    Raises
    ------
    DataError
        For a column that isn't there.
    """
    found = {}
    for name, title in columns.items():
        place = place_of(grid.header, (title, name))
        if place is None:
            raise DataError(f"{path} has no column {title!r}; put it back, or start from a fresh sheet")
        found[name] = place
    return found


_Rows: TypeAlias = Sequence[tuple[int, tuple[Typed, ...]]]


def _is_header(cells: Iterable[Typed]) -> bool:
    return set(KEYS) <= {folded(as_text(cell)) for cell in cells}


def _no_table(path: Path) -> DataError:
    return DataError(f"{path} isn't a sheet of isogloss: no row of titles with {', '.join(map(repr, KEYS))}")


# --- text -------------------------------------------------------------------------------------------------------------


def from_text(path: Path) -> tuple[tuple[str, ...], _Rows, tuple[str, ...]]:
    """Header, rows and notes of a CSV file."""
    text, notes = decoded(path)
    if text[:4].casefold() == "sep=":  # Excel's own first line, which it doesn't count
        text = text.partition("\n")[2]
    for separator in SEPARATORS:
        try:
            records = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        except csv.Error as error:
            raise DataError(f"{path} is no CSV file: {error}") from error
        for index, record in enumerate(records):
            if any(cell.strip() for cell in record):
                if _is_header(record):
                    body: list[tuple[int, tuple[Typed, ...]]] = [
                        (number, tuple(cells)) for number, cells in enumerate(records[index + 1 :], index + 2)
                    ]
                    return tuple(cell.strip() for cell in record), body, notes
                break
    raise _no_table(path)


def decoded(path: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a note where it wasn't Unicode."""
    content = path.read_bytes()
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # "Unicode text" of Excel
    encoding = "utf-16" if is_wide else "utf-8-sig"
    try:
        return content.decode(encoding), ()
    except UnicodeDecodeError:
        pass
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is neither UTF-8 nor Windows-1252; save it as 'CSV UTF-8'") from error
    return text, (
        "not UTF-8, so read as Windows-1252; if letters look wrong, save it as 'CSV UTF-8' and import it again",
    )


# --- workbooks --------------------------------------------------------------------------------------------------------


def from_workbook(path: Path) -> tuple[tuple[str, ...], _Rows, tuple[str, ...]]:
    """Header and rows of the first sheet of a workbook that has the columns of `KEYS`; a warning where others do."""
    from xml.etree.ElementTree import ParseError

    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    with path.open("rb") as file:
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            tables = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # what other programs write of it may be wrong
                rows = list(_until_blank(sheet.iter_rows(values_only=True)))
                index = next((index for index, (_, cells) in enumerate(rows[:20]) if _is_header(cells)), None)
                if index is not None:
                    tables.append((sheet.title, rows[index][1], rows[index + 1 :]))
        except (BadZipFile, InvalidFileException, KeyError, ValueError, ParseError, EOFError) as error:
            raise DataError(f"{path} can't be read as a workbook; open it and save it as xlsx or CSV again") from error
    if not tables:
        raise _no_table(path)
    (name, titles, body), *others = tables
    return tuple(as_text(cell).strip() for cell in titles), body, _several(name, [other for other, _, _ in others])


def _several(name: str, others: Sequence[str]) -> tuple[str, ...]:
    """A warning where further worksheets could have been meant."""
    if not others:
        return ()
    return (
        f"only the worksheet {name!r} is read, and {', '.join(map(repr, others))} left alone, though the columns "
        f"{', '.join(KEYS)} are there, too: if the answers are there, save it as a file of its own and import that",
    )


def _until_blank(rows: Iterable[tuple[Typed, ...]]) -> Iterator[tuple[int, tuple[Typed, ...]]]:
    blank = 0
    for number, cells in enumerate(rows, 1):
        blank = 0 if any(map(is_filled, cells)) else blank + 1
        if blank > MOST_BLANK:
            return
        yield number, cells
