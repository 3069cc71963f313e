"""Read rows out of a model's reply: strictly first, repaired only where that fails, and marked then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_FENCE = re.compile(r"```(?:json[l5]?|JSON)?\s*(.*?)(?:```|\Z)", re.DOTALL)
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'"})


class RowsRead(NamedTuple):
    """What a reply holds."""

    rows: tuple[dict[str, str], ...]
    """Each with just the columns asked for."""
    repaired: bool
    """Plain reading failed, and something was set aside or mended."""
    n_dropped: int
    """Rows that lack a column, or have one that is no text."""
    note: str = ""
    """What was mended, or why there is no row."""


def read_rows(text: str, columns: Sequence[str]) -> RowsRead:
    """Read a JSON list of objects, or JSON lines, with the given columns.

    Strict reading takes a reply that is nothing else. Where it fails these are tried in turn: what stands in a code
    fence; the outermost list in prose; each object by itself, typographic quotes made plain, trailing commas and
    single quotes mended, so that the whole rows of a reply that was cut off are kept.

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
    >>> read_rows('Sure! [{"group": "tailors", "claim": "are vain",}, {"group": "bak', ["group", "claim"]).repaired
    True
    """
    plain = _plain(text.strip())
    if plain is not None:
        return _checked(plain, columns, note="")
    for note, part in _parts(text):
        found = _plain(part)
        if found is not None:
            return _checked(found, columns, note=note)
    objects = list(_objects(text))
    if objects:
        return _checked(objects, columns, note="rows read one by one")
    return RowsRead((), False, 0, "no rows in the reply" if text.strip() else "an empty reply")


def _plain(text: str) -> list[object] | None:
    """A JSON list, one object, or JSON lines; None for anything else."""
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            return None
        try:
            return [json.loads(line) for line in lines]
        except (json.JSONDecodeError, RecursionError):
            return None
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        return lists[0] if len(lists) == 1 else [value]
    return value if isinstance(value, list) else None


def _parts(text: str) -> Iterator[tuple[str, str]]:
    for fenced in _FENCE.findall(text):
        yield "code fence set aside", fenced.strip()
    first, last = text.find("["), text.rfind("]")
    if 0 <= first < last:
        yield "words around the list set aside", text[first : last + 1]
        yield "trailing commas set aside", re.sub(r",\s*([\]}])", r"\1", text[first : last + 1])


def _objects(text: str) -> Iterator[object]:
    for found in _OBJECT.findall(text):
        for attempt in (found, re.sub(r",\s*}", "}", found), _mended(found)):
            try:
                value = json.loads(attempt)
            except (json.JSONDecodeError, RecursionError):
                continue
            yield value
            break


def _mended(text: str) -> str:
    text = re.sub(r",\s*}", "}", text.translate(_QUOTES))
    if '"' not in text:
        text = re.sub(r"(?<=[{,:\s])'|'(?=\s*[},:])", '"', text)
    return re.sub(r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":', text)


def _checked(values: list[object], columns: Sequence[str], *, note: str) -> RowsRead:
    rows = []
    for value in values:
        named = {str(k).strip().lower(): v for k, v in value.items()} if isinstance(value, dict) else {}
        cells = {name: named.get(name) for name in columns}
        if all(isinstance(cell, str) and cell.strip() for cell in cells.values()):
            rows.append({name: " ".join(str(cell).split()) for name, cell in cells.items()})
    return RowsRead(tuple(rows), bool(note), len(values) - len(rows), note)
