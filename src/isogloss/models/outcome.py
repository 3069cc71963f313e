"""What one request came to, whatever the wire format it went over."""

from __future__ import annotations

import json
import re
import time
from typing import Any, NamedTuple, TypeVar

import msgspec

from isogloss.models.faults import PassingError, ProviderWords, one_line
from isogloss.records import Response, Status

T = TypeVar("T")

_READ = 4000
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")

NO_TEXT_IN_LIMIT = "no text before the token limit; allow more tokens (max_tokens)"
ONLY_REASONING = "nothing but hidden reasoning; allow more tokens (max_tokens)"
TOOL_CALL = "a tool call in place of a text"


class Outcome(NamedTuple):
    """What one call came to."""

    status: Status
    text: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    """All of them, those read from a cache among them."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    version: str | None = None
    """Exact version of the model, where the reply tells it."""
    passing: bool = False
    """It failed by a fault that another try may mend."""

    def response(
        self,
        prompt_id: str,
        *,
        model: str,
        revision: str | None,
        repeat: int,
        n_tries: int = 1,
        seconds: float | None = None,
    ) -> Response:
        """The record of it, received now; `revision` where it was known beforehand."""
        return Response(
            prompt_id=prompt_id,
            model=model,
            revision=revision or self.version,
            repeat=repeat,
            status=self.status,
            text=self.text,
            reasoning=self.reasoning,
            finish_reason=self.finish_reason,
            error=self.error,
            input_tokens=self.input_tokens,
            cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens,
            n_tries=n_tries,
            seconds=seconds,
            received_at=time.time(),
            passing=self.passing,
        )


class InnerError(Exception):
    """A body with 200 that holds an error."""

    def __init__(self, words: ProviderWords) -> None:
        super().__init__(words.message)
        self.words = words


def decode(body: bytes, decoder: msgspec.json.Decoder[T], kind: type[T], what: str) -> T:
    """The body as a reply; characters that are none (half a surrogate pair) are marked, not a reason to pay twice.

    Raises
    ------
    PassingError
        For a body that isn't the JSON of `what`.
    """
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            return msgspec.convert(_whole_characters(json.loads(body.decode("utf-8", "replace"))), kind)
        except (ValueError, RecursionError):
            shown = one_line(body[:_READ].decode("utf-8", "replace"))
            raise PassingError(f"the reply isn't a {what} ({error}): {shown or 'empty body'}") from None


def _whole_characters(value: object) -> object:
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_whole_characters(part) for part in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(part) for key, part in value.items()}
    return value


class _Billed(msgspec.Struct):
    usage: Any = None


def usage_in(body: bytes) -> object:
    """What a body says it took, whatever else it is; None for one that says nothing."""
    try:
        return msgspec.json.decode(body, type=_Billed).usage
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found.get("usage") if isinstance(found, dict) else None
