"""The wire format of chat completions: OpenAI's own, and that of every server that speaks like it."""

from __future__ import annotations

from typing import Any

import msgspec

from isogloss.models.dialect import Dialect
from isogloss.models.faults import PassingError, one_line, read_words, words_in
from isogloss.models.outcome import NO_TEXT_IN_LIMIT, ONLY_REASONING, TOOL_CALL, InnerError, Outcome, decode
from isogloss.models.usage import NOT_TOLD, Usage, counted
from isogloss.models.wire import Wire
from isogloss.records import Status


class Part(msgspec.Struct):
    """One part of a content given as a list."""

    type: str = "text"
    text: str | None = None
    thinking: Any = None


class ReplyMessage(msgspec.Struct):
    """What the model wrote; reasoning under either of its two usual names."""

    content: str | list[Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    tool_calls: Any = None


class Choice(msgspec.Struct):
    """One reply of the model."""

    message: ReplyMessage | None = None
    finish_reason: str | None = None
    error: Any = None


class ChatReply(msgspec.Struct):
    """A body that came with 200: a reply, or an error that should have come with another code."""

    choices: list[Choice] | None = None
    usage: Any = None
    model: str | None = None
    system_fingerprint: str | None = None
    error: Any = None
    prompt_filter_results: Any = None
    prompt_feedback: Any = None
    promptFeedback: Any = None  # noqa: N815 - the wire's own name


_NO_MESSAGE = ReplyMessage()
_decoder = msgspec.json.Decoder(ChatReply)

_AT_LIMIT = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_BLOCKED = frozenset(
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "sensitive", "moderation"}
)
_MAY_PASS = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})


def read_reply(body: bytes) -> Outcome:
    """Read a body that came with 200.

    Raises
    ------
    InnerError
        For an error in it.
    PassingError
        For a body that isn't the JSON of a chat completion, or has no choice or content in it.
    """
    reply = decode(body, _decoder, ChatReply, "chat completion")
    if reply.error:
        raise InnerError(words_in({"error": reply.error}))
    if not reply.choices:
        return _without_choice(reply, body)
    choice = reply.choices[0]
    if choice.error:
        raise InnerError(words_in({"error": choice.error}))
    message = choice.message or _NO_MESSAGE
    text = message.content if isinstance(message.content, str) else _joined(message.content)
    if choice.finish_reason == "stop" and text and message.refusal is None:
        status, error_words = Status.OK, None
    else:
        status, error_words = _judge_choice(choice, message, text)
    if status is Status.REFUSED:
        text = text or message.refusal
    n_input, n_cached, n_output = read_usage(reply.usage)
    return Outcome(
        status,
        text,
        _reasoning(message),
        choice.finish_reason,
        error_words,
        n_input,
        n_output,
        n_cached,
        _version(reply),
    )


def read_usage(usage: object) -> Usage:
    """The tokens that a usage tells; those read from a cache are never more than there are."""
    if not isinstance(usage, dict):
        return NOT_TOLD
    n_input, n_cached = counted(usage.get("prompt_tokens")), None
    details = usage.get("prompt_tokens_details")
    if n_input is not None and isinstance(details, dict):
        n_cached = counted(details.get("cached_tokens"))
        if n_cached is not None and n_cached > n_input:
            n_cached = None
    return Usage(n_input, n_cached, counted(usage.get("completion_tokens")))


def _judge_choice(choice: Choice, message: ReplyMessage, text: str | None) -> tuple[Status, str | None]:
    """Status and words of a choice that isn't simply a text that came to its end."""
    reason = (choice.finish_reason or "").lower()
    if reason == "refusal" or message.refusal:
        return Status.REFUSED, None
    if reason in _BLOCKED:
        return Status.BLOCKED, f"the provider's filter withheld the reply ({choice.finish_reason})"
    if reason in _AT_LIMIT:
        return Status.TRUNCATED, None if text else NO_TEXT_IN_LIMIT
    if reason in _MAY_PASS:
        raise PassingError(f"the reply broke off (finish_reason {choice.finish_reason!r})")
    if not text and _reasoning(message):
        return Status.TRUNCATED, ONLY_REASONING
    if message.tool_calls:
        return Status.FAILED, TOOL_CALL
    if text is None:
        raise PassingError(f"a reply without content (finish_reason {choice.finish_reason!r})")
    return Status.OK, None


def _without_choice(reply: ChatReply, body: bytes) -> Outcome:
    """A reply with no choice: blocked where the reply says so, a passing fault otherwise."""
    feedback = reply.promptFeedback or reply.prompt_feedback
    if not feedback and b'"filtered":true' in msgspec.json.encode(reply.prompt_filter_results):
        feedback = reply.prompt_filter_results
    if feedback:
        shown = one_line(msgspec.json.encode(feedback).decode())
        return Outcome(Status.BLOCKED, error=f"the prompt was blocked: {shown}", **read_usage(reply.usage)._asdict())
    if b'"choices"' not in body:
        raise InnerError(read_words(body))
    raise PassingError("a reply without choices")


def _joined(parts: list[Part] | None) -> str | None:
    """The text of a content that came in parts, without its thinking."""
    if parts is None:
        return None
    return "".join(part.text or "" for part in parts if part.type in ("text", "output_text"))


def _reasoning(message: ReplyMessage) -> str | None:
    """The reasoning that came in a field of its own."""
    if message.reasoning_content:
        return message.reasoning_content
    if message.reasoning:
        found = message.reasoning
        return found if isinstance(found, str) else msgspec.json.encode(found).decode()
    if isinstance(message.content, list):
        thoughts = [part.thinking for part in message.content if part.thinking]
        if thoughts:
            return "\n".join(t if isinstance(t, str) else msgspec.json.encode(t).decode() for t in thoughts)
    return None


def _version(reply: ChatReply) -> str | None:
    """Dated name and fingerprint, as far as told."""
    if reply.model and reply.system_fingerprint:
        return f"{reply.model} {reply.system_fingerprint}"
    return reply.model or reply.system_fingerprint


def _headers(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _dialect(model_id: str) -> Dialect:
    return Dialect(
        model_id,
        takes=("temperature", "top_p", "max_tokens", "seed"),
        other_names={"max_tokens": "max_completion_tokens"},
    )


OPENAI = Wire("openai", "/chat/completions", _headers, _dialect, read_reply, read_usage)
