"""Estimates of the stereotypes study: ss, lms and iCAT with intervals, and paired differences between models.

The unit is the target term, as in StereoSet: each term's share is averaged with equal weight, and the terms of a cell
are drawn anew for its intervals. Of a single term, its examples are averaged and drawn. The same units have the same
draws, so differences between models are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isogloss.metrics import ratio
from isogloss.records import Dataset, Estimate, Status
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.means import Drawn, Draws, Means, means, quotient, with_interval
from isogloss.studies.stereotypes.settings import StereotypeSettings
from isogloss.studies.stereotypes.tally import (
    STATUSES,
    BoolArray,
    FloatArray,
    IntArray,
    Layout,
    Series,
    coverage,
    lay_out,
    series_of,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd

STUDY = "stereotypes"
PAIR_MEASURE = "crows_pairs_score"
CROWS_PARTS = ("stereo", "antistereo")
GROUPINGS = ((), ("split",), ("category",), ("country",), ("split", "category"), ("country", "category"))
ABOUT = {"ss": (0, 2), "lms": (1, 2), "icat": (0, 1, 2)}
"""Measure → the kinds of answer it is of, see `Series.with_unrelated`."""
LMS = {
    "each": "lms=each: stereotype and anti-stereotype are each compared with the unrelated sentence, as published",
    "either": "lms=either: an example counts when its stereotype or its anti-stereotype is preferred to the unrelated "
    "sentence",
}
"""Reading of lms → what is said of it with lms and iCAT."""


class Cell(NamedTuple):
    """Some items, and what is averaged and drawn of them."""

    group: Mapping[str, str]
    items: BoolArray
    """Which items, shape (n_items,)."""
    units: IntArray
    """Unit of each item, shape (n_items,)."""
    unit: str
    """In the plural: "target terms", "pairs", or "examples" of one target term."""

    def shares(self, values: FloatArray) -> FloatArray:
        """Mean of each unit's values, in per cent; NaN where it has none. Shape (n_units,)."""
        use = self.items & ~np.isnan(values)
        n_units = int(self.units.max()) + 1
        sums = np.bincount(self.units[use], weights=100 * values[use], minlength=n_units)
        return ratio(sums, np.bincount(self.units[use], minlength=n_units))


def estimate(answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings, seed: int) -> list[Estimate]:
    """Every number of the study, with intervals and coverage.

    Returns
    -------
    list of Estimate
        Measures `ss`, `lms`, `icat` (per cent; of pairs without an unrelated sentence `crows_pairs_score`), `neither`
        (share, forced choice), and `…_difference` (model minus baseline, each over the items for which both have it).
        Groups: `model`, `format` (the scoring rule), `reading`, and none, one or two of `split`, `category`, `country`;
        or `group` (the target term) with its `country` where there is one.
    """
    if bbq.is_bbq(dataset):
        return bbq.estimate(answers, dataset, settings, seed)
    layout = lay_out(dataset)
    series = series_of(answers, dataset, layout, settings)
    draws = Draws(settings.resamples, seed)
    found: list[Estimate] = []
    for one in series:
        for cell in _cells(one, layout):
            found += _of_cell(one, cell, layout, draws, settings)
        for term, cell in _terms(one, layout):
            found += _of_cell(term, cell, layout, draws, settings)
    found += _differences(series, layout, draws, settings)
    return found


def _cells(one: Series, layout: Layout) -> Iterator[Cell]:
    """All items, and those of each split, category and country where several were asked about."""
    asked = np.zeros(len(layout.ids), dtype=bool)
    asked[one.rows] = True
    for names in GROUPINGS:
        columns = [layout.fields[name] for name in names]
        if any(len(np.unique(column[asked])) < 2 for column in columns):
            continue
        keys = sorted({tuple(map(str, key)) for key in zip(*(column[asked] for column in columns), strict=True)})
        for key in keys if names else [()]:
            items = np.ones(len(layout.ids), dtype=bool)
            for column, value in zip(columns, key, strict=True):
                items &= column == value
            if all(key):  # rows that don't say stand in no such table
                yield Cell(dict(zip(names, key, strict=True)), items, layout.terms, _unit(layout))


def _terms(one: Series, layout: Layout) -> Iterator[tuple[Series, Cell]]:
    """Each target term that was asked about, with the answers on it, where there are several; pairs have none."""
    of_rows = layout.terms[one.rows]
    asked = np.unique(of_rows)
    if layout.is_pairs or len(asked) < 2:
        return
    order = np.argsort(of_rows, kind="stable")
    starts = np.searchsorted(of_rows[order], asked)
    examples = np.arange(len(layout.ids))
    for k, rows in zip(asked, np.split(order, starts[1:]), strict=True):
        country, target = layout.names[k]
        group = {"group": target, **({"country": country} if country else {})}
        yield one.part(rows), Cell(group, layout.terms == k, examples, "examples")


def _unit(layout: Layout) -> str:
    """What is averaged and drawn."""
    return "pairs" if layout.is_pairs else "target terms"


def _of_cell(one: Series, cell: Cell, layout: Layout, draws: Draws, settings: StereotypeSettings) -> Iterator[Estimate]:
    if _leaves_ties_out(one, cell, settings):
        one = one.without_ties()
    found = means(cell.shares(one.pro), cell.shares(one.related), draws)
    if layout.is_pairs:
        yield _estimate(PAIR_MEASURE, found.ss, one, cell, (0, 2), settings)
    else:
        for measure in Means._fields:
            yield _estimate(measure, getattr(found, measure), one, cell, ABOUT[measure], settings)
    if settings.neither and one.rule == "forced_choice":
        yield _estimate("neither", _share_neither(one, cell, draws), one, cell, (0,), settings)


def _leaves_ties_out(one: Series, cell: Cell, settings: StereotypeSettings) -> bool:
    """Whether ties count for nothing: in the two parts of CrowS-Pairs where its original script is followed."""
    is_part = cell.group.get("split") in CROWS_PARTS
    return is_part and settings.rounding is not None and one.rule != "forced_choice"


def _share_neither(one: Series, cell: Cell, draws: Draws) -> Drawn:
    """Of the scored choices between stereotype and anti-stereotype, those that took neither, pooled."""
    is_scored = (one.statuses == STATUSES.index(Status.OK)) & (one.with_unrelated == 0) & cell.items[one.rows]
    units = cell.units[one.rows]
    n, n_neither = (
        np.bincount(units[of], minlength=int(cell.units.max()) + 1).astype(np.float64)
        for of in (is_scored, is_scored & one.neither)
    )
    return quotient(n_neither, n, draws)


def _estimate(
    measure: str, drawn: Drawn, one: Series, cell: Cell, about: tuple[int, ...], settings: StereotypeSettings
) -> Estimate:
    n_items, n_answers, n_scored, missing = coverage(one, cell.items, about=about)
    value, low, high, interval = with_interval(drawn, settings.confidence, cell.unit)
    return Estimate(
        study=STUDY, measure=measure, value=value, low=low, high=high, n_items=n_items, n_answers=n_answers,
        n_scored=n_scored, missing=missing, method="; ".join(_method(measure, one, cell, about, interval, settings)),
        group={"model": one.model, "format": one.rule, "reading": one.reading, **cell.group},
    )  # fmt: skip


def _method(
    measure: str, one: Series, cell: Cell, about: tuple[int, ...], interval: str, settings: StereotypeSettings
) -> Iterator[str]:
    """How a number was made: remarks."""
    if measure == "neither":
        yield "share of choices between stereotype and anti-stereotype that took neither, pooled"
        yield interval
        return
    yield f"rule {one.rule}, unweighted mean over {cell.unit}"
    yield interval
    if measure in ("lms", "icat"):
        yield LMS[settings.lms]
    n_unfit = int((one.unfit & cell.items).sum())
    if n_unfit:
        yield f"{n_unfit:,} rows that the rule can't score are left out"
    rows = cell.items[one.rows] & np.isin(one.with_unrelated, about)
    if one.rule == "forced_choice":
        yield "each pair in both orders; a pair with one order answered isn't scored"
        n_unpaired = int((one.unpaired & rows).sum())
        if n_unpaired:
            other = "other order" if 1 not in about else "other order, or their other pair with an unrelated sentence,"
            yield f"{n_unpaired} answers without their {other} count as missing"
        if settings.neither:
            yield "neither is half a choice of each, and none of a related sentence"
    else:
        fate = "count as anti-stereotype"
        if _leaves_ties_out(one, cell, settings):
            fate = "are left out, as the original script does in this part"
        yield f"{int((one.ties & rows).sum())} ties between stereotype and anti-stereotype {fate}"
    if settings.rounding is not None:
        yield f"scores rounded to {settings.rounding} decimals"


def _differences(
    series: list[Series], layout: Layout, draws: Draws, settings: StereotypeSettings
) -> Iterator[Estimate]:
    """Every two models under one rule and reading, each measure over the items for which both have it."""
    for baseline, one in combinations(series, 2):
        if (baseline.rule, baseline.reading) != (one.rule, one.reading):
            continue
        group = {"model": one.model, "baseline": baseline.model, "format": one.rule, "reading": one.reading}
        pro = ~np.isnan(baseline.pro) & ~np.isnan(one.pro)
        related = ~np.isnan(baseline.related) & ~np.isnan(one.related)
        has = {"ss": pro, "lms": related, "icat": pro & related}
        for name in ("ss",) if layout.is_pairs else Means._fields:
            cell = Cell(group, has[name], layout.terms, _unit(layout))
            second, first = (
                getattr(means(cell.shares(of.pro), cell.shares(of.related), draws), name) for of in (one, baseline)
            )
            yield _difference(PAIR_MEASURE if layout.is_pairs else name, second.minus(first), cell, one.rule, settings)


def _difference(measure: str, drawn: Drawn, cell: Cell, rule: str, settings: StereotypeSettings) -> Estimate:
    n = int(cell.items.sum())
    value, low, high, interval = with_interval(drawn, settings.confidence, cell.unit)
    lms = f"; {LMS[settings.lms]}" if measure in ("lms", "icat") else ""
    return Estimate(
        study=STUDY, measure=f"{measure}_difference", group=cell.group, value=value, low=low, high=high, n_items=n,
        n_answers=n, n_scored=n,
        method=f"rule {rule}, model minus baseline over the {n} items for which both have it, same draws for both; "
        f"{interval}{lms}",
    )  # fmt: skip
