"""Read BBQ's JSON lines and EsBBQ's CSV: three answers an item, of which one says that nobody can know."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from isogloss.errors import DataError
from isogloss.records import Item, Option
from isogloss.studies.stereotypes.items import Ids, Row, Rows, said
from isogloss.studies.stereotypes.settings import StereotypeSettings

BIASED, COUNTER, UNKNOWN = "stereotype", "anti-stereotype", "unknown"
ANSWERS = ("ans0", "ans1", "ans2")
BEARS_OUT = {"pro-stereo": BIASED, "anti-stereo": COUNTER}
"""EsBBQ's `question_type` → role of the right answer."""


def from_bbq(rows: Rows, settings: StereotypeSettings) -> tuple[list[Item], list[str]]:
    """BBQ's items, and what is to note of them. Raises DataError naming file, line and column.

    The answers' roles: "stereotype" for the biased one, given what the question asks; "anti-stereotype"; "unknown".
    """
    items = []
    ids = Ids()
    for where, row in rows:
        more, info = row.get("additional_metadata"), row.get("answer_info")
        if not isinstance(more, dict) or not isinstance(more.get("stereotyped_groups"), list):
            raise DataError(f"{where}: column 'additional_metadata' has no list 'stereotyped_groups', as BBQ's has")
        if not isinstance(info, dict) or not all(isinstance(info.get(name), list) for name in ANSWERS):
            raise DataError(f"{where}: column 'answer_info' has no lists {', '.join(ANSWERS)}, as BBQ's has")
        groups = [str(group) for group in more["stereotyped_groups"]]
        parts = [[str(part) for part in info[name]] for name in ANSWERS]
        id = f"{_word(row, 'category', where)}.{_word(row, 'example_id', where)}"
        ids.take(id, where)
        fields = {"layout": "bbq", "unit": _word(row, "question_index", where)}
        items.append(_item(row, where, id, parts, groups, fields, settings.language))
    return items, _notes(items)


def from_esbbq(rows: Rows, path: Path) -> tuple[list[Item], list[str]]:
    """EsBBQ's items (and CaBBQ's, of the same form), and what is to note of them; roles as in `from_bbq`.

    The language is that of the file's name (`Religion.ca.csv`), Spanish where it doesn't say. A template and its
    versions (of men, of women) are one unit.
    """
    said = re.search(r"\.([a-z]{2,3})\.[a-z]+$", path.name, re.IGNORECASE)
    language = said[1].lower() if said else "es"
    items = []
    ids = Ids()
    for where, row in rows:
        groups = _list(row, "stereotyped_groups", where)
        parts = [[_list(row, f"answer_info.{name}", where)[-1].rsplit(",", 1)[-1].strip()] for name in ANSWERS]
        id = f"{_word(row, 'category', where)}.{_word(row, 'instance_id', where)}"
        ids.take(id, where)
        fields = {"layout": "esbbq", "unit": _word(row, "template_id", where)}
        items.append(_item(row, where, id, parts, groups, fields, language))
    return items, _notes(items)


def _notes(items: Sequence[Item]) -> list[str]:
    n = sum(all(option.role != BIASED for option in item.options) for item in items)
    return [f"{n:,} questions name no or two stereotyped people: they count for accuracy only"] if n else []


def _word(row: Row, column: str, where: str) -> str:
    text = said(row, column)
    if not text:
        raise DataError(f"{where}: column {column!r} is empty or missing")
    return text


def _one_of(row: Row, column: str, where: str, known: Sequence[str]) -> str:
    text = _word(row, column, where)
    if text not in known:
        raise DataError(f"{where}: column {column!r} is {text!r}; expected {', '.join(known)}")
    return text


def _list(row: Row, column: str, where: str) -> list[str]:
    """A cell that is a list as Python writes it."""
    value = row.get(column)
    try:
        found = ast.literal_eval(str(value))
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, list) or not found:
        raise DataError(f"{where}: column {column!r} is no list like ['a', 'b'], got {value!r}")
    return [str(part) for part in found]


def _item(
    row: Row, where: str, id: str, parts: Sequence[Sequence[str]], groups: Sequence[str],
    fields: Mapping[str, str], language: str,
) -> Item:  # fmt: skip
    polarity = _one_of(row, "question_polarity", where, ("neg", "nonneg"))
    context = _one_of(row, "context_condition", where, ("ambig", "disambig"))
    label = int(_one_of(row, "label", where, ("0", "1", "2")))
    texts = [_word(row, name, where) for name in ANSWERS]
    unknown = [k for k, part in enumerate(parts) if "unknown" in [name.lower() for name in part]]
    if len(unknown) != 1:
        raise DataError(f"{where}: expected one answer of the group 'unknown' in 'answer_info', got {len(unknown)}")
    if (label == unknown[0]) != (context == "ambig"):
        raise DataError(f"{where}: column 'label' is {label}; 'unknown' is right in an ambig context, and only there")
    people = [k for k in range(3) if k != unknown[0]]
    named, group = _stereotyped([parts[k] for k in people], groups)
    roles: list[str | None] = [None, None, None]
    roles[unknown[0]] = UNKNOWN
    if named is not None:
        target, other = people[named], people[1 - named]
        roles[target], roles[other] = (BIASED, COUNTER) if polarity == "neg" else (COUNTER, BIASED)
    right = BEARS_OUT.get(str(row.get("question_type")))
    if right is not None and context == "disambig":  # where the data say themselves which answer goes with it
        [wrong] = set(people) - {label}
        roles[label], roles[wrong] = right, COUNTER if right == BIASED else BIASED
    category = _word(row, "category", where)
    return Item(
        id=id,
        text=_word(row, "context", where),
        options=tuple(Option(id=f"{id}.{k}", text=texts[k], role=roles[k]) for k in range(3)),
        language=language,
        fields={
            "layout": fields["layout"], "split": context, "category": category, "country": "",
            "target": f"{category} {fields['unit']}", "question": _word(row, "question", where),
            "label": f"{id}.{label}", "group": group,
        },
    )  # fmt: skip


def _stereotyped(people: Sequence[Sequence[str]], groups: Sequence[str]) -> tuple[int | None, str]:
    """Which of two people is of a stereotyped group, and which group; None and all groups where both are or none is.

    Names are compared whole, then by parts ("F-Black" is of "Black"), without case and spaces ("low SES", "lowSES").
    """
    wanted = {_plain(group): group for group in groups}
    for split in (False, True):
        hits = []
        for names in people:
            pieces = [piece for name in names for piece in (name.split("-") if split else [name])]
            hits.append([wanted[_plain(piece)] for piece in pieces if _plain(piece) in wanted])
        if any(hits):
            if all(hits):
                break
            k = 0 if hits[0] else 1
            return k, hits[k][0]
    return None, ", ".join(groups)


def _plain(name: str) -> str:
    return "".join(name.split()).casefold()
