"""Telling a key from a setting, so that one put in the wrong place is refused and never shown."""

from __future__ import annotations

import re

_PREFIX = re.compile(
    r"(?:\b|_)(?:sk|pk|gsk|xai|ghp|hf|key|api)[-_][A-Za-z0-9_-]{12,}|\bAIza\w{12,}|^Bearer\s", re.IGNORECASE
)
_RANDOM = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_NAMES = ("key", "token", "secret", "password", "authorization", "credential", "credentials")
_LONGEST = 60


def names_a_key(name: str) -> bool:
    """Whether a setting's name asks for a key: `api_key`, `OPENAI_API_KEY`, `auth-token`, `secret`."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return words[-1] in _NAMES or "".join(words) in {"apikey", "apitoken", "accesstoken", "bearer", "auth"}


def looks_like_key(value: object) -> bool:
    """Whether a text may be a key: a known beginning (`sk-…`), or long and random."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    if _PREFIX.search(text) and not text.isupper():
        return True
    if not _RANDOM.fullmatch(text) or "/" in text.strip("/")[:12]:
        return False
    pieces = re.split(r"[-_/]", text)
    # Names are made of words; a key has a long piece in which letters and digits mix.
    return any(
        len(piece) >= 16 and re.search(r"\d.*[A-Za-z].*\d|[A-Za-z]\d.*[A-Za-z]", piece) is not None for piece in pieces
    )


def shown(value: object) -> str:
    """A value for an error message: short, and hidden where it may be a key."""
    if looks_like_key(value):
        return "a text that looks like a key"
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
