"""Does a reply decline to answer?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from isogloss.text.normalise import normalise, unwrap
from isogloss.text.packs import LanguagePack, Phrases, all_packs, find_pack
from isogloss.text.reasoning import split_reasoning

OPENING = 400
"""Characters at the head of a reply in which a refusal must begin; further in it is told, not made."""


def _union(packs: tuple[LanguagePack, ...], patterns: Callable[[LanguagePack], tuple[str, ...]]) -> tuple[Phrases, ...]:
    """One pattern for all languages with spaces, one for those without."""
    groups = []
    for spaced in (True, False):
        joined = [pattern for pack in packs if pack.spaced is spaced for pattern in patterns(pack)]
        if joined:
            groups.append(Phrases(joined, spaced=spaced))
    return tuple(groups)


@lru_cache(maxsize=64)
def _declines(packs: tuple[LanguagePack, ...]) -> tuple[Phrases, ...]:
    return _union(packs, lambda pack: pack.decline)


@lru_cache(maxsize=64)
def _disclaimers(packs: tuple[LanguagePack, ...]) -> tuple[Phrases, ...]:
    return _union(packs, lambda pack: pack.disclaimer)


@lru_cache(maxsize=1)
def _unknowns(packs: tuple[LanguagePack, ...]) -> tuple[Phrases, ...]:
    return _union(packs, lambda pack: pack.unknowns)


@lru_cache(maxsize=1)
def _nones(packs: tuple[LanguagePack, ...]) -> tuple[Phrases, ...]:
    return _union(packs, lambda pack: pack.none)


@lru_cache(maxsize=1)
def _alls(packs: tuple[LanguagePack, ...]) -> tuple[Phrases, ...]:
    return _union(packs, lambda pack: pack.all)


def _any(phrases: tuple[Phrases, ...], text: str) -> bool:
    return any(group.search(text) for group in phrases)


def declines(body: str, packs: tuple[LanguagePack, ...] | None = None) -> bool:
    """Whether a normalised text opens by declining ("I can't help with that")."""
    return _any(_declines(all_packs() if packs is None else packs), body[:OPENING])


def disclaims(body: str, packs: tuple[LanguagePack, ...] | None = None) -> bool:
    """Whether it opens with what an AI lacks ("as an AI I have no…"); an explicit answer may still follow."""
    return _any(_disclaimers(all_packs() if packs is None else packs), body[:OPENING])


def is_refusal(text: str, language: str | None = None) -> bool:
    """Whether a reply, reasoning aside, declines to answer in words.

    Parameters
    ----------
    text : str
        A raw reply.
    language : str or None
        BCP 47 tag of the language to look in; None looks in all there are (models often refuse in English).

    Notes
    -----
    A refusal says that the model can't, won't or may not answer, or that an AI has nothing to answer from, within
    the first `OPENING` characters. Not knowing ("I'm not sure", "no lo sé") is not refusing.

    Raises
    ------
    UnknownNameError
        For a language without a pack.
    """
    packs = None if language is None else (find_pack(language),)
    body = unwrap(normalise(split_reasoning(text).answer))
    return declines(body, packs) or disclaims(body, packs)


def why_not(body: str) -> str:
    """Why a normalised text that holds no value may hold none: a note for the table of invalid replies."""
    if _any(_unknowns(all_packs()), body):
        return "unknown"
    if _any(_nones(all_packs()), body):
        return "none of the options"
    if _any(_alls(all_packs()), body):
        return "all of the options"
    return ""


def says_unknown(body: str) -> bool:
    """Whether a normalised text says that its writer doesn't know."""
    return _any(_unknowns(all_packs()), body)


def hedges(body: str) -> bool:
    """Whether a normalised text hedges in some language ("maybe", "it depends")."""
    return any(pack.hedge.search(body) for pack in all_packs())


def says_none(body: str) -> bool:
    """Whether a normalised text says that no option fits."""
    return _any(_nones(all_packs()), body)
