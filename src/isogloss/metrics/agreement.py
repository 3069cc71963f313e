"""How far people who rate the same things agree."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.errors import DataError, EmptyInputError, SettingError, UndefinedError


def _table(name: str, ratings: ArrayLike) -> NDArray[np.float64]:
    """Ratings as floats, with what they must be checked."""
    values = np.asarray(ratings, dtype=np.float64)
    if values.ndim != 2:
        raise DataError(f"{name} needs a table of items × raters, got {values.ndim} dimensions")
    if not np.isfinite(values).any():
        raise EmptyInputError(f"{name} needs at least one rating, got 0")
    if values.shape[1] < 2 or (np.isfinite(values).sum(axis=0) > 0).sum() < 2:
        raise UndefinedError(f"{name} is undefined: it needs two raters")
    if (np.isfinite(values).sum(axis=1) < 2).all():
        raise UndefinedError(f"{name} is undefined: no item has ratings by two raters")
    return values


def pairwise_agreement(ratings: ArrayLike) -> float:
    r"""Share of pairs of raters of one item who gave it the same value.

    Parameters
    ----------
    ratings : array-like of float, shape (n_items, n_raters)
        NaN where a rater gave none. An item with fewer than two ratings has no pair.

    Returns
    -------
    float
        Share in [0, 1], over all pairs of all items; an item with more ratings has more pairs.

    Raises
    ------
    EmptyInputError
        If there is no rating.
    UndefinedError
        If nobody rated with another.

    Notes
    -----
    With n_iv ratings of value v among the n_i of item i:
    :math:`\sum_i \sum_v n_{iv}(n_{iv}-1) / \sum_i n_i(n_i-1)`, the observed agreement of [1]_, pooled over items.
    Chance isn't taken off: see `krippendorff_alpha`.

    References
    ----------
    .. [1] J. L. Fleiss (1971). "Measuring nominal scale agreement among many raters". Psychological Bulletin 76.

    Examples
    --------
    >>> pairwise_agreement([[4, 4, 4], [1, 1, 2]])
    0.6666666666666666
    """
    values = _table("pairwise_agreement", ratings)
    n_ratings = np.isfinite(values).sum(axis=1)  # (n_items,)
    same = sum(
        (values == value).sum(axis=1) * ((values == value).sum(axis=1) - 1) for value in np.unique(_given(values))
    )
    return float(np.sum(same) / np.sum(n_ratings * (n_ratings - 1)))


def krippendorff_alpha(
    ratings: ArrayLike, *, level: Literal["nominal", "ordinal", "interval", "ratio"] = "ordinal"
) -> float:
    """Krippendorff's alpha: 1 for full agreement, 0 for what chance gives.

    Where nearly all ratings are alike chance alone gives nearly full agreement, so alpha is near 0 or undefined
    although raters agree; show `pairwise_agreement` beside it.

    Parameters
    ----------
    ratings : array-like of float, shape (n_items, n_raters)
        NaN where a rater gave none.
    level : {"nominal", "ordinal", "interval", "ratio"}
        What differences between values mean.

    Returns
    -------
    float
        At most 1; below 0 where raters disagree more than by chance.

    Raises
    ------
    EmptyInputError
        If there is no rating.
    UndefinedError
        If there are ratings of one rater only, no item with two, or no variation: then nothing tells raters who agree
        from raters who always give the same value.
    SettingError
        If the package `krippendorff` isn't installed.

    References
    ----------
    .. [1] K. Krippendorff (2019). "Content Analysis", 4th ed., ch. 12.

    Examples
    --------
    >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3]])
    1.0
    """
    values = _table("krippendorff_alpha", ratings)
    paired = values[np.isfinite(values).sum(axis=1) > 1]
    if np.unique(_given(paired)).size < 2:
        raise UndefinedError("krippendorff_alpha is undefined: no variation, all ratings are the same")
    try:
        import krippendorff
    except ImportError as error:
        raise SettingError("alpha needs krippendorff, which isn't installed; pip install 'isogloss[build]'") from error
    alpha = float(krippendorff.alpha(reliability_data=paired.T, level_of_measurement=level))
    return alpha + 0.0  # no -0.0


def wilson_interval(n_yes: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share.

    Parameters
    ----------
    n_yes, n : int
        Cases that are so, of all cases; 0 <= n_yes <= n.
    confidence : float
        In (0, 1).

    Returns
    -------
    (float, float)
        Lower and upper end, in [0, 1].

    Raises
    ------
    EmptyInputError
        If n is 0.
    DataError
        If n_yes isn't between 0 and n.

    References
    ----------
    .. [1] E. B. Wilson (1927). "Probable inference, the law of succession, and statistical inference". JASA 22.

    Examples
    --------
    >>> [round(end, 4) for end in wilson_interval(5, 10)]
    [0.2366, 0.7634]
    """
    if n == 0:
        raise EmptyInputError("wilson_interval needs at least one case, got 0")
    if not 0 <= n_yes <= n:
        raise DataError(f"wilson_interval needs 0 <= n_yes <= n, got {n_yes} of {n}")
    from scipy.stats import binomtest

    interval = binomtest(n_yes, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def _given(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """All ratings there are, flat."""
    given: NDArray[np.float64] = values[np.isfinite(values)]
    return given
