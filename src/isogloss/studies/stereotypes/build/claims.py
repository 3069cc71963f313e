"""Claims to compare: own stereotypes, rows of public data sets, a user's table of what is documented."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isogloss.construction.content_words import is_inflected, name_words, word_list, words_of
from isogloss.construction.pipeline import Row
from isogloss.errors import DataError
from isogloss.files import separator_of
from isogloss.records import Item, content_id
from isogloss.studies.stereotypes.items import load_items, read_text
from isogloss.studies.stereotypes.settings import StereotypeSettings

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import OverlapSet

SEEGULL = ("identity", "attribute")
DOCUMENTED = ("claim", "group", "category", "region", "citation")
SHORT = 3
"""Letters of words before a group's name ("the", "los", "de la") that are set aside with it."""


class Claim(NamedTuple):
    """Something said of a group, wherever it comes from."""

    id: str
    group: str
    """Empty where it isn't known."""
    text: str
    """As people are shown it."""
    said: str
    """What is compared: the text without the group's name."""
    category: str
    language: str
    place: str = ""
    """Country code of a stereotype; region that a documented claim is about."""
    citation: str = ""


def own_claim(row: Row) -> Claim:
    """A stereotype of the construction as a claim."""
    group, text, language = (str(row[name]) for name in ("group", "claim", "language"))
    said = without_group(text, group, language)
    return Claim(str(row["id"]), group, text, said, str(row["category"]), language, str(row["country"]))


def without_group(text: str, group: str, language: str) -> str:
    """A claim without the group's name and the small words before it: "La gente de la costa es vaga" → "es vaga".

    Where nothing would be left, or the name isn't there, the text stays as it is.
    """
    names = name_words(group, language)
    person = word_list(language).person
    kept: list[str] = []
    for token in text.split():
        words = words_of(token)
        if words and any(is_inflected(words[0], name) for name in names):
            while kept and _is_small(kept[-1], person):
                kept.pop()
            continue
        kept.append(token)
    return " ".join(kept) if any(words_of(token) for token in kept) else text


def _is_small(token: str, person: frozenset[str]) -> bool:
    words = words_of(token)
    return bool(words) and (len(words[0]) <= SHORT or words[0] in person)


# --- data sets --------------------------------------------------------------------------------------------------------


def read_set(one: OverlapSet) -> list[Claim]:
    """The stereotypes of a data set: SeeGULL, StereoSet, CrowS-Pairs, a set of our own, or a table of claims.

    - *SeeGULL*: identity and attribute of each row.
    - *StereoSet* and sets of our own: the target, and the sentence labelled stereotype.
    - *CrowS-Pairs*: the more stereotypical sentence; the group is what it has and the other sentence hasn't.
    - A table with the columns of `documented_claims`.

    Raises
    ------
    DataError
        For a file that is none of these, naming file, row and column.
    """
    path = one.file
    header = _header(path) if path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".txt") else ()
    if set(SEEGULL) <= set(header):
        return _distinct(_seegull(path), one.name)
    if set(DOCUMENTED) <= set(header):
        return _distinct(_documented(path, one.language), one.name)
    dataset = load_items(path, StereotypeSettings(language=one.language))
    claims = [_from_item(item) for item in dataset.items]
    if not any(claims):
        raise DataError(f"{path} holds no stereotypes; expected SeeGULL, StereoSet, CrowS-Pairs, or {_columns()}")
    return _distinct((claim for claim in claims if claim is not None), one.name)


def documented_claims(path: Path, language: str) -> list[Claim]:
    """A user's table of documented claims: claim, group, category, region, citation; and language, if it has that.

    Parameters
    ----------
    path : Path
        CSV; only `claim` must be filled in.
    language : str
        BCP 47 tag of the claims, where the table has no column for it.

    Raises
    ------
    DataError
        Naming file, row and column.
    """
    return _distinct(_documented(path, language), "documented")


def _columns() -> str:
    return f"a CSV with the columns {', '.join(DOCUMENTED)}"


def _distinct(claims: Iterator[Claim], name: str) -> list[Claim]:
    """Each once, under an id that goes by content, so that a person's decisions hold when rows are moved."""
    found: dict[str, Claim] = {}
    for claim in claims:
        own = claim.id or content_id([claim.group, claim.text, claim.category]).removeprefix("b2:")[:16]
        found.setdefault(f"{name}:{own}", claim)
    return [claim._replace(id=id) for id, claim in found.items()]


def _header(path: Path) -> Sequence[str]:
    return _reader(read_text(path)).fieldnames or ()


def _reader(text: str) -> csv.DictReader[str]:
    return csv.DictReader(StringIO(text, newline=""), delimiter=separator_of(text))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    reader = _reader(read_text(path))
    for column in columns:
        if column not in (reader.fieldnames or ()):
            raise DataError(f"{path} has no column {column!r}; expected {_columns()}")
    for row in reader:
        yield (
            f"{path} row {reader.line_num}",
            {name: " ".join((cell or "").split()) for name, cell in row.items() if name and not isinstance(cell, list)},
        )


def _seegull(path: Path) -> Iterator[Claim]:
    for where, row in _rows(path, SEEGULL):
        group, attribute = row["identity"], row["attribute"]
        if not group or not attribute:
            raise DataError(f"{where}: column {'attribute' if group else 'identity'!r} is empty")
        yield Claim("", group, f"{group}: {attribute}", f"are {attribute}", "nationality", "en")


def _documented(path: Path, language: str) -> Iterator[Claim]:
    for where, row in _rows(path, DOCUMENTED):
        if not row["claim"]:
            raise DataError(f"{where}: column 'claim' is empty")
        tag = row.get("language") or language
        said = without_group(row["claim"], row["group"], tag)
        yield Claim("", row["group"], row["claim"], said, row["category"], tag, row["region"], row["citation"])


def _from_item(item: Item) -> Claim | None:
    """What an item says stereotypically; None where it has no such sentence (BBQ)."""
    layout = item.fields.get("layout")
    texts = {str(option.role): option.text for option in item.options}
    if layout not in ("stereoset", "crows_pairs", "own") or "stereotype" not in texts:
        return None
    language = item.language or "en"
    text = texts["stereotype"]
    if layout == "crows_pairs":
        return Claim(item.id, _only_in(text, texts["anti-stereotype"]), text, text, item.fields["category"], language)
    group = item.fields["target"]
    return Claim(item.id, group, text, without_group(text, group, language), item.fields["category"], language)


def _only_in(text: str, other: str) -> str:
    """The words of a sentence that another hasn't at the same place: of a pair of CrowS-Pairs, the group."""
    left, right = text.split(), other.split()
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return " ".join(word for kind, a, b, _, _ in blocks if kind != "equal" for word in left[a:b]).strip(".,;:!?")
