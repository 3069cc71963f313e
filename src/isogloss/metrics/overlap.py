r"""Overlap of a chosen set with a reference set, corrected for chance.

Of N options s are in the reference, t are chosen, x are both. Everything is a function of these four numbers, so all
functions take arrays of them and give arrays; four plain numbers give a plain number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from isogloss.errors import DataError, EmptyInputError, UndefinedError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Expectation: TypeAlias = Literal["exact", "first_order"]
Sizes: TypeAlias = "int | list[int] | tuple[int, ...] | NDArray[np.integer]"

Mean: TypeAlias = Callable[[IntArray, FloatArray, IntArray, IntArray, IntArray], FloatArray]

_BLOCK_CELLS = 1_000_000


def _whole(name: str, **sizes: Sizes) -> list[IntArray]:
    arrays = []
    for label, values in sizes.items():
        numbers = np.asarray(values)
        if numbers.size == 0:
            raise EmptyInputError(f"{name} needs at least one set, got 0")
        if not np.issubdtype(numbers.dtype, np.integer):
            raise DataError(f"{name} needs whole numbers in {label!r}, got {numbers.dtype}")
        if numbers.min() < 0:
            raise DataError(f"{name} needs sizes of at least 0 in {label!r}, got {int(numbers.min())}")
        arrays.append(numbers.astype(np.int64))
    try:
        return [array.copy() for array in np.broadcast_arrays(*arrays)]
    except ValueError:
        shapes = ", ".join(f"{label} {array.shape}" for label, array in zip(sizes, arrays, strict=True))
        raise DataError(f"{name}: shapes don't fit each other: {shapes}") from None


def _require(name: str, fine: NDArray[np.bool_], rule: str, **sizes: IntArray) -> None:
    if fine.all():
        return
    at = int(np.flatnonzero(~fine.ravel())[0])
    got = ", ".join(f"{label}={int(array.ravel()[at])}" for label, array in sizes.items())
    raise DataError(f"{name}: {rule}, got {got}")


def _fitting(name: str, n: IntArray, s: IntArray, t: IntArray) -> None:
    fine = (n >= 1) & (s <= n) & (t <= n)
    _require(name, fine, "a set can't be larger than the options", n_options=n, n_gold=s, n_predicted=t)
    if np.any(s + t == 0):
        raise UndefinedError(f"{name} is undefined (0/0) for two empty sets")


def _plain(values: FloatArray) -> float | FloatArray:
    return values if values.ndim else float(values)


@overload
def jaccard(n_gold: int, n_predicted: int, overlap: int) -> float: ...  # type: ignore[overload-overlap]
@overload
def jaccard(n_gold: Sizes, n_predicted: Sizes, overlap: Sizes) -> FloatArray: ...
def jaccard(n_gold: Sizes, n_predicted: Sizes, overlap: Sizes) -> float | FloatArray:
    r"""Size of the common part over size of the union.

    Parameters
    ----------
    n_gold, n_predicted, overlap : int or array of int, shapes that broadcast
        Size s of the reference set, size t of the chosen set, size x of their common part.

    Returns
    -------
    float or ndarray of float
        :math:`J = x/(s+t-x)` [1]_, in [0, 1]. An empty chosen set has 0.

    Raises
    ------
    EmptyInputError
        For empty arrays.
    UndefinedError
        If both sets are empty.
    DataError
        For sizes that can't be, e.g. an overlap larger than a set.

    References
    ----------
    .. [1] P. Jaccard (1901). "Étude comparative de la distribution florale dans une portion des Alpes et du Jura".

    Examples
    --------
    >>> jaccard(3, 2, 1)
    0.25
    """
    s, t, x = _whole("jaccard", n_gold=n_gold, n_predicted=n_predicted, overlap=overlap)
    fine = x <= np.minimum(s, t)
    _require("jaccard", fine, "the overlap can't exceed a set", n_gold=s, n_predicted=t, overlap=x)
    if np.any(s + t == 0):
        raise UndefinedError("jaccard is undefined (0/0) for two empty sets")
    return _plain(x / (s + t - x))


@overload
def expected_jaccard(  # type: ignore[overload-overlap]
    n_options: int, n_gold: int, n_predicted: int, *, expectation: Expectation = "exact"
) -> float: ...
@overload
def expected_jaccard(
    n_options: Sizes, n_gold: Sizes, n_predicted: Sizes, *, expectation: Expectation = "exact"
) -> FloatArray: ...
def expected_jaccard(
    n_options: Sizes, n_gold: Sizes, n_predicted: Sizes, *, expectation: Expectation = "exact"
) -> float | FloatArray:
    r"""Jaccard index that t options drawn at random reach on average.

    Parameters
    ----------
    n_options, n_gold, n_predicted : int or array of int, shapes that broadcast
        Number N of options, sizes s and t of the two sets.
    expectation : {"exact", "first_order"}
        The mean under the hypergeometric law, or the index at the mean overlap.

    Returns
    -------
    float or ndarray of float
        In [0, 1].

    Raises
    ------
    EmptyInputError, UndefinedError, DataError
        As `adjusted_jaccard`.

    Notes
    -----
    Exact: :math:`\sum_x \mathrm{Hyp}(x; N, t, s)\, x/(s+t-x)`. First-order: :math:`st/(N(s+t)-st)`, as in [1]_,
    which is never above the exact one (the index is convex in x), so scores corrected with it come out higher.

    References
    ----------
    .. [1] Kawasaki (2026). "Digital Linguistic Bias in Spanish".

    Examples
    --------
    >>> expected_jaccard(2, 1, 1)
    0.5
    >>> expected_jaccard(2, 1, 1, expectation="first_order")
    0.3333333333333333
    """
    n, s, t = _whole("expected_jaccard", n_options=n_options, n_gold=n_gold, n_predicted=n_predicted)
    _fitting("expected_jaccard", n, s, t)
    return _plain(_expected(n, s, t, expectation))


@overload
def adjusted_jaccard(  # type: ignore[overload-overlap]
    n_options: int,
    n_gold: int,
    n_predicted: int,
    overlap: int,
    *,
    expectation: Expectation = "exact",
    clip: bool = True,
) -> float: ...
@overload
def adjusted_jaccard(
    n_options: Sizes,
    n_gold: Sizes,
    n_predicted: Sizes,
    overlap: Sizes,
    *,
    expectation: Expectation = "exact",
    clip: bool = True,
) -> FloatArray: ...
def adjusted_jaccard(
    n_options: Sizes,
    n_gold: Sizes,
    n_predicted: Sizes,
    overlap: Sizes,
    *,
    expectation: Expectation = "exact",
    clip: bool = True,
) -> float | FloatArray:
    r"""Jaccard index above chance: 1 for the same sets, 0 for what random choice reaches.

    Parameters
    ----------
    n_options : int or array of int
        Number N of options shown, at least 1.
    n_gold, n_predicted, overlap : int or array of int, shapes that broadcast
        Size s of the reference set, size t of the chosen set, size x of their common part.
    expectation : {"exact", "first_order"}
        What counts as chance, see `expected_jaccard`.
    clip : bool
        Set values below 0 to 0, question by question, as the published measure does [1]_.

    Returns
    -------
    float or ndarray of float
        In [0, 1] when clipped, at most 1 otherwise. One number for four plain numbers.

    Raises
    ------
    EmptyInputError
        For empty arrays.
    UndefinedError
        If both sets are empty.
    DataError
        For sizes that can't be: a set larger than the options, an overlap that doesn't fit.

    Notes
    -----
    :math:`J_{adj} = (J - E)/(1 - E)` with :math:`J = x/(s+t-x)` and E the expectation for sets of these sizes.
    For s = t = N it is 0/0 and taken as 1: all is right. With nothing chosen (t = 0, s > 0) both J and E are 0, and
    so is the adjusted value: an empty answer counts, as one that found nothing.

    References
    ----------
    .. [1] Kawasaki (2026). "Digital Linguistic Bias in Spanish".

    Examples
    --------
    >>> adjusted_jaccard(2, 1, 1, 0, clip=False)
    -1.0
    >>> adjusted_jaccard(2, 1, 1, 0)
    0.0
    >>> adjusted_jaccard(2, [1, 2], [1, 2], [1, 2])
    array([1., 1.])
    """
    n, s, t, x = _whole(
        "adjusted_jaccard", n_options=n_options, n_gold=n_gold, n_predicted=n_predicted, overlap=overlap
    )
    _fitting("adjusted_jaccard", n, s, t)
    fine = (x <= np.minimum(s, t)) & (x >= s + t - n)
    rule = "the overlap must lie between n_gold + n_predicted - n_options and the smaller set"
    _require("adjusted_jaccard", fine, rule, n_options=n, n_gold=s, n_predicted=t, overlap=x)
    return _plain(_adjusted(x / (s + t - x), _expected(n, s, t, expectation), (s == n) & (t == n), clip))


@overload
def expected_adjusted_jaccard(  # type: ignore[overload-overlap]
    n_options: int, n_gold: int, n_predicted: int, *, expectation: Expectation = "exact", clip: bool = True
) -> float: ...
@overload
def expected_adjusted_jaccard(
    n_options: Sizes, n_gold: Sizes, n_predicted: Sizes, *, expectation: Expectation = "exact", clip: bool = True
) -> FloatArray: ...
def expected_adjusted_jaccard(
    n_options: Sizes, n_gold: Sizes, n_predicted: Sizes, *, expectation: Expectation = "exact", clip: bool = True
) -> float | FloatArray:
    r"""Adjusted Jaccard index that t options drawn at random reach on average.

    Unclipped and with the exact expectation it is 0 by definition; clipping lifts it above. With
    t = min(3, N) it is the score to expect of "the first three of the shuffled list", the baseline of [1]_.

    Parameters
    ----------
    n_options, n_gold, n_predicted : int or array of int, shapes that broadcast
        Number N of options, sizes s and t of the two sets.
    expectation, clip
        As in `adjusted_jaccard`.

    Returns
    -------
    float or ndarray of float
        :math:`\sum_x \mathrm{Hyp}(x; N, t, s)\, J_{adj}(N, s, t, x)`.

    Raises
    ------
    EmptyInputError, UndefinedError, DataError
        As `adjusted_jaccard`.

    References
    ----------
    .. [1] Kawasaki (2026). "Digital Linguistic Bias in Spanish".

    Examples
    --------
    >>> expected_adjusted_jaccard(2, 1, 1)
    0.5
    """
    n, s, t = _whole("expected_adjusted_jaccard", n_options=n_options, n_gold=n_gold, n_predicted=n_predicted)
    _fitting("expected_adjusted_jaccard", n, s, t)
    return _plain(_mean_over_overlaps(n, s, t, expectation, clip))


def _adjusted(index: FloatArray, expected: FloatArray, all_right: NDArray[np.bool_], clip: bool) -> FloatArray:
    values = np.ones(np.broadcast_shapes(index.shape, expected.shape))
    room = 1 - expected
    np.divide(index - expected, room, out=values, where=np.broadcast_to(~all_right, values.shape))
    return np.maximum(values, 0.0) if clip else values


def _expected(n: IntArray, s: IntArray, t: IntArray, expectation: Expectation) -> FloatArray:
    if expectation == "first_order":
        at_mean_overlap: FloatArray = s * t / (n * (s + t) - s * t)
        return at_mean_overlap
    if expectation != "exact":
        raise DataError(f"no expectation named {expectation!r}; there are 'exact' and 'first_order'")
    return _over_distinct(n, s, t, lambda overlap, chance, _n, s, t: _row_sums(chance * _index(overlap, s, t)))


def _mean_over_overlaps(n: IntArray, s: IntArray, t: IntArray, expectation: Expectation, clip: bool) -> FloatArray:
    def mean(overlap: IntArray, chance: FloatArray, n: IntArray, s: IntArray, t: IntArray) -> FloatArray:
        expected = _expected(n, s, t, expectation)[:, None]
        values = _adjusted(_index(overlap, s, t), expected, ((s == n) & (t == n))[:, None], clip)
        return _row_sums(chance * values)

    return _over_distinct(n, s, t, mean)


def _row_sums(values: FloatArray) -> FloatArray:
    sums: FloatArray = values.sum(axis=1)
    return sums


def _index(overlap: IntArray, s: IntArray, t: IntArray) -> FloatArray:
    return overlap / (s[:, None] + t[:, None] - overlap)


def _over_distinct(n: IntArray, s: IntArray, t: IntArray, mean: Mean) -> FloatArray:
    """Compute `mean` once per distinct (n, s, t), in blocks, and hand it back in the shape of the input."""
    base = int(n.max()) + 1
    keys, where = np.unique((n.ravel() * base + s.ravel()) * base + t.ravel(), return_inverse=True)
    ns, ss, ts = keys // base**2, keys // base % base, keys % base
    values = np.empty(keys.size)
    block = max(1, _BLOCK_CELLS // base)
    for start in range(0, keys.size, block):
        part = slice(start, start + block)
        overlap, chance = _hypergeometric(ns[part], ss[part], ts[part])
        values[part] = mean(overlap, chance, ns[part], ss[part], ts[part])
    return values[where].reshape(n.shape)


def _hypergeometric(n: IntArray, s: IntArray, t: IntArray) -> tuple[IntArray, FloatArray]:
    """Possible overlaps of t options drawn from n with s of them, and their chances; both (n_triples, n_overlaps).

    Rows with fewer overlaps than the longest are filled with their largest one at chance 0.
    """
    lowest, highest = np.maximum(0, s + t - n), np.minimum(s, t)
    overlap = lowest[:, None] + np.arange(int((highest - lowest).max()) + 1)
    possible = overlap <= highest[:, None]
    x = np.minimum(overlap, highest[:, None])
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(n.max()) + 1)))])  # ln k! at k
    n, s, t = n[:, None], s[:, None], t[:, None]
    log_chance = (
        (logs[s] - logs[x] - logs[s - x])
        + (logs[n - s] - logs[t - x] - logs[n - s - t + x])
        - (logs[n] - logs[t] - logs[n - t])
    )
    chance = np.where(possible, np.exp(log_chance), 0.0)
    return x, chance / chance.sum(axis=1, keepdims=True)
