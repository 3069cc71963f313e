"""`gguf/NAME` and `gguf/./FILE.gguf`: a model on this machine, served by llama.cpp in a child process."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import DataError, ModelError
from isogloss.models.answer_probability import Tokens, answer_logprobs, wanted_tokens
from isogloss.models.chat import ChatModel, Endpoint
from isogloss.models.faults import is_too_long, read_words, shorten
from isogloss.models.folding import fold_system
from isogloss.models.grammar import grammar_of
from isogloss.models.http import HttpError
from isogloss.models.llama_calls import LlamaCalls, RefusedError
from isogloss.models.llama_process import LlamaProcess
from isogloss.models.model import Abilities, CalledOffError
from isogloss.models.openai_wire import OPENAI
from isogloss.models.pace import Pace
from isogloss.models.retry import RetryPolicy
from isogloss.models.weights import KNOWN, known, locate, sha256_of
from isogloss.records import Message, Prompt, Response, Sampling, Status

_CONTEXT = 8192
_READY_SECONDS = 60.0
_TAIL = 16
_UNDER_WAY = 2
"""The server answers one after the other; waiting in line here isn't counted as time of the call."""

_MARK = "isogloss-system"
_OWN_SYSTEM = "its chat template puts a system message of its own before the question"
_NO_TEMPLATE = "its weights carry no chat template; llama.cpp puts one on (ChatML) that it may never have met"
_FOLDED = "its chat template has no system message; such text stands before the first message of the user"
_HEAD_BYTES = 32 * 2**20
"""Where a file of weights tells of itself; what follows are the weights."""


class _Session(NamedTuple):
    """What holds while the model is open."""

    chat: ChatModel
    calls: LlamaCalls
    bos: tuple[int, ...] = ()
    has_system: bool = True
    """The chat template has a place for system messages."""


class GgufModel:
    """A llama.cpp server of our own.

    Parameters
    ----------
    name : str
        `gguf/…`, as written by the user.
    source : str
        A name of `weights.KNOWN`, or the path of a file.
    cache_dir : Path
        Where known weights lie.
    revision : str or None
        Beginning of the weights' sha256, where the user wants just these.
    chat_template : str or None
        A chat template (Jinja) in place of the one that the weights carry.
    """

    def __init__(
        self,
        name: str,
        *,
        source: str,
        cache_dir: Path,
        revision: str | None = None,
        timeout: float = 600.0,
        chat_template: str | None = None,
    ) -> None:
        if not _is_path(source):
            known(source)
        self.name = name
        self.revision = revision
        self.abilities = Abilities(chat=True, grammar=True, logprobs=True, seeds=True)
        self.local = True
        self._source = source
        self._cache_dir = cache_dir
        self._asked_revision = revision
        self._timeout = timeout
        self._process: LlamaProcess | None = None
        self._session: _Session | None = None
        self._places = asyncio.Semaphore(_UNDER_WAY)
        self._candidates: dict[tuple[str, str], Tokens] = {}
        self._given_template = chat_template
        self._template: str | None = None
        self._template_remarks: list[str] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def pid(self) -> int | None:
        """Process id of the server while there is one."""
        return self._process.pid if self._process is not None else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know: of the chat template, and what the server refused."""
        return (*self._template_remarks, *(self._session.chat.remarks if self._session is not None else ()))

    @property
    def template(self) -> str | None:
        """The chat template it is asked with, as the server has it; None before `open`."""
        return self._template

    @property
    def held(self) -> dict[str, float | int | None]:
        """What was really sent under each name of `Sampling` (empty before the first call)."""
        return dict(self._session.chat.held) if self._session is not None else {}

    async def open(self) -> None:
        """Check the weights, start the server, wait until it is ready."""
        weights = await asyncio.to_thread(self._checked_weights)
        process = self._process = LlamaProcess(weights, context=_CONTEXT, template=self._given_template)
        try:
            await process.start()
            await self._connect(process)
        except BaseException:
            await self.close()
            raise

    def _checked_weights(self) -> Path:
        weights = KNOWN.get(self._source)
        if weights is not None or not _is_path(self._source):
            path = locate(self._source, self._cache_dir)
        else:
            path = Path(self._source).expanduser()
            if not path.is_file():
                raise ModelError(f"no weights at {path}; expected a .gguf file")
        digest = sha256_of(path)
        if weights is not None and digest != weights.sha256:
            raise ModelError(
                f"the weights {path} are damaged (sha256 {digest[:8]}…); get them by 'isogloss models pull "
                f"{weights.name}'"
            )
        if self._asked_revision is not None and not digest.startswith(self._asked_revision):
            raise ModelError(f"{self.name}: {path} is revision {digest[:16]}, not {self._asked_revision}")
        self.revision = digest[:16]
        if self._given_template is None and not _carries_template(path):
            self._remark(_NO_TEMPLATE)
        return path

    async def _connect(self, process: LlamaProcess) -> None:
        chat = ChatModel(
            self.name,
            wire=OPENAI,
            model_id=self._source,
            endpoint=Endpoint(process.address, process.token),
            path="/v1/chat/completions",
            revision=self.revision,
            abilities=self.abilities,
            local=True,
            pace=Pace(most=_UNDER_WAY),
            timeout=self._timeout,
            policy=RetryPolicy(tries=3, first_wait=0.2),
        )
        calls = LlamaCalls(chat.http)
        self._session = _Session(chat, calls)
        await chat.open()
        await self._until_ready(process, chat)
        props = await calls.props()
        self._template = props.chat_template or None
        bos = await calls.tokens(props.bos_token, add_special=False) if props.bos_token else ()
        self._session = _Session(chat, calls, tuple(bos), await _has_system(calls))
        if "system" in (await calls.rendered([Message(role="user", content="")])).lower():
            self._remark(_OWN_SYSTEM)

    def _remark(self, words: str) -> None:
        if words not in self._template_remarks:
            self._template_remarks.append(words)

    async def _until_ready(self, process: LlamaProcess, chat: ChatModel) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        words = "no answer"
        while time.monotonic() < deadline and (ended := process.ended()) is None:
            try:
                reply = await chat.http.get("/health")
            except HttpError as fault:
                words = str(fault)
            else:
                if reply.status == 200:
                    return
                words = shorten(read_words(reply.body).message)
            await asyncio.sleep(0.05)
        raise ModelError(f"{self.name}: the llama.cpp server doesn't get ready ({ended or words})")

    async def close(self) -> None:
        """Close the session and end the server."""
        session, self._session = self._session, None
        process, self._process = self._process, None
        if session is not None:
            await session.chat.close()
        if process is not None:
            await process.stop()

    def call_off(self) -> None:
        """Let no further request out; calls that wait for their turn raise CalledOffError."""
        if self._session is not None:
            self._session.chat.call_off()

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`. Candidates get the probability the model gives them at temperature 1.

        A prompt of one `text` message is continued as it is, without a chat template.
        """
        if self._session is None or self._process is None:
            raise ModelError(f"{self.name} isn't open")
        process, session = self._process, self._session
        try:
            async with self._places:
                if session.chat.pace.is_called_off:
                    raise CalledOffError
                if _is_raw(self.name, prompt):
                    response = await self._ask_raw(session, prompt, sampling, repeat)
                else:
                    response = await self._ask_chat(session, self._folded(session, prompt), sampling, repeat)
        except ModelError:
            _check_running(self.name, process)
            raise
        if response.status is Status.FAILED:
            _check_running(self.name, process)
        return response

    def _folded(self, session: _Session, prompt: Prompt) -> Prompt:
        """The prompt as its chat template can take it; it keeps its id."""
        if session.has_system or all(message.role != "system" for message in prompt.messages):
            return prompt
        self._remark(_FOLDED)
        return prompt.model_copy(update={"messages": fold_system(prompt.messages)})

    async def _ask_chat(self, session: _Session, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        started = time.perf_counter()
        rendered = None
        try:
            rendered = await session.calls.rendered(prompt.messages)
        except (HttpError, RefusedError) as fault:  # a template may turn down an order of messages
            if prompt.candidates:
                return self._response(prompt, repeat, started, status=Status.FAILED, **_fault(fault))
        if prompt.candidates and rendered is not None:
            return await self._score(session, prompt, repeat, rendered, started, rendered=rendered)
        response = await session.chat.ask(prompt, sampling, repeat)  # it has its own words for faults, and tries again
        too_long = response.status is Status.FAILED and not response.passing and is_too_long(response.error or "")
        return response.model_copy(update={"rendered": rendered, "final": too_long})

    # --- raw texts ----------------------------------------------------------------------------------------------------

    async def _ask_raw(self, session: _Session, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        started = time.perf_counter()
        text = prompt.messages[0].content
        if prompt.candidates:
            return await self._score(session, prompt, repeat, text, started)
        grammar = grammar_of(prompt.form) if sampling.constrained and prompt.form is not None else None
        try:
            reply = await session.calls.continuation(text, sampling, grammar)
        except (HttpError, RefusedError) as fault:
            return self._response(prompt, repeat, started, status=Status.FAILED, **_fault(fault))
        return self._response(
            prompt,
            repeat,
            started,
            status=Status.TRUNCATED if reply.stop_type == "limit" else Status.OK,
            text=reply.content,
            finish_reason=reply.stop_type,
            input_tokens=reply.tokens_evaluated,
            output_tokens=reply.tokens_predicted,
        )

    # --- probabilities of given answers -------------------------------------------------------------------------------

    async def _score(
        self, session: _Session, prompt: Prompt, repeat: int, text: str, started: float, *, rendered: str | None = None
    ) -> Response:
        """Score a prompt's candidates as continuations of a text."""
        calls = session.calls
        try:
            before = _without_double_start(await calls.tokens(text, add_special=True), session.bos)
            if not before:
                words = "nothing stands before the candidates, and the model has no token for a start"
                raise RefusedError(words, final=True)
            answers = [await self._candidate(calls, text[-_TAIL:], candidate) for candidate in prompt.candidates]
            logprobs = answer_logprobs(answers, await calls.distributions(before, wanted_tokens(answers)))
        except (HttpError, RefusedError) as fault:
            return self._response(prompt, repeat, started, status=Status.FAILED, rendered=rendered, **_fault(fault))
        return self._response(
            prompt,
            repeat,
            started,
            status=Status.OK,
            candidate_logprobs=logprobs,
            candidate_tokens=tuple(map(len, answers)),
            input_tokens=len(before),
            output_tokens=0,
            rendered=rendered,
        )

    def _response(self, prompt: Prompt, repeat: int, started: float, **fields: object) -> Response:
        return Response.model_validate(
            {
                "prompt_id": prompt.id,
                "model": self.name,
                "revision": self.revision,
                "repeat": repeat,
                "seconds": time.perf_counter() - started,
                "received_at": time.time(),
                **fields,
            }
        )

    async def _candidate(self, calls: LlamaCalls, tail: str, candidate: str) -> Tokens:
        """Tokens of a candidate as it follows the end of the prompt."""
        key = (tail, candidate)
        tokens = self._candidates.get(key)
        if tokens is None:
            if not candidate:
                raise DataError(f"{self.name}: an empty candidate has no probability")
            alone = await calls.tokens(tail, add_special=False)
            both = await calls.tokens(tail + candidate, add_special=False)
            if both[: len(alone)] == alone and len(both) > len(alone):
                tokens = tuple(both[len(alone) :])
            else:  # the tokenizer would join the two; after a fixed prompt the candidate stands alone
                tokens = tuple(await calls.tokens(candidate, add_special=False))
            self._candidates[key] = tokens
        return tokens


async def _has_system(calls: LlamaCalls) -> bool:
    """Whether the chat template has a place for system messages of its own.

    It has none where it raises, drops the text, or puts it where a user's own words would stand (the server does so
    for templates without one).
    """
    try:
        apart = await calls.rendered([Message(role="system", content=_MARK), Message(role="user", content="x")])
    except RefusedError:
        return False
    together = await calls.rendered([Message(role="user", content=f"{_MARK}\nx")])
    return _MARK in apart and apart.split() != together.split()


def _carries_template(weights: Path) -> bool:
    """Whether a file of weights holds a chat template."""
    with weights.open("rb") as file:
        return b"tokenizer.chat_template" in file.read(_HEAD_BYTES)


def _is_raw(name: str, prompt: Prompt) -> bool:
    """Whether a prompt is a text to be continued."""
    raw = any(message.role == "text" for message in prompt.messages)
    if raw and len(prompt.messages) > 1:
        raise DataError(f"{name}: a 'text' message stands alone in its prompt, got {len(prompt.messages)} messages")
    return raw


def _without_double_start(tokens: list[int], bos: tuple[int, ...]) -> list[int]:
    """Drop a start token that both the template and the tokenizer have put."""
    return tokens[1:] if len(bos) == 1 and tokens[:2] == [bos[0], bos[0]] else tokens


def _check_running(name: str, process: LlamaProcess) -> None:
    ended = process.ended()
    if ended is not None:
        raise ModelError(f"{name}: the llama.cpp server is gone ({ended}); run the same command again") from None


def _fault(fault: HttpError | RefusedError) -> dict[str, str | bool]:
    """What a response says of a fault; a connection that broke may hold another time."""
    is_final = isinstance(fault, RefusedError) and fault.final
    return {"error": str(fault), "passing": isinstance(fault, HttpError), "final": is_final}


def _is_path(source: str) -> bool:
    return "/" in source or "\\" in source or source.endswith(".gguf")
