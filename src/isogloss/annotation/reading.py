"""Sheets that come back from people: every row is taken, or named with what is wrong with it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from isogloss.annotation.cells import MARK, Typed, as_text, is_error, is_mangled, number, plain, same_text, unguarded
from isogloss.annotation.form import Field, Form, Together
from isogloss.annotation.grids import KEYS, Grid, is_filled, open_grid, places_of
from isogloss.annotation.language import folded
from isogloss.errors import DataError
from isogloss.records import Rating
from isogloss.registry import unknown_name

Row: TypeAlias = Mapping[str, object]
"""A row as it is asked about: `item_id` and the form's shown columns, among others."""
Value: TypeAlias = str | int | float | None
MOST_NAMED = 5
FEWEST_SORTED, FEWEST_VALUES = 12, 3
"""Answers, and different ones among them, from which it says something that they stand in ascending order."""


class Fault(NamedTuple):
    """Something wrong in a sheet. What it is about is not taken over; all the rest is."""

    row: int
    """As a spreadsheet numbers them, the titles being row 1; 0 for the whole sheet."""
    message: str


@dataclass(frozen=True)
class SheetReading:
    """What one sheet gave."""

    rater: str
    ratings: list[Rating]
    """Of rows that are filled in and without fault, in the order of the sheet."""
    faults: list[Fault]
    """By row; empty where the sheet is right as far as it goes."""
    unfilled: list[int]
    """Rows that nobody has filled in yet: no fault, but still to do."""
    notes: list[str]
    """What a person should know of how the file was read; nothing is lost by it."""
    warnings: list[str]
    """What makes it doubtful that the answers are the rater's own; they are taken all the same."""


def sheet_task(path: Path) -> str:
    """The task that most rows of a sheet are of.

    Raises
    ------
    DataError
        If it can't be read or isn't a sheet of isogloss, or has no rows.
    """
    return _usual(path, open_grid(path), "task")


def read_sheet(
    path: Path,
    form: Form,
    expected: Mapping[str, Sequence[Row]],
    *,
    answered: Mapping[str, Collection[str]] | None = None,
    received_at: float | None = None,
) -> SheetReading:
    """Take a sheet back: CSV (comma, semicolon or tab; UTF-8, UTF-16 or Windows-1252) or xlsx.

    Columns are found by their titles, in any order; columns that aren't ours are left alone. Numbers may be "4", " 4 ",
    "4.0" or "4,0"; a choice may be written as its label. A row in which no field is filled in is still to do.

    Parameters
    ----------
    path : Path
        The rater is the one that the sheet says, whatever the file is called.
    form : Form
        What was asked.
    expected : mapping of str to sequence of mappings
        Rater → the rows that went out.
    answered : mapping of str to collection of str, optional
        Rater → `item_id` of rows that came back before: they may be absent or empty in this sheet.
    received_at : float, optional
        Unix time, seconds, for the ratings.

    Raises
    ------
    DataError
        If the file can't be read, is a sheet of another task, lacks a column, or is of nobody in `expected`.
        What is wrong with single rows is no error but a fault of the reading.
    """
    grid = open_grid(path)
    task = _usual(path, grid, "task")
    if task != form.task:
        raise DataError(f"{path} is a sheet of the task {task!r}, not of {form.task!r}")
    rater = _rater(path, grid, expected)
    form = form.of(rater)
    places = places_of(
        path,
        grid,
        {**{key: key for key in KEYS}, **dict(form.shown), **{field.name: field.title for field in form.fields}},
    )
    notes, warnings = list(grid.notes), list(grid.warnings)
    own = [title for index, title in enumerate(grid.header) if title and index not in places.values()]
    if own:
        notes.append(f"left alone, because the form has no such column: {', '.join(map(repr, own))}")
    asked = {str(row["item_id"]): row for row in expected[rater]}
    rows = [_read_row(number, cells, places, form, rater, asked) for number, cells in grid.rows]
    taken, faults = _without_doubles(rows)
    before = (answered or {}).get(rater, ())
    present = {row.item_id for row in rows}
    absent = [item_id for item_id in asked if item_id not in present and item_id not in before]
    if absent:
        faults.append(Fault(0, f"{_rows_are(len(absent))} missing from the sheet: {_some(absent)}"))
    faults += [Fault(row.row, message) for row in rows for message in row.faults]
    return SheetReading(
        rater=rater,
        ratings=[
            Rating(task=form.task, item_id=row.item_id, rater=rater, values=row.values, source=path.name,
                   received_at=received_at)
            for row in taken
        ],
        faults=sorted(faults),
        unfilled=[row.row for row in rows if not row.begun and not row.faults and row.item_id not in before],
        notes=notes,
        warnings=warnings + [text for field in form.fields if (text := _sorted_alone(field, taken, form.task))],
    )  # fmt: skip


# --- whose it is ------------------------------------------------------------------------------------------------------


def _usual(path: Path, grid: Grid, key: str) -> str:
    counts = Counter(text for text in grid.texts(key) if text)
    if not counts:
        raise DataError(f"{path} has no rows" if not grid.rows else f"{path}: the column {key!r} is empty")
    return counts.most_common(1)[0][0]


def _rater(path: Path, grid: Grid, expected: Mapping[str, Sequence[Row]]) -> str:
    counts = Counter(text for text in grid.texts("rater") if text in expected)
    if counts:
        return counts.most_common(1)[0][0]
    said = _usual(path, grid, "rater")
    raise DataError(f"{path}: {unknown_name('rater', said, expected)}")


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """A row of the sheet."""

    row: int
    item_id: str
    begun: bool
    values: dict[str, Value]
    faults: list[str]


def _read_row(
    row: int, cells: tuple[Typed, ...], places: Mapping[str, int], form: Form, rater: str, asked: Mapping[str, Row]
) -> _Read:
    keys = {key: unguarded(as_text(cells[places[key]]).strip()) for key in KEYS}
    begun = any(is_filled(cells[places[field.name]]) for field in form.fields)
    faults = []
    if keys["task"] != form.task:
        faults.append(f"a row of the task {keys['task']!r} in a sheet of {form.task!r}")
    elif keys["rater"] != rater:
        faults.append(f"a row of the rater {keys['rater']!r} in the sheet of {rater!r}")
    elif keys["item_id"] not in asked:
        faults.append(
            f"row {keys['item_id']!r} isn't asked of {rater!r} (any more); if the rows are others now, export anew"
        )
    else:
        faults += _changed(cells, places, form, asked[keys["item_id"]])
    if faults:
        return _Read(row, keys["item_id"], begun, {}, faults)
    values: dict[str, Value] = {}
    if begun:
        said = {field.name: cells[places[field.name]] for field in form.fields}
        values, faults = read_values(form, said)
    return _Read(row, keys["item_id"], begun, values, faults)


def _changed(cells: tuple[Typed, ...], places: Mapping[str, int], form: Form, asked: Row) -> Iterator[str]:
    """What is wrong with texts that a rater only reads."""
    for name, title in form.shown:
        cell = cells[places[name]]
        shown, text = shown_text(asked, name), as_text(cell)
        if same_text(shown, text):
            continue
        if is_mangled(cell, form.language) and not is_mangled(shown, form.language):
            yield f"column {title!r}: a spreadsheet has made a date of {shown!r}: {text!r}"
        else:
            yield f"column {title!r}: the text isn't the one that went out: {_cut(text)!r}, not {_cut(shown)!r}"


def shown_text(row: Row, name: str) -> str:
    """A text that a rater reads; "" where the row has none."""
    cell = row.get(name)
    return "" if cell is None else plain(str(cell))


def _without_doubles(rows: Sequence[_Read]) -> tuple[list[_Read], list[Fault]]:
    """Rows to take, each item once; a fault for an item that comes more than once with answers."""
    filled: dict[str, list[_Read]] = {}
    for row in rows:
        if row.begun and not row.faults:
            filled.setdefault(row.item_id, []).append(row)
    taken, faults = [], []
    for item_id, same in filled.items():
        numbers = ", ".join(str(row.row) for row in same)
        if all(row.values == same[0].values for row in same):
            taken.append(same[0])
            words = "with the same answers; one is taken"
        else:
            words = "with different answers; none is taken, so leave one"
        if len(same) > 1:
            faults.append(Fault(same[1].row, f"item {item_id!r} comes {len(same)} times (rows {numbers}), {words}"))
    return taken, faults


def _sorted_alone(field: Field, taken: Sequence[_Read], task: str) -> str:
    """What to say where the answers on a scale stand in order, top to bottom, as a random order of rows hardly gives.

    Texts and ids are in place then, so nothing else tells that the column was sorted without them.
    """
    given = [value for row in taken if isinstance(value := row.values.get(field.name), int | float)]
    if field.kind != "scale" or len(given) < FEWEST_SORTED or len(set(given)) < FEWEST_VALUES:
        return ""
    way = "ascending" if given == sorted(given) else "descending" if given == sorted(given, reverse=True) else ""
    if not way:
        return ""
    return (
        f"column {field.title!r}: the answers stand in {way} order from top to bottom, which a random order of rows "
        "hardly gives: was this column sorted alone? Then they are beside the wrong texts: move the sheet away, export "
        f"anew with --task {task}, and have it filled in again. If whole rows were sorted, all is well"
    )


# --- values -----------------------------------------------------------------------------------------------------------


def read_values(form: Form, said: Mapping[str, Typed]) -> tuple[dict[str, Value], list[str]]:
    """What a person gave for each field of one row, and what is wrong with it.

    Parameters
    ----------
    form : Form
    said : mapping
        Name of a field → what was typed; a field that is absent counts as empty.
    """
    values: dict[str, Value] = {}
    faults = []
    for field in form.fields:
        value, fault = read_field(field, said.get(field.name), form.language)
        values[field.name] = value
        if fault:
            faults.append(f"column {field.title!r}: {fault}")
    if faults:
        return {}, faults
    filled = {field.name for field in form.fields if is_filled(said.get(field.name))}
    fields = {field.name: field for field in form.fields}
    for field in form.fields:
        if field.name in filled:
            continue
        if field.required_if is None:
            if field.required:
                faults.append(f"column {field.title!r} is empty")
        elif values.get(field.required_if[0]) in field.required_if[1]:
            said_word = fields[field.required_if[0]].shown(values[field.required_if[0]])
            faults.append(f"column {field.title!r} is empty, but {said_word!r} needs it")
    if form.together is not None:
        faults += _together_faults(form.together, fields, values, filled)
    return ({}, faults) if faults else (values, [])


def _together_faults(
    rule: Together, fields: Mapping[str, Field], values: Mapping[str, Value], filled: Collection[str]
) -> Iterator[str]:
    """What is wrong with fields of which one is filled in just when another field says so."""
    decides = fields[rule.field]
    given = [repr(fields[name].title) for name in rule.fields if name in filled]
    said = values.get(rule.field)
    if said in rule.values and not given:
        titles = ", ".join(repr(fields[name].title) for name in rule.fields)
        yield f"{decides.shown(said)!r} needs at least one of {titles}"
    elif said not in rule.values and given:
        words = " or ".join(repr(decides.shown(value)) for value in rule.values)
        yield f"a text in {', '.join(given)} goes with {words} only"


def read_field(field: Field, cell: Typed, language: str) -> tuple[Value, str]:
    """The value of one cell, and what is wrong with it ("" for nothing); an empty cell is None without a fault."""
    text = unguarded(unicodedata.normalize("NFC", plain(as_text(cell))).strip())
    if not text:
        return None, ""
    if field.kind != "text":
        text = text.removeprefix(MARK)  # typed to keep a number from becoming a date
        if field.abstain and folded(text) == folded(field.abstain):
            return None, ""
        for choice, label in zip(field.choices, field.labels or field.choices, strict=True):
            if not isinstance(cell, bool) and _is_choice(field, text, choice, label):
                return _value(field, choice), ""
    if is_mangled(cell, language):
        return None, f"a spreadsheet seems to have made a date of what was typed: {text!r}; type it again as text"
    if is_error(text):
        return None, f"a spreadsheet took what was typed for a formula: {text!r}; type it again as text"
    if field.kind == "text":
        return text, ""
    allowed = ", ".join((*map(field.shown, field.choices), *((field.abstain,) if field.abstain else ())))
    return None, f"{_cut(text)!r} is none of {allowed}"


def _is_choice(field: Field, text: str, choice: str, label: str) -> bool:
    if field.kind == "scale" and number(text) is not None:
        return number(text) == number(choice)
    return folded(text) in (folded(choice), folded(label))


def _value(field: Field, choice: str) -> Value:
    if field.kind == "choice":
        return choice
    value = float(choice)
    return int(value) if value.is_integer() else value


# --- words ------------------------------------------------------------------------------------------------------------


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _rows_are(n: int) -> str:
    return "1 row is" if n == 1 else f"{n:,} rows are"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(map(repr, names[:MOST_NAMED])) + (f" and {rest:,} more" if rest > 0 else "")
