"""What a llama.cpp server is asked beside chat: its template, tokens, next-token distributions, raw continuations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from isogloss.models.answer_probability import Tokens
from isogloss.models.faults import is_too_long, read_words, shorten
from isogloss.models.http import HttpClient
from isogloss.records import Message, Sampling

_SHOWN_TOKENS = 500
_ALL_TOKENS = 10_000_000

T = TypeVar("T")


class RefusedError(Exception):
    """The server answered with an error; `final` where no other try can help."""

    def __init__(self, words: str, *, final: bool = False) -> None:
        super().__init__(words)
        self.final = final


class Props(msgspec.Struct):
    """What the server tells of the model."""

    bos_token: str = ""
    chat_template: str = ""


class Continuation(msgspec.Struct):
    """A raw text continued."""

    content: str
    stop_type: str = ""
    """ "eos", "limit" or "word"."""
    tokens_evaluated: int | None = None
    tokens_predicted: int | None = None


class _Templated(msgspec.Struct):
    prompt: str


class _Tokenized(msgspec.Struct):
    tokens: list[int]


class _Token(msgspec.Struct):
    id: int
    logprob: float


class _Position(msgspec.Struct):
    top_logprobs: list[_Token]


class _Distribution(msgspec.Struct):
    index: int
    completion_probabilities: list[_Position]


class LlamaCalls:
    """Calls to one server. Each raises HttpError where none gets through, RefusedError where it is turned down."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    async def props(self) -> Props:
        """What the server tells of the model."""
        return await self._call("/props", None, Props)

    async def rendered(self, messages: Sequence[Message]) -> str:
        """Messages as the model sees them: its chat template put on, up to where its reply begins."""
        wire = [{"role": message.role, "content": message.content} for message in messages]
        return (await self._call("/apply-template", {"messages": wire}, _Templated)).prompt

    async def tokens(self, text: str, *, add_special: bool) -> list[int]:
        """Tokens of a text, marks such as `<|im_start|>` read as such; with the model's start token, if asked."""
        request = {"content": text, "add_special": add_special, "parse_special": True}
        return (await self._call("/tokenize", request, _Tokenized)).tokens

    async def continuation(self, text: str, sampling: Sampling, grammar: str | None) -> Continuation:
        """A raw text continued, without a chat template."""
        given = {
            "n_predict": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "grammar": grammar,
        }
        request = {"prompt": text, **{name: value for name, value in given.items() if value is not None}}
        return await self._call("/completion", request, Continuation)

    async def distributions(
        self, before: Sequence[int], wanted: Mapping[Tokens, set[int]]
    ) -> dict[Tokens, dict[int, float]]:
        """Log-probabilities of the wanted next tokens after `before` and each node; one request, rarely a second."""
        found: dict[Tokens, dict[int, float]] = {}
        for n_shown in (_SHOWN_TOKENS, _ALL_TOKENS):
            missing = [node for node, tokens in wanted.items() if not tokens <= found.get(node, {}).keys()]
            if not missing:
                break
            request = {
                "prompt": [[*before, *node] for node in missing],
                "n_predict": 1,
                "n_probs": n_shown,
                "cache_prompt": True,
                "temperature": 0,
                "response_fields": ["index", "completion_probabilities"],
            }
            if len(missing) == 1:  # the server then answers without a list
                completions = [await self._call("/completion", request, _Distribution)]
            else:
                completions = await self._call("/completion", request, list[_Distribution])
            for completion in completions:
                shown = completion.completion_probabilities[0].top_logprobs
                found[missing[completion.index]] = {token.id: token.logprob for token in shown}
        lacking = [node for node, tokens in wanted.items() if not tokens <= found.get(node, {}).keys()]
        if lacking:
            raise RefusedError(f"the server gives no probability for a token after {lacking[0]}")
        return found

    async def _call(self, path: str, request: object | None, kind: type[T]) -> T:
        """GET (without a request) or POST; the reply as a struct."""
        if request is None:
            reply = await self._http.get(path)
        else:
            reply = await self._http.post(path, msgspec.json.encode(request))
        if reply.status != 200:
            words = read_words(reply.body).message
            raise RefusedError(f"HTTP {reply.status}: {shorten(words)}", final=is_too_long(words))
        try:
            return msgspec.json.decode(reply.body, type=kind)
        except msgspec.DecodeError as error:
            raise RefusedError(f"{path}: {error}") from None
