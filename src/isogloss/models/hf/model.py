"""`hf/OWNER/NAME` and `hf/./DIR`: a model on this machine through transformers, for replies and log-probabilities.

Calls that come at the same time are computed together, in one worker thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from isogloss.errors import AbilityError, DataError, ModelError
from isogloss.models.hf import files as hf_files
from isogloss.models.hf.batching import Outcome
from isogloss.models.hf.files import Look, Place
from isogloss.models.hf.loading import check_installed, check_settings, load, quiet
from isogloss.models.hf.prompts import Rendered
from isogloss.models.hf.session import Call, Result, Session
from isogloss.models.hf.trained_head import load_trained
from isogloss.models.model import Abilities
from isogloss.models.settings import ModelSettings
from isogloss.records import Prompt, Response, Sampling, Status


class HfModel:
    """A transformers model held by this process.

    Parameters
    ----------
    name : str
        `hf/…`, as written by the user.
    source : str
        A folder ("./dir") or GGUF file ("./dir/file.gguf"), or `OWNER/NAME` on the hub. A folder may hold a
        next-sentence head that was trained here; its base model is then loaded with it.
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
        self._seen = hf_files.look(here) if here is not None else None
        self._session: Session | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._template: str | None = None
        self._remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def abilities(self) -> Abilities:
        """Told by config, tokenizer and the weights' names; for a model that isn't here yet, the hub is asked for them.

        Where they can't be had (`open` says why), it is taken for a causal model that can be talked to. Raises
        ModelError for a path of this machine where nothing is.
        """
        if self._seen is None:
            hf_files.check_there(self.name, self._place)
            found = hf_files.look_ahead(self._place, self._environment) if self._place.path is None else None
            self._seen = found or Look("causal", has_template=True)
        return self._seen.abilities

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

    def _make_session(self) -> Session:
        check_settings(self._settings)
        with ExitStack() as silence:
            silence.enter_context(quiet())
            path, self.revision = hf_files.located(self.name, self._place, self._environment)
            seen = hf_files.look(path)
            if seen is None:
                raise ModelError(f"{self.name}: no readable config.json in {path}; expected a saved transformers model")
            self._seen = seen
            held: tuple[str, ...] = ()
            if seen.kind == "trained_head":
                loaded, held = load_trained(self.name, path, self._settings, self._environment)
            else:
                loaded = load(self.name, path, seen, self._settings)
            assert self._thread is not None
            return Session(
                self.name, loaded, seen, self._settings, self._seed, self._thread, silence.pop_all(), remarks=held
            )

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
        _check(self.name, prompt, self.abilities)
        started = time.perf_counter()
        call = Call(prompt, sampling, repeat, {})
        outcome = await session.batcher.put(call)
        return self._response(call, outcome, time.perf_counter() - started)

    def _response(self, call: Call, outcome: Outcome[Result], seconds: float) -> Response:
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
            final=outcome.final,
        )


def _check(name: str, prompt: Prompt, able: Abilities) -> None:
    """Raise AbilityError for what a model can't do, DataError for a prompt that can't be scored."""
    kind = prompt.form.kind if prompt.form is not None else None
    text = prompt.messages[0].content if prompt.messages[0].role == "text" else None
    if not all(prompt.candidates):
        raise DataError(f"{name}: an empty candidate has no probability")
    if kind == "next_sentence":
        if not (able.next_sentence or able.nsp_trained):
            raise AbilityError(f"{name} has no next-sentence head; take a model that has one, as the first BERT models")
        if not prompt.candidates or not text:
            raise DataError(f"{name}: a next-sentence score is of candidates after a text, one of the two is missing")
    elif kind == "shared_tokens":
        if not able.shared_tokens:
            raise AbilityError(f"{name} is no masked model and can't mask the tokens that two sentences share")
        if len(prompt.candidates) != 2 or text != "":
            raise DataError(f"{name}: shared tokens are of two candidates after an empty text")
    elif prompt.candidates and not able.logprobs:
        raise AbilityError(f"{name} has a next-sentence head only and gives no log-probabilities")
    elif not prompt.candidates and not able.chat:
        if able.masked or not able.logprobs:
            raise AbilityError(f"{name} is a masked model and writes no text; give candidates")
        if text is None:
            raise AbilityError(f"{name} has no chat template and can't be talked to; ask for reading=logprob")
