"""Parting what a model thought aloud from what it answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from isogloss.errors import SettingError

Tag: TypeAlias = "str | tuple[str, str]"

REASONING_TAGS: tuple[Tag, ...] = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "analysis",
    "seed:think",
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<unused94>", "<unused95>"),
)
"""Known marks of reasoning: a name stands for <name>, <|name|>, ◁name▷ and [NAME]; a pair is taken literally."""

_A_NAME = re.compile(r"[\w:][\w:.-]*")
_NAME = re.compile(r"[^\w:/]*(/?)([\w:.-]+)")
_BRACKETS = "<>[]{}()◁▷«»|/"
_OPENING = tuple("<[{(◁«")
_SHORTEST = 2
_NEVER = r"(?!)"
_NOTHING: frozenset[str] = frozenset()


class Split(NamedTuple):
    """A reply in two parts."""

    reasoning: str
    """What stood between the marks; "" where there were none."""
    answer: str
    """All the rest, without outer white space where something was set aside."""
    closed: bool
    """False when the last reasoning never ends: the reply was cut off and holds no answer to trust."""


def read_tag(given: object) -> Tag:
    """A mark of reasoning as a user writes it.

    Parameters
    ----------
    given : str, or pair of str
        A name (`"cavil"`), or an opening and a closing mark: a pair, or one text with a bar between them
        (`"<|think_start|>|<|think_end|>"`; of several bars the one before an opening bracket).

    Raises
    ------
    SettingError
        For what can be neither.
    """
    if isinstance(given, str) and _A_NAME.fullmatch(given.strip()):
        return given.strip()
    pair = _parted(given) if isinstance(given, str) else given
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(mark, str) for mark in pair)):
        bare = given.strip(_BRACKETS) if isinstance(given, str) else ""
        hint = f"give the name alone, {bare!r}" if _A_NAME.fullmatch(bare) else "give 'NAME' or 'OPEN|CLOSE'"
        raise SettingError(f"reasoning tag {given!r} is neither a name nor a pair of marks; {hint}")
    opening, closing = pair[0].strip(), pair[1].strip()
    if min(len(opening), len(closing)) < _SHORTEST or opening.casefold() == closing.casefold():
        raise SettingError(
            f"reasoning tag {given!r}: give an opening mark and another closing one, "
            f"each of {_SHORTEST} characters or more"
        )
    return opening, closing


def _parted(text: str) -> tuple[str, str] | None:
    """The two marks of `OPEN|CLOSE`; None where it isn't clear which bar parts them."""
    bars = [bar.start() for bar in re.finditer(r"\|", text)]
    if len(bars) > 1:
        bars = [bar for bar in bars if text.startswith(_OPENING, bar + 1)]
    return (text[: bars[0]], text[bars[0] + 1 :]) if len(bars) == 1 else None


class _Marks(NamedTuple):
    """What is known of the marks of some tags; marks are in small letters."""

    pattern: re.Pattern[str]
    """Finds every opening and closing mark."""
    first: str
    """The characters that a mark may begin with."""
    opened: Mapping[str, str]
    """Literal opening mark → the kind of reasoning it opens."""
    closed: Mapping[str, frozenset[str]]
    """Literal closing mark → the kinds it closes."""

    def kinds(self, mark: str) -> tuple[frozenset[str], str]:
        """(the kinds that a mark found closes, the kind it opens); only one of them holds anything."""
        mark = mark.casefold()
        if mark in self.closed:
            return self.closed[mark], ""
        if mark in self.opened:
            return _NOTHING, self.opened[mark]
        closes, kind = _named(mark)
        return (frozenset({kind}), "") if closes else (_NOTHING, kind)


@lru_cache(maxsize=32)
def _marks(tags: tuple[Tag, ...]) -> _Marks:
    """All that is looked for. A literal mark that a name stands for too (`<think>`) belongs to both."""
    names = "|".join(re.escape(tag) for tag in tags if isinstance(tag, str))
    parts = []
    if names:
        for left, right in (("<", ">"), (r"<\|", r"\|>"), ("◁", "▷")):
            parts.append(rf"{left}/?(?:{names})(?:\s[^<>]{{0,100}})?{right}")
        parts.append(rf"(?-i:\[/?(?:{names.upper()})\])")
    of_names = re.compile("|".join(parts) or _NEVER, re.IGNORECASE)
    opened: dict[str, str] = {}
    closed: dict[str, frozenset[str]] = {}
    for tag in tags:
        if isinstance(tag, str):
            continue
        opening, closing = (mark.casefold() for mark in tag)
        kind = opened.get(opening) or (_named(opening)[1] if of_names.fullmatch(opening) else opening)
        also = frozenset({_named(closing)[1]}) if of_names.fullmatch(closing) else _NOTHING
        opened[opening] = kind
        closed[closing] = closed.get(closing, _NOTHING) | also | {kind}
    literal = sorted({*opened, *closed}, key=lambda mark: (-len(mark), mark))
    parts = [*map(re.escape, literal), *parts]
    first = "<[◁" * bool(names) + "".join(mark[0] + mark[0].upper() for mark in literal)
    return _Marks(re.compile("|".join(parts) or _NEVER, re.IGNORECASE), first, opened, closed)


def _named(mark: str) -> tuple[bool, str]:
    """(does it close, which kind of reasoning) for a mark made from a name."""
    found = _NAME.match(mark)
    assert found is not None  # every mark made from a name has one
    return bool(found[1]), found[2]


def split_reasoning(text: str, tags: Iterable[Tag] = REASONING_TAGS) -> Split:
    """Part reasoning from answer by marks such as `<think>…</think>`.

    Parameters
    ----------
    text : str
        A raw reply.
    tags : iterable of str or (str, str)
        Names of marks (`"think"` stands for `<think>`, `<|think|>` and `◁think▷`, case aside, and for `[THINK]` in
        capitals) or literal pairs of opening and closing mark.

    Returns
    -------
    Split
        (reasoning, answer, closed).

    Notes
    -----
    - Reasoning runs from an opening mark to the first closing one of the same name; marks do not nest.
    - A closing mark without an opening one (chat templates write the opening mark themselves) makes all before it
      reasoning.
    - An opening mark that is never closed makes all after it reasoning, and `closed` False.
    """
    marks = _marks(tuple(tags))
    if not any(char in text for char in marks.first):
        return Split("", text, True)
    reasoning: list[str] = []
    answer: list[str] = []
    inside = ""  # which kind of reasoning is open
    position = 0
    for found in marks.pattern.finditer(text):
        closes, kind = marks.kinds(found[0])
        piece = text[position : found.start()]
        if inside:
            if inside not in closes:
                continue
            reasoning.append(piece)
            inside = ""
        elif closes:
            reasoning += [*answer, piece]
            answer = []
        else:
            answer.append(piece)
            inside = kind
        position = found.end()
    rest = text[position:]
    if not position:
        return Split("", text, True)
    (reasoning if inside else answer).append(rest)
    return Split("\n".join(filter(None, map(str.strip, reasoning))), "\n".join(answer).strip(), not inside)
