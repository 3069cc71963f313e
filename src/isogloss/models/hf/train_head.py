"""Training a next-sentence head on pairs of a corpus; the base model stays as it is.

Each pair's representation is computed once, and a small head learns from these: on one thread of the processor, and
from a stream of its own, so that the same seed, corpus and machine give the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from isogloss.errors import ModelError
from isogloss.models.hf.batching import FAULTS, words_of
from isogloss.models.hf.corpus_pairs import Pair, Parts
from isogloss.models.hf.following import by_length, head_logits, represented
from isogloss.models.hf.loading import Loaded
from isogloss.models.hf.prompts import Renderer

if TYPE_CHECKING:
    import torch

LONGEST = 256
"""Tokens of a pair; longer ones are cut, the longer sentence first."""
WIDTH = 256
"""Of the head's hidden layer."""
_EPOCHS, _PATIENCE = 300, 10
_BATCH = 64
_RATE, _DECAY = 3e-4, 1.0
_DROPPED = 0.5
"""Share of the features that is hidden in each step: there are many of them for few pairs."""
_SHOWN = 10
"""Lines of progress while pairs are computed."""

Say = Callable[[str], None]
Weights = Mapping[str, "torch.Tensor"]


class Trained(NamedTuple):
    """A head, and how good it is."""

    weights: Weights
    n_right: int
    """Of the held-out pairs."""
    n_held_out: int
    n_epochs: int
    """After which the weights were best."""


class Examples(NamedTuple):
    """Pairs as a head sees them."""

    features: torch.Tensor
    """float32, shape (n_pairs, 3 × hidden size)."""
    classes: torch.Tensor
    """0 where the second sentence follows, 1 where it doesn't; shape (n_pairs,)."""


def train(name: str, loaded: Loaded, parts: Parts, *, seed: int, at_once: int, progress: Say) -> Trained:
    """Train a head on top of a base model.

    Parameters
    ----------
    name : str
        Of the base model, for messages.
    loaded : Loaded
        See `load_encoder`.
    parts : Parts
    seed : int
        Of the first weights and the order of pairs.
    at_once : int
        Pairs that the base model computes together.
    progress : callable
        Given a line now and then.

    Raises
    ------
    ModelError
        Where the base model can't compute the pairs (too little memory).
    """
    import torch

    pairs = [pair for part in parts for pair in part]
    try:
        features = represent(loaded, pairs, at_once=at_once, progress=progress)
    except FAULTS as fault:
        raise ModelError(
            f"{name} can't compute the pairs ({words_of(fault)}); where it is memory, set a smaller batch_size"
        ) from None
    if not bool(features.isfinite().all()):
        raise ModelError(f"{name} gives states that are no finite numbers; try dtype 'float32'")
    classes = torch.tensor([0 if pair.follows else 1 for pair in pairs])
    sizes = [len(part) for part in parts]
    training, stopping, held_out = map(Examples, torch.split(features, sizes), torch.split(classes, sizes))
    with _one_thread():
        weights, n_epochs = fit(training, stopping, seed=seed)
    logits = head_logits(weights, held_out.features)
    is_right = torch.where(held_out.classes == 0, logits[:, 0] > logits[:, 1], logits[:, 1] > logits[:, 0])
    return Trained(weights, int(is_right.sum()), len(is_right), n_epochs)


def represent(loaded: Loaded, pairs: Sequence[Pair], *, at_once: int, progress: Say) -> torch.Tensor:
    """What the head sees of pairs, on the processor; shape (n_pairs, 3 × hidden size)."""
    import torch

    longest = LONGEST if loaded.n_positions is None else min(LONGEST, loaded.n_positions - 2)
    renderer = Renderer(loaded.tokenizer, has_template=False)
    rows = [renderer.pair(pair.first, pair.second, longest=longest) for pair in pairs]
    order = by_length(rows)
    found: torch.Tensor | None = None
    told = 0
    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        features = represented(loaded, [rows[k] for k in part]).cpu()
        found = torch.empty(len(rows), features.shape[1]) if found is None else found
        found[part] = features
        n_done = start + len(part)
        if n_done * _SHOWN // len(rows) > told:
            told = n_done * _SHOWN // len(rows)
            progress(f"computed {n_done:,} of {len(rows):,} pairs")
    assert found is not None
    return found


def fit(training: Examples, stopping: Examples, *, seed: int) -> tuple[Weights, int]:
    """The weights that are best on the pairs kept for stopping, and after how many rounds they were reached.

    Features are brought to one scale for training; in the weights that are returned, this is undone.
    """
    import torch

    mean, spread = training.features.mean(0), training.features.std(0)
    spread = torch.where(spread > 1e-6, spread, 1.0)
    training, stopping = (part._replace(features=(part.features - mean) / spread) for part in (training, stopping))
    stream = torch.Generator().manual_seed(seed)
    weights = _begin(training.features.shape[1], stream)
    optimizer = torch.optim.AdamW(weights.values(), lr=_RATE, weight_decay=_DECAY)
    best, lowest, n_best = weights, float("inf"), 0
    for epoch in range(1, _EPOCHS + 1):
        for chosen in torch.split(torch.randperm(len(training.classes), generator=stream), _BATCH):
            optimizer.zero_grad()
            seen = torch.rand(len(chosen), len(mean), generator=stream) >= _DROPPED
            features = training.features[chosen] * seen / (1 - _DROPPED)
            _loss(weights, features, training.classes[chosen]).backward()  # type: ignore[no-untyped-call]  # torch says no types of it
            optimizer.step()
        with torch.no_grad():
            loss = float(_loss(weights, stopping.features, stopping.classes))
        if loss < lowest:
            best, lowest, n_best = {name: one.detach().clone() for name, one in weights.items()}, loss, epoch
        elif epoch - n_best >= _PATIENCE:
            break
    inner = best["dense.weight"].detach() / spread
    return {**best, "dense.weight": inner, "dense.bias": best["dense.bias"] - inner @ mean}, n_best


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums come out the same only where they are added in the same order."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def _begin(n_features: int, stream: torch.Generator) -> dict[str, torch.Tensor]:
    import torch

    shapes = {"dense.weight": (WIDTH, n_features), "out.weight": (2, WIDTH)}
    weights = {name: torch.empty(shape) for name, shape in shapes.items()}
    for weight in weights.values():
        torch.nn.init.xavier_uniform_(weight, generator=stream)
    weights |= {"dense.bias": torch.zeros(WIDTH), "out.bias": torch.zeros(2)}
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def _loss(weights: Weights, features: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.nn.functional.cross_entropy(head_logits(weights, features), classes)
