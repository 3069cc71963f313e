"""`hf/OWNER/NAME` and `hf/./DIR`: a model on this machine through transformers, for replies and log-probabilities.

Calls that come at the same time are computed together, in one worker thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import AbilityError, DataError, ModelError
from isogloss.models.hf import files as hf_files
from isogloss.models.hf.batching import Batcher, Outcome
from isogloss.models.hf.files import Look, Place
from isogloss.models.hf.loading import Loaded, check_installed, check_settings, load, quiet
from isogloss.models.hf.prompts import Rendered, Renderer
from isogloss.models.hf.scoring import CausalScorer, MaskedScorer, ScoreTask
from isogloss.models.hf.writing import Writer, WriteTask, Written
from isogloss.models.model import Abilities
from isogloss.models.settings import ModelSettings
from isogloss.records import Prompt, Response, Sampling, Status

DEFAULT_MAX_TOKENS = 256


class _Call(NamedTuple):
    """What `ask` was called with, and what is noted of it on the way."""

    prompt: Prompt
    sampling: Sampling
    repeat: int
    notes: dict[str, Rendered | int]


class _Result(NamedTuple):
    """What the computation gave for one call."""

    logprobs: tuple[float, ...] | None = None
    n_own: tuple[int, ...] | None = None
    text: str | None = None
    ended: bool = True
    n_written: int = 0


_Tasks = ScoreTask | WriteTask


class HfModel:
    """A transformers model held by this process.

    Parameters
    ----------
    name : str
        `hf/…`, as written by the user.
    source : str
        A folder ("./dir") or GGUF file ("./dir/file.gguf"), or `OWNER/NAME` on the hub.
    revision : str or None
        For the hub a branch, tag or commit; for files of this machine the beginning of `hf_files.local_revision`.
    settings : ModelSettings
        Device, dtype and batch size.
    environment : mapping
        `HF_TOKEN`, `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`.
    seed : int
        For drawing replies where the sampling names none.
    """

    def __init__(
        self,
        name: str,
        *,
        source: str,
        revision: str | None = None,
        settings: ModelSettings | None = None,
        environment: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.name = name
        self.revision = revision
        self.local = True
        self._settings = settings or ModelSettings()
        self._environment = environment or {}
        self._seed = seed
        self._place: Place = hf_files.place(source, revision)
        here = self._place.path or hf_files.cached_folder(self._place, self._environment)
        seen = hf_files.look(here) if here is not None else None
        self.abilities: Abilities = (seen or Look("causal", has_template=True)).abilities
        self._session: _Session | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._template: str | None = None
        self._remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def template(self) -> str | None:
        """The chat template, after `open`; None for a model without one."""
        return self._template

    @property
    def remarks(self) -> tuple[str, ...]:
        """How messages were fitted to the template, and what was computed in a slower way."""
        return self._remarks if self._session is None else self._session.remarks

    async def open(self) -> None:
        """Fetch what isn't here, load it, and try out what its architecture bears."""
        check_installed(self.name, gguf=self._place.is_gguf)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="isogloss-hf")
        try:
            session = await asyncio.get_running_loop().run_in_executor(self._thread, self._make_session)
        except BaseException:
            await self.close()
            raise
        self._session = session
        self._template = session.renderer.template

    def _make_session(self) -> _Session:
        check_settings(self._settings)
        with ExitStack() as silence:
            silence.enter_context(quiet())
            path = self._path()
            seen = hf_files.look(path)
            if seen is None:
                raise ModelError(f"{self.name}: no readable config.json in {path}; expected a saved transformers model")
            self.abilities = seen.abilities
            loaded = load(self.name, path, seen, self._settings)
            assert self._thread is not None
            return _Session(self.name, loaded, seen, self._settings, self._seed, self._thread, silence.pop_all())

    def _path(self) -> Path:
        """The folder or file to load from; sets the revision."""
        path, asked = self._place.path, self._place.revision
        if path is None:
            path, self.revision = hf_files.fetch(self.name, self._place, self._environment)
            return path
        if not (path.is_file() if self._place.is_gguf else path.is_dir()):
            what = "a .gguf file" if self._place.is_gguf else "a folder with a saved transformers model"
            raise ModelError(f"{self.name}: nothing at {path}; expected {what}")
        revision = hf_files.local_revision(path)
        if asked is not None and not revision.startswith(asked):
            raise ModelError(f"{self.name}: {path} is revision {revision}, not {asked}")
        self.revision = revision
        return path

    async def close(self) -> None:
        """Let the batch under way end, tell calls that wait, free the memory."""
        session, self._session = self._session, None
        thread, self._thread = self._thread, None
        if session is not None:
            self._remarks = session.remarks
            await session.close()
        if thread is not None:
            thread.shutdown(wait=False)

    def call_off(self) -> None:
        """Begin no further batch; calls that wait raise CalledOffError."""
        if self._session is not None:
            self._session.batcher.call_off()

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`. Candidates are scored at temperature 1, and `sampling` doesn't matter."""
        session = self._session
        if session is None:
            raise ModelError(f"{self.name} isn't open")
        if not all(prompt.candidates):
            raise DataError(f"{self.name}: an empty candidate has no probability")
        if not prompt.candidates and not self.abilities.chat and prompt.messages[0].role != "text":
            raise AbilityError(f"{self.name} has no chat template and can't be talked to; ask for reading=logprob")
        if not prompt.candidates and self.abilities.masked:
            raise AbilityError(f"{self.name} is a masked model and writes no text; give candidates")
        started = time.perf_counter()
        call = _Call(prompt, sampling, repeat, {})
        outcome = await session.batcher.put(call)
        return self._response(call, outcome, time.perf_counter() - started)

    def _response(self, call: _Call, outcome: Outcome[_Result], seconds: float) -> Response:
        result = outcome.result
        status = Status.FAILED if result is None else Status.OK if result.ended else Status.TRUNCATED
        writes = result is not None and result.text is not None
        rendered, n_input = call.notes.get("rendered"), call.notes.get("n_input")
        return Response(
            prompt_id=call.prompt.id,
            model=self.name,
            revision=self.revision,
            repeat=call.repeat,
            status=status,
            text=result.text if result is not None else None,
            candidate_logprobs=result.logprobs if result is not None else None,
            candidate_tokens=result.n_own if result is not None else None,
            finish_reason=("stop" if result.ended else "length") if writes and result is not None else None,
            error=outcome.error or None,
            rendered=rendered.text if isinstance(rendered, Rendered) and not rendered.is_raw else None,
            input_tokens=n_input if isinstance(n_input, int) else None,
            output_tokens=result.n_written if result is not None else None,
            n_tries=outcome.n_tries,
            seconds=seconds,
            received_at=time.time(),
        )


class _Session:
    """What holds while the model is open; everything but `close` and `remarks` runs in the worker thread."""

    def __init__(
        self,
        name: str,
        loaded: Loaded,
        seen: Look,
        settings: ModelSettings,
        seed: int,
        thread: ThreadPoolExecutor,
        silence: ExitStack,
    ) -> None:
        self.renderer = Renderer(loaded.tokenizer, has_template=seen.has_template)
        self.batcher: Batcher[_Call, _Tasks, _Result] = Batcher(
            name, prepare=self._prepare, compute=self._compute, size=settings.batch_size, thread=thread
        )
        self._loaded = loaded
        self._silence = silence
        self._seed = seed
        self._causal = self._masked = self._writer = None
        self._held: tuple[str, ...] = ()
        dtype = str(loaded.model.dtype).removeprefix("torch.")
        if dtype in ("float16", "bfloat16"):
            self._held = (f"computed in {dtype}: log-probabilities may be off by up to 0.7 nats",)
        if seen.kind == "masked":
            self._masked = MaskedScorer(loaded, at_once=settings.batch_size)
        else:
            self._causal = CausalScorer(loaded, at_once=settings.batch_size)
            self._writer = Writer(loaded, self.batcher.stopping)

    @property
    def remarks(self) -> tuple[str, ...]:
        """See `HfModel.remarks`."""
        parts = (self._causal.remarks if self._causal else ()) + (self._writer.remarks if self._writer else ())
        return (*self.renderer.remarks, *parts, *self._held)

    async def close(self) -> None:
        await self.batcher.close()
        self._silence.close()

    # --- a call made ready --------------------------------------------------------------------------------------------

    def _prepare(self, call: _Call) -> _Tasks:
        rendered = self.renderer.render(call.prompt)
        call.notes["rendered"] = rendered
        if call.prompt.candidates:
            task: _Tasks = self._to_score(call, rendered)
        else:
            task = self._to_write(call, rendered)
        return task

    def _to_score(self, call: _Call, rendered: Rendered) -> ScoreTask:
        joined = self.renderer.joined(rendered.text, call.prompt.candidates)
        before, after = self.renderer.around if self._masked else (self.renderer.start(rendered), ())
        base = min(candidate.start for candidate in joined)
        if not self._masked and not before and base == 0:
            before = self.renderer.fallback_start()
            if not before:
                raise ValueError("nothing stands before the candidates, so their first token has no probability")
        task = ScoreTask(
            context=(*before, *joined[0].tokens[:base]),
            answers=tuple(candidate.tokens[base:] for candidate in joined),
            starts=tuple(candidate.start - base for candidate in joined),
            after=after,
            exclusive=self._masked is None and call.prompt.messages[0].role != "text",
        )
        call.notes["n_input"] = len(task.context) + len(after)
        self._check_length(task.length)
        return task._replace(packed=self._causal is not None and self._causal.packs(task))

    def _to_write(self, call: _Call, rendered: Rendered) -> WriteTask:
        sampling = call.sampling
        ids = (*self.renderer.start(rendered), *self.renderer.tokens(rendered.text)) or self.renderer.fallback_start()
        call.notes["n_input"] = len(ids)
        self._check_length(len(ids) + 1)
        n_most = sampling.max_tokens or DEFAULT_MAX_TOKENS
        if self._loaded.n_positions is not None:
            n_most = min(n_most, self._loaded.n_positions - len(ids))
        seed = self._seed if sampling.seed is None else sampling.seed
        temperature = self._loaded.temperature if sampling.temperature is None else sampling.temperature
        return WriteTask(ids, n_most, temperature, sampling.top_p, f"{seed}|{call.prompt.id}|{call.repeat}")

    def _check_length(self, n_tokens: int) -> None:
        most = self._loaded.n_positions
        if most is not None and n_tokens > most:
            raise ValueError(f"{n_tokens} tokens are more than the model's context of {most}")

    # --- a batch computed ---------------------------------------------------------------------------------------------

    def _compute(self, tasks: Sequence[_Tasks]) -> list[_Result]:
        """Tasks of one group, so of one kind."""
        scored = [task for task in tasks if isinstance(task, ScoreTask)]
        if scored:
            scorer = self._causal or self._masked
            assert scorer is not None
            sums = scorer.score(scored)
            return [_Result(logprobs=found, n_own=task.n_own) for found, task in zip(sums, scored, strict=True)]
        assert self._writer is not None
        return [self._result(done) for done in self._writer.write([t for t in tasks if isinstance(t, WriteTask)])]

    def _result(self, written: Written) -> _Result:
        text = self._loaded.tokenizer.decode(written.ids, skip_special_tokens=True)
        return _Result(text=text, ended=written.ended, n_written=len(written.ids) + written.ended)
