"""What every reader does first, and the outcomes they share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from isogloss.records import Status
from isogloss.text.normalise import normalise, unwrap
from isogloss.text.reading import Reading
from isogloss.text.reasoning import REASONING_TAGS, Tag, split_reasoning
from isogloss.text.refusals import declines, disclaims

SHORT = 200
"""Replies up to this many characters are remembered with their reading; longer ones seldom come twice."""

REMEMBERED = 4096
"""How many short replies each reader remembers."""

TRUNCATED = Reading(Status.TRUNCATED, None, "reasoning never ends")
EMPTY = Reading(Status.UNPARSED, None, "empty reply")
ONLY_REASONING = Reading(Status.UNPARSED, None, "nothing after the reasoning")
REFUSED = Reading(Status.REFUSED, None, "declines in words")
EXTRA_TEXT = Reading(Status.UNPARSED, None, "extra text")


class Body(NamedTuple):
    """A reply made ready for the lenient rules, or the outcome that needs none."""

    text: str
    """Reasoning, markup and odd characters aside; line breaks kept."""
    outcome: Reading | None = None
    disclaimed: bool = False
    """Opens with what an AI lacks: only an explicit answer counts."""


def part(text: str, tags: Iterable[Tag] = REASONING_TAGS) -> tuple[str, Reading | None]:
    """The reply without its reasoning, and the outcome where there is nothing to read."""
    split = split_reasoning(text, tags)
    if not split.closed:
        return "", TRUNCATED
    if not split.answer.strip():
        return "", ONLY_REASONING if split.reasoning else EMPTY
    return split.answer, None


def ready(answer: str) -> Body:
    """Make a reply without reasoning ready for lenient rules."""
    return _ready_remembered(answer) if len(answer) <= SHORT else _ready(answer)


def _ready(answer: str) -> Body:
    text = unwrap(normalise(answer)).strip()
    if not text:
        return Body("", EMPTY)
    if declines(text):
        return Body(text, REFUSED)
    return Body(text, None, disclaims(text))


_ready_remembered = lru_cache(maxsize=REMEMBERED)(_ready)


def not_strict(answer: str) -> Reading:
    """The strict outcome of a reply that isn't of the asked form."""
    body = ready(answer)
    return body.outcome or (REFUSED if body.disclaimed else EXTRA_TEXT)


def unparsed(note: str) -> Reading:
    """No value, and why."""
    return Reading(Status.UNPARSED, None, note)
