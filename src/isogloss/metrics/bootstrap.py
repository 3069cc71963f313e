"""Bootstrap over whole items, by counts instead of copies.

A draw of n items with replacement is a vector of counts that add up to n. Any measure that is a function of sums over
items is then recomputed for all draws by one matrix product, and measures computed from the same counts are paired.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.errors import DataError, EmptyInputError

FloatArray: TypeAlias = NDArray[np.float64]
CountArray: TypeAlias = NDArray[np.uint16]

_BLOCK_CELLS = 500_000


def bootstrap_counts(n_items: int, n_resamples: int, seed: int) -> CountArray:
    """How often each item is in each draw of `n_items` items with replacement.

    Parameters
    ----------
    n_items : int
        Number of items, at least 1.
    n_resamples : int
        Number of draws, at least 1.
    seed : int
        Seed of NumPy's default generator; 0 is a seed.

    Returns
    -------
    ndarray of uint16, shape (n_resamples, n_items)
        Each row adds up to `n_items`.

    Raises
    ------
    EmptyInputError
        Without an item.
    DataError
        Without a draw.

    Notes
    -----
    The rows are multinomial with equal chances: Efron's bootstrap [1]_. Items, not answers, are resampled, since
    answers to one item aren't independent.

    References
    ----------
    .. [1] B. Efron (1979). "Bootstrap methods: another look at the jackknife". Annals of Statistics 7(1).

    Examples
    --------
    >>> bootstrap_counts(4, 1000, 0).sum(axis=1).tolist() == [4] * 1000
    True
    """
    if n_items < 1:
        raise EmptyInputError("a bootstrap needs at least one item, got 0")
    if n_resamples < 1:
        raise DataError(f"a bootstrap needs at least one draw, got {n_resamples}")
    generator = np.random.default_rng(seed)
    counts = np.empty((n_resamples, n_items), dtype=np.uint16)
    block = max(1, _BLOCK_CELLS // n_items)
    for start in range(0, n_resamples, block):
        rows = min(block, n_resamples - start)
        drawn = generator.integers(n_items, size=(rows, n_items))  # (rows, n_items)
        drawn += np.arange(rows)[:, None] * n_items
        counts[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * n_items).reshape(rows, n_items)
    return counts


def resampled_sums(counts: NDArray[np.unsignedinteger], sums: ArrayLike) -> FloatArray:
    """Sums over items, first as they are, then for every draw.

    Parameters
    ----------
    counts : ndarray of int, shape (n_resamples, n_items)
        How often each item is drawn, see `bootstrap_counts`.
    sums : array-like of float, shape (n_items, ...)
        What each item brings.

    Returns
    -------
    ndarray of float, shape (1 + n_resamples, ...)
        Row 0 is the plain sum over items, row k the sum of draw k.

    Raises
    ------
    DataError
        If the two don't have the same number of items.

    Examples
    --------
    >>> counts = np.array([[2, 0], [1, 1]], dtype=np.uint16)
    >>> resampled_sums(counts, [[1.0, 10.0], [2.0, 20.0]])
    array([[ 3., 30.],
           [ 2., 20.],
           [ 3., 30.]])
    """
    values = np.asarray(sums, dtype=np.float64)
    n_resamples, n_items = counts.shape
    if values.ndim < 1 or values.shape[0] != n_items:
        raise DataError(f"sums of {values.shape[:1]} items don't fit counts of {n_items} items")
    flat = values.reshape(n_items, -1)
    totals = np.empty((1 + n_resamples, flat.shape[1]))
    totals[0] = flat.sum(axis=0)
    block = max(1, _BLOCK_CELLS // n_items)
    for start in range(0, n_resamples, block):
        weights = counts[start : start + block].astype(np.float64)
        np.matmul(weights, flat, out=totals[1 + start : 1 + start + len(weights)])
    return totals.reshape(1 + n_resamples, *values.shape[1:])


def percentile_interval(
    draws: ArrayLike, confidence: float, *, min_defined: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Percentile interval of bootstrap draws, column by column.

    Parameters
    ----------
    draws : array-like of float, shape (n_resamples, ...)
        A measure in every draw; NaN where it is undefined in a draw.
    confidence : float
        Coverage between 0 and 1, e.g. 0.95.
    min_defined : float
        Share of the draws that must be defined; below it there is no interval.

    Returns
    -------
    low, high : ndarray of float, shape (...)
        Quantiles (1 - confidence)/2 and (1 + confidence)/2 of the defined draws, linearly interpolated;
        NaN where too few are defined.

    Raises
    ------
    EmptyInputError
        Without a draw.
    DataError
        For a confidence that isn't between 0 and 1.

    Examples
    --------
    >>> low, high = percentile_interval(np.arange(101.0), 0.9)
    >>> round(float(low), 9), round(float(high), 9)
    (5.0, 95.0)
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 1 or values.shape[0] == 0:
        raise EmptyInputError("a percentile interval needs at least one draw, got 0")
    if not 0 < confidence < 1:
        raise DataError(f"a confidence lies between 0 and 1, got {confidence}")
    ordered = np.sort(values, axis=0)  # NaN goes last
    n_defined = values.shape[0] - np.isnan(values).sum(axis=0)
    enough = (n_defined >= min_defined * values.shape[0]) & (n_defined > 0)
    ends = []
    for share in ((1 - confidence) / 2, (1 + confidence) / 2):
        position = np.where(enough, share * (n_defined - 1), 0.0)
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(n_defined - 1, 0))
        first = np.take_along_axis(ordered, below[None], axis=0)[0]
        second = np.take_along_axis(ordered, above[None], axis=0)[0]
        ends.append(np.where(enough, first + (position - below) * (second - first), np.nan))
    return ends[0], ends[1]
