"""What a provider says when it gives no reply, and what follows from it: try again, give up, or end the asking.

Knows no provider's wire format beyond the few shapes in which errors come (see `read_words`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import msgspec

from isogloss.models.secrets import hide
from isogloss.models.usage import NOT_TOLD, Usage
from isogloss.records import Status

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_CROWDED = frozenset({429, 503, 529})
_CROWDED_CODES = frozenset({"rate_limit_error", "rate_limit_exceeded", "overloaded_error"})
_NO_QUOTA = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated", "billing_error"}
)
_NO_MODEL = frozenset({"model_not_found", "invalid_model", "unknown_model", "NOT_FOUND", "not_found_error"})
_BAD_KEY = frozenset({"invalid_api_key", "authentication_error", "API_KEY_INVALID", "invalid_authentication"})
_BLOCKED = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "data_inspection_failed"}
    | {"moderation_blocked", "content_blocked", "prompt_blocked"}
)
_QUOTA_WORDS = re.compile(r"\b(quota|billing|credits?|balance|payment)\b", re.IGNORECASE)
_USED_UP_WORDS = re.compile(
    r"credit balance is too low|insufficient (balance|credits|funds)|reached your (\w+ ){0,3}usage limits?",
    re.IGNORECASE,
)
_WITHHELD_WORDS = re.compile(r"blocked by (the )?content filter|content management policy", re.IGNORECASE)
_TOO_LONG_WORDS = re.compile(
    r"maximum context length|prompt is too long|exceeds? (the )?(available |model's |maximum )*context", re.IGNORECASE
)
_RATE_WORDS = re.compile(r"rate.?limit|\bper (second|minute|hour)\b|too many requests", re.IGNORECASE)
_KEY_WORDS = re.compile(
    r"api key (not valid|is invalid|expired|not found)|(invalid|incorrect|bad) api key", re.IGNORECASE
)
_RETRY_DELAY = re.compile(rb'"retry_?delay"\s*:\s*"(\d+(?:\.\d+)?)s"', re.IGNORECASE)
_KEY_SHAPE = re.compile(r"\b(?:(?:sk|pk|rk|gsk|xai|hf|nvapi)[-_]|AIza)[A-Za-z0-9*_.-]{6,}|[^\s\"']*\*{3,}[^\s\"']*")
_SHOWN = 300
_READ = 2000
"""Characters of a text that are looked through."""
_LONGEST_WAIT = 365 * 86_400.0


class PassingError(Exception):
    """A fault that another try may mend.

    `retry_after` is in seconds, None where the provider names no time; `crowded`: it was asked too much at once;
    `usage`: tokens that the provider counts for what came.
    """

    def __init__(
        self,
        words: str,
        *,
        retry_after: float | None = None,
        unreachable: bool = False,
        crowded: bool = False,
        usage: Usage = NOT_TOLD,
    ) -> None:
        super().__init__(words)
        self.words = words
        self.retry_after = retry_after
        self.unreachable = unreachable
        self.crowded = crowded
        self.usage = usage

    @property
    def told(self) -> str:
        """The words, and how long the provider asks to wait."""
        return self.words + (f"; asks to wait {self.retry_after:.0f} s" if (self.retry_after or 0) >= 1 else "")


class ProviderWords(NamedTuple):
    """An error as the provider put it; empty strings for what it didn't say."""

    message: str
    codes: frozenset[str] = frozenset()
    """Code, type and status, as text."""
    param: str = ""
    flagged: bool = False
    """The message was turned down by a moderation, not for what the account may do."""
    http_status: int | None = None
    """Status code told inside a body that itself came with 200."""


def one_line(text: str) -> str:
    """The beginning of a text on one line: long enough for all that is shown, and not to be shown as it is."""
    return " ".join(text[: 4 * _READ].split())[:_READ]


def shorten(text: str) -> str:
    """One line of at most 300 characters. A text of a provider's is scrubbed before, or half a key may be left."""
    line = one_line(text)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Text without the secrets, and without anything of the shape of a provider's key (also a masked one).

    A secret is also found with line breaks in it, and where the text's end cuts it off.
    """
    for secret in secrets:
        if not secret:
            continue
        text = hide(text, (secret,))
        text = re.sub(r"\s*".join(map(re.escape, secret)), "[key]", text)
        cut = next((n for n in range(len(secret) - 1, 7, -1) if text.endswith(secret[:n])), 0)
        if cut:
            text = text[:-cut] + "[key]"
    return _KEY_SHAPE.sub("[key]", text)


def clean(text: str, secrets: Iterable[str]) -> str:
    """What may be shown of a provider's text: one line of at most 300 characters, no key in it."""
    return shorten(scrub(one_line(text), secrets))


def read_words(body: bytes) -> ProviderWords:
    """Find the provider's words in the body of an error, whatever its shape.

    Known: `{"error": {"message", "type", "code", "param"}}`, `{"error": "…"}`, a list with such an object in it,
    `{"message": …}`, `{"detail": …}`; otherwise the body itself, as text. It may be long and hold a key: see `clean`.
    """
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ProviderWords(one_line(body[: 4 * _READ].decode("utf-8", "replace")))
    return words_in(found)


def words_in(found: object) -> ProviderWords:
    """The provider's words in a decoded error (see `read_words`)."""
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict):
        return ProviderWords(one_line(_as_text(found)))
    inner = found.get("error", found)
    if not isinstance(inner, dict):
        return ProviderWords(one_line(_as_text(inner)), _codes(found))
    message = next((inner[key] for key in ("message", "detail", "error", "msg") if inner.get(key)), inner)
    metadata = inner.get("metadata")
    code = inner.get("code")
    return ProviderWords(
        one_line(_as_text(message)),
        _codes(inner),
        _as_text(inner["param"]) if inner.get("param") else "",
        isinstance(metadata, dict) and ("flagged_input" in metadata or "reasons" in metadata),
        code if isinstance(code, int) and 400 <= code < 600 else None,
    )


def _codes(error: Mapping[str, object]) -> frozenset[str]:
    codes = {_as_text(error[key]) for key in ("code", "type", "status") if error.get(key)}
    inner = error.get("innererror")
    if isinstance(inner, dict) and inner.get("code"):
        codes.add(_as_text(inner["code"]))
    return frozenset(codes)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def retry_after(headers: Mapping[str, str], body: bytes, *, now: float) -> float | None:
    """Seconds the provider asks to wait, a year at most.

    From `retry-after-ms`, `Retry-After` (seconds or date) or a delay in the body; None for what is none of these.
    """
    seconds = _asked_wait(headers, body, now)
    return None if seconds is None else min(seconds, _LONGEST_WAIT)


def _asked_wait(headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and _is_number(milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after")
    if value is not None:
        if _is_number(value):
            return float(value)
        try:
            moment = parsedate_to_datetime(value)
            return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    found = _RETRY_DELAY.search(body)
    return float(found[1]) if found else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) is not None


class Verdict(NamedTuple):
    """What an error comes to: a status of this call, or an end (`advice` says what to do), or neither: try again."""

    status: Status | None = None
    advice: str = ""


def judge(status: int, words: ProviderWords, *, waits: float | None) -> Verdict:
    """What follows from an error. `waits`: seconds the provider asks to wait; with a wait, no quota is used up."""
    withheld = status == 400 and _WITHHELD_WORDS.search(words.message)
    if words.codes & _BLOCKED or (status == 403 and words.flagged) or withheld:
        return Verdict(Status.BLOCKED)
    if status == 401 or words.codes & _BAD_KEY or _KEY_WORDS.search(words.message):
        return Verdict(advice="the key isn't accepted; check it")
    if status == 403 or "permission_error" in words.codes:
        return Verdict(advice="the key may not use this model; check the account's rights")
    used_up = (
        status == 429
        and waits is None
        and _QUOTA_WORDS.search(words.message)
        and not _RATE_WORDS.search(f"{words.message} {' '.join(words.codes)}")
    )
    no_credit = status == 400 and _USED_UP_WORDS.search(words.message)
    if status == 402 or words.codes & _NO_QUOTA or used_up or no_credit:
        return Verdict(advice="the quota is used up; check the account's billing, then run the same command again")
    if status == 404 or words.codes & _NO_MODEL:
        return Verdict(advice="no such model at this address; check the model's name and the base URL")
    if status == 407:
        return Verdict(advice="the proxy wants a user and password; put them into the variable that names it")
    if 300 <= status < 400:
        return Verdict(advice="the address has moved; check the base URL")
    if status in _RETRIED or status == 200:
        return Verdict()
    return Verdict(Status.FAILED)


def is_too_long(words: str) -> bool:
    """Whether an error says that a prompt is longer than the model's context."""
    return _TOO_LONG_WORDS.search(words) is not None


def passing(status: int, words: ProviderWords, waits: float | None, usage: Usage = NOT_TOLD) -> PassingError:
    """The fault of an error that another try may mend."""
    crowded = status in _CROWDED or bool(words.codes & _CROWDED_CODES)
    return PassingError(f"HTTP {status}: {words.message}", retry_after=waits, crowded=crowded, usage=usage)
