"""How likely one sentence follows another, from a next-sentence head: the model's own, or one trained here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from isogloss.models.answer_probability import Tokens
from isogloss.models.hf.loading import Loaded

if TYPE_CHECKING:
    import torch


class PairRow(NamedTuple):
    """Two sentences as the tokenizer joins them."""

    ids: Tokens
    types: Tokens
    """Segments, as BERT's input has them: 0 for the tokens of the first sentence, 1 for those of the second."""
    sentences: Tokens = ()
    """For each token 0 (of the first sentence), 1 (of the second), or -1 (put in by the tokenizer); empty where the
    tokenizer doesn't tell."""


Logits: TypeAlias = "Callable[[Sequence[PairRow]], torch.Tensor]"


class FollowTask(NamedTuple):
    """A context with each of its candidates."""

    pairs: tuple[PairRow, ...]

    @property
    def group(self) -> tuple[str | int, ...]:
        """All are alike."""
        return ("follow",)

    @property
    def length(self) -> int:
        """Tokens of the longest pair."""
        return max(len(pair.ids) for pair in self.pairs)


class FollowScorer:
    r"""Scores with a next-sentence head.

    Parameters
    ----------
    logits : callable
        Pairs → tensor of shape (n_pairs, 2): column 0 for "follows", 1 for "doesn't". See `own_logits`,
        `trained_logits`.
    at_once : int
        Pairs computed together.

    Notes
    -----
    The score is the log-odds :math:`\log p - \log (1 - p)`, with :math:`p` the probability that the second sentence
    follows the first [1]_. It puts candidates in the same order as :math:`p`, and tells them apart where :math:`p`
    rounds to 1, which trained heads often reach.

    References
    ----------
    .. [1] J. Devlin, M.-W. Chang, K. Lee, K. Toutanova (2019). "BERT: pre-training of deep bidirectional transformers
       for language understanding". NAACL.
    """

    def __init__(self, logits: Logits, *, at_once: int) -> None:
        self._logits = logits
        self._at_once = at_once

    def score(self, tasks: Sequence[FollowTask]) -> list[tuple[float, ...]]:
        """Log-odds, one for each pair of each task."""
        rows = [row for task in tasks for row in task.pairs]
        order = by_length(rows)
        found = [0.0] * len(rows)
        for start in range(0, len(order), self._at_once):
            part = order[start : start + self._at_once]
            logits = self._logits([rows[k] for k in part])
            for k, value in zip(part, (logits[:, 0] - logits[:, 1]).tolist(), strict=True):
                found[k] = value
        values = iter(found)
        return [tuple(next(values) for _ in task.pairs) for task in tasks]


def by_length(rows: Sequence[PairRow]) -> list[int]:
    """Places of the rows, short ones first."""
    return sorted(range(len(rows)), key=lambda k: len(rows[k].ids))


def own_logits(loaded: Loaded) -> Logits:
    """With the head that the model came with."""

    def logits(rows: Sequence[PairRow]) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            found: torch.Tensor = loaded.pair_head(**_inputs(loaded, rows, with_types=True)).logits.float()
        return found

    return logits


def trained_logits(loaded: Loaded, weights: Mapping[str, torch.Tensor]) -> Logits:
    """With a head that was trained here, on top of its base model."""
    weights = {name: weight.to(loaded.device) for name, weight in weights.items()}

    def logits(rows: Sequence[PairRow]) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            return head_logits(weights, represented(loaded, rows))

    return logits


def head_logits(weights: Mapping[str, torch.Tensor], features: torch.Tensor) -> torch.Tensor:
    """A tanh layer and a linear one, as BERT has them: column 0 for "follows", 1 for "doesn't"; shape (n_pairs, 2)."""
    hidden = (features @ weights["dense.weight"].T + weights["dense.bias"]).tanh()
    return hidden @ weights["out.weight"].T + weights["out.bias"]


def represented(loaded: Loaded, rows: Sequence[PairRow]) -> torch.Tensor:
    r"""What a trained head sees of pairs: float32, shape (n_pairs, 3 × hidden size).

    The two sentences are read together. From the last layer come the state of the first token, and
    :math:`|u - v|` and :math:`u \circ v` with u and v the means over the first and over the second sentence's tokens
    [1]_: the state of the first token alone says little where a model wasn't trained on pairs.

    References
    ----------
    .. [1] A. Conneau, D. Kiela, H. Schwenk, L. Barrault, A. Bordes (2017). "Supervised learning of universal sentence
       representations from natural language inference data". EMNLP.
    """
    import torch

    has_types = getattr(loaded.model.config, "type_vocab_size", 0) > 1
    with torch.inference_mode():
        inputs = _inputs(loaded, rows, with_types=has_types)
        states = loaded.model(**inputs).last_hidden_state.float()  # (n_pairs, n_tokens, n_hidden)
        length = states.shape[1]
        of = torch.tensor([(*row.sentences, *[-1] * (length - len(row.ids))) for row in rows], device=loaded.device)
        u, v = (_mean(states, of == sentence) for sentence in (0, 1))
        return torch.cat([states[:, 0], (u - v).abs(), u * v], dim=1)


def _mean(states: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Mean over chosen tokens, shape (n_pairs, n_hidden); 0 where none is chosen."""
    share = chosen.float() / chosen.sum(1, keepdim=True).clamp(min=1)
    return (states * share[:, :, None]).sum(1)


def _inputs(loaded: Loaded, rows: Sequence[PairRow], *, with_types: bool) -> dict[str, torch.Tensor]:
    """Tensors for rows, filled on the right."""
    import torch

    length = max(len(row.ids) for row in rows)
    short = [length - len(row.ids) for row in rows]
    inputs = {
        "input_ids": [(*row.ids, *[loaded.pad] * n) for row, n in zip(rows, short, strict=True)],
        "attention_mask": [[1] * (length - n) + [0] * n for n in short],
    }
    if with_types:
        inputs["token_type_ids"] = [(*row.types, *[0] * n) for row, n in zip(rows, short, strict=True)]
    return {name: torch.tensor(values, device=loaded.device) for name, values in inputs.items()}
