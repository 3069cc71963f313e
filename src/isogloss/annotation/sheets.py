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
from collections.abc import Iterable, Mapping, Sequence
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

__all__ = ["Fault", "Format", "Row", "SheetReading", "read_sheet", "sheet_path", "sheet_task", "write_sheets"]

Format = Literal["csv", "xlsx"]
CODE = re.compile(r"\w[\w.-]*")
"""What a rater's code may look like: it is part of a file's name."""


def write_sheets(
    form: Form, rows: Mapping[str, Sequence[Row]], folder: Path, *, seed: int, formats: Sequence[Format]
) -> list[Path]:
    """Write each rater's sheet into a folder, with the instructions beside the CSV files.

    A sheet that somebody has begun to fill in stays as it is. In CSV files a text that a spreadsheet would take for a
    formula, a number or a date has an apostrophe before it, which `read_sheet` takes off; cells are parted by ";" where
    the language's decimal sign is a comma, as spreadsheets there expect. In workbooks all cells are text.

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

    Returns
    -------
    list of Path
        The sheets, those that were left as they are among them: `TASK-RATER.csv`, `TASK-RATER.xlsx`.

    Raises
    ------
    SettingError
        If a rater's code can't be part of a file name, or two differ by case only.
    DataError
        If a sheet has been begun and its rows are others now, or a file can't be written. Nothing is written then.
    """
    check_codes(rows)
    asked = {rater: ordered(mine, f"{seed}:{form.task}:{rater}") for rater, mine in rows.items() if mine}
    for rater in asked:
        check_titles(form.of(rater))
    paths = {(rater, kind): sheet_path(folder, form.task, rater, kind) for rater in asked for kind in formats}
    begun = {key for key, path in paths.items() if is_begun(path, form.of(key[0]), asked[key[0]])}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for (rater, kind), path in paths.items():
            if (rater, kind) in begun:
                continue
            if kind == "xlsx":
                with whole_file(path) as partial:
                    write_workbook(partial, form.of(rater), rater, asked[rater])
                continue
            write_text(path, csv_text(form.of(rater), rater, asked[rater]))
            write_text(path.with_suffix(".txt"), instructions_text(form.of(rater)))
    except OSError as error:
        raise DataError(f"can't write {error.filename or folder}: {error.strerror}") from error
    return list(paths.values())


def sheet_path(folder: Path, task: str, rater: str, kind: Format) -> Path:
    """Where a rater's sheet lies."""
    return folder / f"{task}-{rater}.{kind}"


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


def is_begun(path: Path, form: Form, rows: Sequence[Row]) -> bool:
    """Whether there is a sheet that somebody has begun to fill in, with just these rows.

    Raises
    ------
    DataError
        If it has been begun and its rows are others, or if that can't be told.
    """
    if not path.exists():
        return False
    advice = "import it, move it away and export again"
    try:
        grid = open_grid(path)
        columns = {**dict(form.shown), **{field.name: field.title for field in form.fields}}
        places = places_of(path, grid, columns)
    except DataError as error:
        raise DataError(f"{error}; it isn't written over: {advice}") from error
    if not any(is_filled(cells[places[field.name]]) for _, cells in grid.rows for field in form.fields):
        return False
    wanted = {str(row["item_id"]): row for row in rows}
    there = grid.texts("item_id")
    same = sorted(there) == sorted(wanted) and all(
        same_text(shown_text(wanted[item_id], name), as_text(cells[places[name]]))
        for item_id, (_, cells) in zip(there, grid.rows, strict=True)
        for name, _ in form.shown
    )
    if not same:
        raise DataError(f"{path} has been begun, and its rows are others now; it isn't written over: {advice}")
    return True


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
