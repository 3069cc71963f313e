"""How much is still unseen: Chao's estimate of the number of kinds from those seen once and twice."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from isogloss.errors import DataError, EmptyInputError

Z = 1.96


class Richness(NamedTuple):
    """An estimate of how many kinds there are."""

    n_observed: int
    n_once: int
    n_twice: int
    chao1: float
    """Kinds in all, seen or not; never fewer than observed."""
    low: float
    high: float
    """95 % interval, log-normal where some are estimated to be unseen."""


def chao1(counts: Iterable[int]) -> Richness:
    r"""Bias-corrected Chao1 [1]_ from how often each kind was seen.

    Parameters
    ----------
    counts : iterable of int
        One positive count a kind.

    Returns
    -------
    Richness
        `n_observed <= low <= chao1 <= high`.

    Raises
    ------
    EmptyInputError
        Without a kind.
    DataError
        For a count that isn't positive.

    Notes
    -----
    The estimate is :math:`S + f_1 (f_1 - 1) / (2 (f_2 + 1))`, with :math:`S` kinds seen at all and :math:`f_k` of them
    k times; a lower bound where kinds differ much in how often they come. Its variance is, for :math:`f_2 > 0`,

    .. math:: \frac{f_1 (f_1 - 1)}{2 (f_2 + 1)} + \frac{f_1 (2 f_1 - 1)^2}{4 (f_2 + 1)^2}
              + \frac{f_1^2 f_2 (f_1 - 1)^2}{4 (f_2 + 1)^4},

    and for :math:`f_2 = 0` :math:`f_1 (f_1 - 1) / 2 + f_1 (2 f_1 - 1)^2 / 4 - f_1^4 / (4 \hat S)`. With :math:`T` kinds
    unseen, the interval [2]_ is :math:`S + T / K` to :math:`S + T K`, where
    :math:`K = \exp(1.96 \sqrt{\ln(1 + v / T^2)})`.

    Where nothing is estimated to be unseen (:math:`f_1 \le 1`) that would have no width. The interval is then from S to
    the upper end for samples without a kind seen once [3]_, :math:`S / (1 - P) + 1.96 \sqrt{S P / (1 - P)}` with
    :math:`P = e^{-n / S}` and n sightings.

    References
    ----------
    .. [1] A. Chao (1984). "Nonparametric estimation of the number of classes in a population". Scandinavian Journal of
       Statistics 11, 265-270.
    .. [2] A. Chao (1987). "Estimating the population size for capture-recapture data with unequal catchability".
       Biometrics 43, 783-791.
    .. [3] R. K. Colwell. EstimateS, user's guide, appendix B, equations 6, 7, 13 and 14.

    Examples
    --------
    >>> round(chao1([1, 1, 1, 2, 5]).chao1, 3)
    6.5
    """
    values = list(counts)
    if not values:
        raise EmptyInputError("Chao1 needs at least one kind, got 0")
    if min(values) < 1:
        raise DataError(f"counts are positive, got {min(values)}")
    n, once, twice = len(values), values.count(1), values.count(2)
    unseen = once * (once - 1) / (2 * (twice + 1))
    if unseen == 0:
        missed = math.exp(-sum(values) / n)
        high = n / (1 - missed) + Z * math.sqrt(n * missed / (1 - missed))
        return Richness(n, once, twice, float(n), float(n), high)
    spread = math.exp(Z * math.sqrt(math.log(1 + _variance(n + unseen, once, twice) / unseen**2)))
    return Richness(n, once, twice, n + unseen, n + unseen / spread, n + unseen * spread)


def _variance(estimate: float, once: int, twice: int) -> float:
    if twice == 0:
        return once * (once - 1) / 2 + once * (2 * once - 1) ** 2 / 4 - once**4 / (4 * estimate)
    return (
        once * (once - 1) / (2 * (twice + 1))
        + once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        + once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
    )
