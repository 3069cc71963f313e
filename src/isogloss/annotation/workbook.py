"""A sheet as an Excel workbook: a page with the instructions, and one with the rows."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isogloss.annotation.cells import plain
from isogloss.annotation.form import Field, Form
from isogloss.annotation.grids import KEYS
from isogloss.annotation.language import is_right_to_left
from isogloss.annotation.reading import Row, shown_text

INFO = "info"
"""Name of the page with the instructions."""
TEXT = "@"
LINE = 15
"""Height of a line in points."""
HIGHEST = 400
"""Of a row in points; spreadsheets allow 409."""
TO_WRITE = 4
"""Lines that a row has at least where texts are to be written."""
SHADES = {"title": "D9E2EC", "heading": "", "shown": "", "field": "FFF8E1", "key": "F2F2F2"}
"""Looks of cells, and the colour behind each."""


def legend(field: Field) -> list[tuple[str, str]]:
    """What may be written in a field, each with its meaning; of a choice with labels, the labels."""
    meanings = field.labels if field.kind == "scale" and field.labels else ("",) * len(field.choices)
    pairs = list(zip(map(field.shown, field.choices), meanings, strict=True))
    return [*pairs, (field.abstain, field.abstain_label)] if field.abstain else pairs


def write_workbook(path: Path, form: Form, rater: str, rows: Sequence[Row]) -> None:
    """Write one rater's workbook; every cell is text, and only the cells to fill in can be changed.

    The rows' page is protected without a password, against slips of the hand: sorting one column alone would put
    answers beside the wrong texts.
    """
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.creator = "isogloss"
    backwards = is_right_to_left(form.language, form.title)
    add_styles(book, backwards=backwards)
    info = book.active
    info.title = INFO
    page = book.create_sheet(form.task)
    choices = fill_info(info, form)
    fill_rows(page, form, rater, rows, choices)
    for sheet in (info, page):
        sheet.sheet_view.rightToLeft = backwards
    book.save(path)


def add_styles(book: Any, *, backwards: bool) -> None:
    """Looks of cells, by name; all hold text."""
    from openpyxl.styles import Alignment, Font, NamedStyle, PatternFill, Protection

    for name, shade in SHADES.items():
        style = NamedStyle(f"isogloss {name}", number_format=TEXT)
        style.alignment = Alignment(wrap_text=True, vertical="top", readingOrder=2 if backwards else 0)
        style.protection = Protection(locked=name != "field")
        if name in ("title", "heading"):
            style.font = Font(bold=True)
        if shade:
            style.fill = PatternFill("solid", fgColor=shade)
        book.add_named_style(style)


def put(sheet: Any, row: int, column: int, text: str, look: str = "shown") -> None:
    """Write a text that stays a text, whatever it looks like."""
    cell = sheet.cell(row, column)
    if text:
        cell.value = plain(text)
        cell.data_type = "s"  # else "=…" is a formula
    cell.style = f"isogloss {look}"


def fill_info(sheet: Any, form: Form) -> dict[str, str]:
    """Write title, paragraphs and choices; returns field → the range that its choices stand in."""
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 24, 90
    put(sheet, 1, 2, form.title, "heading")
    row = 2
    for paragraph in form.instructions:
        put(sheet, row, 2, paragraph)
        set_height(sheet, row, n_lines(paragraph, 90))
        row += 1
    ranges = {}
    for field in form.fields:
        lines = legend(field)
        if not lines:
            continue
        put(sheet, row + 1, 1, field.title, "heading")
        for index, (choice, meaning) in enumerate(lines, row + 2):
            put(sheet, index, 1, choice)
            put(sheet, index, 2, meaning)
        ranges[field.name] = f"{INFO}!$A${row + 2}:$A${row + 1 + len(lines)}"
        row += 2 + len(lines)
    return ranges


def n_lines(text: str, width: int) -> int:
    """Lines that a text takes in a column of so many characters, with some room, since letters differ in width."""
    return sum(max(1, math.ceil(_breadth(line) * 1.15 / width)) for line in text.split("\n"))


def _breadth(line: str) -> int:
    """Characters of a line, those of full width twice."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def set_height(sheet: Any, row: int, n: int) -> None:
    """Make a row so many lines high; not all programs do that by themselves for a text that is wrapped."""
    sheet.row_dimensions[row].height = min(LINE * n, HIGHEST)


def fill_rows(sheet: Any, form: Form, rater: str, rows: Sequence[Row], choices: dict[str, str]) -> None:
    """Write the titles and one row for each thing to rate."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    columns = [("shown", name, title) for name, title in form.shown]
    columns += [("field", field.name, field.title) for field in form.fields]
    columns += [("key", key, key) for key in KEYS]
    kinds = {field.name: field.kind for field in form.fields}
    widths: dict[str, int] = {}
    for column, (role, name, title) in enumerate(columns, 1):
        put(sheet, 1, column, title, "title")
        letter = get_column_letter(column)
        narrow = role == "key" or (role == "field" and kinds[name] != "text")
        longest = max((len(shown_text(row, name)) for row in rows), default=0) if role == "shown" else 0
        widths[name] = 16 if narrow else 48 if role == "field" or longest > 24 else 20
        sheet.column_dimensions[letter].width = widths[name]
        if role == "field" and name in choices and rows:
            rule = DataValidation(type="list", formula1=choices[name], allow_blank=True, showErrorMessage=True)
            rule.add(f"{letter}2:{letter}{len(rows) + 1}")
            sheet.add_data_validation(rule)
    for index, row in enumerate(rows, 2):
        keys = {"item_id": str(row["item_id"]), "task": form.task, "rater": rater}
        lines = [n_lines(shown_text(row, name), widths[name]) for name, _ in form.shown]
        set_height(sheet, index, max([*lines, TO_WRITE if "text" in kinds.values() else 1]))
        for column, (role, name, _) in enumerate(columns, 1):
            text = "" if role == "field" else keys[name] if role == "key" else shown_text(row, name)
            put(sheet, index, column, text, role)
    sheet.freeze_panes = "A2"
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = False  # widths and heights may be changed
