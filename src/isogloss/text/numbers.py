"""Which numbered options does a reply name?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from isogloss.errors import SettingError
from isogloss.records import Status
from isogloss.text.body import REFUSED, REMEMBERED, SHORT, not_strict, part, ready, unparsed
from isogloss.text.judged import is_verdict, leads_to_answer
from isogloss.text.reading import Reading
from isogloss.text.refusals import why_not
from isogloss.text.tokens import CLOSERS, OPENERS, REACH, Token, find_cues, leads_on, tokenise, vocabulary

_STRICT = re.compile(r"[0-9]+(?:[ \t]*/[ \t]*[0-9]+)*")
_SEPARATORS = frozenset("/,;|&+")
_LONGEST = 800
"""Tokens that a list may take up, glosses included."""
_ASIDE = "extra text set aside"
_REPEAT = "a number is repeated"


def read_numbers(text: str, n_options: int, *, strict: bool = False) -> Reading:
    """Read the numbers of the options that a reply names.

    Parameters
    ----------
    text : str
        A raw reply, reasoning included.
    n_options : int
        How many options were listed, from 1; they are 1, 2, 3, …
    strict : bool
        Accept a list of distinct numbers separated by "/" (spaces around it aside), and no other text.

    Returns
    -------
    Reading
        A tuple of distinct numbers in the order given; `unparsed`, `refused` or `truncated` otherwise.

    Notes
    -----
    Lenient rules. Markup, list bullets and scripts' digits are set aside first. A list is numbers separated by "/",
    commas, semicolons, "and" or line ends; brackets around it, the noun for options and a gloss of each number
    ("1 (auto)", "3: carro", "12. coche") may stand in it. It may be followed by nothing, by a mark and text without
    further numbers or a denial in that sentence, or by a new line. Then the first of these that is there decides,
    and all its lists must name the same numbers:

    1. The last word: `\\boxed{1/3}`, a cue that calls itself final ("Respuesta final: 1/3").
    2. A list that the reply opens with, and lists after a cue ("Respuesta: 1/3", "elijo 1 y 3", "uso 1 y 3").
    3. A list after the noun for options ("las opciones 1 y 3"), or after a label and a colon that holds a
       cue ("Palabras que uso:") or is a place ("En Chile:"); any other label ("Falsas:", "Edad:") leads to nothing.
    4. Lines that are nothing but a list.

    Nothing is read from numbers with a verdict each ("1: no, 2: sí"),
    from a range ("1-3", "1 a 3"), from alternatives ("1 o 3"), from decimals or percentages, from a
    number that another word follows ("2 términos", "1/3 de ellas"), from lines that number themselves (1., 2., 3., …
    with glosses: the reply's own enumeration or the options' numbers?), nor when any number of the deciding list is
    0 or beyond the last option. A repeated number counts once, with a note. A reply that declines is `refused`
    whatever numbers it holds.

    Raises
    ------
    SettingError
        If `n_options` is less than 1.
    """
    if n_options < 1:
        raise SettingError(f"read_numbers needs at least 1 option, got {n_options}")
    return _remembered(text, n_options, strict) if len(text) <= SHORT else _read(text, n_options, strict)


def _read(text: str, n_options: int, strict: bool) -> Reading:
    if _STRICT.fullmatch(text):
        return _checked(text.split("/"), n_options, strict=strict)
    answer, outcome = part(text)
    if outcome is not None:
        return outcome
    answer = answer.strip()
    if _STRICT.fullmatch(answer):
        return _checked(answer.split("/"), n_options, strict=strict)
    return not_strict(answer) if strict else _read_lenient(answer, n_options)


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


def _checked(written: Sequence[str], n_options: int, *, strict: bool = False, note: str = "") -> Reading:
    """The reading of the numbers that a rule found, as written."""
    numbers = []
    for piece in written:
        digits = piece.strip()
        # Python refuses to read thousands of digits; no list of options is that long.
        number = int(digits) if len(digits) <= 9 else n_options + 1
        if number > n_options:
            return unparsed(f"{digits[:9]}{'…' if len(digits) > 9 else ''} is not one of the {n_options} options")
        if number == 0:
            return unparsed("0 is not an option")
        numbers.append(number)
    distinct = tuple(dict.fromkeys(numbers))
    if len(distinct) < len(numbers):
        if strict:
            return unparsed(_REPEAT)
        note = f"{_REPEAT}; {note}" if note else _REPEAT
    if strict and any(piece.lstrip()[0] == "0" for piece in written):
        return unparsed("a number begins with 0")
    return Reading(Status.OK, distinct, note)


class _List(NamedTuple):
    """A list of numbers found in a reply, or why what looked like one can't be read."""

    numbers: tuple[str, ...] = ()
    problem: str = ""
    bare: bool = True
    """Nothing but numbers and separators."""
    numbered: bool = False
    """Glosses follow the numbers as in "1. …", and "/" doesn't part them: maybe the reply's own numbering."""


_RANGE = _List(problem="a range of numbers")
_EITHER = _List(problem="alternatives, not a list")
_UNCLEAR = _List(problem="numbers that may be no list of options")
_BROKEN_OFF = _List(problem="the list breaks off")
_OWN_NUMBERING = _List(problem="lines that number themselves")
_SEVERAL = _List(problem="several lists")
_UNLED = _List(problem="a label that leads to no answer")
_WORDS = _List(problem="a number among words")
"""The one problem that rather shows that this is no list."""


def _read_lenient(answer: str, n_options: int) -> Reading:
    body = ready(answer)
    if body.outcome is not None:
        return body.outcome
    tokens = tokenise(body.text)
    final, cued, named = _cued(tokens)
    opening = _list_at(tokens, 0)
    if opening is not None:
        cued.append(opening)
    lines = _bare_lines(tokens)
    for rank in (final, cued, named, [] if body.disclaimed else lines):
        if rank:
            return _agreed(rank, n_options)
    return REFUSED if body.disclaimed else unparsed(why_not(body.text) or "no list of numbers")


def _agreed(lists: Sequence[_List], n_options: int) -> Reading:
    """The reading of lists that must all name the same numbers."""
    readings = []
    for found in lists:
        reading = unparsed(found.problem) if found.problem else _checked(found.numbers, n_options, note=_ASIDE)
        if reading.status is not Status.OK:
            return reading
        readings.append(reading)
    if len({frozenset(found.numbers) for found in lists}) > 1:
        return unparsed(_SEVERAL.problem)
    return readings[0]


def _cued(tokens: Sequence[Token]) -> tuple[list[_List], list[_List], list[_List]]:
    """Lists after final cues, after answers and choices, after names of options and colons."""
    ranks: tuple[list[_List], list[_List], list[_List]] = ([], [], [])
    both = vocabulary().both
    for cue in find_cues(tokens, numbers=True):
        i = cue.after
        while i < len(tokens) and not tokens[i].is_number and (leads_on(tokens, i, cue) or tokens[i].word in both):
            i += 1
        colon = next((j for j in range(i - 1, cue.start, -1) if tokens[j].text == ":"), 0)
        if colon and not leads_to_answer(tokens, colon, counted=True):
            continue
        found = _list_at(tokens, i)
        if found is not None and found is not _WORDS:
            ranks[0 if cue.final else 2 if cue.kind == "option" else 1].append(found)
    for i, token in enumerate(tokens):
        if token.text == ":" and leads_to_answer(tokens, i):
            found = _list_at(tokens, i + 1)
            if found is not None and found is not _WORDS:
                ranks[2].append(found)
    return ranks


def _bare_lines(tokens: Sequence[Token]) -> list[_List]:
    """Lines that are nothing but a list, unless the line before is a label that leads to no answer."""
    lines = []
    start, label = 0, True
    for line in _lines(tokens):
        found = _read_line(line)
        if found is not None and found.numbers and found.bare:
            lines.append(found if label else _UNLED)
        if line and found is None:
            label = line[-1].text != ":" or leads_to_answer(tokens, start + len(line) - 1)
        start += len(line) + 1
    return lines


def _lines(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Tokens of each line."""
    lines = []
    start = 0
    written = [token.text for token in tokens]
    for _ in range(written.count("\n")):
        end = written.index("\n", start)
        lines.append(tokens[start:end])
        start = end + 1
    return [*lines, tokens[start:]]


def _list_at(tokens: Sequence[Token], i: int) -> _List | None:
    """The list that begins at `i`, over several lines where each holds one number; None where none begins."""
    while i < len(tokens) and tokens[i].text == "\n":
        i += 1
    if not _is_number(tokens, _lead_in(tokens, i)):
        return None
    lines = _lines(tokens[i : i + _LONGEST])
    first = _read_line(lines[0])
    assert first is not None  # a number was seen
    if first.problem:
        return first
    if len(first.numbers) > 1:
        others = [found for found in map(_read_line, lines[1:]) if found is not None and found.numbers and found.bare]
        same = all(set(found.numbers) == set(first.numbers) for found in others)
        return first if same else _SEVERAL
    return _down_the_lines(first, [_read_line(line) if line else None for line in lines[1:]], lines[1:])


def _down_the_lines(first: _List, found: Sequence[_List | None], lines: Sequence[Sequence[Token]]) -> _List:
    """The list of which each line holds one number; `found` is what the lines after the first begin with."""
    entries = [first]
    parted = False  # by an empty line
    read = 0
    for entry, line in zip(found, lines, strict=True):
        if entry is None and line:
            break
        if entry is not None and (entry.problem or len(entry.numbers) > 1):
            if parted:
                break
            return entry if entry.problem else _SEVERAL
        parted = parted or entry is None
        entries += [entry] if entry is not None else []
        read += 1
    if not first.bare and any(entry is not None and entry.numbers for entry in found[read:]):
        return _SEVERAL
    numbers = tuple(number for entry in entries for number in entry.numbers)
    if all(entry.numbered for entry in entries) and _counts_up(numbers):
        return _OWN_NUMBERING
    return _List(numbers, bare=all(entry.bare for entry in entries))


def _counts_up(numbers: Sequence[str]) -> bool:
    """Whether two or more numbers run 1, 2, 3, …"""
    return len(numbers) > 1 and list(numbers) == [str(place) for place in range(1, len(numbers) + 1)]


def _lead_in(line: Sequence[Token], i: int, *, linked: bool = False) -> int:
    """Index after the brackets and nouns that may stand before a number."""
    known = vocabulary()
    words = known.between if linked else known.names | known.both
    end = min(len(line), i + REACH)
    while i < end and (line[i].text in OPENERS or line[i].text == "#" or line[i].word in words):
        i += 1
    return i


def _is_number(line: Sequence[Token], i: int) -> bool:
    return i < len(line) and line[i].is_number


def _next_number(line: Sequence[Token], i: int) -> int | None:
    """Index of the number that separators at `i` lead to; None where there are none or they lead elsewhere."""
    j = i
    while j < min(i + 4, len(line)) and _parts(line, j):
        j += 1
    j = _lead_in(line, j, linked=j > i)
    return j if _is_number(line, j) else None


def _read_line(line: Sequence[Token]) -> _List | None:
    """The list that a line begins with; None where it begins with something else."""
    i = _lead_in(line, 0)
    if not _is_number(line, i):
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
            return _UNCLEAR
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
    if numbered and _counts_up(numbers):
        return _OWN_NUMBERING
    return _List(tuple(numbers), bare=bare, numbered=numbered)


def _misread(line: Sequence[Token], i: int) -> _List | None:
    """The problem that what follows a number makes of it: a range, a decimal, alternatives."""
    if i >= len(line):
        return None
    token, known = line[i], vocabulary()
    number_next = _is_number(line, i + 1)
    if number_next and (token.text in "-–—~…" or token.word in known.to):
        return _RANGE
    if token.text == "." and i + 1 < len(line) and line[i + 1].text == ".":
        return _RANGE
    if token.text == "." and number_next:
        return _UNCLEAR
    if token.word in known.disjunction and _is_number(line, _lead_in(line, i + 1, linked=True)):
        return _EITHER
    return None


def _gloss_end(line: Sequence[Token], i: int, *, delimited: bool, listed: bool) -> int | None:
    """Index after the gloss of a number that ends before `i`: `i` itself without one; None for an unclear one.

    A gloss is in brackets or quotes, or follows a mark ("1: auto", "1. auto", "1) auto", "1 - auto"). A full stop leads
    to one only if all earlier numbers have theirs (`listed`); else it ends the sentence.
    """
    if i + 1 < len(line) and line[i].text in "([\"':=-–—." and _judges(line, i + 1):
        return None
    if i < len(line) and line[i].text in "([\"'":
        return i if delimited and _is_number(line, i + 1) else _bracket_end(line, i)
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


def _tail(line: Sequence[Token], i: int) -> _List | None:
    """The problem that the text after a list makes, None for none."""
    known = vocabulary()
    first = line[i]
    if i + 1 == len(line) and first.text in ".,;!":
        return None
    if first.text in "/|&+…" or (first.word in known.conjunction and i + 1 == len(line)):
        return _BROKEN_OFF
    if first.word and first.word not in known.because:
        return _WORDS
    if first.word == "" and first.text not in ".,;:!-–—":
        return _UNCLEAR
    for token in line[i:]:
        if token.text in ".!?":
            return None
        if token.is_number or token.word in known.negation or token.word in known.wrong:
            return _UNCLEAR
    return None
