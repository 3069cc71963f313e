"""Sheets that go out to people: one file a rater, as CSV and as an Excel workbook.

A sheet has a row for each thing to be rated: the texts to read, the cells to fill in and, last, three columns by which
a row is known again: `item_id`, `task` and `rater`. A rater sees nobody else's answers, and the rows in an order of
their own. `read_sheet` takes sheets back.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Literal

from isogloss.annotation.cells import as_text, guarded, plain, same_text
from isogloss.annotation.form import Form
from isogloss.annotation.grids import KEYS, is_filled, open_grid, places_of
from isogloss.annotation.language import folded, list_separator
from isogloss.annotation.reading import Fault, Row, SheetReading, read_sheet, sheet_task, shown_text
from isogloss.annotation.workbook import legend, write_workbook
from isogloss.errors import DataError, SettingError
from isogloss.files import whole_file

__all__ = ["Fault", "Format", "Row", "SheetReading", "read_sheet", "sheet_task", "write_sheets"]

Format = Literal["csv", "xlsx"]
CODE = re.compile(r"\w[\w.-]*")
"""What a rater's code may look like: it is part of a file's name."""


def write_sheets(
    form: Form,
    rows: Mapping[str, Sequence[Row]],
    folder: Path,
    *,
    seed: int,
    formats: Sequence[Format],
    answered: Mapping[str, Collection[str]] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write each rater's sheet into a folder, with the instructions beside the CSV files.

    A sheet that somebody has begun to fill in stays as it is: it is the rater's sheet still if all rows to fill in are
    there, and none that isn't asked about any more. Else a new one is laid beside it (`TASK-RATER-2.csv`).

    In CSV files a text that a spreadsheet would take for a formula, a number or a date has an apostrophe before it,
    which `read_sheet` takes off; cells are parted by ";" where the language's decimal sign is a comma, as spreadsheets
    there expect. In workbooks all cells are text.

    Parameters
    ----------
    form : Form
        What is asked; raters in `form.others` get theirs.
    rows : mapping of str to sequence of mappings
        Rater → rows, each with `item_id` and the form's shown columns. A rater without rows gets no sheet.
    folder : Path
        Made where it isn't there.
    seed : int
        Draws each rater's order.
    formats : sequence of "csv" and "xlsx"
    answered : mapping of str to collection of str, optional
        Rater → `item_id` of rows that came back already, and don't go out again.
    tell : callable
        Given a line for each file that stays and makes a sheet go beside it.

    Returns
    -------
    list of Path
        The sheets, those that were left as they are among them: `TASK-RATER.csv`, `TASK-RATER.xlsx`.

    Raises
    ------
    SettingError
        If a rater's code can't be part of a file name, or two differ by case only.
    DataError
        If a file can't be written.
    """
    check_codes(rows)
    asked = {}
    for rater, mine in rows.items():
        check_titles(form.of(rater))
        left = [row for row in mine if str(row["item_id"]) not in (answered or {}).get(rater, ())]
        if left:
            asked[rater] = ordered(left, f"{seed}:{form.task}:{rater}")
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for rater, left in asked.items():
            others = {folded(other) for other in rows if other != rater}
            places = (sheet_paths(folder, form.task, name, formats) for name in file_names(rater, others))
            for path, is_kept in choose_place(places, form.of(rater), rows[rater], left, tell).items():
                paths.append(path)
                if not is_kept:
                    write_sheet(path, form.of(rater), rater, left)
    except OSError as error:
        raise DataError(f"can't write {error.filename or folder}: {error.strerror}") from error
    return paths


def write_sheet(path: Path, form: Form, rater: str, rows: Sequence[Row]) -> None:
    """Write one file, a workbook or CSV by its ending."""
    if path.suffix == ".xlsx":
        with whole_file(path) as partial:
            write_workbook(partial, form, rater, rows)
        return
    write_text(path, csv_text(form, rater, rows))
    write_text(path.with_suffix(".txt"), instructions_text(form))


# --- where a sheet goes -----------------------------------------------------------------------------------------------


def sheet_paths(folder: Path, task: str, name: str, formats: Sequence[Format]) -> list[Path]:
    """Where a rater's sheets lie."""
    return [folder / f"{task}-{name}.{kind}" for kind in formats]


def file_names(rater: str, others: Collection[str]) -> Iterator[str]:
    """A rater's code, then the code with a number, as far as that is nobody else's code."""
    yield rater
    yield from (name for number in count(2) if folded(name := f"{rater}-{number}") not in others)


def choose_place(
    places: Iterable[Sequence[Path]], form: Form, rows: Sequence[Row], left: Sequence[Row], tell: Callable[[str], None]
) -> dict[Path, bool]:
    """The first place where no file has to give way: its paths, each with whether it stays as it is.

    Parameters
    ----------
    places : iterable of sequence of Path
        One after the other, a path a format.
    form : Form
    rows, left : sequence of mappings
        All that the rater is asked about, and what is still to be filled in.
    tell : callable
        Given a line for each file that is passed over.
    """
    for paths in places:
        found = {path: begun(path, form, rows, left) for path in paths}
        passed = [path for path, state in found.items() if state == "other"]
        if not passed:
            return {path: state == "same" for path, state in found.items()}
        for path in passed:
            tell(f"{path} has been begun with other rows, or is no sheet: it stays as it is, and a new one goes beside")
    raise AssertionError("there is always another name")


def check_codes(raters: Iterable[str]) -> None:
    """Raters' codes must be fit for names of files, and differ by more than case. Raises SettingError."""
    seen: dict[str, str] = {}
    for rater in raters:
        if CODE.fullmatch(rater) is None:
            raise SettingError(
                f"the rater's code {rater!r} can't be part of a file's name; use letters, digits, '.', '-' and '_', "
                "and no name or address"
            )
        other = seen.setdefault(folded(rater), rater)
        if other != rater:
            raise SettingError(f"the raters' codes {other!r} and {rater!r} are too much alike; change one")


def check_titles(form: Form) -> None:
    """Titles of columns must differ, for columns are found by them. Raises SettingError."""
    titles = [title for _, title in form.shown] + [field.title for field in form.fields] + list(KEYS)
    for title in titles:
        if sum(folded(title) == folded(other) for other in titles) > 1:
            raise SettingError(f"the form {form.task!r} has two columns titled {title!r}; change one in its wording")


def ordered(rows: Sequence[Row], seed: str) -> list[Row]:
    """Rows in an order drawn by the seed, whatever order they come in."""
    drawn = sorted(rows, key=lambda row: str(row["item_id"]))
    random.Random(seed).shuffle(drawn)
    return drawn


def begun(path: Path, form: Form, rows: Sequence[Row], left: Sequence[Row]) -> Literal["no", "same", "other"]:
    """Whether somebody has begun to fill in a sheet, and whether its rows are the right ones or others.

    They are right where all of `left` is there and nothing but `rows`. "no" also where there is no file; what can't be
    read as such a sheet is "other".
    """
    if not path.exists():
        return "no"
    try:
        grid = open_grid(path)
        places = places_of(path, grid, {**dict(form.shown), **{field.name: field.title for field in form.fields}})
    except DataError:
        return "other"
    if not any(is_filled(cells[places[field.name]]) for _, cells in grid.rows for field in form.fields):
        return "no"
    known = {str(row["item_id"]): row for row in rows}
    there = grid.texts("item_id")
    same = (
        len(there) == len(set(there))
        and {str(row["item_id"]) for row in left} <= set(there) <= set(known)
        and all(
            same_text(shown_text(known[item_id], name), as_text(cells[places[name]]))
            for item_id, (_, cells) in zip(there, grid.rows, strict=True)
            for name, _ in form.shown
        )
    )
    return "same" if same else "other"


# --- what is written --------------------------------------------------------------------------------------------------


def csv_text(form: Form, rater: str, rows: Sequence[Row]) -> str:
    """A sheet as CSV, every cell quoted and safe in a spreadsheet."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=list_separator(form.language), quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([title for _, title in form.shown] + [field.title for field in form.fields] + list(KEYS))
    for row in rows:
        shown = [guarded(shown_text(row, name)) for name, _ in form.shown]
        keys = [guarded(key) for key in (str(row["item_id"]), form.task, rater)]
        writer.writerow(shown + [""] * len(form.fields) + keys)
    return text.getvalue()


def instructions_text(form: Form) -> str:
    """What stands on a workbook's first page, for those who get a CSV file."""
    blocks = [form.title, *form.instructions]
    for field in form.fields:
        lines = [f"  {choice}  {meaning}".rstrip() for choice, meaning in legend(field)]
        if lines:
            blocks.append("\n".join([field.title, *lines]))
    return plain("\n\n".join(blocks)) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with a mark at its start, without which Excel takes it for another encoding."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8-sig", newline="")
