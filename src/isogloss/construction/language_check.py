"""Is a text in the language that was asked for? Only said where it is sure to be another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from isogloss.errors import ModelError

USUAL = frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"})
"""Languages that a model may slip into, beside those that a construction is in."""
LEAST_LETTERS = 20
"""A shorter text isn't judged."""
SURE = 0.95
"""Probability of another language from which it is said."""


def primary(language: str) -> str:
    """The language of a BCP 47 tag, without country and script."""
    return language.split("-")[0].lower()


def other_language(text: str, language: str, expected: Iterable[str] = ()) -> str | None:
    """The language that a text is in when that is surely not the one asked for; None when it is, or may be.

    Parameters
    ----------
    text : str
    language : str
        BCP 47 tag. Nothing is said of a language that the identifier doesn't know.
    expected : iterable of str
        Other languages that are plausible, beside the usual ones.

    Raises
    ------
    ModelError
        If the language identifier (py3langid) isn't installed.
    """
    if sum(sign.isalpha() for sign in text) < LEAST_LETTERS:
        return None
    wanted = primary(language)
    identifier = _identifier(USUAL | {wanted, *map(primary, expected)})
    if wanted not in identifier.labels:
        return None
    found, share = identifier.rank(text)[0]
    return str(found) if found != wanted and share >= SURE else None


@cache
def _identifier(languages: frozenset[str]) -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise ModelError(f"the language identifier isn't installed ({error}): pip install 'isogloss[build]'") from None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(languages & set(identifier.labels))
    return identifier
