"""Log-probabilities of given continuations, from a causal model, and pseudo-log-likelihoods, from a masked one.

Causal: the candidates of a prompt make a tree of tokens behind the context. Context and tree are one row; a mask lets
each node see the context and the nodes that lead to it, so the context is computed once, and what candidates have in
common too. The last token of a candidate needn't be computed at all. The sums are those of plain full sequences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isogloss.models.answer_probability import SMALLEST, Tokens, inner_nodes
from isogloss.models.hf.batching import FAULTS
from isogloss.models.hf.forward import Forward, Row
from isogloss.models.hf.loading import Loaded

if TYPE_CHECKING:
    import torch

UNPACKED = "its architecture takes no mask of our own: each candidate is scored in a full sequence, which takes longer"
_TRIAL = "El perro duerme en el jardín y la niña lee un libro."


class ScoreTask(NamedTuple):
    """Candidates behind one context, as tokens."""

    context: Tokens
    """What all candidates have in common with the context; not empty for a causal model."""
    answers: tuple[Tokens, ...]
    """What follows it, for each candidate."""
    starts: tuple[int, ...]
    """Where in its answer a candidate's own tokens begin."""
    after: Tokens = ()
    """What stands at the end (masked models)."""
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
        return len(self.context) + max(map(len, self.answers)) + len(self.after)

    @property
    def n_own(self) -> tuple[int, ...]:
        """How many tokens each sum is over."""
        return tuple(len(answer) - start for answer, start in zip(self.answers, self.starts, strict=True))


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
        rows = [
            _plain_row(task.context, answer, start, task.leading_on(answer))
            for task in tasks
            for answer, start in zip(task.answers, task.starts, strict=True)
        ]
        values = iter(_in_parts(self._forward, rows, self._at_once))
        return [task.sums(v for _ in task.answers for v in next(values)) for task in tasks]

    def _try_out(self, loaded: Loaded) -> bool:
        """Whether hook and mask give the numbers of plain sequences, on a sentence; remembers what works."""
        import torch

        ids = tuple(loaded.tokenizer(_TRIAL, add_special_tokens=False)["input_ids"])
        ids = (ids * 12)[:12] or tuple(range(min(12, loaded.model.get_input_embeddings().num_embeddings)))
        task = ScoreTask(ids[:7], (ids[2:6], (ids[2], *ids[8:12]), ids[3:8]), (0, 0, 0), packed=True)
        rows = [_plain_row(task.context, answer, 0) for answer in task.answers]
        with torch.inference_mode():
            logits = [loaded.model(**self._forward.inputs([row])).logits[0].float() for row in rows]
        expected = [_from_logits(row, of_row) for row, of_row in zip(rows, logits, strict=True)]
        margin = float(logits[0].std()) * (2e-4 if loaded.model.dtype == torch.float32 else 0.1)
        if not _agrees(self._forward, rows, expected, margin):
            self._forward.short = False
        flat = [value for values in expected for value in values]
        return _agrees(self._forward, [_packed_row(task)], [flat], margin)


class MaskedScorer:
    r"""Scores with a masked model.

    Notes
    -----
    A candidate's pseudo-log-likelihood is the sum over its tokens of :math:`\log p(t_i \mid \text{all others})`, each
    masked in turn; context and other tokens stay visible [1]_.

    References
    ----------
    .. [1] J. Salazar, D. Liang, T. Q. Nguyen, K. Kirchhoff (2020). "Masked language model scoring". ACL.
    """

    def __init__(self, loaded: Loaded, *, at_once: int) -> None:
        self._forward = Forward(loaded)
        self._at_once = at_once
        self._mask = int(loaded.tokenizer.mask_token_id)
        self._try_out(loaded)

    def score(self, tasks: Sequence[ScoreTask]) -> list[tuple[float, ...]]:
        """Pseudo-log-likelihoods (natural log), one for each candidate of each task."""
        rows, sizes = [], []
        for task in tasks:
            for answer, start in zip(task.answers, task.starts, strict=True):
                own = [self._row(task, answer, k) for k in range(start, len(answer))]
                rows += own
                sizes.append(len(own))
        values = iter(_in_parts(self._forward, rows, self._at_once))
        sums = iter([math.fsum(next(values)[0] for _ in range(size)) for size in sizes])
        return [tuple(next(sums) for _ in task.answers) for task in tasks]

    def _row(self, task: ScoreTask, answer: Tokens, k: int) -> Row:
        place = len(task.context) + k
        ids = (*task.context, *answer[:k], self._mask, *answer[k + 1 :], *task.after)
        return Row(ids, ((place, answer[k]),))

    def _try_out(self, loaded: Loaded) -> None:
        import torch

        ids = tuple(loaded.tokenizer(_TRIAL)["input_ids"])[:8]
        row = Row((*ids[:2], self._mask, *ids[3:]), ((2, ids[2]), (2, ids[1])))
        with torch.inference_mode():
            logits = loaded.model(**self._forward.inputs([row])).logits[0].float()
        if not _agrees(self._forward, [row], [_from_logits(row, logits)], float(logits.std()) * 0.1):
            self._forward.short = False


def _packed_row(task: ScoreTask) -> Row:
    """Context and tree in one row; targets in the order of candidates and their own tokens."""
    n_context = len(task.context)
    nodes = [node for node in inner_nodes(task.answers) if node]
    place = {(): -1} | {node: k for k, node in enumerate(nodes)}
    tree = tuple(tuple(place[node[:k]] for k in range(1, len(node))) for node in nodes)
    targets = tuple(
        (n_context + place[answer[:k]], token)
        for answer, start in zip(task.answers, task.starts, strict=True)
        for k, token in _targets(answer, start, task.leading_on(answer))
    )
    return Row((*task.context, *(node[-1] for node in nodes)), targets, tree)


def _targets(answer: Tokens, start: int, leading_on: tuple[int, ...]) -> list[tuple[int, int]]:
    """(tokens of the answer seen, token asked for): its own tokens, then those that lead on to longer answers."""
    own = [(k, answer[k]) for k in range(start, len(answer))]
    return own + [(len(answer), token) for token in leading_on]


def _plain_row(context: Tokens, answer: Tokens, start: int, leading_on: tuple[int, ...] = ()) -> Row:
    targets = tuple((len(context) + k - 1, token) for k, token in _targets(answer, start, leading_on))
    return Row((*context, *(answer if leading_on else answer[:-1])), targets)


def _in_parts(forward: Forward, rows: list[Row], at_once: int) -> list[list[float]]:
    """Rows by length, so many at once; values in the order given."""
    order = sorted(range(len(rows)), key=lambda k: len(rows[k].ids))
    found: list[list[float]] = [[] for _ in rows]
    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        for k, values in zip(part, forward.logprobs([rows[k] for k in part]), strict=True):
            found[k] = values
    return found


def _from_logits(row: Row, logits: torch.Tensor) -> list[float]:
    """Targets' log-probabilities from the full logits of one row, shape (n_tokens, n_vocabulary)."""
    logprobs = logits.log_softmax(-1)
    return [float(logprobs[place, token]) for place, token in row.targets]


def _agrees(forward: Forward, rows: list[Row], expected: list[list[float]], margin: float) -> bool:
    """Whether the quick way gives the expected values; a model that can't take it at all doesn't."""
    try:
        found = forward.logprobs(rows)
    except FAULTS:
        return False
    pairs = zip((v for values in found for v in values), (v for values in expected for v in values), strict=True)
    return all(abs(a - b) <= margin for a, b in pairs)


def _window(loaded: Loaded) -> int | None:
    """How far back a token sees, where some layer limits that: our mask would let it see farther."""
    config = loaded.model.config.get_text_config()
    widths = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size", "window_size")]
    known = [int(width) for width in widths if isinstance(width, int) and width > 0]
    kinds = getattr(config, "layer_types", None)
    limits = kinds is None or any(kind not in ("full_attention", "attention") for kind in kinds)
    return min(known) if known and limits else None
