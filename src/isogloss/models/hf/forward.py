"""One forward pass over rows of tokens, which gives log-probabilities at chosen places only."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from isogloss.models.hf.batching import FAULTS
from isogloss.models.hf.loading import Loaded

if TYPE_CHECKING:
    import torch

TRIAL = "El perro duerme en el jardín y la niña lee un libro."
"""What a model is tried out on."""

Tree = tuple[tuple[int, ...], ...]

_MOST_MASK_CELLS = 1 << 26
"""Cells of a batch's own attention mask (256 MiB of float32); longer rows go in smaller parts."""


class Row(NamedTuple):
    """Tokens to compute, and what is wanted of them."""

    ids: tuple[int, ...]
    targets: tuple[tuple[int, int], ...]
    """(place in the row, token): the token's log-probability in the distribution at that place."""
    tree: Tree | None = None
    """For packed rows: for each token after the context, the places after the context that it sees beside itself."""


class Forward:
    """Runs a model over padded rows.

    The output layer, a large part of the work, is run for the wanted places only: a hook before it takes them out.
    `short` says whether the model stands that; it is tried once (see `hf_scoring`).
    """

    def __init__(self, loaded: Loaded) -> None:
        self.model = loaded.model
        self.device = loaded.device
        self.short = True
        self._pad = loaded.pad
        accepted = inspect.signature(loaded.model.forward).parameters
        self._no_cache: dict[str, Any] = {"use_cache": False} if "use_cache" in accepted else {}

    def logprobs(self, rows: Sequence[Row]) -> list[list[float]]:
        """Natural-log probabilities of each row's targets, in their order.

        Rows are all packed (with a tree) or all plain. Plain rows are filled on the right, so that nothing they see
        depends on their neighbours.
        """
        if rows[0].tree is not None:
            longest = max(len(row.ids) for row in rows)
            most = max(1, _MOST_MASK_CELLS // longest**2)
            if len(rows) > most:
                return [found for k in range(0, len(rows), most) for found in self.logprobs(rows[k : k + most])]
        return self._run(rows)

    def _run(self, rows: Sequence[Row]) -> list[list[float]]:
        import torch

        places = sorted({(k, place) for k, row in enumerate(rows) for place, _ in row.targets})
        order = {place: n for n, place in enumerate(places)}
        wanted = [(order[k, place], token) for k, row in enumerate(rows) for place, token in row.targets]
        with torch.inference_mode():
            logits = self._logits(rows, places)
            index = torch.tensor(wanted, device=logits.device).T
            logits = logits.float()
            found = (logits[index[0], index[1]] - logits.logsumexp(-1)[index[0]]).tolist()
        values = iter(found)
        return [[next(values) for _ in row.targets] for row in rows]

    def _logits(self, rows: Sequence[Row], places: list[tuple[int, int]]) -> torch.Tensor:
        """Logits at (row, place), shape (n_places, n_vocabulary)."""
        import torch

        inputs = self.inputs(rows)
        at = torch.tensor(places, device=self.device).T
        head = self.model.get_output_embeddings() if self.short else None
        if head is None:
            logits: torch.Tensor = self.model(**inputs, **self._no_cache).logits[at[0], at[1]]
            return logits
        handle = head.register_forward_pre_hook(lambda module, inputs: (inputs[0][at[0], at[1]], *inputs[1:]))
        try:
            chosen: torch.Tensor = self.model(**inputs, **self._no_cache).logits
        finally:
            handle.remove()
        return chosen

    def inputs(self, rows: Sequence[Row]) -> dict[str, torch.Tensor]:
        """Tensors for rows, filled on the right."""
        import torch

        length = max(len(row.ids) for row in rows)
        ids = torch.tensor([(*row.ids, *[self._pad] * (length - len(row.ids))) for row in rows], device=self.device)
        if rows[0].tree is None:
            seen = torch.tensor([[1] * len(row.ids) + [0] * (length - len(row.ids)) for row in rows])
            return {"input_ids": ids, "attention_mask": seen.to(self.device)}
        visible = torch.eye(length, dtype=torch.bool).repeat(len(rows), 1, 1)
        positions = torch.arange(length).repeat(len(rows), 1)
        for k, row in enumerate(rows):
            assert row.tree is not None
            n_context = len(row.ids) - len(row.tree)
            visible[k, :n_context, :n_context] = torch.ones(n_context, n_context, dtype=torch.bool).tril()
            visible[k, n_context : len(row.ids), :n_context] = True
            for j, seen_places in enumerate(row.tree):
                positions[k, n_context + j] = n_context + len(seen_places)
                for place in seen_places:
                    visible[k, n_context + j, n_context + place] = True
        kind = self.model.dtype
        mask = torch.zeros(visible.shape, dtype=kind).masked_fill_(~visible, torch.finfo(kind).min)
        return {
            "input_ids": ids,
            "attention_mask": mask[:, None].to(self.device),
            "position_ids": positions.to(self.device),
        }

    def in_parts(self, rows: Sequence[Row], at_once: int) -> list[list[float]]:
        """As `logprobs`, so many rows at once, those of like length together."""
        order = sorted(range(len(rows)), key=lambda k: len(rows[k].ids))
        found: list[list[float]] = [[] for _ in rows]
        for start in range(0, len(order), at_once):
            part = order[start : start + at_once]
            for k, values in zip(part, self.logprobs([rows[k] for k in part]), strict=True):
                found[k] = values
        return found

    def agrees(self, rows: Sequence[Row], expected: Sequence[Sequence[float]], margin: float) -> bool:
        """Whether the quick way gives the expected values; a model that can't take it at all doesn't."""
        try:
            found = self.logprobs(rows)
        except FAULTS:
            return False
        pairs = zip((v for values in found for v in values), (v for values in expected for v in values), strict=True)
        return all(abs(a - b) <= margin for a, b in pairs)


def from_logits(row: Row, logits: torch.Tensor) -> list[float]:
    """Targets' log-probabilities from the full logits of one row, shape (n_tokens, n_vocabulary)."""
    logprobs = logits.log_softmax(-1)
    return [float(logprobs[place, token]) for place, token in row.targets]
