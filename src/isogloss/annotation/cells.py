"""Single cells: kept from damage by spreadsheets on their way out, and read back without guessing."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, time
from typing import TypeAlias

from isogloss.annotation.language import folded, months

MARK = "'"
"""Put before a text that a spreadsheet would take for a formula, a number or a date."""
FORMULA_STARTS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "＝",
    "＋",
    "－",
    "＠",
)  # wide forms are formulas in some programs
COUNT = re.compile(r"0|[1-9][0-9]{0,14}")  # comes back as it was
NUMBER_LIKE = re.compile(r"(?=.*\d)[\d\s.,:/\\%()eE+\-$€£¥]+")
DATE_LIKE = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|º)?[-/.,\s]*[^\W\d_]+\.?(?:[-/.,\s]+\d{1,4})?|[^\W\d_]{3,}\.?[-/.,\s]*\d{1,4}"
)
TRUTH_WORDS = {"true", "false", "verdadero", "falso", "verdadeiro", "vrai", "faux", "wahr", "falsch"}
UNKEPT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
LONG = 24
"""Longer texts are no numbers or dates to any spreadsheet."""

Typed: TypeAlias = str | bool | int | float | date | time | None
"""What a cell of a workbook holds; all are texts in a CSV file."""


def plain(text: str) -> str:
    """A text without control signs and halves of signs, which no spreadsheet keeps; line breaks and tabs stay."""
    return UNKEPT.sub("", text)


def guarded(text: str) -> str:
    """A text as it is safe in a CSV file: with an apostrophe before what a spreadsheet would change or carry out.

    Examples
    --------
    >>> guarded("=1+1"), guarded("3-5"), guarded("007"), guarded("late again")
    ("'=1+1", "'3-5", "'007", 'late again')
    """
    return MARK + text if needs_guard(text) else text


def unguarded(cell: str) -> str:
    """The text that was guarded. An apostrophe stays where `guarded` wouldn't have put one.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis so"), unguarded(guarded("'tis so"))
    ('=1+1', "'tis so", "'tis so")
    """
    return cell[1:] if cell.startswith(MARK) and needs_guard(cell[1:]) else cell


def needs_guard(text: str) -> bool:
    """Whether a spreadsheet might take a text for something else."""
    bare = text.strip()
    if not bare:
        return False
    if text.startswith(MARK):  # only where taking the apostrophe off would change it
        return needs_guard(text[1:])
    if text.startswith(FORMULA_STARTS) or bare.startswith(FORMULA_STARTS):
        return True
    if COUNT.fullmatch(text):
        return False
    if bare.casefold() in TRUTH_WORDS or NUMBER_LIKE.fullmatch(bare):
        return True
    return len(bare) <= LONG and DATE_LIKE.fullmatch(bare) is not None


def same_text(shown: str, cell: str) -> bool:
    """Whether a text came back as it went out, guarded or not; white space and composed accents aside."""
    return squeezed(shown) in (squeezed(cell), squeezed(unguarded(cell)))


def squeezed(text: str) -> str:
    """A text in composed form, each run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", plain(text)).split())


def as_text(cell: Typed) -> str:
    """A cell as text: 4.0 is "4", a date its ISO form, an empty cell "".

    Examples
    --------
    >>> as_text(4.0), as_text(2.5), as_text(None), as_text(datetime(2026, 5, 3))
    ('4', '2.5', '', '2026-05-03')
    """
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def number(text: str) -> float | None:
    """A number that somebody typed: "4", " 4 ", "4.0" and "4,0" are 4; None for anything else.

    Examples
    --------
    >>> number(" 4,0 "), number("4.5"), number("3-5"), number("nan")
    (4.0, 4.5, None, None)
    """
    bare = text.strip().replace(",", ".", 1)
    return float(bare) if re.fullmatch(r"[+-]?\d+(?:\.\d*)?", bare) else None


def is_error(text: str) -> bool:
    """Whether a cell holds a spreadsheet's word for a formula that failed: `#NAME?`, `#¿NOMBRE?`, `#REF!`."""
    return re.fullmatch(r"#[¿¡]?[^\W\d_a-z][^\W_a-z/]*(?:/[0A-Z])?[!?]?", text.strip()) is not None


def is_mangled(cell: Typed, language: str) -> bool:
    """Whether a spreadsheet has made a date of what was typed: a date, or a text such as 2026-05-03 or "05-mar"."""
    if isinstance(cell, date | time):
        return True
    if not isinstance(cell, str):
        return False
    bare = cell.strip()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?|\d{1,2}([-/.])\d{1,2}\1\d{2,4}", bare):
        return True
    found = re.fullmatch(r"\d{1,4}[-/. ]([^\W\d_]+)\.?(?:[-/. ]\d{2,4})?|([^\W\d_]+)\.?[-/. ]\d{1,4}", bare)
    return found is not None and folded(found[1] or found[2]) in months(language)
