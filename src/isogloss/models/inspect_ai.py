"""`inspect/PROVIDER/NAME`: whatever Inspect AI reaches, through its own package (extra `inspect`).

Inspect AI sends one request at a time for us: trying again, the pace and the count of tries are ours, as for every
other model. It keeps no log of these calls, shows nothing, and its providers' own retries are off.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import json
import logging
import math
import re
import sys
import time
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from isogloss.errors import AbilityError, ModelError
from isogloss.models.faults import PassingError, ProviderWords, clean, judge, one_line, words_in
from isogloss.models.model import Abilities, CalledOffError
from isogloss.models.outcome import NO_TEXT_IN_LIMIT, ONLY_REASONING, TOOL_CALL
from isogloss.models.pace import Pace, Throttle
from isogloss.models.retry import CALLED_OFF, RetryPolicy, Tries, try_again
from isogloss.models.secrets import LEAST_HIDDEN, hide
from isogloss.models.settings import ModelSettings
from isogloss.models.usage import Usage, counted
from isogloss.records import Prompt, Response, Sampling, Status

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

T = TypeVar("T")

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$", re.IGNORECASE)
_MARKUP = re.compile(r"\[/?(?:bold|blue|red|italic|dim)(?: [a-z]+)*\]")
_STATUS = {
    "stop": Status.OK,
    "max_tokens": Status.TRUNCATED,
    "model_length": Status.TRUNCATED,
    "content_filter": Status.BLOCKED,
    "tool_calls": Status.FAILED,
    "unknown": Status.FAILED,
}
_WORDS = {
    "content_filter": "the provider's filter withheld the reply",
    "model_length": "prompt and reply are longer than the model's context",
    "tool_calls": TOOL_CALL,
    "unknown": "Inspect AI can't tell why the reply ended",
}


class InspectModel:
    """A model behind Inspect AI.

    Parameters
    ----------
    name : str
        `inspect/PROVIDER/NAME`, as written by the user.
    model_id : str
        What Inspect AI knows the model by: `PROVIDER/NAME`.
    revision : str or None
        Exact version, where it is known beforehand; otherwise each response keeps what the provider tells.
    settings : ModelSettings
        Address, limits and tries.
    environment : mapping
        Where key and address are looked up under their usual names; Inspect AI also looks at the process's own.
    throttle : Throttle or None
        A limit shared with other models of the provider.
    arguments : mapping
        Further arguments of the provider's class in Inspect AI ("model args").
    """

    def __init__(
        self,
        name: str,
        *,
        model_id: str,
        revision: str | None = None,
        settings: ModelSettings | None = None,
        environment: Mapping[str, str] | None = None,
        throttle: Throttle | None = None,
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.revision = revision
        self.abilities = Abilities(seeds=True)
        self.local = False
        self._model_id = model_id
        self._settings = settings = settings or ModelSettings()
        self._arguments: dict[str, Any] = dict(arguments or {})
        environment = environment or {}
        service = model_id.removeprefix("openai-api/").partition("/")[0].upper().replace("-", "_")
        self._key = environment.get(settings.key_variable or f"{service}_API_KEY", "").strip() or None
        self._base_url = settings.base_url or environment.get(f"{service}_BASE_URL") or None
        secrets = {value for key, value in environment.items() if _SECRET_NAME.search(key) and len(value) >= 8}
        self._secrets = tuple(secrets | ({self._key} if self._key else set()))
        self._policy = RetryPolicy(
            tries=settings.tries, max_seconds=settings.retry_seconds, first_wait=settings.first_wait
        )
        own = Throttle(requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute)
        is_limited = settings.requests_per_minute is not None or settings.tokens_per_minute is not None
        throttles = ((own,) if is_limited else ()) + ((throttle,) if throttle is not None else ())
        self._pace = Pace(most=settings.max_connections, throttles=throttles)
        self._model: Model | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def template(self) -> str | None:
        """Not known: the provider puts it on."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing to remark."""
        return ()

    async def open(self) -> None:
        """Let Inspect AI make the model; sends nothing.

        Raises
        ------
        ModelError
            If Inspect AI, the provider's package or the key is missing, or it knows no such provider.
        """
        self._pace.resume()
        if importlib.util.find_spec("inspect_ai") is None:
            raise ModelError(f"{self.name} needs Inspect AI; install it with: pip install 'isogloss[inspect]'")
        model = await _caught(self._make())
        if isinstance(model, Exception):
            words = self._words(model).message
            raise ModelError(f"{self.name}: Inspect AI can't make this model ready: {words}") from None
        self._model = model

    async def _make(self) -> Model:
        hook = sys.excepthook
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it greets there where hooks are installed
                from inspect_ai.model import get_model
                from inspect_ai.util._display import init_display_type

                logging.getLogger("inspect_ai").addHandler(logging.NullHandler())
                init_display_type("none")
                model = get_model(
                    self._model_id, base_url=self._base_url, api_key=self._key, memoize=False, **self._arguments
                )
        finally:
            sys.excepthook = hook  # Inspect AI puts its own there
        client = getattr(model.api, "client", None)
        if client is not None and hasattr(client, "max_retries"):
            client.max_retries = 0  # the SDKs of OpenAI and Anthropic try three times, unseen
        if self._model_id.startswith("mockllm/"):
            model.api.count_text_tokens = _estimated_tokens  # type: ignore[method-assign]  # see there
        return model

    async def close(self) -> None:
        """Close the provider's connections."""
        model, self._model = self._model, None
        if model is not None:
            await _caught(model.api.aclose())

    def call_off(self) -> None:
        """Let no further request out; see `Model.call_off`."""
        self._pace.call_off()

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`."""
        if prompt.candidates:
            raise AbilityError(f"{self.name} gives no log-probabilities of given answers; ask for reading=text")
        if any(message.role == "text" for message in prompt.messages):
            raise AbilityError(f"{self.name} only chats, and can't go on with a raw text; take a model of hf/ or gguf/")
        if sampling.constrained:
            raise AbilityError(f"{self.name} can't be held to a form of answer; leave 'constrained' off")
        tries = Tries()

        async def attempt() -> Response:
            await self._pace.enter(sum(len(message.content) for message in prompt.messages))
            if tries.n == 0:
                tries.started = time.perf_counter()
            tries.n += 1
            try:
                return await self._request(prompt, sampling, repeat)
            except PassingError as fault:
                tries.pay(fault.usage)
                raise

        try:
            try:
                response = await attempt()
            except PassingError as fault:
                elapsed = time.perf_counter() - tries.started
                response = await try_again(attempt, fault, self._policy, elapsed=elapsed, sleep=self._pace.sleep)
        except PassingError as last:
            response = self._failed(prompt, repeat, Status.FAILED, last.told, passing=True)
        except CalledOffError:
            if tries.paid is None:
                raise
            response = self._failed(prompt, repeat, Status.FAILED, CALLED_OFF, passing=True)
        return response.model_copy(
            update={
                "n_tries": tries.n,
                "seconds": time.perf_counter() - tries.started,
                "received_at": time.time(),
                **tries.total(Usage.of(response), response.status)._asdict(),
            }
        )

    async def _request(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """One request; gives its place back to the pace."""
        model = self._model
        try:
            if model is None:
                raise ModelError(f"{self.name} isn't open; call open() first")
            outcome = await _caught(model.generate(_messages(prompt), config=self._config(sampling)))
        except BaseException:
            self._pace.lost()
            raise
        if isinstance(outcome, Exception):
            return self._faulty(outcome, model, prompt, repeat)
        response = self._read(outcome, prompt, repeat)
        self._pace.answered((response.input_tokens or 0) + (response.output_tokens or 0))
        if outcome.empty:
            raise PassingError("a reply without choices", usage=Usage.of(response))
        return response

    def _config(self, sampling: Sampling) -> GenerateConfig:
        from inspect_ai.model import GenerateConfig

        return GenerateConfig(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            seed=sampling.seed,
            max_connections=self._settings.max_connections,
            attempt_timeout=math.ceil(self._settings.timeout),
            max_retries=0,
        )

    def _read(self, output: ModelOutput, prompt: Prompt, repeat: int) -> Response:
        """What a reply comes to."""
        usage = _usage(output)
        reason = output.stop_reason if not output.empty else "unknown"
        reasoning, text, declined = _parts(output)
        status, error = _STATUS.get(reason, Status.FAILED), _WORDS.get(reason)
        details = output.choices[0].stop_details if not output.empty else None
        if reason == "content_filter" and details is not None and details.explanation:
            error = self._clean(f"{error}: {details.explanation}")
        if status is Status.OK and declined:
            status = Status.REFUSED
        elif status is Status.OK and not text and reasoning:
            status, error = Status.TRUNCATED, ONLY_REASONING
        elif status is Status.TRUNCATED and not text and error is None:
            error = NO_TEXT_IN_LIMIT
        return Response(
            prompt_id=prompt.id,
            model=self.name,
            revision=self.revision or self._without_key(output.model) or None,
            repeat=repeat,
            status=status,
            text=self._without_key(text or "" if status is Status.OK else text),
            reasoning=self._without_key(reasoning),
            finish_reason=reason,
            error=error,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
        )

    def _faulty(self, fault: Exception, model: Model, prompt: Prompt, repeat: int) -> Response:
        """What a fault comes to: a response, a PassingError, or a ModelError that ends the asking."""
        from tenacity import RetryError

        # Inspect AI wraps what it would try again in tenacity's error, and a refused request in one of its own.
        may_pass = isinstance(fault, RetryError)
        inner = fault.last_attempt.exception() if isinstance(fault, RetryError) else fault
        if isinstance(inner, RuntimeError) and isinstance(inner.__cause__, Exception):
            inner = inner.__cause__
        inner = inner if isinstance(inner, Exception) else fault
        decision = model.api.should_retry(inner)
        waits = getattr(decision, "retry_after", None)
        if decision and getattr(decision, "kind", "") == "rate_limit":
            is_bearable = waits is not None and waits <= self._policy.max_seconds
            self._pace.crowded(waits if is_bearable else None)
        else:
            self._pace.lost()
        words = self._words(inner)
        code = next((c for c in (getattr(inner, k, None) for k in ("status_code", "code")) if isinstance(c, int)), None)
        line = words.message if code is None else f"HTTP {code}: {words.message}"
        if code is not None:
            verdict = judge(code, words, waits=waits)
            if verdict.advice:
                raise ModelError(f"{self.name}: {verdict.advice} ({line})")
            if verdict.status is Status.BLOCKED:
                return self._failed(prompt, repeat, Status.BLOCKED, line)
            may_pass = may_pass or verdict.status is None
        elif isinstance(inner, ImportError) or type(inner).__name__ == "PrerequisiteError":
            raise ModelError(f"{self.name}: {line}")
        if may_pass or isinstance(inner, json.JSONDecodeError | TimeoutError):
            raise PassingError(line, retry_after=waits)
        return self._failed(prompt, repeat, Status.FAILED, line)

    def _failed(self, prompt: Prompt, repeat: int, status: Status, words: str, *, passing: bool = False) -> Response:
        return Response(
            prompt_id=prompt.id,
            model=self.name,
            revision=self.revision,
            repeat=repeat,
            status=status,
            error=words,
            passing=passing,
        )

    def _words(self, fault: Exception) -> ProviderWords:
        """What a fault says, in one line, without keys and markup."""
        body = getattr(fault, "body", None)
        if isinstance(body, dict) and body:
            words = words_in(body)
        else:
            text = one_line(_MARKUP.sub("", str(getattr(fault, "message", None) or fault))).removeprefix("ERROR: ")
            words = ProviderWords(text or type(fault).__name__)
        return words._replace(message=self._clean(words.message))

    def _clean(self, text: str) -> str:
        return clean(text, self._secrets)

    def _without_key(self, text: str | None) -> str | None:
        """A text of a reply, in which only the key itself is hidden."""
        hidden = (self._key,) if self._key is not None and len(self._key) >= LEAST_HIDDEN else ()
        return None if text is None else hide(text, hidden)


async def _caught(work: Awaitable[T]) -> T | Exception:
    """What comes of it, a fault as a value: every provider of Inspect AI raises the errors of another package.

    It runs as a task of its own, and so does the transcript that Inspect AI keeps for each: it ends with the call.
    """
    [outcome] = await asyncio.gather(work, return_exceptions=True)
    if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
        raise outcome
    return outcome


def _usage(output: ModelOutput) -> Usage:
    """The tokens that a reply tells; Inspect AI keeps those read from and written to a cache apart."""
    if output.usage is None:
        return Usage()
    usage = output.usage
    cached, written = counted(usage.input_tokens_cache_read), counted(usage.input_tokens_cache_write)
    fresh, n_output = counted(usage.input_tokens), counted(usage.output_tokens)
    if fresh is None:
        return Usage(output_tokens=n_output)
    return Usage(fresh + (cached or 0) + (written or 0), cached, n_output)


async def _estimated_tokens(text: str) -> int:
    """For Inspect AI's mock, whose own count fetches a vocabulary from the network."""
    return math.ceil(len(text) / 4)


def _messages(prompt: Prompt) -> list[ChatMessage]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in prompt.messages]


def _parts(output: ModelOutput) -> tuple[str | None, str | None, bool]:
    """Reasoning, text, and whether the provider marks the text as a refusal."""
    if output.empty:
        return None, None, False
    content = output.message.content
    if isinstance(content, str):
        return None, content, False
    thoughts = [part.summary or "" if part.redacted else part.reasoning for part in content if part.type == "reasoning"]
    texts = [part for part in content if part.type == "text"]
    text = "".join(part.text for part in texts) if texts else None
    return "\n".join(filter(None, thoughts)) or None, text, any(part.refusal for part in texts)
