"""Which words of a text say what it is about, and whether two words are one but for inflection.

Words are compared without case, accents and punctuation. Inflection is told by shape alone, so that it needs no
dictionary: two words are taken for forms of one when they begin alike and differ in a few letters at the end.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from isogloss.construction.similarity import fold

FOLDER = Path(__file__).parent / "data"
FREQUENT_SHARE = 0.04
"""In a language without a list, words of at least this share of the texts count as function words."""
FREQUENT_LEAST = 3
"""Texts that such a word must be in."""
SHORT = 3
"""Letters up to which a word of such a language names nothing, where there are longer ones."""


class WordList(NamedTuple):
    """What a language's list says; both empty for a language without one."""

    function: frozenset[str]
    """Articles, pronouns, prepositions, auxiliaries, the commonest adverbs."""
    person: frozenset[str]
    """Words for people of any kind ("people", "inhabitants"), which alone name no group."""


@cache
def word_list(language: str) -> WordList:
    """The list of a language (Spanish, Portuguese and English ship)."""
    path = FOLDER / f"words_{language.split('-')[0].lower()}.toml"
    if not path.exists():
        return WordList(frozenset(), frozenset())
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return WordList(frozenset(table["function"].split()), frozenset(table["person"].split()))


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded."""
    return tuple(fold(text).split())


def function_words(language: str, texts: Iterable[str]) -> frozenset[str]:
    """The language's list, or, where none ships, the words that are in many of some texts.

    Parameters
    ----------
    language : str
        BCP 47 tag.
    texts : iterable of str
        Of the language; only read where there is no list.
    """
    known = word_list(language).function
    if known:
        return known
    sets = [set(words_of(text)) for text in texts]
    least = max(FREQUENT_LEAST, FREQUENT_SHARE * len(sets))
    return frozenset(word for word, n in Counter(word for words in sets for word in words).items() if n >= least)


def content_words(text: str, function: frozenset[str]) -> frozenset[str]:
    """Words of a text that aren't function words."""
    return frozenset(words_of(text)) - function


@lru_cache(maxsize=1_000_000)
def is_inflected(a: str, b: str) -> bool:
    """Whether two folded words are forms of one, by shape.

    They share at least three letters at the beginning and differ in at most two at the end of each, or in one to three
    of both ("juez", "jueces"); with just three letters shared, in at most one, or in a short ending of one of them.

    Examples
    --------
    >>> is_inflected("relojeros", "relojera"), is_inflected("juez", "jueces"), is_inflected("norte", "norma")
    (True, True, False)
    """
    if a == b:
        return True
    shared = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if shared < 3 or not (a[shared:] + b[shared:]).isalpha():  # "1990s" and "1980s" aren't forms of one
        return False
    short, long = sorted((len(a) - shared, len(b) - shared))
    if shared == 3:
        return long <= 1 or (short, long) in ((0, 2), (1, 3))
    return long <= 2 or (short >= 1 and long <= 3)


def is_named_by(word: str, other: str) -> bool:
    """Whether another word names what a word of a group's name does; more lenient than `is_inflected`.

    Prefixes of at most two letters count too ("walimu", "mwalimu"), and one letter inside a longer word ("woman",
    "women").
    """
    if is_inflected(word, other):
        return True
    if len(word) == len(other) >= 5 and word[0] == other[0] and word[-1] == other[-1]:
        return sum(a != b for a, b in zip(word, other, strict=True)) == 1
    short, long = sorted((word, other), key=len)
    return len(short) >= 5 and len(long) - len(short) <= 2 and long.endswith(short)


def name_words(group: str, language: str) -> tuple[str, ...]:
    """The words of a group's name that tell it from others: not "the", not "people", where there are others."""
    known = word_list(language)
    words = words_of(group)
    for aside in (known.function | known.person, known.function):
        telling = tuple(word for word in words if word not in aside and (known.function or len(word) > SHORT))
        if telling:
            return telling
    return words


def names_group(text: str, group: str, language: str) -> bool:
    """Whether a text names a group, in any inflected form.

    The name stands in it as it is; or each of its telling words does in some form, of three or more two thirds. "La
    gente llegó" doesn't name "la gente de la costa", "mi vecina es de la costa" does.

    Parameters
    ----------
    text, group : str
    language : str
        BCP 47 tag of both.
    """
    folded, name = fold(text), fold(group)
    if not name:
        return False
    if f" {name} " in f" {folded} " or (not name.isascii() and len(name) > 1 and name in folded):
        return True
    telling = name_words(group, language)
    words = words_of(text)
    n_found = sum(any(is_named_by(word, other) for other in words) for word in telling)
    return n_found >= (len(telling) if len(telling) < 3 else -(-2 * len(telling) // 3))


def word_share(a: str, b: str) -> float:
    """Share of words that two texts have in common, whatever their order and inflection (Dice), in [0, 1]."""
    left, right = words_of(a), list(words_of(b))
    n_words = len(left) + len(right)
    n_same = 0
    for word in left:
        place = next((k for k, other in enumerate(right) if is_inflected(word, other)), None)
        if place is not None:
            n_same += 1
            del right[place]
    return 2 * n_same / n_words if n_words else 1.0


class Vocabulary:
    """Content words of many sentences, to tell which of them share one with a text.

    Parameters
    ----------
    sentences : sequence of str
    function : frozenset of str
        Words that don't count.
    """

    def __init__(self, sentences: Sequence[str], function: frozenset[str]) -> None:
        self._function = function
        self._at: dict[str, set[int]] = defaultdict(set)
        for k, sentence in enumerate(sentences):
            for word in content_words(sentence, function):
                self._at[word].add(k)
        self._by_start: Mapping[str, list[str]] = defaultdict(list)
        for word in self._at:
            self._by_start[word[:3]].append(word)
        self._found: dict[str, frozenset[int]] = {}

    def sharing(self, text: str) -> frozenset[int]:
        """Positions of the sentences that share a content word with a text, in any inflected form."""
        return frozenset().union(*(self._having(word) for word in content_words(text, self._function)))

    def _having(self, word: str) -> frozenset[int]:
        if word not in self._found:
            near = [other for other in self._by_start.get(word[:3], ()) if is_inflected(word, other)]
            self._found[word] = frozenset().union(*(self._at[other] for other in near))
        return self._found[word]
