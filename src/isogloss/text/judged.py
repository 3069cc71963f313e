"""What a reply says against an option: ruled out, judged wrong, or under a label that leads to no answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from isogloss.text.packs import all_packs
from isogloss.text.tokens import CLOSERS, OPENERS, REACH, Token, vocabulary

_MARKS = frozenset(":=-–—|")
"""Marks between an option and what is said of it; in "B) No" and "B. No" the word may be the option's own text."""
_ENDS = frozenset(".,;!\n…|)")


class _Verdicts(NamedTuple):
    """Words of all languages that judge one option, alone after its mark."""

    against: frozenset[str]
    all: frozenset[str]


@lru_cache(maxsize=1)
def _verdicts() -> _Verdicts:
    packs = all_packs()
    against = frozenset().union(*(pack.no | pack.cues.wrong | pack.cues.negation for pack in packs))
    return _Verdicts(against, against.union(*(pack.yes | pack.cues.right for pack in packs)))


def is_verdict(word: str) -> bool:
    """Whether a word says of an option that it is the one, or isn't: "sí", "no", "falsa", "correct"."""
    return word in _verdicts().all


def _beyond_letter(tokens: Sequence[Token], i: int) -> int:
    """Index after the letter at `i` and the brackets that close behind it."""
    i += 1
    while i < len(tokens) and tokens[i].text in CLOSERS:
        i += 1
    return i


def _share(tokens: Sequence[Token], i: int) -> bool:
    """Whether a percentage begins at `i`: "10%", "12,5 %"."""
    return i < len(tokens) and tokens[i].is_number and any(token.text == "%" for token in tokens[i + 1 : i + 4])


def turned_down(tokens: Sequence[Token], i: int) -> bool:
    """Whether what follows the letter at `i` says that it is wrong: "A: falsa", "(B) is incorrect", "A = 10%"."""
    known = vocabulary()
    against = _verdicts().against
    j = _beyond_letter(tokens, i)
    if j < len(tokens) and tokens[j].text in _MARKS:
        word = tokens[j + 1].word if j + 1 < len(tokens) else ""
        ends = j + 2 >= len(tokens) or tokens[j + 2].text in _ENDS
        return (word in against and (ends or word in known.wrong)) or _share(tokens, j + 1)
    words = [token.word for token in tokens[j : j + 4]]
    denied = len(words) > 1 and words[0] in known.negation and words[1] in known.copula
    if not words or not (words[0] in known.copula or denied):
        return False
    head = next((word for word in words if word not in known.copula and word not in known.between), "")
    return head in against


def judged(tokens: Sequence[Token]) -> set[str]:
    """Letters of which each has a verdict or a number of its own: "A: no. B: sí.", "A: 10%, B: 90%".

    One letter alone only where the verdict is against it.
    """
    found, against = set(), set()
    for i, token in enumerate(tokens):
        if not token.is_letter:
            continue
        j = _beyond_letter(tokens, i)
        if j + 1 >= len(tokens) or tokens[j].text not in _MARKS | {"."}:
            continue
        said = tokens[j + 1]
        alone = j + 2 >= len(tokens) or tokens[j + 2].text in _ENDS or tokens[j + 2].is_letter
        if (alone and (is_verdict(said.word) or said.is_number)) or _share(tokens, j + 1):
            found.add(token.text.upper())
        if turned_down(tokens, i):
            against.add(token.text.upper())
    return found if len(found) > 1 else against


def ruled_out(tokens: Sequence[Token], i: int) -> bool:
    """Whether words before the one at `i`, in its sentence, deny it or make it a condition: "Not: A", "no es (B)"."""
    known = vocabulary()
    seen: set[str] = set()
    for j in range(i - 1, max(-1, i - 1 - REACH), -1):
        token = tokens[j]
        if token.text in ".!?;,…" or (token.text == "\n" and (j == 0 or tokens[j - 1].text != ":")):
            return False
        if token.word in known.negation or token.word in known.wrong or token.word in known.reject:
            return True
        for cues in (pack.cues for pack in all_packs()):
            # "se" is "if" in one language and a pronoun in another: the words after it tell which.
            if token.word in cues.condition and not seen.isdisjoint(cues.answer | cues.option | cues.copula):
                return True
        seen.add(token.word)
    return False


def asked(tokens: Sequence[Token], i: int) -> bool:
    """Whether the sentence of the token at `i` is a question."""
    return next((token.text == "?" for token in tokens[i:] if token.text in ".!?\n…"), False)


def leads_to_answer(tokens: Sequence[Token], colon: int, *, counted: bool = False) -> bool:
    """Whether the label before the colon at `colon` is one that an answer follows: a cue of a pack, or a place.

    Not where it denies, rejects or counts anything ("número de opciones"), nor, unless `counted`, holds a number.
    """
    known = vocabulary()
    begin = colon
    while begin and colon - begin < 5 * REACH and tokens[begin - 1].text not in "\n.!?;":
        begin -= 1
    label = [token for token in tokens[begin:colon] if token.text not in OPENERS | CLOSERS]
    words = [token.word for token in label if token.word]
    nouns = [word in known.names for word in words]
    if any(first and second for first, second in zip(nouns, nouns[2:], strict=False)):
        return False
    if not counted and any(token.is_number for token in label):
        return False
    if any(word in known.negation or word in known.wrong or word in known.reject for word in words):
        return False
    if any(word in known.leading for word in words):
        return True
    return len(words) > 1 and words[0] in known.place and all(token.text[0].isupper() for token in label[1:])
