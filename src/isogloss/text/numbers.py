"""Which numbered options does a reply name?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from isogloss.errors import SettingError
from isogloss.records import Status
from isogloss.text.body import REFUSED, REMEMBERED, SHORT, not_strict, part, ready, unparsed
from isogloss.text.judged import leads_to_answer
from isogloss.text.number_lists import (
    OWN_NUMBERING,
    SEVERAL,
    UNLED,
    WORDS,
    NumberList,
    counts_up,
    is_number,
    lead_in,
    read_line,
    spoils,
)
from isogloss.text.reading import Reading
from isogloss.text.refusals import why_not
from isogloss.text.tokens import Token, find_cues, leads_on, tokenise, vocabulary

_STRICT = re.compile(r"[0-9]+(?:[ \t]*/[ \t]*[0-9]+)*")
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
    from a range ("1-3", "1 a 3", "1, ..., 5"), from alternatives ("1 o 3", "1/o 3"), from a list left open
    ("1, 2, etc.", "1, 2 y otros"), from decimals or percentages, from a
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


def _agreed(lists: Sequence[NumberList], n_options: int) -> Reading:
    """The reading of lists that must all name the same numbers."""
    readings = []
    for found in lists:
        reading = unparsed(found.problem) if found.problem else _checked(found.numbers, n_options, note=_ASIDE)
        if reading.status is not Status.OK:
            return reading
        readings.append(reading)
    if len({frozenset(found.numbers) for found in lists}) > 1:
        return unparsed(SEVERAL.problem)
    return readings[0]


def _cued(tokens: Sequence[Token]) -> tuple[list[NumberList], list[NumberList], list[NumberList]]:
    """Lists after final cues, after answers and choices, after names of options and colons."""
    ranks: tuple[list[NumberList], list[NumberList], list[NumberList]] = ([], [], [])
    both = vocabulary().both
    for cue in find_cues(tokens, numbers=True):
        i = cue.after
        while i < len(tokens) and not tokens[i].is_number and (leads_on(tokens, i, cue) or tokens[i].word in both):
            i += 1
        colon = next((j for j in range(i - 1, cue.start, -1) if tokens[j].text == ":"), 0)
        if colon and not leads_to_answer(tokens, colon, counted=True):
            continue
        found = _list_at(tokens, i)
        if found is not None and found is not WORDS:
            ranks[0 if cue.final else 2 if cue.kind == "option" else 1].append(found)
    for i, token in enumerate(tokens):
        if token.text == ":" and leads_to_answer(tokens, i):
            found = _list_at(tokens, i + 1)
            if found is not None and found is not WORDS:
                ranks[2].append(found)
    return ranks


def _bare_lines(tokens: Sequence[Token]) -> list[NumberList]:
    """Lines that are nothing but a list, unless the line before is a label that leads to no answer."""
    lines = []
    start, label = 0, True
    for line in _lines(tokens):
        found = read_line(line)
        if found is not None and found.numbers and found.bare:
            lines.append(found if label else UNLED)
        elif found is None and lines and (problem := spoils(line)) is not None:
            lines.append(problem)
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


def _list_at(tokens: Sequence[Token], i: int) -> NumberList | None:
    """The list that begins at `i`, over several lines where each holds one number; None where none begins."""
    while i < len(tokens) and tokens[i].text == "\n":
        i += 1
    if not is_number(tokens, lead_in(tokens, i)):
        return None
    lines = _lines(tokens[i : i + _LONGEST])
    first = read_line(lines[0])
    assert first is not None  # a number was seen
    if first.problem:
        return first
    if len(first.numbers) > 1:
        problem = spoils(next(filter(None, lines[1:]), ()))
        if problem is not None:
            return problem
        others = [found for found in map(read_line, lines[1:]) if found is not None and found.numbers and found.bare]
        same = all(set(found.numbers) == set(first.numbers) for found in others)
        return first if same else SEVERAL
    return _down_the_lines(first, [read_line(line) if line else None for line in lines[1:]], lines[1:])


def _down_the_lines(
    first: NumberList, found: Sequence[NumberList | None], lines: Sequence[Sequence[Token]]
) -> NumberList:
    """The list of which each line holds one number; `found` is what the lines after the first begin with."""
    entries = [first]
    parted = False  # by an empty line
    read = 0
    for entry, line in zip(found, lines, strict=True):
        if entry is None and line:
            problem = spoils(line)
            if problem is not None:
                return problem
            break
        if entry is not None and (entry.problem or len(entry.numbers) > 1):
            if parted:
                break
            return entry if entry.problem else SEVERAL
        parted = parted or entry is None
        entries += [entry] if entry is not None else []
        read += 1
    if not first.bare and any(entry is not None and entry.numbers for entry in found[read:]):
        return SEVERAL
    numbers = tuple(number for entry in entries for number in entry.numbers)
    if all(entry.numbered for entry in entries) and counts_up(numbers):
        return OWN_NUMBERING
    return NumberList(numbers, bare=all(entry.bare for entry in entries))
