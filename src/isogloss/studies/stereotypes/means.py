"""Means over units (target terms, pairs, examples) with their bootstrap draws.

A number's own units are drawn, so that a small group has an interval, too. As many units give the same draws: measures
and models over the same units are paired.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.metrics import bootstrap_counts, percentile_interval, ratio, resampled_sums

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
CountArray: TypeAlias = NDArray[np.uint16]


class Draws:
    """Bootstrap draws by the number of units, each made once."""

    def __init__(self, n_resamples: int, seed: int) -> None:
        self.n_resamples = n_resamples
        self._seed = seed
        self._held: dict[int, CountArray] = {}

    def counts(self, n_units: int) -> CountArray:
        """How often each unit is in each draw, shape (n_resamples, n_units); `n_units` at least 1."""
        if n_units not in self._held:
            self._held[n_units] = bootstrap_counts(n_units, self.n_resamples, self._seed)
        return self._held[n_units]


class Drawn(NamedTuple):
    """A number as observed and in every draw of its units."""

    values: FloatArray
    """Shape (1 + n_resamples,), as observed first; NaN where it is undefined."""
    n_units: int

    def minus(self, other: Drawn) -> Drawn:
        """Difference draw by draw; both over the same units."""
        return Drawn(self.values - other.values, self.n_units)


class Means(NamedTuple):
    """ss, lms and iCAT of some units, in per cent."""

    ss: Drawn
    lms: Drawn
    icat: Drawn
    """lms · min(ss, 100 - ss) / 50, of the two means."""


def quotient(part: FloatArray, whole: FloatArray, draws: Draws) -> Drawn:
    """Sum of `part` over sum of `whole`, shape (n_units,) each; units whose `whole` is 0 aren't drawn."""
    there = whole > 0
    n_units = int(there.sum())
    if not n_units:
        return Drawn(np.full(1 + draws.n_resamples, np.nan), 0)
    sums = resampled_sums(draws.counts(n_units), np.column_stack([part[there], whole[there]]))
    return Drawn(ratio(sums[:, 0], sums[:, 1]), n_units)


def means(pro: FloatArray, related: FloatArray, draws: Draws) -> Means:
    """Unweighted means over units, of shares in per cent; NaN where a unit has none. Shape (n_units,) each.

    ss and lms are each drawn from the units that have them, iCAT from the units that have either.
    """
    has_pro, has_related = ~np.isnan(pro), ~np.isnan(related)
    ss, lms = _mean(pro, has_pro, draws), _mean(related, has_related, draws)
    if not has_related.any() or (has_pro == has_related).all():
        return Means(ss, lms, _icat(ss, lms))
    either = has_pro | has_related
    return Means(ss, lms, _icat(_mean(pro, either, draws), _mean(related, either, draws)))


def _mean(values: FloatArray, units: BoolArray, draws: Draws) -> Drawn:
    """Mean of the values that are no NaN, with draws of some units."""
    n_units = int(units.sum())
    if not n_units:
        return Drawn(np.full(1 + draws.n_resamples, np.nan), 0)
    there = ~np.isnan(values[units])
    sums = resampled_sums(draws.counts(n_units), np.column_stack([np.where(there, values[units], 0.0), there]))
    return Drawn(ratio(sums[:, 0], sums[:, 1]), n_units)


def _icat(ss: Drawn, lms: Drawn) -> Drawn:
    return Drawn(lms.values * np.minimum(ss.values, 100 - ss.values) / 50, ss.n_units)


def with_interval(drawn: Drawn, confidence: float, unit: str) -> tuple[float | None, float | None, float | None, str]:
    """Value, percentile interval, and how that was made or why there is none; None for what has none.

    A single unit has no interval. `unit` is what is drawn, in the plural: "target terms".
    """
    words = f"{confidence:.0%} percentile interval, {len(drawn.values) - 1} draws of {unit}"
    value = drawn.values[0]
    if np.isnan(value):
        return None, None, None, words
    if drawn.n_units < 2:
        return float(value), None, None, f"no interval where there is only one of the {unit}"
    low, high = percentile_interval(drawn.values[1:], confidence)
    if np.isnan(low):
        return float(value), None, None, f"no interval where over 5 % of the draws of {unit} have no number"
    return float(value), float(low), float(high), words
