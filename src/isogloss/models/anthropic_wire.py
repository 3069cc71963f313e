"""The wire format of Anthropic's messages."""

from __future__ import annotations

from typing import Any

import msgspec

from isogloss.models.dialect import Dialect
from isogloss.models.faults import PassingError, read_words, words_in
from isogloss.models.outcome import NO_TEXT_IN_LIMIT, ONLY_REASONING, TOOL_CALL, InnerError, Outcome, decode
from isogloss.models.usage import NOT_TOLD, Usage, counted
from isogloss.models.wire import Wire
from isogloss.records import Status

VERSION = "2023-06-01"
MOST_TOKENS = 4096
"""Asked for where the sampling has no limit, since every request must name one."""
STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Type of an error → the HTTP status it comes with, for errors that come without one (inside a batch, or with 200)."""


class Block(msgspec.Struct):
    """One block of the content."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None


class MessageReply(msgspec.Struct):
    """A body that came with 200: a message, or an error that should have come with another code."""

    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_details: Any = None
    model: str | None = None
    usage: Any = None
    error: Any = None


_decoder = msgspec.json.Decoder(MessageReply)


def read_reply(body: bytes) -> Outcome:
    """Read a body that came with 200.

    Raises
    ------
    InnerError
        For an error in it.
    PassingError
        For a body that isn't the JSON of a message, has no content, or broke off.
    """
    reply = decode(body, _decoder, MessageReply, "message")
    if reply.error:
        words = words_in({"error": reply.error})
        statuses = [STATUS_OF[code] for code in words.codes if code in STATUS_OF]
        raise InnerError(words._replace(http_status=statuses[0]) if statuses else words)
    if reply.content is None:
        if b'"content"' not in body:
            raise InnerError(read_words(body))
        raise PassingError(f"a reply without content (stop_reason {reply.stop_reason!r})")
    texts = [block.text for block in reply.content if block.type == "text" and block.text]
    text = texts[0] if len(texts) == 1 else "".join(texts)
    thoughts = [block.thinking for block in reply.content if block.type == "thinking" and block.thinking]
    if reply.stop_reason == "end_turn" and text:
        status, error = Status.OK, None
    else:
        status, error = _judge_stop(reply, text)
    n_input, n_cached, n_output = read_usage(reply.usage)
    return Outcome(
        status,
        text if text or status is Status.OK else None,
        "\n".join(thoughts) or None,
        reply.stop_reason,
        error,
        n_input,
        n_output,
        n_cached,
        reply.model,
    )


def _judge_stop(reply: MessageReply, text: str) -> tuple[Status, str | None]:
    """Status and words of a message that isn't simply a text that came to its end."""
    match reply.stop_reason:
        case "refusal":
            return Status.REFUSED, None
        case "max_tokens":
            return Status.TRUNCATED, None if text else NO_TEXT_IN_LIMIT
        case "model_context_window_exceeded":
            return Status.TRUNCATED, "prompt and reply fill the model's context window"
        case "pause_turn" | None:
            raise PassingError(f"the reply broke off (stop_reason {reply.stop_reason!r})")
    kinds = {block.type for block in reply.content or ()}
    if not text and kinds & {"thinking", "redacted_thinking"}:
        return Status.TRUNCATED, ONLY_REASONING
    if reply.stop_reason == "tool_use" or (not text and "tool_use" in kinds):
        return Status.FAILED, TOOL_CALL
    return Status.OK, None


def read_usage(usage: object) -> Usage:
    """The tokens that a usage tells; of the prompt's, those read from and written to the cache stand apart there."""
    if not isinstance(usage, dict):
        return NOT_TOLD
    fresh, n_output = counted(usage.get("input_tokens")), counted(usage.get("output_tokens"))
    if fresh is None:
        return Usage(output_tokens=n_output)
    n_read, n_written = (counted(usage.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    return Usage(fresh + (n_read or 0) + (n_written or 0), n_read, n_output)


def _headers(key: str | None) -> dict[str, str]:
    version = {"anthropic-version": VERSION}
    return {**version, "x-api-key": key} if key else version


def _dialect(model_id: str) -> Dialect:
    return Dialect(
        model_id,
        takes=("temperature", "top_p", "max_tokens"),
        defaults={"max_tokens": MOST_TOKENS},
        system_apart=True,
    )


ANTHROPIC = Wire("anthropic", "/v1/messages", _headers, _dialect, read_reply, read_usage)
