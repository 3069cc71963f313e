"""Rank correlation, once or for thousands of draws at a time."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.errors import DataError, EmptyInputError, UndefinedError

FloatArray: TypeAlias = NDArray[np.float64]

_BLOCK_ROWS = 16  # few enough that a block of thousands of cases stays in the cache


def midranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1 along the last axis; equal values share the mean of their ranks.

    Parameters
    ----------
    values : array-like of float, shape (..., n)
        A row that holds a NaN can't be ranked: all its ranks are NaN.

    Returns
    -------
    ndarray of float, shape (..., n)

    Raises
    ------
    EmptyInputError
        If there is nothing to rank.

    Examples
    --------
    >>> midranks([10.0, 30.0, 10.0])
    array([1.5, 3. , 1.5])
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        raise EmptyInputError("midranks needs at least one value, got 0")
    n = numbers.shape[-1]
    order = np.argsort(numbers, axis=-1, kind="stable")
    ordered = np.take_along_axis(numbers, order, axis=-1)
    new = np.ones(numbers.shape, dtype=bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    last_of_tie = np.ones(numbers.shape, dtype=bool)
    last_of_tie[..., :-1] = new[..., 1:]
    place = np.arange(n)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(last_of_tie, place, n - 1)[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(numbers.shape)
    np.put_along_axis(ranks, order, 1 + (first + last) / 2, axis=-1)
    ranks[np.isnan(numbers).any(axis=-1)] = np.nan
    return ranks


def correlation_rows(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Pearson's correlation of each row of x with the same row of y.

    Parameters
    ----------
    x, y : array-like of float, shapes (..., n) that broadcast

    Returns
    -------
    ndarray of float, shape (...)
        Values in [-1, 1]; NaN where a row holds a NaN or is constant.

    Raises
    ------
    EmptyInputError
        If the rows are empty.

    Examples
    --------
    >>> correlation_rows([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], [1.0, 2.0, 3.0])
    array([ 1., nan])
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.size == 0 or b.size == 0:
        raise EmptyInputError("correlation_rows needs pairs of values, got 0")
    # Asked of the values themselves: the mean of equal values may differ from them in the last digit.
    varied = (np.ptp(a, axis=-1) > 0) & (np.ptp(b, axis=-1) > 0)
    a = a - a.mean(axis=-1, keepdims=True)
    b = b - b.mean(axis=-1, keepdims=True)
    together = np.sum(a * b, axis=-1)
    scale = np.sqrt(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1))
    correlation = np.full(together.shape, np.nan)
    np.divide(together, scale, out=correlation, where=varied)
    within: FloatArray = np.clip(correlation, -1.0, 1.0)
    return within


def spearman_rows(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Spearman's rho of each row of x with the same row of y.

    Parameters
    ----------
    x, y : array-like of float, shapes (..., n) that broadcast

    Returns
    -------
    ndarray of float, shape (...)
        Values in [-1, 1]; NaN where a row holds a NaN or is constant.

    Raises
    ------
    EmptyInputError
        If the rows are empty.

    Examples
    --------
    >>> spearman_rows([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], [1.0, 4.0, 9.0])
    array([ 1., nan])
    """
    return correlation_rows(midranks(x), midranks(y))


def spearman(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    r"""Spearman's rank correlation and its two-sided p-value.

    Parameters
    ----------
    x, y : array-like of float, shape (n,)
        Pairs of values without NaN, at least three.

    Returns
    -------
    rho : float
        In [-1, 1]; ties share their mean rank.
    p : float
        Chance of a correlation at least as strong where there is none.

    Raises
    ------
    EmptyInputError
        If there are no pairs.
    UndefinedError
        For a constant x or y, or fewer than three pairs.
    DataError
        If x and y aren't flat and equally long, or hold a NaN.

    Notes
    -----
    The p-value takes :math:`\rho\sqrt{(n-2)/(1-\rho^2)}` as Student's t with n - 2 degrees of freedom, as
    `scipy.stats.spearmanr` does [1]_; only `scipy.special` is loaded for it.

    References
    ----------
    .. [1] M. G. Kendall, A. Stuart (1973). "The Advanced Theory of Statistics", vol. 2, section 31.18.

    Examples
    --------
    >>> rho, p = spearman([1, 2, 3, 4, 5], [5, 6, 7, 8, 7])
    >>> round(rho, 4), round(p, 4)
    (0.8208, 0.0886)
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(f"spearman needs two flat arrays of one length, got shapes {first.shape} and {second.shape}")
    if first.size == 0:
        raise EmptyInputError("spearman needs pairs of values, got 0")
    if np.isnan(first).any() or np.isnan(second).any():
        raise DataError("spearman can't rank NaN; leave such pairs out")
    if first.size < 3:
        raise UndefinedError(f"undefined: a rank correlation needs three pairs, got {first.size}")
    rho = float(spearman_rows(first, second))
    if np.isnan(rho):
        raise UndefinedError("undefined: one side of the correlation is constant")
    if abs(rho) == 1:
        return rho, 0.0
    from scipy.special import stdtr

    freedom = first.size - 2
    student = abs(rho) * np.sqrt(freedom / ((1 - rho) * (1 + rho)))
    return rho, float(2 * stdtr(freedom, -student))


def weighted_spearman(values: ArrayLike, weights: ArrayLike) -> FloatArray:
    """Spearman's rho of all pairs of variables when each case counts as often as its weight says, row by row.

    Equal to `spearman` of the cases written out that often, ties included.

    Parameters
    ----------
    values : array-like of float, shape (n_variables, n_cases)
        No NaN.
    weights : array-like of float, shape (n_rows, n_cases)
        Whole numbers, at least 0.

    Returns
    -------
    ndarray of float, shape (n_rows, n_variables, n_variables)
        Values in [-1, 1]; NaN where a variable is constant among the cases that count.

    Raises
    ------
    EmptyInputError
        If there are no cases.

    Examples
    --------
    >>> weighted_spearman([[1, 2, 3], [2, 1, 3]], [[1, 1, 1], [0, 1, 2]])[:, 0, 1]
    array([0.5, 1. ])
    """
    counts = np.asarray(weights, dtype=np.float64)
    variables = np.asarray(values, dtype=np.float64)
    if counts.shape[-1] == 0:
        raise EmptyInputError("weighted_spearman needs cases, got 0")
    rho = np.empty((len(counts), len(variables), len(variables)))
    for start in range(0, len(counts), _BLOCK_ROWS):
        block = np.ascontiguousarray(counts[start : start + _BLOCK_ROWS].T)  # (n_cases, rows of the block)
        rho[start : start + _BLOCK_ROWS] = _weighted_block(variables, block)
    return rho


def _weighted_block(variables: FloatArray, counts: FloatArray) -> FloatArray:
    """Correlations of all pairs for a block of weights, (n_cases, n_rows): (n_rows, n_variables, n_variables)."""
    ranked = [_weighted_ranks(variable, counts) for variable in variables]
    spread = np.stack([np.sqrt(squares) for _, squares in ranked])  # (n_variables, n_rows)
    rho = np.ones((counts.shape[1], len(ranked), len(ranked)))
    for i, (ranks, _) in enumerate(ranked):
        weighted = ranks * counts
        for j in range(i):
            rho[:, i, j] = rho[:, j, i] = np.einsum("cr,cr->r", weighted, ranked[j][0])
        rho[:, i, i] = spread[i] ** 2
    scale = (spread[:, None] * spread[None]).transpose(2, 0, 1)
    within = np.full(rho.shape, np.nan)
    np.divide(rho, scale, out=within, where=scale > 0)
    return np.clip(within, -1.0, 1.0, out=within)


def _weighted_ranks(values: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Midranks less their mean, (n_cases, n_rows), and the weighted sum of their squares, (n_rows,)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    of_value = np.add.reduceat(counts[order], starts, axis=0)  # (n_values, n_rows)
    upto = np.cumsum(of_value, axis=0)
    ranks: FloatArray = upto - of_value / 2 - upto[-1] / 2
    group = np.empty(values.size, dtype=np.int64)
    group[order] = np.repeat(np.arange(starts.size), np.diff(np.append(starts, values.size)))
    return ranks[group], np.einsum("vr,vr,vr->r", of_value, ranks, ranks)
