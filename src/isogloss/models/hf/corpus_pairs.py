"""A corpus of sentences, and pairs of them: consecutive ones, and as many that don't belong together."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import DataError

LEAST_SENTENCES = 500
LEAST_PAIRS = 200
"""Consecutive pairs that a corpus must hold, so that enough can be kept apart."""
_LONGEST_BLOCK = 50
"""Consecutive pairs that stay together, at most."""
_N_BLOCKS = 40
"""A corpus is cut into at least so many blocks."""
_HELD_OUT, _STOPPING = 0.2, 0.1
_LAYOUT = "a sentence a line, a blank line between documents"

Following = tuple[str, str]


class Corpus(NamedTuple):
    """Sentences in their order, document by document."""

    name: str
    sha256: str
    documents: tuple[tuple[str, ...], ...]

    @property
    def n_sentences(self) -> int:
        return sum(map(len, self.documents))


class Pair(NamedTuple):
    """Two sentences, and whether the second follows the first in the corpus."""

    first: str
    second: str
    follows: bool


class Parts(NamedTuple):
    """Pairs by what they are for; no sentence is in two of them."""

    training: tuple[Pair, ...]
    stopping: tuple[Pair, ...]
    """Tell when training has gone on for long enough."""
    held_out: tuple[Pair, ...]
    """Tell how good the head is."""


def read_corpus(path: Path) -> Corpus:
    """Read a text file: a sentence a line, a blank line between documents.

    Raises
    ------
    DataError
        Where it can't be read, isn't UTF-8, or holds fewer than `LEAST_SENTENCES` sentences.
    """
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise DataError(f"the corpus {path} can't be read: {fault.strerror or fault}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        n_line = content[: fault.start].count(b"\n") + 1
        raise DataError(f"{path} line {n_line} isn't UTF-8; save the file as UTF-8 text, {_LAYOUT}") from None
    documents: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        sentence = " ".join(line.split())
        if sentence:
            documents[-1].append(sentence)
        elif documents[-1]:
            documents.append([])
    corpus = Corpus(path.name, hashlib.sha256(content).hexdigest(), tuple(tuple(one) for one in documents if one))
    if corpus.n_sentences < LEAST_SENTENCES:
        raise DataError(
            f"{path} holds {corpus.n_sentences:,} sentences; a head needs at least {LEAST_SENTENCES} ({_LAYOUT})"
        )
    return corpus


def make_pairs(corpus: Corpus, *, n_pairs: int, seed: int) -> Parts:
    """Draw pairs of sentences, half of them consecutive, and part them.

    Documents, and blocks of long ones, go to one part as a whole; a sentence that is more than once in the corpus
    makes no pair. So no sentence is in two parts. Within a part each first and each second sentence stands once in a
    consecutive pair and once beside a sentence of another block: neither tells anything alone.

    Parameters
    ----------
    corpus : Corpus
    n_pairs : int
        Pairs in all, at most.
    seed : int
        Equal seeds give equal pairs on every machine.

    Raises
    ------
    DataError
        Where the corpus has fewer than `LEAST_PAIRS` consecutive pairs to draw from.
    """
    draw = random.Random(f"next-sentence pairs|{seed}")
    blocks = _blocks(corpus)
    n_there = sum(map(len, blocks))
    if n_there < LEAST_PAIRS:
        raise DataError(
            f"{corpus.name} has {n_there:,} pairs of consecutive sentences that stand in it only once; a head needs at "
            f"least {LEAST_PAIRS} ({_LAYOUT})"
        )
    kept = set(draw.sample(range(n_there), min(n_there, n_pairs // 2)))
    numbers = iter(range(n_there))
    blocks = [[pair for pair in block if next(numbers) in kept] for block in blocks]
    blocks = [block for block in blocks if block]
    draw.shuffle(blocks)
    held_out = _take(blocks, _HELD_OUT * len(kept))
    stopping = _take(blocks, _STOPPING * len(kept))
    parts = (blocks, stopping, held_out)
    if any(2 * max(map(len, part), default=1) > sum(map(len, part)) for part in parts):
        raise DataError(
            f"{corpus.name} has consecutive sentences in too few places; more documents are needed ({_LAYOUT})"
        )
    return Parts(*(tuple(_with_others(part, draw)) for part in parts))


def _blocks(corpus: Corpus) -> list[list[Following]]:
    """Consecutive pairs, document by document; long documents are cut, so that no two blocks share a sentence."""
    times = Counter(sentence for document in corpus.documents for sentence in document)

    def pairs(sentences: Sequence[str]) -> list[Following]:
        return [(a, b) for a, b in pairwise(sentences) if times[a] == times[b] == 1]

    n_pairs = sum(len(pairs(document)) for document in corpus.documents)
    length = max(1, min(_LONGEST_BLOCK, n_pairs // _N_BLOCKS)) + 1
    cut = (
        pairs(document[start : start + length])
        for document in corpus.documents
        for start in range(0, len(document), length)
    )
    return [block for block in cut if block]


def _take(blocks: list[list[Following]], n_pairs: float) -> list[list[Following]]:
    """Take blocks off the end until they hold so many pairs."""
    taken: list[list[Following]] = []
    while blocks and sum(map(len, taken)) < n_pairs:
        taken.append(blocks.pop())
    return taken


def _with_others(blocks: Sequence[list[Following]], draw: random.Random) -> Iterator[Pair]:
    """Each consecutive pair, and its first sentence with the second of a pair of another block.

    All second sentences are moved on by one number of places. It is no smaller than the longest block, nor is what
    lacks to a full round, so that none comes to stand in its own block.
    """
    pairs = [pair for block in blocks for pair in draw.sample(block, len(block))]
    longest = max(map(len, blocks))
    shift = draw.randint(longest, len(pairs) - longest)
    for k, (first, second) in enumerate(pairs):
        yield Pair(first, second, follows=True)
        yield Pair(first, pairs[(k + shift) % len(pairs)][1], follows=False)
