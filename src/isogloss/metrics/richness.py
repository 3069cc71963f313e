"""How much is still unseen: Chao's estimate of the number of kinds from those seen once and twice."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from isogloss.errors import DataError, EmptyInputError


class Richness(NamedTuple):
    """An estimate of how many kinds there are."""

    n_observed: int
    n_once: int
    n_twice: int
    chao1: float
    """Kinds in all, seen or not; never fewer than observed."""
    low: float
    high: float
    """Log-normal 95 % interval."""


def chao1(counts: Iterable[int]) -> Richness:
    r"""Bias-corrected Chao1 [1]_ from how often each kind was seen.

    Parameters
    ----------
    counts : iterable of int
        One positive count a kind.

    Raises
    ------
    EmptyInputError
        Without a kind.
    DataError
        For a count that isn't positive.

    Notes
    -----
    :math:`S + f_1 (f_1 - 1) / (2 (f_2 + 1))`, with :math:`f_k` kinds seen k times; variance and log-normal interval as
    in [2]_. It is a lower bound where kinds differ much in how often they come.

    References
    ----------
    .. [1] A. Chao (1984). "Nonparametric estimation of the number of classes in a population". Scand. J. Statistics 11.
    .. [2] A. Chao (1987). "Estimating the population size for capture-recapture data with unequal catchability".
       Biometrics 43.

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
    estimate = n + unseen
    if unseen == 0:
        return Richness(n, once, twice, float(n), float(n), float(n))
    variance = (
        once * (once - 1) / (2 * (twice + 1))
        + once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        + once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
    )
    spread = math.exp(1.96 * math.sqrt(math.log(1 + variance / unseen**2)))
    return Richness(n, once, twice, estimate, n + unseen / spread, n + unseen * spread)
