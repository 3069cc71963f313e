"""Language packs: what replies look like in a language, read from one file each (`data/README.md`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from isogloss.errors import DataError, UnknownNameError
from isogloss.registry import unknown_name
from isogloss.text.normalise import WORD_CHARACTER, fold

DATA = Path(__file__).with_name("data")
NEVER = re.compile(r"(?!)")
_SPACE = re.compile(r" ([?*]?)")


class Phrases:
    """Patterns of a pack as one, searched in the text as written and in the folded one.

    A pattern with accents so finds only text that has them, one without finds either spelling.
    """

    __slots__ = ("pattern",)

    def __init__(self, patterns: Iterable[str], *, spaced: bool = True) -> None:
        """`spaced`: the script parts words by spaces, so a pattern must begin and end at a word's edge."""
        before, after = (rf"(?<!{WORD_CHARACTER})", rf"(?!{WORD_CHARACTER})") if spaced else ("", "")
        joined = "|".join(_SPACE.sub(lambda space: r"\s*" if space[1] else r"\s+", pattern) for pattern in patterns)
        self.pattern = re.compile(f"{before}(?:{joined}){after}") if joined else NEVER

    def search(self, text: str) -> re.Match[str] | None:
        """First place in `text` (any case), None if there is none."""
        cased = text.casefold()
        found = self.pattern.search(cased)
        if found is None and not cased.isascii():
            found = self.pattern.search(fold(cased))
        return found

    def match(self, text: str) -> re.Match[str] | None:
        """The same at the start of `text` only."""
        cased = text.casefold()
        return self.pattern.match(cased) or (None if cased.isascii() else self.pattern.match(fold(cased)))


@dataclass(frozen=True)
class Cues:
    """Words, folded, that show where in a reply the answer stands. All are optional in a pack."""

    answer: frozenset[str] = frozenset()
    """Nouns for the answer, and "the correct one": "answer", "respuesta", "correcta"."""
    option: frozenset[str] = frozenset()
    """Nouns that a letter follows: "option", "letra"."""
    numbers: frozenset[str] = frozenset()
    """Nouns that option numbers follow: "options", "números", "term"."""
    choose: frozenset[str] = frozenset()
    """Verbs of choosing, first person: "choose", "elijo"."""
    use: frozenset[str] = frozenset()
    """Verbs of using a word; only before numbers: "uso"."""
    copula: frozenset[str] = frozenset()
    glue: frozenset[str] = frozenset()
    """Small words between cue and answer: "la", "the", "que"."""
    right: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    reject: frozenset[str] = frozenset()
    """Words that take away from the options or measure the answer: "reject", "excluding", "confidence"."""
    final: frozenset[str] = frozenset()
    """Words that make a cue the last word on the matter."""
    conclude: frozenset[str] = frozenset()
    """Last word of a conclusion: "therefore", "(por lo) tanto"."""
    negation: frozenset[str] = frozenset()
    condition: frozenset[str] = frozenset()
    """Words that make what follows no statement: "if", "si", "could"."""
    conjunction: frozenset[str] = frozenset()
    disjunction: frozenset[str] = frozenset()
    contrast: frozenset[str] = frozenset()
    """Words that part a clause from one that limits it: "but", "sin embargo"."""
    rather: frozenset[str] = frozenset()
    """Those of them that go on with a denial: "sino"."""
    place: frozenset[str] = frozenset()
    """Words before a place's name that may stand as a label before a list: "in"."""
    both: frozenset[str] = frozenset()
    """Words that may stand before a list of numbers: "both", "only"."""
    because: frozenset[str] = frozenset()
    to: frozenset[str] = frozenset()
    """Words that make a range of two numbers: "to", "a", "hasta"."""
    letter_words: frozenset[str] = frozenset()
    """Words of one letter, so that the letter alone says nothing: "a", "y"."""


_CUE_KEYS = {"not": "negation", "if": "condition", "and": "conjunction", "or": "disjunction", "but": "contrast"}
"""Keys of a file that can't be names in Python."""
_CUE_PATTERNS = frozenset({"none", "all", "others"})
"""Keys of [cues] that hold patterns."""


@dataclass(frozen=True, eq=False)
class LanguagePack:
    """All that readers know of one language."""

    tag: str
    name: str
    checked_by: str
    spaced: bool
    yes: frozenset[str]
    """The strict words, folded."""
    no: frozenset[str]
    quick: Mapping[str, bool]
    """The strict words as they are mostly written → yes or no."""
    plain: Mapping[str, bool]
    """Every folded word or phrase that is a whole lenient answer → yes or no."""
    if_words: frozenset[str]
    """Words as written (with accents) that head a condition, although they fold to a yes: "si"."""
    affirm: Phrases
    """At the head of a clause, whatever follows: yes."""
    deny: Phrases
    yes_statement: Phrases
    no_statement: Phrases
    fillers: Phrases
    unknown: Phrases
    hedge: Phrases
    partly: Phrases
    """Hedges only where they open a reply or follow "but": "sometimes"."""
    limits: Phrases
    """Right after "but": what is said next holds elsewhere, or less: "in", "only"."""
    idioms: Phrases
    """Begin like a denial and are none: "no doubt"."""
    uses: Phrases
    """Verbs of using: after a no and "but", they take the no back."""
    never: frozenset[str]
    """Folded words that take a yes back wherever they stand in its sentence: "never", "nobody"."""
    contrast: frozenset[str]
    """Words like "but", as written and folded; Spanish "mas" is one, "más" isn't."""
    denial: frozenset[str]
    """Folded words that deny what follows: negations, without those that also mean "or"."""
    both: re.Pattern[str]
    """Yes and no in one breath, in folded text."""
    because: re.Pattern[str]
    """A yes or no word followed by a reason, in folded text; group 1 is the word."""
    decline: tuple[str, ...]
    disclaimer: tuple[str, ...]
    none: tuple[str, ...]
    all: tuple[str, ...]
    others: tuple[str, ...]
    """What leaves a list open, in folded text: "etc", "and others"."""
    unknowns: tuple[str, ...]
    cues: Cues
    verdict: Mapping[str, tuple[str, ...]]
    """modern, stereotyped, around, unclear → words."""


def _words(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    """A list of words or patterns of a file; () where it isn't given."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise DataError(f"{key!r} must be a list of words, got {value!r}")
    return tuple(value)


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) or "(?!)"


def _both(plain: Mapping[str, bool], cues: Cues) -> re.Pattern[str]:
    yes = _either(word for word, value in plain.items() if value)
    no = _either(word for word, value in plain.items() if not value)
    links = rf"(?:\s*,?\s*(?:{_either(cues.conjunction | cues.disjunction | cues.contrast)})\s*,?\s*|\s*/\s*)"
    edge = (rf"(?<!{WORD_CHARACTER})", rf"(?!{WORD_CHARACTER})")
    links += rf"(?:{WORD_CHARACTER}+\s+)?"  # "sí y también no"
    return re.compile(rf"{edge[0]}(?:(?:{yes}){links}(?:{no})|(?:{no}){links}(?:{yes})){edge[1]}")


def _cues(table: Mapping[str, object]) -> Cues:
    known = {field.name for field in fields(Cues)}
    given = {}
    for key in table:
        name = _CUE_KEYS.get(key, key)
        if name in known:
            given[name] = frozenset(map(fold, _words(table, key)))
        elif key not in _CUE_PATTERNS:
            usable = (known - set(_CUE_KEYS.values())) | set(_CUE_KEYS) | _CUE_PATTERNS
            raise unknown_name("key of [cues]", key, usable)
    return Cues(**given)


def _section(content: Mapping[str, object], name: str) -> Mapping[str, object]:
    section = content.get(name, {})
    if not isinstance(section, dict):
        raise DataError(f"[{name}] must be a table")
    return section


def _make_pack(tag: str, content: Mapping[str, object]) -> LanguagePack:
    yes_no, refusal = _section(content, "yes_no"), _section(content, "refusal")
    cue_table, verdict = _section(content, "cues"), _section(content, "verdict")
    for table, key in ((content, "name"), (content, "checked_by"), (yes_no, "yes"), (yes_no, "no")):
        if not table.get(key):
            raise DataError(f"{key!r} is missing")
    cues = _cues(cue_table)
    spaced = content.get("spaced", True) is True
    plain = {fold(word): False for key in ("no", "no_more") for word in _words(yes_no, key)}
    plain |= {fold(word): True for key in ("yes", "yes_more") for word in _words(yes_no, key)}

    def phrases(key: str) -> Phrases:
        return Phrases(_words(yes_no, key), spaced=spaced)

    def heads(key: str) -> Phrases:
        return Phrases(map(re.escape, map(str.casefold, _words(yes_no, key))), spaced=spaced)

    return LanguagePack(
        tag=tag,
        name=str(content["name"]),
        checked_by=str(content["checked_by"]),
        spaced=spaced,
        yes=frozenset(map(fold, _words(yes_no, "yes"))),
        no=frozenset(map(fold, _words(yes_no, "no"))),
        quick={
            written + stop: key == "yes"
            for key in ("no", "yes")
            for word in _words(yes_no, key)
            for written in (word, word.casefold(), word.capitalize(), word.upper(), fold(word), fold(word).capitalize())
            for stop in ("", ".")
        },
        plain=plain,
        if_words=frozenset(_words(yes_no, "if_words")),
        affirm=heads("affirm"),
        deny=heads("deny"),
        yes_statement=phrases("yes_statement"),
        no_statement=phrases("no_statement"),
        fillers=phrases("fillers"),
        unknown=phrases("unknown"),
        hedge=phrases("hedge"),
        partly=phrases("partly"),
        limits=phrases("limits"),
        idioms=phrases("idioms"),
        uses=phrases("uses"),
        never=frozenset(map(fold, _words(yes_no, "never"))),
        contrast=cues.contrast | frozenset(map(str.casefold, _words(cue_table, "but"))),
        denial=cues.negation - cues.disjunction,
        both=_both(plain, cues),
        because=re.compile(rf"({_either(plain)})\s+(?:{_either(cues.because)})(?!{WORD_CHARACTER})"),
        decline=_words(refusal, "decline"),
        disclaimer=_words(refusal, "disclaimer"),
        none=_words(cue_table, "none"),
        all=_words(cue_table, "all"),
        others=_words(cue_table, "others"),
        unknowns=_words(yes_no, "unknown"),
        cues=cues,
        verdict={key: _words(verdict, key) for key in ("modern", "stereotyped", "around", "unclear")},
    )


@lru_cache(maxsize=64)
def load_pack(path: Path) -> LanguagePack:
    """Read one language's file.

    Raises
    ------
    DataError
        Naming the file, for content that can't be used.
    """
    try:
        return _make_pack(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, re.error, DataError, UnknownNameError) as error:
        raise DataError(f"language pack {path}: {error}; see {DATA / 'README.md'}") from error


def languages() -> tuple[str, ...]:
    """Tags of all languages that there is a pack for, sorted."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml")))


@lru_cache(maxsize=1)
def all_packs() -> tuple[LanguagePack, ...]:
    """Every pack, by tag."""
    return tuple(load_pack(DATA / f"{tag}.toml") for tag in languages())


@lru_cache(maxsize=256)
def find_pack(language: str) -> LanguagePack:
    """The pack for a BCP 47 tag: its own, or that of the nearest shorter tag ("es-CL" → "es").

    Raises
    ------
    UnknownNameError
        If there is none; near tags are offered.
    """
    known = {tag.casefold(): tag for tag in languages()}
    parts = language.replace("_", "-").casefold().split("-")
    for length in range(len(parts), 0, -1):
        tag = known.get("-".join(parts[:length]))
        if tag is not None:
            return load_pack(DATA / f"{tag}.toml")
    raise unknown_name("language", language, known.values(), hint=f"a file in {DATA.name}/ of isogloss.text adds one")
