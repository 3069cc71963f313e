"""Less work for Python's garbage collector where very many small values are made and few cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles seldom, and spare what is there already; as before when the block ends."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
