"""Keys: told from a setting or a name, so that one in the wrong place is refused, and kept out of what is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

_PREFIX = re.compile(
    r"(?:\b|_)(?:(?:sk|pk|gsk|xai|ghp)[-_]|hf_|(?:hf-|key[-_]|api[-_])(?=[A-Za-z_-]*\d))[A-Za-z0-9_-]{12,}"
    r"|\bAIza\w{12,}|^Bearer\s",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_NAMES = ("key", "token", "secret", "password", "authorization", "credential", "credentials")
_LONGEST = 60
LEAST_HIDDEN = 8
"""Characters of a key, at least, for it to be taken out of replies too: what a server without keys is given ("EMPTY")
may be a word of theirs."""


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


def name_holds_key(name: str) -> bool:
    """Whether a model's name may have a key in it; names are made of words, versions and digests."""
    pieces = re.split(r"[/@:]", name)
    is_path = pieces[0] in (".", "..", "~", "")
    return any(_piece_holds_key(piece, is_path=is_path) for piece in pieces)


def _piece_holds_key(piece: str, *, is_path: bool) -> bool:
    if not looks_like_key(piece) or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", piece):
        return False
    found = _PREFIX.search(piece)
    if found is None:
        return not is_path
    # "sk-summaries-long" is a model of Slovak: a key has long parts, or letters and digits mixed.
    return any(
        len(part) >= 16 or re.search(r"(?=.{5})(\d.*[A-Za-z]|[A-Za-z]+\d)", part) or re.search(r"[a-z][A-Z]", part)
        for part in re.split(r"[-_]", found[0])
    )


def hide(text: str, secrets: Iterable[str]) -> str:
    """Text with "[key]" for each secret, also as it is written in JSON or a URL."""
    for secret in secrets:
        for form in {secret, json.dumps(secret)[1:-1], secret.replace("/", r"\/"), quote(secret, safe="")}:
            text = text.replace(form, "[key]")
    return text


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
