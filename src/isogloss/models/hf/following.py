"""How likely one sentence follows another, from a next-sentence head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isogloss.models.answer_probability import Tokens
from isogloss.models.hf.loading import Loaded


class FollowTask(NamedTuple):
    """A context with each of its candidates, as the tokenizer joins two sentences."""

    pairs: tuple[Tokens, ...]
    segments: tuple[Tokens, ...]
    """0 for the tokens of the context, 1 for those of the candidate."""

    @property
    def group(self) -> tuple[str | int, ...]:
        """All are alike."""
        return ("follow",)

    @property
    def length(self) -> int:
        """Tokens of the longest pair."""
        return max(map(len, self.pairs))


class FollowScorer:
    r"""Scores with a next-sentence head.

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

    def __init__(self, loaded: Loaded, *, at_once: int) -> None:
        self._loaded = loaded
        self._at_once = at_once

    def score(self, tasks: Sequence[FollowTask]) -> list[tuple[float, ...]]:
        """Log-odds, one for each pair of each task."""
        rows = [row for task in tasks for row in zip(task.pairs, task.segments, strict=True)]
        order = sorted(range(len(rows)), key=lambda k: len(rows[k][0]))
        found = [0.0] * len(rows)
        for start in range(0, len(order), self._at_once):
            part = order[start : start + self._at_once]
            for k, value in zip(part, self._odds([rows[k] for k in part]), strict=True):
                found[k] = value
        values = iter(found)
        return [tuple(next(values) for _ in task.pairs) for task in tasks]

    def _odds(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        import torch

        length = max(len(ids) for ids, _ in rows)
        short = [length - len(ids) for ids, _ in rows]
        inputs = {
            "input_ids": [(*ids, *[self._loaded.pad] * n) for (ids, _), n in zip(rows, short, strict=True)],
            "token_type_ids": [(*segments, *[0] * n) for (_, segments), n in zip(rows, short, strict=True)],
            "attention_mask": [[1] * (length - n) + [0] * n for n in short],
        }
        tensors = {name: torch.tensor(values, device=self._loaded.device) for name, values in inputs.items()}
        with torch.inference_mode():
            logits = self._loaded.pair_head(**tensors).logits.float()  # column 0: it follows
        odds: list[float] = (logits[:, 0] - logits[:, 1]).tolist()
        return odds
