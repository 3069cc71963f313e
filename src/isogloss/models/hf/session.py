"""An open `hf/` model: calls made ready, computed, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

from isogloss.models.hf.batching import Batcher
from isogloss.models.hf.files import Look
from isogloss.models.hf.following import FollowScorer, FollowTask, own_logits, trained_logits
from isogloss.models.hf.loading import Loaded
from isogloss.models.hf.masked import MaskedScorer, MaskedTask, shared_places
from isogloss.models.hf.prompts import Rendered, Renderer
from isogloss.models.hf.scoring import CausalScorer, ScoreTask
from isogloss.models.hf.writing import Writer, WriteTask, Written
from isogloss.models.settings import ModelSettings
from isogloss.records import Prompt, Sampling

DEFAULT_MAX_TOKENS = 256


class Call(NamedTuple):
    """What `ask` was called with, and what is noted of it on the way."""

    prompt: Prompt
    sampling: Sampling
    repeat: int
    notes: dict[str, Rendered | int]


class Result(NamedTuple):
    """What the computation gave for one call."""

    logprobs: tuple[float, ...] | None = None
    n_own: tuple[int, ...] | None = None
    text: str | None = None
    ended: bool = True
    n_written: int = 0


_Tasks = ScoreTask | MaskedTask | FollowTask | WriteTask


class Session:
    """What holds while a model is open; everything but `close` and `remarks` runs in the worker thread."""

    def __init__(
        self,
        name: str,
        loaded: Loaded,
        seen: Look,
        settings: ModelSettings,
        seed: int,
        thread: ThreadPoolExecutor,
        silence: ExitStack,
        *,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.renderer = Renderer(loaded.tokenizer, has_template=seen.has_template)
        self.batcher: Batcher[Call, _Tasks, Result] = Batcher(
            name, prepare=self._prepare, compute=self._compute, size=settings.batch_size, thread=thread
        )
        self._loaded = loaded
        self._silence = silence
        self._seed = seed
        self._causal = self._masked = self._follows = self._writer = None
        self._held = remarks
        dtype = str(loaded.model.dtype).removeprefix("torch.")
        if dtype in ("float16", "bfloat16"):
            self._held += (f"computed in {dtype}: log-probabilities may be off by up to 0.7 nats",)
        if loaded.trained_head is not None:
            self._follows = FollowScorer(trained_logits(loaded, loaded.trained_head), at_once=settings.batch_size)
        elif loaded.pair_head is not None:
            self._follows = FollowScorer(own_logits(loaded), at_once=settings.batch_size)
        if seen.kind == "masked":
            self._masked = MaskedScorer(loaded, at_once=settings.batch_size)
        elif seen.kind == "causal":
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

    def _prepare(self, call: Call) -> _Tasks:
        rendered = self.renderer.render(call.prompt)
        call.notes["rendered"] = rendered
        kind = call.prompt.form.kind if call.prompt.form is not None else None
        if not call.prompt.candidates:
            return self._to_write(call, rendered)
        task: _Tasks
        if kind == "next_sentence":
            task = self._to_follow(call, rendered)
        elif self._masked is not None:
            task = self._to_mask(call, rendered, shared=kind == "shared_tokens")
        else:
            task = self._to_score(call, rendered)
        self._check_length(task.length)
        return task

    def _to_follow(self, call: Call, rendered: Rendered) -> FollowTask:
        task = FollowTask(tuple(self.renderer.pair(rendered.text, candidate) for candidate in call.prompt.candidates))
        call.notes["n_input"] = task.length
        return task

    def _to_mask(self, call: Call, rendered: Rendered, *, shared: bool) -> MaskedTask:
        """Context and candidate are one text, as sentences that follow each other are in a model's training texts."""
        before, after = self.renderer.around
        joined = self.renderer.joined(rendered.text, call.prompt.candidates)
        sequences = tuple((*before, *tokens, *after) for tokens in joined.tokens)
        own = [range(len(before) + joined.start, len(before) + len(tokens)) for tokens in joined.tokens]
        places = tuple(map(tuple, own))
        call.notes["n_input"] = len(before) + joined.start + len(after)
        if shared:
            found = shared_places(sequences[0], sequences[1])
            places = tuple(tuple(k for k in ks if k in among) for ks, among in zip(found, own, strict=True))
        return MaskedTask(sequences, places)

    def _to_score(self, call: Call, rendered: Rendered) -> ScoreTask:
        joined = self.renderer.joined(rendered.text, call.prompt.candidates)
        before = self.renderer.start(rendered)
        if not before and joined.start == 0:
            before = self.renderer.fallback_start()
            if not before:
                raise ValueError("nothing stands before the candidates, so their first token has no probability")
        task = ScoreTask(
            context=(*before, *joined.tokens[0][: joined.start]),
            answers=tuple(tokens[joined.start :] for tokens in joined.tokens),
            exclusive=call.prompt.messages[0].role != "text",
        )
        call.notes["n_input"] = len(task.context)
        assert self._causal is not None
        return task._replace(packed=self._causal.packs(task))

    def _to_write(self, call: Call, rendered: Rendered) -> WriteTask:
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

    def _compute(self, tasks: Sequence[_Tasks]) -> list[Result]:
        """Tasks of one group, so of one kind."""
        scored = [task for task in tasks if isinstance(task, ScoreTask)]
        masked = [task for task in tasks if isinstance(task, MaskedTask)]
        paired = [task for task in tasks if isinstance(task, FollowTask)]
        if scored:
            assert self._causal is not None
            sums = zip(self._causal.score(scored), scored, strict=True)
            return [Result(logprobs=found, n_own=task.n_own) for found, task in sums]
        if masked:
            assert self._masked is not None
            sums_of_masked = zip(self._masked.score(masked), masked, strict=True)
            return [Result(logprobs=found, n_own=task.n_own) for found, task in sums_of_masked]
        if paired:
            assert self._follows is not None
            return [Result(logprobs=found) for found in self._follows.score(paired)]
        assert self._writer is not None
        return [self._result(done) for done in self._writer.write([t for t in tasks if isinstance(t, WriteTask)])]

    def _result(self, written: Written) -> Result:
        text = self._loaded.tokenizer.decode(written.ids, skip_special_tokens=True)
        return Result(text=text, ended=written.ended, n_written=len(written.ids) + written.ended)
