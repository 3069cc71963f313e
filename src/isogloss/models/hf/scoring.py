"""Log-probabilities of given continuations, from a causal model.

The candidates of a prompt make a tree of tokens behind the context. Context and tree are one row; a mask lets
each node see the context and the nodes that lead to it, so the context is computed once, and what candidates have in
common too. The last token of a candidate needn't be computed at all. The sums are those of plain full sequences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from isogloss.models.answer_probability import SMALLEST, Tokens, inner_nodes
from isogloss.models.hf.forward import TRIAL, Forward, Row, from_logits
from isogloss.models.hf.loading import Loaded

UNPACKED = "its architecture takes no mask of our own: each candidate is scored in a full sequence, which takes longer"


class ScoreTask(NamedTuple):
    """Candidates behind one context, as tokens."""

    context: Tokens
    """What all candidates have in common with the context; never empty."""
    answers: tuple[Tokens, ...]
    """What follows it, for each candidate; none of them empty."""
    packed: bool = False
    exclusive: bool = False
    """Candidates are whole answers: one that begins longer ones doesn't get their share ("1" beside "12")."""

    def leading_on(self, answer: Tokens) -> tuple[int, ...]:
        """Tokens that lead from an answer to longer ones, where those are to have their own share."""
        n = len(answer)
        found = {other[n] for other in self.answers if len(other) > n and other[:n] == answer}
        return tuple(sorted(found)) if self.exclusive else ()

    def sums(self, values: Iterable[float]) -> tuple[float, ...]:
        """Natural-log sum of each candidate, from its own tokens' log-probabilities and those of `leading_on`."""
        rest = iter(values)
        found = []
        for answer, n in zip(self.answers, self.n_own, strict=True):
            logprob = math.fsum(next(rest) for _ in range(n))
            share = math.fsum(math.exp(next(rest)) for _ in self.leading_on(answer))
            found.append(logprob + math.log(max(1.0 - share, SMALLEST)) if share else logprob)
        return tuple(found)

    @property
    def group(self) -> tuple[str | int, ...]:
        """Packed and plain rows don't mix."""
        return ("score", int(self.packed))

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return len(self.context) + max(map(len, self.answers))

    @property
    def n_own(self) -> tuple[int, ...]:
        """How many tokens each sum is over."""
        return tuple(map(len, self.answers))


class CausalScorer:
    """Scores with a causal model."""

    def __init__(self, loaded: Loaded, *, at_once: int) -> None:
        self._forward = Forward(loaded)
        self._at_once = at_once
        self._window = _window(loaded)
        self._packs = self._try_out(loaded)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether candidates are packed."""
        return () if self._packs else (UNPACKED,)

    def packs(self, task: ScoreTask) -> bool:
        """Whether a task can be one row: the model stands it, and no token is out of another's sight by distance."""
        return self._packs and (self._window is None or task.length <= self._window)

    def score(self, tasks: Sequence[ScoreTask]) -> list[tuple[float, ...]]:
        """Natural-log sums, one for each candidate of each task."""
        return self._packed(tasks) if tasks[0].packed else self._plain(tasks)

    def _packed(self, tasks: Sequence[ScoreTask]) -> list[tuple[float, ...]]:
        found = self._forward.logprobs([_packed_row(task) for task in tasks])
        return [task.sums(values) for task, values in zip(tasks, found, strict=True)]

    def _plain(self, tasks: Sequence[ScoreTask]) -> list[tuple[float, ...]]:
        rows = [_plain_row(task.context, answer, task.leading_on(answer)) for task in tasks for answer in task.answers]
        values = iter(self._forward.in_parts(rows, self._at_once))
        return [task.sums(v for _ in task.answers for v in next(values)) for task in tasks]

    def _try_out(self, loaded: Loaded) -> bool:
        """Whether hook and mask give the numbers of plain sequences, on a sentence; remembers what works."""
        import torch

        ids = tuple(loaded.tokenizer(TRIAL, add_special_tokens=False)["input_ids"])
        ids = (ids * 12)[:12] or tuple(range(min(12, loaded.model.get_input_embeddings().num_embeddings)))
        task = ScoreTask(ids[:7], (ids[2:6], (ids[2], *ids[8:12]), ids[3:8]), packed=True)
        rows = [_plain_row(task.context, answer) for answer in task.answers]
        with torch.inference_mode():
            logits = [loaded.model(**self._forward.inputs([row])).logits[0].float() for row in rows]
        expected = [from_logits(row, of_row) for row, of_row in zip(rows, logits, strict=True)]
        margin = float(logits[0].std()) * (2e-4 if loaded.model.dtype == torch.float32 else 0.1)
        if not self._forward.agrees(rows, expected, margin):
            self._forward.short = False
        flat = [value for values in expected for value in values]
        return self._forward.agrees([_packed_row(task)], [flat], margin)


def _packed_row(task: ScoreTask) -> Row:
    """Context and tree in one row; targets in the order of candidates and their own tokens."""
    n_context = len(task.context)
    nodes = [node for node in inner_nodes(task.answers) if node]
    place = {(): -1} | {node: k for k, node in enumerate(nodes)}
    tree = tuple(tuple(place[node[:k]] for k in range(1, len(node))) for node in nodes)
    targets = tuple(
        (n_context + place[answer[:k]], token)
        for answer in task.answers
        for k, token in _targets(answer, task.leading_on(answer))
    )
    return Row((*task.context, *(node[-1] for node in nodes)), targets, tree)


def _targets(answer: Tokens, leading_on: tuple[int, ...]) -> list[tuple[int, int]]:
    """(tokens of the answer seen, token asked for): its own tokens, then those that lead on to longer answers."""
    return [*enumerate(answer), *((len(answer), token) for token in leading_on)]


def _plain_row(context: Tokens, answer: Tokens, leading_on: tuple[int, ...] = ()) -> Row:
    targets = tuple((len(context) + k - 1, token) for k, token in _targets(answer, leading_on))
    return Row((*context, *(answer if leading_on else answer[:-1])), targets)


def _window(loaded: Loaded) -> int | None:
    """How far back a token sees, where some layer limits that: our mask would let it see farther."""
    config = loaded.model.config.get_text_config()
    widths = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size", "window_size")]
    known = [int(width) for width in widths if isinstance(width, int) and width > 0]
    kinds = getattr(config, "layer_types", None)
    limits = kinds is None or any(kind not in ("full_attention", "attention") for kind in kinds)
    return min(known) if known and limits else None
