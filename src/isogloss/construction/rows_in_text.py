"""Read rows out of a model's reply: strictly first, repaired only where that fails, and marked then."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_FENCE = re.compile(r"```[^\S\n]*\w*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_TRAILING = re.compile(r",(\s*[\]}])")
_DOUBLE = str.maketrans("“”„‟＂", '"""""')
_ANGLED = str.maketrans("«»", '""')
_SINGLE = str.maketrans("‘’‚", "'''")
EMPTY_LIST = "an empty list"


class RowsRead(NamedTuple):
    """What a reply holds."""

    rows: tuple[dict[str, str], ...]
    """Each with just the columns asked for."""
    repaired: bool
    """Plain reading failed, and something was set aside or mended."""
    n_dropped: int
    """Rows that can't be read, lack a column, or have one that is no text or holds neither letter nor digit."""
    note: str = ""
    """What was mended, or why there is no row."""


class _Found(NamedTuple):
    values: list[object]
    note: str
    """What was mended; empty for a reply that is as it was asked for."""
    n_unreadable: int = 0


def read_rows(text: str, columns: Sequence[str]) -> RowsRead:
    """Read a JSON list of objects, or JSON lines, with the given columns.

    Strict reading takes a reply that is nothing else. Where it fails these are tried in turn: a list inside one object;
    what stands in code fences; the outermost list in prose; each object by itself. There trailing commas, single and
    typographic quotes and line breaks inside a text are mended, and a reply that was cut off gives its whole rows.

    Parameters
    ----------
    text : str
        The reply, without reasoning.
    columns : sequence of str
        Names that each row must have, each with a text.

    Examples
    --------
    >>> read_rows('[{"group": "tailors", "claim": "are vain"}]', ["group", "claim"]).rows
    ({'group': 'tailors', 'claim': 'are vain'},)
    >>> read_rows('Sure! [{"group": "tailors", "claim": "are vain",}, {"group": "bak', ["group", "claim"])[1:3]
    (True, 1)
    """
    found = _strict(text, columns) or _in_parts(text, columns) or _one_by_one(text, columns)
    if found is None:
        return RowsRead((), False, 0, "no rows in the reply" if text.strip() else "an empty reply")
    if not found.values and not found.n_unreadable:
        return RowsRead((), bool(found.note), 0, EMPTY_LIST)
    rows, in_other_case = [], False
    for value in found.values:
        row, other = _row(value, columns)
        in_other_case |= other
        if row is not None:
            rows.append(row)
    note = found.note or ("names of columns in another case" if in_other_case else "")
    n_dropped = len(found.values) - len(rows) + found.n_unreadable
    if not rows:
        return RowsRead((), False, n_dropped, f"no row has {' and '.join(columns)}")
    return RowsRead(tuple(rows), bool(note), n_dropped, note)


def _row(value: object, columns: Sequence[str]) -> tuple[dict[str, str] | None, bool]:
    """A row with just the columns, if it has them; and whether their names had to be read in another case."""
    if not isinstance(value, dict):
        return None, False
    other = not all(name in value for name in columns)
    named = {str(key).strip().lower(): cell for key, cell in value.items()} if other else value
    cells = [named.get(name) for name in columns]
    texts = [_text(cell) for cell in cells if isinstance(cell, str) and any(map(str.isalnum, cell))]
    if len(texts) < len(columns):
        return None, False
    return dict(zip(columns, texts, strict=True)), other


def _text(cell: str) -> str:
    """On one line, and without halves of characters, which can't be written to a file."""
    return " ".join(cell.encode("utf-8", "replace").decode("utf-8").split())


def _strict(text: str, columns: Sequence[str]) -> _Found | None:
    """A JSON list, JSON lines, or a single row; a list inside one object counts as mended."""
    text = text.strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _lines(text)
    if isinstance(value, list):
        return _Found(value, "")
    if not isinstance(value, dict):
        return None
    parts = [part for part in value.values() if isinstance(part, list | dict)]
    if not parts or _row(value, columns)[0] is not None:
        return _Found([value], "")
    return _Found(parts[0], "list taken out of an object") if len(parts) == 1 and isinstance(parts[0], list) else None


def _lines(text: str) -> _Found | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    try:
        values = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None
    return _Found(values, "") if all(isinstance(value, dict) for value in values) else None


def _in_parts(text: str, columns: Sequence[str]) -> _Found | None:
    """The lists in code fences, all of them; or the outermost list in prose."""
    fenced = [_strict(part, columns) for part in _FENCE.findall(text) if part.strip()]
    whole = [found for found in fenced if found is not None]
    if whole and len(whole) == len(fenced) and "{" not in _FENCE.sub("", text):
        return _Found([value for found in whole for value in found.values], "code fence set aside")
    first, last = text.find("["), text.rfind("]")
    if not 0 <= first < last:
        return None
    part = text[first : last + 1]
    if "{" in text[:first] + text[last + 1 :]:
        return None  # rows outside the list would be lost
    for note, attempt in (
        ("words around the list set aside", part),
        ("trailing commas set aside", _TRAILING.sub(r"\1", part)),
    ):
        try:
            value = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        if any(isinstance(row, dict) for row in value):
            return _Found(value, note)
    return None


def _one_by_one(text: str, columns: Sequence[str]) -> _Found | None:
    """Every object by itself, wherever it stands; those that can't be read, and one that is cut off, are counted."""
    values: list[object] = []
    n_unreadable = 0
    at = text.find("{")
    while at >= 0:
        value, end = _object_at(text, at)
        if value is None:
            n_unreadable += not text[at + 1 : text.find("{", end)].rstrip().endswith(("[", ":"))
        elif _row(value, columns)[0] is None and "{" in text[at + 1 : end]:
            end = at + 1  # an object around the rows, not one of them
        else:
            values.append(value)
        at = text.find("{", end)
    return _Found(values, "rows read one by one", n_unreadable) if values or n_unreadable else None


def _object_at(text: str, at: int) -> tuple[object | None, int]:
    """The object that begins there, as it is or mended, and where to go on."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        pass
    found = _OBJECT.match(text, at)
    if found is None:
        return None, at + 1
    for attempt in _mended(found.group()):
        try:
            return json.loads(attempt, strict=False), found.end()
        except (ValueError, RecursionError):
            pass
        try:
            with warnings.catch_warnings(action="ignore"):  # of escapes that Python doesn't know
                return ast.literal_eval(attempt), found.end()
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
    return None, found.end()


def _mended(text: str) -> Iterator[str]:
    """Ways to read an object that is no JSON, those that change least first."""
    text = _TRAILING.sub(r"\1", text)
    yield text
    for quotes in (_DOUBLE, _ANGLED, _SINGLE):
        yield text.translate(quotes)
    yield re.sub(r"([{,]\s*)([^\W\d]\w*)\s*:", r'\1"\2":', text.translate(_DOUBLE))
