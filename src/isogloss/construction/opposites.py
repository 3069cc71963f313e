"""Whether one sentence may deny what another says: encoders find "can cook" and "can't cook" very much alike."""

from __future__ import annotations

import tomllib
from functools import cache

from isogloss.construction.content_words import FOLDER, words_of

_LEAST, _PREFIX = 4, 3


@cache
def negations(language: str) -> frozenset[str]:
    """Words that turn a sentence round ("not", "never", "hardly"), folded; none for a language without a list."""
    path = FOLDER / f"words_{language.split('-')[0].lower()}.toml"
    if not path.exists():
        return frozenset()
    return frozenset(tomllib.loads(path.read_text(encoding="utf-8")).get("negation", "").split())


def may_be_opposed(a: str, b: str, language: str) -> bool:
    """Whether just one of two texts has a negation, or a word of one is a word of the other after a short prefix.

    A hint for keeping two like sentences apart until a person has looked, no proof that they are opposed; words that
    are opposites without either ("rich", "poor") aren't found.

    Parameters
    ----------
    a, b : str
    language : str
        BCP 47 tag; negations are known in languages that have a list, prefixes in any.

    Examples
    --------
    >>> may_be_opposed("saben bailar", "no saben bailar", "es"), may_be_opposed("are honest", "are dishonest", "en")
    (True, True)
    >>> may_be_opposed("no prestan nada", "nunca prestan nada", "es")
    False
    """
    left, right = set(words_of(a)), set(words_of(b))
    known = negations(language)
    if bool(left & known) != bool(right & known):
        return True
    return any(_prefixed(x, y) or _prefixed(y, x) for x in left - right for y in right - left)


def _prefixed(long: str, short: str) -> bool:
    return len(short) >= _LEAST and 0 < len(long) - len(short) <= _PREFIX and long.endswith(short)
