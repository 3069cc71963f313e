"""The wire format of chat completions: the structs a reply is decoded into, and what a reply comes to."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

from isogloss.models.faults import PassingError, ProviderWords, shorten, words_in
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


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NO_MESSAGE = ReplyMessage()
_decoder = msgspec.json.Decoder(ChatReply)

_AT_LIMIT = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_BLOCKED = frozenset(
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "sensitive", "moderation"}
)
_MAY_PASS = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})


class Outcome(NamedTuple):
    """What one call came to."""

    status: Status
    text: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    version: str | None = None
    """Exact version of the model, where the reply tells it."""


class InnerError(Exception):
    """A body with 200 that holds an error."""

    def __init__(self, words: ProviderWords) -> None:
        super().__init__(words.message)
        self.words = words


def _decode(body: bytes) -> ChatReply:
    """The body as a reply; characters that are none (half a surrogate pair) are marked, not a reason to pay twice."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            return msgspec.convert(_whole_characters(json.loads(body.decode("utf-8", "replace"))), ChatReply)
        except (ValueError, RecursionError):
            shown = shorten(body.decode("utf-8", "replace"))
            raise PassingError(f"the reply isn't a chat completion ({error}): {shown or 'empty body'}") from None


def _whole_characters(value: object) -> object:
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_whole_characters(part) for part in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(part) for key, part in value.items()}
    return value


def _tokens(usage: object, name: str) -> int | None:
    """A count of tokens, where the provider tells one that can be."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count >= 0 else None


def read_reply(body: bytes) -> Outcome:
    """Read a body that came with 200.

    Raises
    ------
    InnerError
        For an error in it.
    PassingError
        For a body that isn't the JSON of a chat completion, or has no choice or content in it.
    """
    reply = _decode(body)
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
    usage = reply.usage
    return Outcome(
        status,
        text,
        _reasoning(message),
        choice.finish_reason,
        error_words,
        _tokens(usage, "prompt_tokens"),
        _tokens(usage, "completion_tokens"),
        _version(reply),
    )


def _judge_choice(choice: Choice, message: ReplyMessage, text: str | None) -> tuple[Status, str | None]:
    """Status and words of a choice that isn't simply a text that came to its end."""
    reason = (choice.finish_reason or "").lower()
    if reason == "refusal" or message.refusal:
        return Status.REFUSED, None
    if reason in _BLOCKED:
        return Status.BLOCKED, f"the provider's filter withheld the reply ({choice.finish_reason})"
    if reason in _AT_LIMIT:
        return Status.TRUNCATED, None if text else "no text before the token limit; allow more tokens (max_tokens)"
    if reason in _MAY_PASS:
        raise PassingError(f"the reply broke off (finish_reason {choice.finish_reason!r})")
    if not text and _reasoning(message):
        return Status.TRUNCATED, "nothing but hidden reasoning; allow more tokens (max_tokens)"
    if message.tool_calls:
        return Status.FAILED, "a tool call in place of a text"
    if text is None:
        raise PassingError(f"a reply without content (finish_reason {choice.finish_reason!r})")
    return Status.OK, None


def _without_choice(reply: ChatReply, body: bytes) -> Outcome:
    """A reply with no choice: blocked where the reply says so, a passing fault otherwise."""
    feedback = reply.promptFeedback or reply.prompt_feedback
    if not feedback and b'"filtered":true' in msgspec.json.encode(reply.prompt_filter_results):
        feedback = reply.prompt_filter_results
    if feedback:
        usage = reply.usage
        shown = shorten(msgspec.json.encode(feedback).decode())
        tokens = usage.prompt_tokens if usage is not None else None
        return Outcome(Status.BLOCKED, error=f"the prompt was blocked: {shown}", input_tokens=tokens)
    if b'"choices"' not in body:
        words = words_in(msgspec.json.decode(body))
        raise InnerError(words)
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
