"""Sums over tokens masked one at a time, from a masked model: pseudo-log-likelihoods, and CrowS-Pairs' scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from isogloss.models.answer_probability import Tokens
from isogloss.models.hf.forward import TRIAL, Forward, Row, from_logits
from isogloss.models.hf.loading import Loaded


class MaskedTask(NamedTuple):
    """One sequence a candidate, and which of its tokens are masked in turn."""

    sequences: tuple[Tokens, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def group(self) -> tuple[str | int, ...]:
        """All are alike."""
        return ("masked",)

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return max(map(len, self.sequences))

    @property
    def n_own(self) -> tuple[int, ...]:
        """How many tokens each sum is over."""
        return tuple(map(len, self.places))


class MaskedScorer:
    r"""Scores with a masked model.

    Notes
    -----
    A sum is over :math:`\log p(t_i \mid \text{all others})` of the tokens at a task's places, each masked in turn, the
    others in sight [1]_.

    References
    ----------
    .. [1] J. Salazar, D. Liang, T. Q. Nguyen, K. Kirchhoff (2020). "Masked language model scoring". ACL.
    """

    def __init__(self, loaded: Loaded, *, at_once: int) -> None:
        self._forward = Forward(loaded)
        self._at_once = at_once
        self._mask = int(loaded.tokenizer.mask_token_id)
        self._try_out(loaded)

    def score(self, tasks: Sequence[MaskedTask]) -> list[tuple[float, ...]]:
        """Natural-log sums, one for each sequence of each task."""
        rows = [
            self._row(ids, place)
            for task in tasks
            for ids, places in zip(task.sequences, task.places, strict=True)
            for place in places
        ]
        values = iter(self._forward.in_parts(rows, self._at_once))
        return [tuple(math.fsum(next(values)[0] for _ in places) for places in task.places) for task in tasks]

    def _row(self, ids: Tokens, place: int) -> Row:
        return Row((*ids[:place], self._mask, *ids[place + 1 :]), ((place, ids[place]),))

    def _try_out(self, loaded: Loaded) -> None:
        """Whether the output layer can be run for single places; remembers it."""
        import torch

        ids = tuple(loaded.tokenizer(TRIAL)["input_ids"])[:8]
        row = Row((*ids[:2], self._mask, *ids[3:]), ((2, ids[2]), (2, ids[1])))
        with torch.inference_mode():
            logits = loaded.model(**self._forward.inputs([row])).logits[0].float()
        if not self._forward.agrees([row], [from_logits(row, logits)], float(logits.std()) * 0.1):
            self._forward.short = False


def shared_places(first: Tokens, second: Tokens) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where two sequences have the same tokens in the same order, longest runs first, as CrowS-Pairs compares [1]_.

    Returns
    -------
    tuple of (places in `first`, places in `second`)
        Of one length, ascending; equal tokens at equal positions of the two.

    References
    ----------
    .. [1] N. Nangia, C. Vania, R. Bhalerao, S. R. Bowman (2020). "CrowS-Pairs: a challenge dataset for measuring
       social biases in masked language models". EMNLP.

    Examples
    --------
    >>> shared_places((1, 7, 8, 9, 2), (1, 7, 5, 6, 9, 2))
    ((0, 1, 3, 4), (0, 1, 4, 5))
    """
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return (
        tuple(block.a + k for block in blocks for k in range(block.size)),
        tuple(block.b + k for block in blocks for k in range(block.size)),
    )
