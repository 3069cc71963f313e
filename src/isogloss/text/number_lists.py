"""The grammar of one line of numbers: separators, glosses, and what makes it no list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from isogloss.text.judged import is_verdict
from isogloss.text.packs import Phrases, all_packs
from isogloss.text.tokens import CLOSERS, OPENERS, REACH, Token, vocabulary

_SEPARATORS = frozenset("/,;|&+")
_QUOTING = frozenset("([\"'")
_FEW = 8
"""Words that are looked at for "and others"."""
_LOOKED_AT = 400
"""Tokens of a line that are looked at for an article."""


class NumberList(NamedTuple):
    """A list of numbers found in a reply, or why what looked like one can't be read."""

    numbers: tuple[str, ...] = ()
    problem: str = ""
    bare: bool = True
    """Nothing but numbers and separators."""
    numbered: bool = False
    """Glosses follow the numbers as in "1. …", and "/" doesn't part them: maybe the reply's own numbering."""


RANGE = NumberList(problem="a range of numbers")
EITHER = NumberList(problem="alternatives, not a list")
UNCLEAR = NumberList(problem="numbers that may be no list of options")
OPEN = NumberList(problem="the list is left open")
BROKEN_OFF = NumberList(problem="the list breaks off")
OWN_NUMBERING = NumberList(problem="lines that number themselves")
SEVERAL = NumberList(problem="several lists")
UNLED = NumberList(problem="a label that leads to no answer")
WORDS = NumberList(problem="a number among words")
"""The one problem that rather shows that this is no list."""


def counts_up(numbers: Sequence[str]) -> bool:
    """Whether two or more numbers run 1, 2, 3, …"""
    return len(numbers) > 1 and list(numbers) == [str(place) for place in range(1, len(numbers) + 1)]


def lead_in(line: Sequence[Token], i: int, *, linked: bool = False) -> int:
    """Index after the brackets and nouns that may stand before a number."""
    known = vocabulary()
    words = known.between if linked else known.names | known.both
    end = min(len(line), i + REACH)
    while i < end and (line[i].text in OPENERS or line[i].text == "#" or line[i].word in words):
        i += 1
    return i


def is_number(line: Sequence[Token], i: int) -> bool:
    return i < len(line) and line[i].is_number


def _next_number(line: Sequence[Token], i: int) -> int | None:
    """Index of the number that separators at `i` lead to; None where there are none or they lead elsewhere."""
    j = i
    while j < min(i + 4, len(line)) and _parts(line, j):
        j += 1
    j = lead_in(line, j, linked=j > i)
    return j if is_number(line, j) else None


def read_line(line: Sequence[Token]) -> NumberList | None:
    """The list that a line begins with; None where it begins with something else."""
    i = lead_in(line, 0)
    if not is_number(line, i):
        return None
    numbers: list[str] = []
    glossed, slashed = 0, True
    while True:
        numbers.append(line[i].text)
        after = i + 1
        i = after
        while i < len(line) and line[i].text in CLOSERS:
            i += 1
        problem = _misread(line, i)
        if problem is not None:
            return problem
        delimited = i > after and line[i - 1].text in ")]"
        end = _gloss_end(line, i, delimited=delimited, listed=glossed == len(numbers) - 1)
        if end is None:
            return UNCLEAR
        problem = (
            _left_open(line, end) if end == i or delimited or line[i].text in _QUOTING else _trails_off(line, i, end)
        )
        if problem is not None or (end > i and _either(line, end)):
            return problem or EITHER
        glossed += end > i
        i = end
        further = _next_number(line, i)
        if further is None:
            break
        slashed = slashed and line[i].text == "/"
        i = further
    bare = i >= len(line) and not glossed
    problem = None if i >= len(line) else _tail(line, i)
    if problem is not None:
        return problem
    numbered = glossed == len(numbers) and not (slashed and len(numbers) > 1)
    if numbered and counts_up(numbers):
        return OWN_NUMBERING
    return NumberList(tuple(numbers), bare=bare, numbered=numbered)


def _misread(line: Sequence[Token], i: int) -> NumberList | None:
    """The problem that what follows a number makes of it: a range, a decimal, alternatives."""
    if i >= len(line):
        return None
    token, known = line[i], vocabulary()
    number_next = is_number(line, i + 1)
    if number_next and (token.text in "-–—~…" or token.word in known.to):
        return RANGE
    if token.text == "." and i + 1 < len(line) and line[i + 1].text == ".":
        return RANGE
    if token.text == "." and number_next:
        return UNCLEAR
    if token.word in known.disjunction and is_number(line, lead_in(line, i + 1, linked=True)):
        return EITHER
    return EITHER if _either(line, i) else _left_open(line, i)


def _either(line: Sequence[Token], i: int) -> bool:
    """Whether marks at `i`, or none, and a word like "or" lead to another number: "1 o 3", "1/o 3".

    Portuguese "o" is an article too: where it follows "e" in the same line ("o 1, o 3 e o 12") it's that.
    """
    known = vocabulary()
    while i < len(line) and (line[i].text in _SEPARATORS or line[i].text in OPENERS):
        i += 1
    if i >= len(line) or line[i].word not in known.disjunction:
        return False
    if any(one.word in known.conjunction and two.word == line[i].word for one, two in pairwise(line[:_LOOKED_AT])):
        return False
    return is_number(line, lead_in(line, i + 1, linked=True))


@lru_cache(maxsize=1)
def _others() -> tuple[re.Pattern[str], ...]:
    """What says in some language that a list goes on: for scripts with spaces and for those without."""
    packs = all_packs()
    return tuple(
        Phrases([pattern for pack in packs if pack.spaced is spaced for pattern in pack.others], spaced=spaced).pattern
        for spaced in (True, False)
    )


def _says_others(line: Sequence[Token], i: int, *, whole: bool = False) -> bool:
    """Whether the words at `i`, up to a mark, begin with (or are, if `whole`) one of these: "etc", "y otros"."""
    words = " ".join(token.word for token in takewhile(lambda token: token.word, line[i : i + _FEW]))
    return any(pattern.fullmatch(words) if whole else pattern.match(words) for pattern in _others())


def _is_elision(line: Sequence[Token], i: int) -> bool:
    return line[i].text == "…" or [token.text for token in line[i : i + 2]] == [".", "."]


def _left_open(line: Sequence[Token], i: int) -> NumberList | None:
    """The problem that an elision or "and others" makes which follows at `i`, behind marks and "and" or not."""
    known = vocabulary()
    inside = False
    while i < len(line):
        if _is_elision(line, i):
            return RANGE if any(token.is_number for token in line[i:]) else BROKEN_OFF
        if _says_others(line, i, whole=inside):
            return OPEN
        inside = inside or line[i].text in OPENERS
        if not (inside and line[i].text in OPENERS) and not _parts(line, i) and line[i].word not in known.disjunction:
            return None
        i += 1
    return None


def _trails_off(line: Sequence[Token], start: int, end: int) -> NumberList | None:
    """The same for what ends a gloss without brackets: "3: carro, etc.", "3: carro, …"."""
    gloss = line[start:end]
    if any(mark.text in _SEPARATORS and dots.text == "…" for mark, dots in pairwise(gloss)):
        return BROKEN_OFF
    for j in range(max(0, len(gloss) - _FEW), len(gloss)):
        alone = all(token.word for token in gloss[j + 1 :])
        if alone and _parts(gloss, j) and any(_says_others(gloss, k, whole=True) for k in (j, j + 1)):
            return OPEN
    return _left_open(line, end)


def spoils(line: Sequence[Token]) -> NumberList | None:
    """The problem that a line makes of the list above it: nothing but an elision, "etc." or "o 3"."""
    if not line:
        return None
    words = [token for token in line if token.word]
    if not words:
        return BROKEN_OFF if _is_elision(line, 0) else None
    if _says_others(words, 0, whole=True) or (_parts(words, 0) and _says_others(words, 1, whole=True)):
        return OPEN
    return EITHER if len(words) == 2 and words[0] is line[0] and _either(words, 0) else None


def _gloss_end(line: Sequence[Token], i: int, *, delimited: bool, listed: bool) -> int | None:
    """Index after the gloss of a number that ends before `i`: `i` itself without one; None for an unclear one.

    A gloss is in brackets or quotes, or follows a mark ("1: auto", "1. auto", "1) auto", "1 - auto"). A full stop leads
    to one only if all earlier numbers have theirs (`listed`); else it ends the sentence.
    """
    if i + 1 < len(line) and line[i].text in "([\"':=-–—." and _judges(line, i + 1):
        return None
    if i < len(line) and line[i].text in "([\"'":
        return i if delimited and is_number(line, i + 1) else _bracket_end(line, i)
    if not delimited:
        if i + 1 >= len(line) or line[i].text not in ".:=-–—" or not line[i + 1].word:
            return i
        if line[i].text == "." and not listed:
            return i
        i += 1
    elif i >= len(line) or not line[i].word or line[i].is_number or line[i].word in vocabulary().conjunction:
        return i
    while i < len(line):
        if line[i].is_number:
            return None
        if line[i].text in ".!?" or (_parts(line, i) and _next_number(line, i) is not None):
            return i
        i += 1
    return i


def _judges(line: Sequence[Token], i: int) -> bool:
    """Whether the gloss that begins at `i` is nothing but a verdict on its number: "no", "(falsa)"."""
    return is_verdict(line[i].word) and (i + 1 == len(line) or not line[i + 1].word or line[i + 1].is_number)


def _parts(line: Sequence[Token], i: int) -> bool:
    """Whether the token at `i` parts two entries."""
    return line[i].text in _SEPARATORS or line[i].word in vocabulary().conjunction


def _bracket_end(line: Sequence[Token], i: int) -> int | None:
    """Index after the bracket or quotation opened at `i`; None if it holds a number or never ends."""
    close = {"(": ")", "[": "]"}.get(line[i].text, line[i].text)
    for j in range(i + 1, len(line)):
        if line[j].is_number:
            return None
        if line[j].text == close:
            return j + 1
    return None


def _tail(line: Sequence[Token], i: int) -> NumberList | None:
    """The problem that the text after a list makes, None for none."""
    known = vocabulary()
    first = line[i]
    if i + 1 == len(line) and first.text in ".,;!":
        return None
    if first.text in "/|&+…" or (first.word in known.conjunction and i + 1 == len(line)):
        return BROKEN_OFF
    if first.word and first.word not in known.because:
        return WORDS
    if first.word == "" and first.text not in ".,;:!-–—":
        return UNCLEAR
    for token in line[i:]:
        if token.text in ".!?":
            return None
        if token.is_number or token.word in known.negation or token.word in known.wrong:
            return UNCLEAR
    return None
