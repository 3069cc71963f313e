"""`gguf/NAME` and `gguf/./FILE.gguf`: a model on this machine, served by llama.cpp in a child process."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from isogloss.errors import DataError, ModelError
from isogloss.models.answer_probability import Tokens, answer_logprobs, wanted_tokens
from isogloss.models.faults import read_words
from isogloss.models.http import HttpError
from isogloss.models.llama_process import LlamaProcess
from isogloss.models.model import Abilities
from isogloss.models.openai import ChatModel, Endpoint
from isogloss.models.retry import RetryPolicy
from isogloss.models.weights import KNOWN, locate, sha256_of
from isogloss.records import Prompt, Response, Sampling, Status

_CONTEXT = 8192
_READY_SECONDS = 60.0
_SHOWN_TOKENS = 500
_ALL_TOKENS = 10_000_000
_TAIL = 16
_UNDER_WAY = 2
"""The server answers one after the other; waiting in line here isn't counted as time of the call."""

T = TypeVar("T")


class _Templated(msgspec.Struct):
    prompt: str


class _Tokenized(msgspec.Struct):
    tokens: list[int]


class _Props(msgspec.Struct):
    bos_token: str = ""


class _Token(msgspec.Struct):
    id: int
    logprob: float


class _Position(msgspec.Struct):
    top_logprobs: list[_Token]


class _Completion(msgspec.Struct):
    index: int
    completion_probabilities: list[_Position]


class _RefusedError(Exception):
    """The server answered with an error."""


class _Session(NamedTuple):
    """What holds while the model is open."""

    chat: ChatModel
    bos: tuple[int, ...]


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
    """

    def __init__(
        self,
        name: str,
        *,
        source: str,
        cache_dir: Path,
        revision: str | None = None,
        timeout: float = 600.0,
    ) -> None:
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
        self._template_remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def pid(self) -> int | None:
        """Process id of the server while there is one."""
        return self._process.pid if self._process is not None else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know: of the chat template, and what the server refused."""
        return self._template_remarks + (self._session.chat.remarks if self._session is not None else ())

    @property
    def held(self) -> dict[str, float | int | None]:
        """What was really sent under each name of `Sampling` (empty before the first call)."""
        return dict(self._session.chat.held) if self._session is not None else {}

    async def open(self) -> None:
        """Check the weights, start the server, wait until it is ready."""
        weights = await asyncio.to_thread(self._checked_weights)
        process = self._process = LlamaProcess(weights, context=_CONTEXT)
        try:
            await process.start()
            await self._connect(process)
        except BaseException:
            await self.close()
            raise

    def _checked_weights(self) -> Path:
        known = KNOWN.get(self._source)
        if known is not None or not _is_path(self._source):
            path = locate(self._source, self._cache_dir)
        else:
            path = Path(self._source).expanduser()
            if not path.is_file():
                raise ModelError(f"no weights at {path}; expected a .gguf file")
        digest = sha256_of(path)
        if known is not None and digest != known.sha256:
            raise ModelError(
                f"the weights {path} are damaged (sha256 {digest[:8]}…); get them by isogloss models pull {known.name}"
            )
        if self._asked_revision is not None and not digest.startswith(self._asked_revision):
            raise ModelError(f"{self.name}: {path} is revision {digest[:16]}, not {self._asked_revision}")
        self.revision = digest[:16]
        return path

    async def _connect(self, process: LlamaProcess) -> None:
        chat = ChatModel(
            self.name,
            model_id=self._source,
            endpoint=Endpoint(process.address, process.token),
            chat_path="/v1/chat/completions",
            revision=self.revision,
            abilities=self.abilities,
            local=True,
            max_connections=_UNDER_WAY,
            timeout=self._timeout,
            policy=RetryPolicy(tries=3, first_wait=0.2),
        )
        self._session = _Session(chat, ())
        await chat.open()
        await self._until_ready(process, chat)
        props = await self._call("/props", None, _Props)
        bos: list[int] = []
        if props.bos_token:
            bos = (await self._tokens(props.bos_token, add_special=False)).tokens
        self._session = _Session(chat, tuple(bos))
        shown = (
            await self._call("/apply-template", {"messages": [{"role": "user", "content": ""}]}, _Templated)
        ).prompt
        if "system" in shown.lower():
            self._template_remarks = ("its chat template puts a system message of its own before the question",)

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
                words = read_words(reply.body).message
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

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`. Candidates get the probability the model gives them at temperature 1."""
        if self._session is None or self._process is None:
            raise ModelError(f"{self.name} isn't open")
        process, session = self._process, self._session
        try:
            async with self._places:
                if prompt.candidates:
                    response = await self._score(prompt, repeat)
                else:
                    response = await session.chat.ask(prompt, sampling, repeat)
        except ModelError:
            _check_running(self.name, process)
            raise
        if response.status is Status.FAILED:
            _check_running(self.name, process)
        return response

    # --- probabilities of given answers -------------------------------------------------------------------------------

    async def _score(self, prompt: Prompt, repeat: int) -> Response:
        started = time.perf_counter()
        status, logprobs, error, n_tokens = Status.OK, None, None, None
        try:
            text = (await self._call("/apply-template", {"messages": _wire(prompt)}, _Templated)).prompt
            before = self._without_double_start((await self._tokens(text, add_special=True)).tokens)
            n_tokens = len(before)
            answers = [await self._candidate(text[-_TAIL:], candidate) for candidate in prompt.candidates]
            logprobs = answer_logprobs(answers, await self._distributions(before, wanted_tokens(answers)))
        except (HttpError, _RefusedError) as fault:
            status, error = Status.FAILED, str(fault)
        return Response(
            prompt_id=prompt.id,
            model=self.name,
            revision=self.revision,
            repeat=repeat,
            status=status,
            candidate_logprobs=logprobs,
            error=error,
            input_tokens=n_tokens,
            output_tokens=0,
            seconds=time.perf_counter() - started,
            received_at=time.time(),
        )

    async def _distributions(self, before: list[int], wanted: dict[Tokens, set[int]]) -> dict[Tokens, dict[int, float]]:
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
                completions = [await self._call("/completion", request, _Completion)]
            else:
                completions = await self._call("/completion", request, list[_Completion])
            for completion in completions:
                shown = completion.completion_probabilities[0].top_logprobs
                found[missing[completion.index]] = {token.id: token.logprob for token in shown}
        lacking = [node for node, tokens in wanted.items() if not tokens <= found.get(node, {}).keys()]
        if lacking:
            raise _RefusedError(f"the server gives no probability for a token after {lacking[0]}")
        return found

    async def _candidate(self, tail: str, candidate: str) -> Tokens:
        """Tokens of a candidate as it follows the end of the prompt."""
        key = (tail, candidate)
        tokens = self._candidates.get(key)
        if tokens is None:
            if not candidate:
                raise DataError(f"{self.name}: an empty candidate has no probability")
            alone = (await self._tokens(tail, add_special=False)).tokens
            both = (await self._tokens(tail + candidate, add_special=False)).tokens
            if both[: len(alone)] == alone and len(both) > len(alone):
                tokens = tuple(both[len(alone) :])
            else:  # the tokenizer would join the two; after a fixed prompt the candidate stands alone
                tokens = tuple((await self._tokens(candidate, add_special=False)).tokens)
            self._candidates[key] = tokens
        return tokens

    def _without_double_start(self, tokens: list[int]) -> list[int]:
        """Drop a start token that both the template and the tokenizer have put."""
        bos = self._session.bos if self._session is not None else ()
        return tokens[1:] if len(bos) == 1 and tokens[:2] == [bos[0], bos[0]] else tokens

    async def _tokens(self, text: str, *, add_special: bool) -> _Tokenized:
        return await self._call(
            "/tokenize", {"content": text, "add_special": add_special, "parse_special": True}, _Tokenized
        )

    async def _call(self, path: str, request: object | None, kind: type[T]) -> T:
        """GET (without a request) or POST; the reply as a struct. Raises HttpError, _RefusedError."""
        assert self._session is not None
        http = self._session.chat.http
        reply = await (http.get(path) if request is None else http.post(path, msgspec.json.encode(request)))
        if reply.status != 200:
            raise _RefusedError(f"HTTP {reply.status}: {read_words(reply.body).message}")
        try:
            return msgspec.json.decode(reply.body, type=kind)
        except msgspec.DecodeError as error:
            raise _RefusedError(f"{path}: {error}") from None


def _check_running(name: str, process: LlamaProcess) -> None:
    ended = process.ended()
    if ended is not None:
        raise ModelError(f"{name}: the llama.cpp server is gone ({ended}); run the same command again") from None


def _wire(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def _is_path(source: str) -> bool:
    return "/" in source or "\\" in source or source.endswith(".gguf")
