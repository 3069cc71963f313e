"""Replies written by a causal model: several at once, and none of them depends on the others.

Each reply draws from a stream of its own, seeded by the run's seed, its prompt and its repeat, so it comes out the
same whichever replies are written beside it.
"""

from __future__ import annotations

import importlib
import random
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from isogloss.models.hf.batching import FAULTS
from isogloss.models.hf.loading import Loaded

if TYPE_CHECKING:
    import torch

ALONE = "its architecture doesn't bear filled-up rows: replies are written one by one, which takes longer"
_TRIAL = ("El perro duerme en el jardín.", "Sí")


class WriteTask(NamedTuple):
    """A reply to be written."""

    ids: tuple[int, ...]
    n_most: int
    """Tokens of the reply, at most."""
    temperature: float
    top_p: float | None
    seed: str

    @property
    def group(self) -> tuple[str | int, ...]:
        """Those with the same limit end together; greedy ones draw nothing."""
        return ("write", self.n_most, repr((self.temperature, self.top_p)))

    @property
    def length(self) -> int:
        """Tokens of the prompt."""
        return len(self.ids)


class Written(NamedTuple):
    """A reply."""

    ids: tuple[int, ...]
    """Without the token that ends it."""
    ended: bool
    """By the model itself; at the limit otherwise."""


class Writer:
    """Writes replies.

    Parameters
    ----------
    stopping : threading.Event
        Set when what is being written isn't wanted any more.
    """

    def __init__(self, loaded: Loaded, stopping: threading.Event) -> None:
        self._loaded = loaded
        self._stopping = stopping
        self._fills = self._try_out()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether replies are written several at once."""
        return () if self._fills else (ALONE,)

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        """Replies to prompts of one group, in their order."""
        if not self._fills and len(tasks) > 1:
            return [self.write([task])[0] for task in tasks]
        written = self._generate(tasks).sequences
        length = max(len(task.ids) for task in tasks)
        return [self._cut(row[length:].tolist()) for row in written]

    def _generate(self, tasks: Sequence[WriteTask], **options: Any) -> Any:
        import torch

        transformers: Any = importlib.import_module("transformers")
        first, device = tasks[0], self._loaded.device
        length = max(len(task.ids) for task in tasks)
        ids = torch.tensor([(*[self._loaded.pad] * (length - len(task.ids)), *task.ids) for task in tasks])
        seen = torch.tensor([[0] * (length - len(task.ids)) + [1] * len(task.ids) for task in tasks])
        draws = [Draw([task.seed for task in tasks], first.temperature, first.top_p)] if first.temperature else []
        with torch.inference_mode():
            return self._loaded.model.generate(
                input_ids=ids.to(device),
                attention_mask=seen.to(device),
                generation_config=transformers.GenerationConfig(
                    max_new_tokens=first.n_most, do_sample=False, return_dict_in_generate=True, **options
                ),
                logits_processor=transformers.LogitsProcessorList(draws),
                stopping_criteria=transformers.StoppingCriteriaList([self._ends]),
            )

    def _ends(self, ids: torch.Tensor, scores: object, **options: object) -> torch.Tensor:
        import torch

        return torch.full((len(ids),), self._stopping.is_set(), dtype=torch.bool, device=ids.device)

    def _cut(self, ids: list[int]) -> Written:
        """A row up to the first token that ends a reply."""
        for k, token in enumerate(ids):
            if token in self._loaded.ends:
                return Written(tuple(ids[:k]), ended=True)
        return Written(tuple(ids), ended=False)

    def _try_out(self) -> bool:
        """Whether a row filled on the left gives the logits it gives alone."""
        import torch

        long, short = (
            WriteTask(tuple(self._loaded.tokenizer(text, add_special_tokens=False)["input_ids"]), 1, 0.0, None, "")
            for text in _TRIAL
        )
        if len(short.ids) in (0, len(long.ids)):
            return True
        options = {"output_logits": True}
        alone = self._generate([short], **options).logits[0][0].float()
        margin = float(alone.std()) * (1e-3 if self._loaded.model.dtype == torch.float32 else 0.3)
        try:
            beside = self._generate([long, short], **options).logits[0][1].float()
        except FAULTS:
            return False
        return bool((alone - beside).abs().max() <= margin)


class Draw:
    """A logits processor that draws each row's next token from the row's own stream and leaves only that one.

    Parameters
    ----------
    seeds : sequence of str
        One a row; hashed by `random.Random`, so streams are the same on every machine.
    temperature : float
        Above 0.
    top_p : float or None
        Draw only from the likeliest tokens that together have this share.
    """

    def __init__(self, seeds: Sequence[str], temperature: float, top_p: float | None) -> None:
        self._streams = [random.Random(seed) for seed in seeds]
        self._temperature = temperature
        self._top_p = top_p

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores, shape (n_rows, n_vocabulary), with all but the drawn token at minus infinity."""
        import torch

        exact = scores.double() if scores.device.type != "mps" else scores.cpu().double()
        shares = (exact / self._temperature).softmax(-1)
        order = None
        if self._top_p is not None and self._top_p < 1:
            shares, order = shares.sort(dim=-1, descending=True, stable=True)
            before = shares.cumsum(-1) - shares
            shares = shares.masked_fill(before >= self._top_p, 0.0)
        bounds = shares.cumsum(-1)
        points = torch.tensor([[stream.random()] for stream in self._streams], dtype=bounds.dtype, device=bounds.device)
        last = shares.shape[-1] - 1
        drawn = torch.searchsorted(bounds, points * bounds[:, -1:], right=True).clamp(max=last)
        if order is not None:
            drawn = order.gather(-1, drawn)
        left = torch.full_like(scores, -torch.inf)
        return left.scatter(-1, drawn.to(scores.device), 0.0)
