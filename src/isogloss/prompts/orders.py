"""Seeded orders that are equal on every machine and in every version: by hash, never by a random generator.

Each key has a rank, the first 8 bytes of BLAKE2b(seed, purpose, key) as a number; the order is that of the ranks.
So an order doesn't change with the order of the keys given, and the first N of a seeded order are a seeded sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T", bound=str)


def _hasher(seed: int, purpose: str) -> hashlib.blake2b:
    """A hash that has read seed and purpose, to be copied for each key. The lengths keep the parts apart."""
    head = f"{seed}\x1f{len(purpose)}\x1f{purpose}\x1f"
    return hashlib.blake2b(head.encode(), digest_size=8)


def ranks(keys: Iterable[str], *, seed: int, purpose: str = "") -> NDArray[np.uint64]:
    """Rank of each key, 8 bytes a key; the keys themselves aren't kept.

    Parameters
    ----------
    keys : iterable of str
        May be a generator.
    seed : int
        Any whole number; 0 is a seed.
    purpose : str
        Keeps two orders of the same keys apart (the order of questions, of options).

    Returns
    -------
    array of uint64, shape (n_keys,)
    """
    import numpy as np

    base = _hasher(seed, purpose)

    def rank(key: str) -> int:
        hasher = base.copy()
        hasher.update(key.encode())
        return int.from_bytes(hasher.digest(), "big")

    return np.fromiter((rank(key) for key in keys), dtype=np.uint64)


def seeded_positions(keys: Iterable[str], *, seed: int, purpose: str = "") -> NDArray[np.intp]:
    """Positions of the keys in seeded order: `keys[p[0]]` comes first. Small also for hundreds of thousands of keys.

    Two keys of one rank (one chance in 10^9 for 190,000 keys) keep the order given.

    Returns
    -------
    array of int, shape (n_keys,)
    """
    import numpy as np

    return np.argsort(ranks(keys, seed=seed, purpose=purpose), kind="stable")


def seeded_order(keys: Sequence[T], *, seed: int, purpose: str = "") -> list[T]:
    """The keys in seeded order.

    Examples
    --------
    >>> seeded_order(["a", "b", "c"], seed=1) == seeded_order(["c", "b", "a"], seed=1)
    True
    """
    base = _hasher(seed, purpose)

    def rank(key: str) -> tuple[bytes, str]:
        hasher = base.copy()
        hasher.update(key.encode())
        return hasher.digest(), key

    return sorted(keys, key=rank)


def shuffled(ids: Sequence[T], *, seed: int, key: str) -> tuple[T, ...]:
    """The ids in an order of their own for each key, e.g. the options of one question.

    Parameters
    ----------
    ids : sequence of str
        Different from each other.
    seed : int
    key : str
        What the order is for; another key gives another order.
    """
    return tuple(seeded_order(ids, seed=seed, purpose=key))
