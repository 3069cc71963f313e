"""A model behind an HTTP server: `openai/NAME`, `anthropic/NAME`, and every server that speaks like one of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from isogloss.errors import AbilityError, ModelError
from isogloss.models.faults import PassingError, clean, judge, passing, read_words, retry_after
from isogloss.models.grammar import grammar_of
from isogloss.models.http import HttpClient, HttpError
from isogloss.models.model import Abilities, CalledOffError
from isogloss.models.outcome import InnerError, Outcome, usage_in
from isogloss.models.pace import Pace
from isogloss.models.retry import CALLED_OFF, RetryPolicy, Tries, try_again
from isogloss.models.secrets import LEAST_HIDDEN, hide
from isogloss.models.usage import Usage
from isogloss.models.wire import Wire
from isogloss.records import Prompt, Response, Sampling, Status

_MOST_CHANGES = 8
_REFUSED = frozenset({400, 422})


class Endpoint(NamedTuple):
    """Where a model answers."""

    base_url: str
    """Without a slash at the end, e.g. "https://api.openai.com/v1"."""
    key: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    proxy: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold; shorter ones hide nothing."""
        password = unquote(urlsplit(self.proxy).password or "") if self.proxy is not None else ""
        return tuple(secret for secret in (self.key or "", password) if len(secret) >= 4)

    @property
    def way(self) -> str:
        """How it is reached, for messages."""
        if self.proxy is None:
            return self.base_url
        parts = urlsplit(self.proxy)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{self.base_url} through the proxy {parts.scheme}://{parts.hostname}{port}"


class ChatModel:
    """A model behind chat over HTTP.

    Parameters
    ----------
    name : str
        `provider/model`, as written by the user.
    wire : Wire
        The format its server speaks.
    model_id : str
        What the server knows the model by.
    endpoint : Endpoint
        Address and key.
    path : str or None
        What follows the address, where it isn't the wire's own.
    revision : str or None
        Exact version, where it is known beforehand; otherwise each response keeps what the server tells.
    abilities : Abilities
        What the server can do beyond chat.
    pace : Pace or None
        How many requests may be under way, and how many a minute.
    timeout : float
        Seconds for one request, from the free connection to the end of the reply.
    policy : RetryPolicy
        How often and how long to try again.
    """

    def __init__(
        self,
        name: str,
        *,
        wire: Wire,
        model_id: str,
        endpoint: Endpoint,
        path: str | None = None,
        revision: str | None = None,
        abilities: Abilities | None = None,
        local: bool = False,
        pace: Pace | None = None,
        timeout: float = 300.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.name = name
        self.revision = revision
        self.abilities = abilities if abilities is not None else Abilities()
        self.local = local
        self.wire = wire
        self.pace = pace if pace is not None else Pace(most=16)
        self._endpoint = endpoint
        self._path = path if path is not None else wire.path
        self._policy = policy if policy is not None else RetryPolicy()
        self._dialect = wire.dialect(model_id)
        self.http = HttpClient(
            endpoint.base_url,
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                **wire.headers(endpoint.key),
            },
            max_connections=self.pace.most,
            connect_timeout=min(15.0, timeout),
            total_timeout=timeout,
            proxy=endpoint.proxy,
        )
        self._secrets = endpoint.secrets
        key = endpoint.key or ""
        self._hidden = key if len(key) >= LEAST_HIDDEN else None
        self._reached = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def template(self) -> str | None:
        """None: the server puts its chat template on unseen."""
        return None

    @property
    def held(self) -> Mapping[str, float | int | None]:
        """What was really sent under each name of `Sampling` (empty before the first call)."""
        return dict(self._dialect.held)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the provider refused, and what was done, in words."""
        return tuple(self._dialect.remarks)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold."""
        return self._secrets

    async def open(self) -> None:
        """Open the session; sends nothing."""
        self.pace.resume()
        await self.http.open()

    async def close(self) -> None:
        """Close the session."""
        await self.http.close()

    def call_off(self) -> None:
        """Let no further request out; see `Model.call_off`."""
        self.pace.call_off()

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`."""
        count = Tries()
        try:
            outcome = await self._try(prompt, sampling, count)
        except PassingError as fault:
            outcome = await self._try_again(lambda: self._try(prompt, sampling, count), fault, count)
        if count.paid is not None:
            outcome = outcome._replace(**count.total(Usage.of(outcome), outcome.status)._asdict())
        return outcome.response(
            prompt.id,
            model=self.name,
            revision=self.revision,
            repeat=repeat,
            n_tries=count.n,
            seconds=time.perf_counter() - count.started,
        )

    # --- what live calls and batches share ----------------------------------------------------------------------------

    def request_body(self, prompt: Prompt, sampling: Sampling) -> bytes:
        """The JSON of one request, as the server is known to want it by now.

        Raises
        ------
        AbilityError
            For what no chat server can do: score given answers, continue a raw text; or a form this one can't hold to.
        """
        if prompt.candidates:
            raise AbilityError(f"{self.name} gives no log-probabilities of given answers; ask for reading=text")
        if prompt.messages[0].role == "text":
            raise AbilityError(f"{self.name} is asked by chat and can't continue a raw text; take a model of hf/")
        grammar = None
        if sampling.constrained:
            if not self.abilities.grammar:
                raise AbilityError(f"{self.name} can't be held to a form of answer; leave 'constrained' off")
            grammar = grammar_of(prompt.form) if prompt.form is not None else None
        return self._dialect.body(prompt, sampling, grammar)

    def read_result(self, status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
        """What a whole reply comes to.

        Parameters
        ----------
        status : int
            HTTP status.
        headers : mapping
            Names in lower case, or found in any.
        body : bytes

        Raises
        ------
        PassingError
            Where another try may help; with the tokens that the reply counts.
        ModelError
            Where every call would fail (bad key, unknown model, quota exhausted).
        """
        if status != 200:
            return self._error(status, headers, body)
        try:
            outcome = self.wire.read(body)
        except InnerError as error:
            return self._error(status, headers, body, inside=error)
        except PassingError as fault:
            raise PassingError(self._clean(fault.words), usage=self.wire.usage(usage_in(body))) from None
        if outcome.error is not None:
            outcome = outcome._replace(error=self._clean(outcome.error))
        return outcome if self._hidden is None else self._without_key(outcome, self._hidden)

    def _without_key(self, outcome: Outcome, key: str) -> Outcome:
        """A reply in which the key isn't, should it have come back; other texts that look like keys stay."""

        if not (
            key in (outcome.text or "")
            or key in (outcome.reasoning or "")
            or key in (outcome.finish_reason or "")
            or key in (outcome.version or "")
        ):
            return outcome

        def hidden(text: str | None) -> str | None:
            return None if text is None else hide(text, (key,))

        return outcome._replace(
            text=hidden(outcome.text),
            reasoning=hidden(outcome.reasoning),
            finish_reason=hidden(outcome.finish_reason),
            version=hidden(outcome.version),
        )

    def learn_refusal(self, status: int, body: bytes, sampling: Sampling, *, sent: int | None = None) -> bool:
        """Learn from an error that refuses a parameter or the system role; say whether to send it once more.

        Parameters
        ----------
        status : int
            HTTP status of the error.
        body : bytes
            The error.
        sampling : Sampling
            What the request was written with.
        sent : int or None
            Version of the dialect that wrote it; None where it isn't known. Then a refusal learned before counts too,
            so the caller bounds how often it sends.
        """
        if (
            status not in _REFUSED and status != 500
        ):  # some servers answer 500 where a chat template takes no system role
            return False
        return self._dialect.learn(read_words(body), sampling, sent=sent, parameters=status != 500)

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _try(self, prompt: Prompt, sampling: Sampling, count: Tries) -> Outcome:
        """One try: one request, or a few where the provider refuses parameters."""
        outcome = None
        for left in range(_MOST_CHANGES, 0, -1):
            outcome = await self._request(prompt, sampling, count, may_change=left > 1)
            if outcome is not None:
                break
        assert outcome is not None
        return outcome

    async def _request(self, prompt: Prompt, sampling: Sampling, count: Tries, *, may_change: bool) -> Outcome | None:
        """One request, at its pace. None: something in it was refused, and the next one will be written otherwise."""
        pace, version = self.pace, self._dialect.version
        body = self.request_body(prompt, sampling)
        if not pace.try_enter():
            await pace.enter(len(body))
        if count.n == 0:
            count.started = time.perf_counter()
        count.n += 1
        outcome = None
        try:
            reply = await self.http.post(self._path, body)
            self._reached = True
            status = reply.status
            if status == 200 or not (may_change and self.learn_refusal(status, reply.body, sampling, sent=version)):
                outcome = self.read_result(status, reply.headers, reply.body)
        except PassingError as fault:
            count.pay(fault.usage)
            if fault.crowded:
                pace.crowded(self._worth_waiting(fault.retry_after))
            else:
                pace.lost()
            raise
        except HttpError as fault:
            pace.lost()
            if fault.kind == "long":
                return Outcome(Status.FAILED, error=str(fault))
            raise self._fault(fault) from None
        except BaseException:
            pace.lost()
            raise
        pace.answered((outcome.input_tokens or 0) + (outcome.output_tokens or 0) if outcome is not None else None)
        return outcome

    def _worth_waiting(self, seconds: float | None) -> float | None:
        """A wait for everybody; none where it is so long that calls end before it, and the run sees that."""
        return None if seconds is None or seconds > self._policy.max_seconds else seconds

    def _fault(self, fault: HttpError) -> PassingError:
        return PassingError(self._clean(str(fault)), unreachable=fault.kind == "connect" and not self._reached)

    def _error(
        self, status: int, headers: Mapping[str, str], body: bytes, *, inside: InnerError | None = None
    ) -> Outcome:
        """What an error comes to: an outcome, a PassingError, or a ModelError that ends the asking."""
        words = inside.words if inside is not None else read_words(body)
        words = words._replace(message=self._clean(words.message))
        usage = self.wire.usage(usage_in(body))
        if inside is not None and words.http_status is not None:
            status = words.http_status
        waits = retry_after(headers, body, now=time.time())
        verdict = judge(status, words, waits=waits)
        if verdict.advice:
            raise ModelError(f"{self.name}: {self._advice(status, verdict.advice)} (HTTP {status}: {words.message})")
        if verdict.status is None:
            raise passing(status, words, waits, usage)
        return Outcome(verdict.status, error=f"HTTP {status}: {words.message}", **usage._asdict())

    def _advice(self, status: int, advice: str) -> str:
        if status == 401 and self._endpoint.key is None:
            return f"the server wants a key; set {self._endpoint.key_variable}"
        return advice.replace("check it", f"check {self._endpoint.key_variable}")

    async def _try_again(self, attempt: Callable[[], Awaitable[Outcome]], first: PassingError, count: Tries) -> Outcome:
        elapsed = time.perf_counter() - count.started
        try:
            return await try_again(attempt, first, self._policy, elapsed=elapsed, sleep=self.pace.sleep)
        except PassingError as last:
            if last.unreachable and not self._reached:
                question = "is the server running, is the base URL right?"
                if self._endpoint.proxy is not None:
                    question = "is the proxy right that http_proxy, https_proxy or all_proxy names?"
                way = hide(self._endpoint.way, self._secrets)
                raise ModelError(f"{self.name}: no connection to {way} ({last.words}); {question}") from None
            return Outcome(Status.FAILED, error=last.told, passing=True)
        except CalledOffError:
            if count.paid is None:
                raise
            return Outcome(Status.FAILED, error=CALLED_OFF, passing=True)

    def _clean(self, text: str) -> str:
        return clean(text, self._secrets)
