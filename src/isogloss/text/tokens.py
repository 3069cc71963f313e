"""Words, numbers, marks and line ends of a reply, and the cues among them that an answer follows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from isogloss.text.normalise import BOX_CLOSE, BOX_OPEN, WORD_CHARACTER, fold, part_scripts
from isogloss.text.packs import Cues, all_packs

_TOKEN = re.compile(rf"{WORD_CHARACTER}+(?:'{WORD_CHARACTER}+)*|\n|\S")
OPENERS = frozenset("([{\"'<")
CLOSERS = frozenset(")]}\"'>" + BOX_CLOSE)
SENTENCE_ENDS = frozenset(".!?\n…" + BOX_CLOSE)
_LONGEST_WORD = 64
"""Characters of a word that are looked at."""
REACH = 12
"""Tokens between a cue and the copula or colon that leads to its answer, at most."""


class Token(NamedTuple):
    """One piece of a reply."""

    text: str
    """As written."""
    word: str
    """Folded; "" for marks and line ends."""
    gap: bool
    """White space, or the start, comes before."""

    is_number: bool
    is_letter: bool
    """One Latin letter alone."""


@lru_cache(maxsize=8192)
def _describe(piece: str) -> tuple[str, bool, bool]:
    """Word, is it a number, is it a letter."""
    is_word = piece[0].isalnum() or len(piece) > 1
    is_letter = len(piece) == 1 and piece.isascii() and piece.isalpha()
    return fold(piece) if is_word else "", piece.isdecimal(), is_letter


def tokenise(text: str) -> list[Token]:
    """Tokens of a normalised text; white space but line ends is dropped."""
    tokens = []
    end = -1
    for found in _TOKEN.finditer(part_scripts(text)):
        word, is_number, is_letter = _describe(found[0][:_LONGEST_WORD])
        tokens.append(Token(found[0], word, found.start() != end, is_number, is_letter))
        end = found.end()
    return tokens


class Vocabulary(NamedTuple):
    """Words of all languages together, where it is safe not to know which language a reply is in."""

    conjunction: frozenset[str]
    disjunction: frozenset[str]
    negation: frozenset[str]
    because: frozenset[str]
    contrast: frozenset[str]
    copula: frozenset[str]
    wrong: frozenset[str]
    both: frozenset[str]
    to: frozenset[str]
    between: frozenset[str]
    """Small words and nouns that may stand between the parts of a list: "A or the letter B"."""
    names: frozenset[str]
    """Nouns for options and numbers."""
    letter_words: frozenset[str]
    reject: frozenset[str]
    place: frozenset[str]
    leading: frozenset[str]
    """Words that may lead to an answer before a colon."""


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    """The union over all packs."""
    packs = [pack.cues for pack in all_packs()]

    def union(*keys: str) -> frozenset[str]:
        return frozenset().union(*(getattr(cues, key) for cues in packs for key in keys))

    return Vocabulary(
        conjunction=union("conjunction"),
        disjunction=union("disjunction"),
        negation=union("negation"),
        because=union("because"),
        contrast=union("contrast"),
        copula=union("copula"),
        wrong=union("wrong"),
        both=union("both"),
        to=union("to"),
        between=union("glue", "option", "numbers"),
        names=union("option", "numbers"),
        letter_words=frozenset(word for word in union("letter_words") if len(word) == 1),
        reject=union("reject"),
        place=union("place"),
        leading=union("answer", "right", "option", "numbers", "choose", "use", "conclude", "final"),
    )


class Cue(NamedTuple):
    """A place where a reply says that its answer comes next."""

    start: int
    """Index of the cue's own token."""
    after: int
    """Index of the token that the answer is looked for from."""
    kind: str
    """"box", "answer", "option", "choose", "conclude"."""
    final: bool
    cues: Cues


def _denies(word: str, cues: Cues) -> bool:
    """Whether a word takes a cue of its language back: a denial, a condition, a word of rejecting."""
    return word in cues.negation or word in cues.condition or word in cues.wrong or word in cues.reject


def _guarded(tokens: Sequence[Token], i: int, cues: Cues) -> bool:
    """Whether the words before a cue, back to the last mark, deny it or make it a condition."""
    for token in reversed(tokens[max(0, i - 4) : i]):
        if not token.word:
            return False
        if _denies(token.word, cues):
            return True
    return False


_DENIED = -1


def _beyond(tokens: Sequence[Token], i: int, cues: Cues) -> int | None:
    """Index after the colon or copula that ends the phrase begun at `i`.

    None where it leads elsewhere, `_DENIED` where it is denied or made a condition.
    """
    for j in range(i, min(i + REACH, len(tokens))):
        token = tokens[j]
        if token.text in (":", "=") or token.word in cues.copula:
            return j + 1
        if token.text in SENTENCE_ENDS or token.text == ";":
            return None
        if _denies(token.word, cues):
            return _DENIED
    return None


def _is_final(tokens: Sequence[Token], start: int, after: int, cues: Cues) -> bool:
    return any(token.word in cues.final for token in tokens[max(0, start - 2) : after])


_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class _Start(NamedTuple):
    """What a word begins in one language."""

    kind: str
    cues: Cues
    final: bool


def _kind(cues: Cues, word: str, numbers: bool) -> str:
    """The strongest kind of cue that a word is, "" for none."""
    if word in cues.answer:
        return "answer"
    if word in cues.option or (numbers and word in cues.numbers):
        return "option"
    if word in cues.choose or (numbers and word in cues.use):
        return "choose"
    return "conclude" if word in cues.conclude else ""


@lru_cache(maxsize=2)
def _starts(numbers: bool) -> tuple[dict[str, tuple[_Start, ...]], dict[str, tuple[_Start, ...]]]:
    """Words that begin a cue, for scripts with spaces and for those without."""
    tables: tuple[dict[str, tuple[_Start, ...]], dict[str, tuple[_Start, ...]]] = ({}, {})
    for pack in all_packs():
        cues = pack.cues
        table = tables[0 if pack.spaced else 1]
        for word in cues.answer | cues.option | cues.numbers | cues.choose | cues.use | cues.conclude:
            kind = _kind(cues, word, numbers)
            if kind:
                final = not pack.spaced and word.startswith(tuple(cues.final))
                table[word] = (*table.get(word, ()), _Start(kind, cues, final))
    return tables


def _begun(word: str, numbers: bool) -> tuple[_Start, ...]:
    """Every cue that a token begins; a run of a script without spaces begins what its end says."""
    spaced, unspaced = _starts(numbers)
    if word in spaced:
        return spaced[word]
    if _CJK.match(word):
        for start in range(len(word)):
            if word[start:] in unspaced:
                return unspaced[word[start:]]
    return ()


def find_cues(tokens: Sequence[Token], *, numbers: bool = False) -> Iterator[Cue]:
    """All places that may lead to an answer, by each language's own words; denied and conditional ones left out.

    Parameters
    ----------
    tokens : sequence of Token
    numbers : bool
        Look for option numbers: nouns for options and verbs of use count too.
    """
    for i, token in enumerate(tokens):
        if token.text == BOX_OPEN:
            yield Cue(i, i + 1, "box", True, Cues())
        elif token.word:
            begun = _begun(token.word, numbers)
            # A word of several languages: what is denied in one of them is not read by another's rules.
            if any(_guarded(tokens, i, start.cues) for start in begun):
                continue
            beyond = [None if start.kind == "conclude" else _beyond(tokens, i + 1, start.cues) for start in begun]
            for start, after in zip(begun, beyond, strict=True):
                kind, cues, final = start
                yield Cue(i, i + 1, kind, final or _is_final(tokens, i, i + 2, cues), cues)
                if after is not None and _DENIED not in beyond:
                    yield Cue(i, after, kind, final or _is_final(tokens, i, after, cues), cues)


def leads_on(tokens: Sequence[Token], i: int, cue: Cue) -> bool:
    """Whether the token at `i` may stand between a cue and its answer: a small word, a mark, a line end after these."""
    token, cues = tokens[i], cue.cues
    if token.text == "\n":
        return i > cue.start + 1 or cue.kind == "box"
    if token.word:
        return any(
            token.word in words
            for words in (cues.glue, cues.copula, cues.option, cues.numbers, cues.answer, cues.right, cues.final)
        )
    return token.text in OPENERS or token.text in ":=-–—#" or (token.text == "," and cue.kind == "conclude")
