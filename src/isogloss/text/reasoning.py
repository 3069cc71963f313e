"""Parting what a model thought aloud from what it answered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

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


class Split(NamedTuple):
    """A reply in two parts."""

    reasoning: str
    """What stood between the marks; "" where there were none."""
    answer: str
    """All the rest, without outer white space where something was set aside."""
    closed: bool
    """False when the last reasoning never ends: the reply was cut off and holds no answer to trust."""


@lru_cache(maxsize=32)
def _marks(tags: tuple[Tag, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """A pattern for every opening and closing mark, and closing literal → opening literal for the pairs."""
    names = "|".join(re.escape(tag) for tag in tags if isinstance(tag, str))
    pairs = {tag[1].casefold(): tag[0].casefold() for tag in tags if not isinstance(tag, str)}
    parts = []
    if names:
        for left, right in (("<", ">"), (r"<\|", r"\|>"), ("◁", "▷")):
            parts.append(rf"{left}/?(?:{names})(?:\s[^<>]{{0,100}})?{right}")
        parts.append(rf"(?-i:\[/?(?:{names.upper()})\])")
    parts += [re.escape(mark) for pair in pairs.items() for mark in pair]
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE), pairs


_NAME = re.compile(r"[^\w:/]*(/?)([\w:]+)")


def _kind(mark: str, pairs: dict[str, str]) -> tuple[bool, str]:
    """(does it close, which kind of reasoning) for a mark that was found."""
    mark = mark.casefold()
    if mark in pairs:
        return True, pairs[mark]
    if mark in pairs.values():
        return False, mark
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
    if tags is REASONING_TAGS and "<" not in text and "[" not in text and "◁" not in text:
        return Split("", text, True)
    pattern, pairs = _marks(tuple(tags))
    reasoning: list[str] = []
    answer: list[str] = []
    inside = ""  # which kind of reasoning is open
    position = 0
    for found in pattern.finditer(text):
        closes, kind = _kind(found[0], pairs)
        piece = text[position : found.start()]
        if inside:
            if not (closes and kind == inside):
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
