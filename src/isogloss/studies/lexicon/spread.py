"""Measures by group with their bootstrap draws, and the estimates made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.metrics import percentile_interval, resampled_sums
from isogloss.records import Estimate, Status
from isogloss.studies.lexicon.measures import REMARKS, UNDEFINED, FloatArray, IntArray, Key, Measures, area_means
from isogloss.studies.lexicon.tally import OK, STATUSES, Layout

STUDY = "lexicon"
MIN_DEFINED = 0.95
"""Share of the draws in which a measure must have a value for its interval to be shown."""
MeasureFunction: TypeAlias = Callable[[FloatArray], Measures]
BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Plan:
    """What all numbers of one call share."""

    layout: Layout
    used: IntArray
    """Items asked about by anyone: these are resampled, (n_used,)."""
    counts: NDArray[np.uint16]
    """How often each of them is in each draw, (n_resamples, n_used)."""
    confidence: float
    seed: int

    def totals(self, sums: FloatArray) -> FloatArray:
        """Sums over items, as they are and in each draw: (1 + n_resamples, n_countries, n_sums)."""
        return resampled_sums(self.counts, sums[self.used])

    def text(self, n_draws: int) -> str:
        """The interval in words."""
        return f"bootstrap over items, {n_draws:,} draws, seed {self.seed}, {100 * self.confidence:g} %"

    @property
    def no_interval(self) -> str:
        """Why a number has no interval."""
        return f"no interval: undefined in over {100 * (1 - MIN_DEFINED):.0f} % of {len(self.counts):,} bootstrap draws"

    @property
    def place(self) -> IntArray:
        """Column of each item in `counts`, (n_items,); -1 for items not asked about."""
        place = np.full(len(self.layout.items), -1, dtype=np.int64)
        place[self.used] = np.arange(self.used.size)
        return place


@dataclass(frozen=True)
class Spread:
    """Measures as they are (row 0) and in each draw (further rows), by group."""

    overall: Measures
    """Pooled, each (n_rows, 1)."""
    by_country: Measures
    """Each (n_rows, n_countries)."""
    by_area: Measures
    """Unweighted means of countries, each (n_rows, n_areas)."""
    by_area_pooled: Measures


def spread(plan: Plan, sums: FloatArray, compute: MeasureFunction) -> Spread:
    """Measures of every group from sums by item and country, (n_items, n_countries, n_sums)."""
    layout, totals = plan.layout, plan.totals(sums)
    pooled = [totals[:, layout.area_of == area].sum(axis=1) for area in range(len(layout.areas))]
    by_country = compute(totals)
    return Spread(
        overall=compute(totals.sum(axis=1, keepdims=True)),
        by_country=by_country,
        by_area={k: area_means(values, layout.area_of, len(layout.areas)) for k, values in by_country.items()},
        by_area_pooled=compute(np.stack(pooled, axis=1)) if pooled else {k: v[:, :0] for k, v in by_country.items()},
    )


class Count(NamedTuple):
    """How much lies behind a number."""

    n_items: int
    n_answers: int
    n_scored: int
    missing: dict[Status, int]


@dataclass(frozen=True)
class Coverage:
    """Items and statuses of the answers behind a measure, by country."""

    asked: BoolArray
    """(n_items, n_countries)."""
    statuses: IntArray
    """(n_countries, n_statuses)."""

    @classmethod
    def of(cls, item: IntArray, country: IntArray, status: IntArray, layout: Layout) -> Coverage:
        """Count answers given by their item, country and status codes."""
        asked = np.zeros((len(layout.items), len(layout.countries)), dtype=bool)
        asked[item, country] = True
        shape = (len(layout.countries), len(STATUSES))
        flat = np.bincount(country * shape[1] + status, minlength=shape[0] * shape[1])
        return cls(asked, flat.reshape(shape))

    def within(self, countries: BoolArray) -> Count:
        """Coverage of some countries together."""
        by_status = self.statuses[countries].sum(axis=0)
        missing = {status: int(n) for k, (status, n) in enumerate(zip(STATUSES, by_status, strict=True)) if k != OK}
        return Count(
            n_items=int(self.asked[:, countries].any(axis=1).sum()),
            n_answers=int(by_status.sum()),
            n_scored=int(by_status[OK]),
            missing={status: n for status, n in missing.items() if n},
        )


class _Group(NamedTuple):
    names: dict[str, str]
    suffix: str
    countries: BoolArray
    is_mean: bool


def _groups(layout: Layout) -> list[_Group]:
    """Overall, areas as means, areas pooled, countries: the order of `_stacked`."""
    n = len(layout.countries)
    members = [(name, layout.area_of == area) for area, name in enumerate(layout.areas)]
    return [
        _Group({}, "", np.ones(n, dtype=bool), False),
        *(_Group({"area": name}, "", inside, True) for name, inside in members),
        *(_Group({"area": name}, "_pooled", inside, False) for name, inside in members),
        *(_Group({"country": code}, "", np.arange(n) == k, False) for k, code in enumerate(layout.countries)),
    ]


def _stacked(found: Spread, keys: list[Key]) -> FloatArray:
    """(n_rows, n_keys, n_groups)."""
    parts = (found.overall, found.by_area, found.by_area_pooled, found.by_country)
    return np.stack([np.concatenate([part[key] for part in parts], axis=1) for key in keys], axis=1)


def rows(
    plan: Plan, group: Mapping[str, str], found: Spread, coverages: Mapping[str, Coverage], source: str
) -> Iterator[Estimate]:
    """Estimates of every measure and group that anything was asked in.

    Parameters
    ----------
    plan : Plan
        What all numbers share.
    group : mapping
        Group keys of all rows: model, format, reading.
    found : Spread
        The measures.
    coverages : mapping
        Coverage by measure; "" for those that aren't named.
    source : str
        What coded the answers, for the method.
    """
    keys = list(found.overall)
    values = _stacked(found, keys)
    lows, highs = percentile_interval(values[1:], plan.confidence, min_defined=MIN_DEFINED)
    groups = _groups(plan.layout)
    for k, key in enumerate(keys):
        measure, baseline = key
        coverage = coverages.get(measure, coverages[""])
        for g, one in enumerate(groups):
            count = coverage.within(one.countries)
            if count.n_answers == 0:
                continue
            value = None if count.n_scored == 0 or np.isnan(values[0, k, g]) else float(values[0, k, g])
            certain = value is not None and count.n_items > 1 and not np.isnan(lows[k, g])
            remarks = [source, REMARKS.get(key, "")]
            if one.is_mean:
                with_value = int((~np.isnan(found.by_country[key][0]) & one.countries).sum())
                remarks.append(f"unweighted mean of {with_value} of {int(one.countries.sum())} countries")
            yield Estimate(
                study=STUDY,
                measure=measure + one.suffix,
                group={**group, **one.names, **({} if baseline is None else {"baseline": baseline})},
                value=value,
                low=float(lows[k, g]) if certain else None,
                high=float(highs[k, g]) if certain else None,
                n_items=count.n_items,
                n_answers=count.n_answers,
                n_scored=count.n_scored,
                missing=count.missing,
                method="; ".join([_interval_text(plan, measure, value, certain, count), *filter(None, remarks)]),
            )


def _interval_text(plan: Plan, measure: str, value: float | None, certain: bool, count: Count) -> str:
    if count.n_scored == 0:
        return "no value: nothing was scored"
    if value is None:
        return "undefined: " + UNDEFINED.get(measure, "no such answer was scored")
    if count.n_items == 1:
        return "no interval: a single item"
    return plan.text(len(plan.counts)) if certain else plan.no_interval
