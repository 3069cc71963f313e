"""Which claims of two lists say the same of the same group, by similarity, with a person's word before it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.construction.content_words import is_inflected, name_words
from isogloss.construction.similarity import FloatArray, encode, fold
from isogloss.studies.stereotypes.build.claims import Claim

GROUPS_NEAR = 0.6
"""From which on a pair is at least shown to a person."""
NEARLY = 0.1
"""How far below the threshold a pair of claims is shown to a person."""
MOST_SHOWN = 3
"""Pairs shown of each claim, the most alike first; those that a person decided are always shown."""
SAME, DIFFERENT = "same", "different"
_BLOCK = 1024
Name: TypeAlias = tuple[str, str]
"""Of a group, and its language."""


class Match(NamedTuple):
    """Two claims that say the same, or nearly."""

    a: Claim
    b: Claim
    similarity: float
    group_similarity: float
    is_same: bool
    """By the threshold, or by a person's decision."""
    decision: str
    """"same", "different", or "" where nobody has decided."""


class Encoded(NamedTuple):
    """Claims ready to be compared."""

    claims: list[Claim]
    said: FloatArray
    """Unit vectors of what they say, shape (n_claims, n_dimensions)."""
    words: NDArray[np.int64]
    """Equal numbers for claims that are equal after folding."""
    names: list[Name]
    """The different groups."""
    group: NDArray[np.int64]
    """Place of each claim's group in `names`."""
    name_vectors: FloatArray
    """Of the names, as they are and by their telling words alone, shape (2, n_names, n_dimensions)."""

    def part(self, places: Sequence[int]) -> Encoded:
        """Some of the claims, by their places."""
        kept, group = np.unique(self.group[places], return_inverse=True)
        return Encoded(
            [self.claims[k] for k in places], self.said[places], self.words[places],
            [self.names[k] for k in kept], group, self.name_vectors[:, kept],
        )  # fmt: skip


Decisions = Mapping[tuple[str, str], str]
"""(id, id) in order → "same" or "different"."""


class Bench:
    """Compares lists of claims under one encoder and threshold.

    Parameters
    ----------
    encoder : str
        See `isogloss.construction.similarity.encode`; claims in different languages are compared, so it must be
        multilingual where there are several.
    threshold : float
        Similarity from which two claims say the same.
    group_threshold : float
        Similarity of two names from which they name one group ("mujeres", "women": 0.96; "mujeres", "men": 0.73).
    decided : mapping
        What a person said of pairs.
    """

    def __init__(self, encoder: str, threshold: float, group_threshold: float, decided: Decisions) -> None:
        self._encoder = encoder
        self._threshold = threshold
        self.group_threshold = group_threshold
        self._decided = decided
        self._numbers: dict[str, int] = {}

    def encode(self, claims: Sequence[Claim]) -> Encoded:
        """Make claims ready. Raises SettingError for a language that the encoder doesn't cover."""
        names = list(dict.fromkeys((claim.group, claim.language) for claim in claims))
        place = {name: k for k, name in enumerate(names)}
        return Encoded(
            list(claims),
            self._vectors([(claim.said, claim.language) for claim in claims]),
            np.array([self._number(fold(claim.said)) for claim in claims], dtype=np.int64),
            names,
            np.array([place[claim.group, claim.language] for claim in claims], dtype=np.int64),
            self._name_vectors(names),
        )

    def _name_vectors(self, names: Sequence[Name]) -> FloatArray:
        """As they are and without small words.

        "los mexicanos" and "Mexican" are nearer without the article, "la gente de la costa" and "coastal people" with
        all their words.
        """
        telling = [(" ".join(name_words(*name)) or name[0], name[1]) for name in names]
        return np.stack([self._vectors(names), self._vectors(telling)])

    def _number(self, folded: str) -> int:
        return self._numbers.setdefault(folded, len(self._numbers))

    def _vectors(self, texts: Sequence[tuple[str, str]]) -> FloatArray:
        """Of (text, language); each language by itself, since the encoder may not cover it."""
        at: dict[str, list[int]] = defaultdict(list)
        for k, (_, language) in enumerate(texts):
            at[language].append(k)
        parts = {tag: encode([texts[k][0] for k in places], self._encoder, tag) for tag, places in at.items()}
        width = next((part.shape[1] for part in parts.values()), 0)
        vectors = np.zeros((len(texts), width), dtype=np.float32)
        for tag, places in at.items():
            vectors[places] = parts[tag]
        return vectors

    def worth(self, own: Encoded, claims: Sequence[Claim]) -> list[Claim]:
        """Those of many claims whose group is near to one of ours, or that a person decided on: so that the rest of a
        large data set needn't be encoded."""
        names = list(dict.fromkeys((claim.group, claim.language) for claim in claims))
        best = self._names_alike(own.names, own.name_vectors, names, self._name_vectors(names)).max(
            axis=0, initial=-1.0
        )
        near = {name for name, alike in zip(names, best.tolist(), strict=True) if alike >= GROUPS_NEAR}
        decided = {id for pair in self._decided for id in pair}
        return [claim for claim in claims if (claim.group, claim.language) in near or claim.id in decided]

    def groups(self, a: Encoded, b: Encoded) -> FloatArray:
        """How alike groups are, shape (n_names_a, n_names_b): 1 where the name is one but for case and inflection, or
        where one isn't known."""
        return self._names_alike(a.names, a.name_vectors, b.names, b.name_vectors)

    def _names_alike(
        self, a: Sequence[Name], vectors_a: FloatArray, b: Sequence[Name], vectors_b: FloatArray
    ) -> FloatArray:
        if not a or not b:
            return np.zeros((len(a), len(b)), dtype=np.float32)
        alike: FloatArray = (vectors_a @ vectors_b.transpose(0, 2, 1)).max(axis=0)
        words_b = [name_words(*name) for name in b]
        for i, name in enumerate(a):
            words_a = name_words(*name)
            alike[i, [k for k, words in enumerate(words_b) if is_one_name(words_a, words)]] = 1.0
        return alike

    def matches(self, a: Encoded, b: Encoded, fits: Callable[[Claim, Claim], bool]) -> list[Match]:
        """Pairs that say the same or nearly, of those that `fits` allows; the most alike first.

        Two claims say the same when their groups are one (the same name but for case and inflection, or alike to the
        threshold of groups) and what is said without the group's name is equal after folding, or alike to the
        threshold.
        """
        groups = self.groups(a, b)
        found = [
            Match(
                a.claims[i],
                b.claims[k],
                round(alike, 4),
                round(float(groups[a.group[i], b.group[k]]), 4),
                decision == SAME
                or (
                    decision != DIFFERENT
                    and alike >= self._threshold
                    and bool(groups[a.group[i], b.group[k]] >= self.group_threshold)
                ),
                decision,
            )
            for i, k, alike in self._near(a, b, groups)
            if fits(a.claims[i], b.claims[k])
            for decision in [self._decision(a.claims[i].id, b.claims[k].id)]
        ]
        return sorted(found, key=lambda one: (-one.similarity, one.a.id, one.b.id))

    def _decision(self, a: str, b: str) -> str:
        return self._decided.get((min(a, b), max(a, b)), "")

    def _near(self, a: Encoded, b: Encoded, groups: FloatArray) -> Iterator[tuple[int, int, float]]:
        """Pairs worth a look, block by block: memory doesn't grow with both lists."""
        if not a.claims or not b.claims:
            return
        decided = self._places(a, b)
        for start in range(0, len(a.claims), _BLOCK):
            rows = slice(start, start + _BLOCK)
            alike = a.said[rows] @ b.said.T
            alike[a.words[rows, None] == b.words[None, :]] = 1.0
            near = alike >= self._threshold - NEARLY
            near &= groups[a.group[rows, None], b.group[None, :]] >= GROUPS_NEAR
            for i, k in decided:
                if rows.start <= i < rows.stop:
                    near[i - start, k] = True
            for i, k in zip(*(part.tolist() for part in np.nonzero(near)), strict=True):
                yield start + i, k, min(1.0, float(alike[i, k]))

    def _places(self, a: Encoded, b: Encoded) -> list[tuple[int, int]]:
        """Where the pairs stand that a person decided."""
        at_a = {claim.id: k for k, claim in enumerate(a.claims)}
        at_b = {claim.id: k for k, claim in enumerate(b.claims)}
        pairs = [pair for one, other in self._decided for pair in ((one, other), (other, one))]
        return [(at_a[one], at_b[other]) for one, other in pairs if one in at_a and other in at_b]


def is_one_name(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether the telling words of two names are the same but for inflection; a name without words is any."""
    if not a or not b:
        return True
    return (
        len(a) == len(b)
        and all(any(is_inflected(word, other) for other in b) for word in a)
        and all(any(is_inflected(word, other) for other in a) for word in b)
    )


def shown(matches: Sequence[Match]) -> list[Match]:
    """Those that a person is shown: decided ones, and of each claim, of either side, the most alike few."""
    n_shown: Counter[tuple[str, str]] = Counter()
    found = []
    for one in matches:
        sides = (("a", one.a.id), ("b", one.b.id))
        if one.decision or any(n_shown[side] < MOST_SHOWN for side in sides):
            found.append(one)
            if not one.decision:
                n_shown.update(sides)
    return found
