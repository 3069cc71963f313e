"""Rules that a triple must keep before people review it, whoever wrote it. Each has a name, and says what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from isogloss.construction.content_words import (
    content_words,
    function_words,
    is_inflected,
    name_words,
    names_group,
    word_share,
    words_of,
)
from isogloss.construction.language_check import other_language
from isogloss.construction.similarity import fold
from isogloss.studies.stereotypes.build.people import TEXTS

NEAR = 0.85
"""Share of common words (Dice, inflection aside) from which a text is a near-copy of another."""
MOST_CHARACTERS = 300
"""Of one sentence."""

EMPTY, LONG, UNNAMED, TOLD = "empty", "too long", "group not named", "context tells the claim"
ALIKE, REPEATS, COPY, LANGUAGE = "sentences alike", "repeats the context", "near-copy", "wrong language"


class Fault(NamedTuple):
    """A rule that a triple breaks."""

    rule: str
    words: str


class About(NamedTuple):
    """What a triple is about."""

    group: str
    claim: str
    language: str
    languages: frozenset[str]
    """All languages of the construction, since a model mixes them up."""


def fault_of(texts: Mapping[str, str], about: About, others: Sequence[Mapping[str, str]]) -> Fault | None:
    """The first rule that a triple breaks; None where it keeps all.

    - *empty*, *too long*: a text without a letter, or of more than 300 characters.
    - *group not named*: the context doesn't name the group in any inflected form (`names_group`).
    - *context tells the claim*: all content words of the claim are in it, two or more. Whether it hints at the
      stereotype in other words is for the reviewers.
    - *sentences alike*: the two sentences have the same words, in whatever order and inflection. A single other word
      is enough to differ ("always", "never"), so nearness isn't asked for here.
    - *repeats the context*: one of them has at least 85 % of its words from the context, and the context of its own.
    - *near-copy*: of another triple of the same stereotype: 85 % of all words are common, or both sentences equal.
    - *wrong language*: a text, or the three together, are surely in another language; short ones aren't judged.

    Parameters
    ----------
    texts : mapping
        `context`, `stereotype`, `anti_stereotype`.
    about : About
    others : sequence of mapping
        Triples of the same stereotype that are accepted already.
    """
    return next(_faults(texts, about, others), None)


def _faults(texts: Mapping[str, str], about: About, others: Sequence[Mapping[str, str]]) -> Iterator[Fault]:
    context, *pair = (texts[name] for name in TEXTS)
    for name in TEXTS:
        if not words_of(texts[name]):
            yield Fault(EMPTY, f"{name} has no word")
        if len(texts[name]) > MOST_CHARACTERS:
            yield Fault(LONG, f"{name} has {len(texts[name])} characters, more than {MOST_CHARACTERS}")
    if not names_group(context, about.group, about.language):
        yield Fault(UNNAMED, f"the context doesn't name {about.group!r}")
    if _tells(context, about):
        yield Fault(TOLD, f"the context holds all words of {about.claim!r}")
    if word_share(*pair) == 1.0:
        yield Fault(ALIKE, "the two sentences have the same words")
    for name, sentence in zip(TEXTS[1:], pair, strict=True):
        if word_share(context, sentence) >= NEAR:
            yield Fault(REPEATS, f"{name} says the context again")
    for number, other in enumerate(others, start=1):
        if _is_copy(texts, other):
            yield Fault(COPY, f"nearly the same as triple {number} of this stereotype")
    for name, text in (*((name, texts[name]) for name in TEXTS), ("the whole triple", " ".join(texts.values()))):
        found = other_language(text, about.language, about.languages)
        if found is not None:
            yield Fault(LANGUAGE, f"{name} is in {found!r}, not in {about.language!r}")


def _tells(context: str, about: About) -> bool:
    function = function_words(about.language, ())
    named = name_words(about.group, about.language)
    telling = [
        word
        for word in content_words(about.claim, function)
        if not any(is_inflected(word, other) for other in named) and (function or len(word) > 3)
    ]
    words = words_of(context)
    return len(telling) >= 2 and all(any(is_inflected(word, other) for other in words) for word in telling)


def _is_copy(texts: Mapping[str, str], other: Mapping[str, str]) -> bool:
    if all(fold(texts[name]) == fold(other[name]) for name in TEXTS[1:]):
        return True
    return word_share(*(" ".join(one[name] for name in TEXTS) for one in (texts, other))) >= NEAR
