"""`openai/NAME`: chat completions of OpenAI and of every server that speaks the same format."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from isogloss.errors import AbilityError, ModelError
from isogloss.models.dialect import Dialect
from isogloss.models.faults import PassingError, judge, passing, read_words, retry_after, scrub
from isogloss.models.grammar import grammar_of
from isogloss.models.http import HttpClient, HttpError, HttpReply
from isogloss.models.model import Abilities
from isogloss.models.openai_wire import InnerError, Outcome, read_reply
from isogloss.models.retry import RetryPolicy, try_again
from isogloss.records import Prompt, Response, Sampling, Status

_MOST_CHANGES = 8


class Endpoint(NamedTuple):
    """Where a model answers."""

    base_url: str
    """Without a slash at the end, e.g. "https://api.openai.com/v1"."""
    key: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    proxy: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"


class _Count:
    """How many requests one call has sent."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class ChatModel:
    """A model behind chat completions.

    Parameters
    ----------
    name : str
        `provider/model`, as written by the user.
    model_id : str
        What the server knows the model by.
    endpoint : Endpoint
        Address and key.
    chat_path : str
        What follows the address.
    revision : str or None
        Exact version, where it is known beforehand; otherwise each response keeps what the server tells.
    abilities : Abilities
        What the server can do beyond chat.
    max_connections : int
        Calls under way at once.
    timeout : float
        Seconds for one request, from the free connection to the end of the reply.
    policy : RetryPolicy
        How often and how long to try again.
    """

    def __init__(
        self,
        name: str,
        *,
        model_id: str,
        endpoint: Endpoint,
        chat_path: str = "/chat/completions",
        revision: str | None = None,
        abilities: Abilities | None = None,
        local: bool = False,
        max_connections: int = 16,
        timeout: float = 300.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.name = name
        self.revision = revision
        self.abilities = abilities if abilities is not None else Abilities(seeds=True)
        self.local = local
        self._endpoint = endpoint
        self._path = chat_path
        self._policy = policy if policy is not None else RetryPolicy()
        self._dialect = Dialect(model_id)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        self.http = HttpClient(
            endpoint.base_url,
            headers=headers,
            max_connections=max_connections,
            connect_timeout=min(15.0, timeout),
            total_timeout=timeout,
            proxy=endpoint.proxy,
        )
        self._reached = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def held(self) -> Mapping[str, float | int | None]:
        """What was really sent under each name of `Sampling` (empty before the first call)."""
        return dict(self._dialect.held)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Parameters that the provider refused, and what was done, in words."""
        return tuple(self._dialect.remarks)

    async def open(self) -> None:
        """Open the session; sends nothing."""
        await self.http.open()

    async def close(self) -> None:
        """Close the session."""
        await self.http.close()

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`."""
        if prompt.candidates:
            raise AbilityError(f"{self.name} gives no log-probabilities of given answers; ask for reading=text")
        grammar = self._grammar(prompt, sampling)
        count = _Count()
        started = time.perf_counter()
        try:
            outcome = await self._try(prompt, sampling, grammar, count)
        except PassingError as fault:
            outcome = await self._try_again(
                lambda: self._try(prompt, sampling, grammar, count), fault, elapsed=time.perf_counter() - started
            )
        return Response(
            prompt_id=prompt.id,
            model=self.name,
            revision=self.revision or outcome.version,
            repeat=repeat,
            status=outcome.status,
            text=outcome.text,
            reasoning=outcome.reasoning,
            finish_reason=outcome.finish_reason,
            error=outcome.error,
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            n_tries=count.n,
            seconds=time.perf_counter() - started,
            received_at=time.time(),
        )

    def _grammar(self, prompt: Prompt, sampling: Sampling) -> str | None:
        if not sampling.constrained:
            return None
        if not self.abilities.grammar:
            raise AbilityError(f"{self.name} can't be held to a form of answer; leave 'constrained' off")
        return grammar_of(prompt.form) if prompt.form is not None else None

    async def _try(self, prompt: Prompt, sampling: Sampling, grammar: str | None, count: _Count) -> Outcome:
        """One try: one request, or a few where the provider refuses parameters."""
        for _ in range(_MOST_CHANGES):
            version = self._dialect.version
            body = self._dialect.body(prompt, sampling, grammar)
            count.n += 1
            try:
                reply = await self.http.post(self._path, body)
            except HttpError as fault:
                raise self._fault(fault) from None
            self._reached = True
            if reply.status == 200:
                return self._read(reply)
            if reply.status not in (400, 422):
                return self._error(reply)
            if not self._dialect.learn(read_words(reply.body), sampling, sent=version):
                return self._error(reply)
        return self._error(reply)

    def _fault(self, fault: HttpError) -> PassingError:
        return PassingError(self._scrub(str(fault)), unreachable=fault.kind == "connect" and not self._reached)

    def _read(self, reply: HttpReply) -> Outcome:
        try:
            outcome = read_reply(reply.body)
        except InnerError as error:
            return self._error(reply, inside=error)
        except PassingError as fault:
            raise PassingError(self._scrub(fault.words)) from None
        if outcome.error is not None:
            return outcome._replace(error=self._scrub(outcome.error))
        return outcome

    def _error(self, reply: HttpReply, *, inside: InnerError | None = None) -> Outcome:
        """What an error comes to: an outcome, a PassingError, or a ModelError that ends the asking."""
        words = inside.words if inside is not None else read_words(reply.body)
        words = words._replace(message=self._scrub(words.message))
        status = words.http_status or reply.status if inside is not None else reply.status
        waits = retry_after(reply.headers, reply.body, now=time.time())
        verdict = judge(status, words, waits=waits)
        if verdict.advice:
            raise ModelError(f"{self.name}: {self._advice(status, verdict.advice)} (HTTP {status}: {words.message})")
        if verdict.status is None:
            raise passing(status, words, reply.headers, reply.body)
        return Outcome(verdict.status, error=f"HTTP {status}: {words.message}")

    def _advice(self, status: int, advice: str) -> str:
        if status == 401 and self._endpoint.key is None:
            return f"the server wants a key; set {self._endpoint.key_variable}"
        return advice.replace("check it", f"check {self._endpoint.key_variable}")

    async def _try_again(
        self, attempt: Callable[[], Awaitable[Outcome]], first: PassingError, *, elapsed: float
    ) -> Outcome:
        try:
            return await try_again(attempt, first, self._policy, elapsed=elapsed)
        except PassingError as last:
            if last.unreachable and not self._reached:
                address = scrub(self._endpoint.base_url, self._secrets())
                raise ModelError(
                    f"{self.name}: no connection to {address} ({last.words}); "
                    "is the server running, is the base URL right?"
                ) from None
            return Outcome(Status.FAILED, error=last.words)

    def _secrets(self) -> tuple[str, ...]:
        return (self._endpoint.key,) if self._endpoint.key else ()

    def _scrub(self, text: str) -> str:
        return scrub(text, self._secrets())
