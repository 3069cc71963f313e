"""Estimates of the lexicon study: by model, format and reading; overall, by country, by area.

Intervals are percentiles of a bootstrap over items. All numbers of one call come from the same draws, so differences
from a baseline, means over areas and correlations are resampled jointly with what they are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isogloss.metrics import bootstrap_counts
from isogloss.records import Dataset, Estimate, Status
from isogloss.studies.lexicon import measures as m
from isogloss.studies.lexicon.correlations import (
    Correlation,
    RankCorrelations,
    Variable,
    country_pairs,
    question_correlations,
)
from isogloss.studies.lexicon.measures import FloatArray, IntArray
from isogloss.studies.lexicon.spread import STUDY, Count, Coverage, Plan, Spread, rows, spread
from isogloss.studies.lexicon.tally import (
    MULTIPLE_CHOICE,
    OK,
    YES_NO,
    Layout,
    Series,
    baseline_scores,
    choice_sums,
    lay_out,
    questions,
    read_series,
    sum_by_cell,
    unique_rows,
    yes_no_sums,
)

if TYPE_CHECKING:
    import pandas as pd

LABELS = "from the labels alone, over the questions asked"


class Resampling(Protocol):
    """The settings that the intervals need."""

    @property
    def resamples(self) -> int:
        """Number of bootstrap draws."""

    @property
    def confidence(self) -> float:
        """Coverage of the intervals, e.g. 0.95."""


def estimate(answers: pd.DataFrame, dataset: Dataset, settings: Resampling, seed: int) -> list[Estimate]:
    """Every number of the study, with intervals and coverage.

    Parameters
    ----------
    answers : DataFrame
        Columns of `study.ANSWER_COLUMNS`; the order of its rows doesn't matter, repeats are pooled.
    dataset : Dataset
        The data set that was asked about.
    settings : Resampling
        `resamples` (draws) and `confidence`.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of Estimate
        First what the labels alone give (no `model` in the group), then by model and reading. Groups: no place
        (pooled over answers), `country`, `area` (unweighted mean of its countries, `*_pooled` beside it). Correlations
        are `spearman(x,y)` over countries, `spearman_areas(x,y)`, `spearman_questions(x,y)` over single answers.

    Raises
    ------
    DataError
        For answers that don't fit the data set.
    """
    layout = lay_out(dataset)
    series = read_series(answers, layout)
    if not series:
        return []
    plan = _plan(layout, series, settings, seed)
    estimates = [*_yes_no_label_rows(plan, series), *_choice_label_rows(plan, series)]
    carriers = [*_covariates(dataset, layout)]
    share_plus = _share_plus(plan)
    for _, members in groupby(sorted(series, key=_model_reading), key=_model_reading):
        by_format = {one.format: one for one in members}
        spreads = {name: _series_spread(plan, one) for name, one in by_format.items()}
        for name, one in by_format.items():
            group = {"model": one.model, "format": name, "reading": one.reading}
            estimates += rows(plan, group, spreads[name], _coverages(one, layout), one.coder)
        estimates += _correlation_rows(plan, by_format, spreads, share_plus, carriers)
    return estimates


def _model_reading(series: Series) -> tuple[str, str]:
    return series.model, series.reading


def _plan(layout: Layout, series: Sequence[Series], settings: Resampling, seed: int) -> Plan:
    used = np.unique(np.concatenate([one.item for one in series]))
    return Plan(
        layout=layout,
        used=used,
        counts=bootstrap_counts(used.size, settings.resamples, seed),
        confidence=settings.confidence,
        seed=seed,
    )


def _series_spread(plan: Plan, series: Series) -> Spread:
    if series.format == YES_NO:
        return spread(plan, yes_no_sums(series, plan.layout), m.yes_no_measures)
    return spread(plan, choice_sums(series, plan.layout), m.choice_measures)


def _coverages(series: Series, layout: Layout) -> dict[str, Coverage]:
    """Coverage of a series' measures; those on variants of one country rest on fewer answers."""
    unique = unique_rows(series, layout)
    sides = {m.UNIQUE: unique.home, m.ELSEWHERE: ~unique.home}
    coverages = {"": Coverage.of(series.item, series.country, series.status, layout)}
    for name, side in sides.items():
        row, owner = unique.row[side], unique.owner[side]
        coverages[name] = Coverage.of(series.item[row], owner, series.status[row], layout)
    return coverages


# What the labels alone give ------------------------------------------------------------------------------------------


def _yes_no_label_rows(plan: Plan, series: Sequence[Series]) -> Iterator[Estimate]:
    """Share of + and its baselines over the cells that any model was asked about."""
    layout, n_countries = plan.layout, len(plan.layout.countries)
    cells = [one.option * n_countries + one.country for one in series if one.format == YES_NO]
    if not cells:
        return
    option, country = np.divmod(np.unique(np.concatenate(cells)), n_countries)
    item, plus = layout.item_of[option], layout.plus[option, country].astype(float)
    sums = np.stack([sum_by_cell(item, country, layout, plus), sum_by_cell(item, country, layout)], axis=-1)
    coverage = Coverage.of(item, country, np.full(item.size, OK), layout)
    yield from rows(plan, {"format": YES_NO}, spread(plan, sums, m.label_measures), {"": coverage}, LABELS)


def _choice_label_rows(plan: Plan, series: Sequence[Series]) -> Iterator[Estimate]:
    """Gold size and baselines over the questions that any model was asked."""
    layout, n_countries = plan.layout, len(plan.layout.countries)
    asked = [one for one in series if one.format == MULTIPLE_CHOICE]
    if not asked:
        return
    cell = np.concatenate([one.item * n_countries + one.country for one in asked])
    sizes = [_shown_sizes(one, layout) for one in asked]
    n_options, gold = (np.concatenate(column) for column in zip(*sizes, strict=True))
    cell, first = np.unique(cell, return_index=True)
    n_options, gold = n_options[first], gold[first]
    item, country = np.divmod(cell, n_countries)
    columns = (np.ones(cell.size), gold.astype(float), *baseline_scores(n_options, gold))
    sums = np.stack([sum_by_cell(item, country, layout, column) for column in columns], axis=-1)
    coverage = Coverage.of(item, country, np.full(cell.size, OK), layout)
    found = spread(plan, sums, m.question_measures)
    yield from rows(plan, {"format": MULTIPLE_CHOICE}, found, {"": coverage}, LABELS)


def _shown_sizes(series: Series, layout: Layout) -> tuple[IntArray, IntArray]:
    """Number of options and of those that are + in each question of a series, scored or not."""
    n, shown = series.item.size, series.shown
    return shown.count(n), shown.count(n, layout.plus[shown.option, series.country[shown.row]])


def _share_plus(plan: Plan) -> Variable:
    """Share of + among all labelled cells of the items asked about."""
    layout = plan.layout
    option, country = np.nonzero(layout.labelled)
    item, plus = layout.item_of[option], layout.plus[option, country].astype(float)
    sums = np.stack([sum_by_cell(item, country, layout, plus), sum_by_cell(item, country, layout)], axis=-1)
    return _variable("share_plus", None, m.label_measures(plan.totals(sums))["share_plus", None], layout)


# Correlations --------------------------------------------------------------------------------------------------------


def _variable(name: str, baseline: str | None, by_country: FloatArray, layout: Layout) -> Variable:
    return Variable(name, baseline, by_country, m.area_means(by_country, layout.area_of, len(layout.areas)))


def _covariates(dataset: Dataset, layout: Layout) -> list[Variable]:
    """The user's numbers by country; an area has the unweighted mean of its countries'."""
    table = dataset.tables.get("covariates", ())
    place = {code: number for number, code in enumerate(layout.countries)}
    found: dict[str, FloatArray] = {}
    for row in table:
        for name, number in row.items():
            if name != "code" and isinstance(number, int | float) and str(row["code"]) in place:
                values = found.setdefault(name, np.full((1, len(place)), np.nan))
                values[0, place[str(row["code"])]] = number
    return [_variable(name, None, values, layout) for name, values in found.items()]


def _format_variables(plan: Plan, series: Series, found: Spread, share_plus: Variable) -> list[Variable]:
    """What can be correlated of one series: its measures, and what the labels of its scored answers give."""
    layout = plan.layout
    variables = [Variable(*key, found.by_country[key], found.by_area[key]) for key in found.by_country]
    if series.format == YES_NO:
        k = series.scored
        item, country = series.item[k], series.country[k]
        plus = layout.plus[series.option[k], country].astype(float)
        sums = np.stack([sum_by_cell(item, country, layout, plus), sum_by_cell(item, country, layout)], axis=-1)
        share = m.label_measures(plan.totals(sums))["share_plus", None]
        return [
            *variables,
            _variable("share_plus", None, share, layout),
            _variable("baseline", m.YES_AT_RATE, share, layout),
        ]
    asked = questions(series, layout)
    columns = (
        np.ones(asked.item.size),
        asked.gold_size.astype(float),
        *baseline_scores(asked.n_options, asked.gold_size),
    )
    sums = np.stack([sum_by_cell(asked.item, asked.country, layout, column) for column in columns], axis=-1)
    of_labels = m.question_measures(plan.totals(sums))
    names = {
        ("mean_gold_size", None): ("mean_gold_size", None),
        ("adjusted_jaccard", m.FIRST_THREE): ("baseline", m.FIRST_THREE),
        ("adjusted_jaccard_first_order", m.FIRST_THREE): ("baseline_first_order", m.FIRST_THREE),
    }
    return [*variables, share_plus, *(_variable(*names[key], of_labels[key], layout) for key in of_labels)]


def _correlation_rows(
    plan: Plan,
    by_format: Mapping[str, Series],
    spreads: Mapping[str, Spread],
    share_plus: Variable,
    covariates: Sequence[Variable],
) -> Iterator[Estimate]:
    layout = plan.layout
    ready = {name: _format_variables(plan, one, spreads[name], share_plus) for name, one in by_format.items()}
    counts = {name: _overall(one, layout) for name, one in by_format.items()}
    correlations = RankCorrelations(plan.confidence)
    one = next(iter(by_format.values()))
    group = {"model": one.model, "reading": one.reading}
    for format, x, y in country_pairs(ready.get(YES_NO, []), ready.get(MULTIPLE_CHOICE, []), covariates):
        names = {**group, "format": format} if format else group
        count = counts[format] if format else _together(counts, by_format)
        coder = by_format[format].coder if format else " + ".join(each.coder for each in by_format.values())
        for over in ("countries", "areas"):
            if over == "countries" or layout.areas:
                yield _correlation_row(plan, names, correlations.correlate(x, y, over=over), count, coder)
    if MULTIPLE_CHOICE in by_format:
        choice = by_format[MULTIPLE_CHOICE]
        found = question_correlations(questions(choice, layout), plan.place, plan.counts, plan.confidence)
        for one_found in found:
            names = {**group, "format": MULTIPLE_CHOICE}
            yield _correlation_row(plan, names, one_found, counts[MULTIPLE_CHOICE], choice.coder)


def _overall(series: Series, layout: Layout) -> Count:
    everywhere = np.ones(len(layout.countries), dtype=bool)
    return Coverage.of(series.item, series.country, series.status, layout).within(everywhere)


def _together(counts: Mapping[str, Count], by_format: Mapping[str, Series]) -> Count:
    missing: Counter[Status] = Counter()
    for count in counts.values():
        missing.update(count.missing)
    return Count(
        n_items=np.unique(np.concatenate([one.item for one in by_format.values()])).size,
        n_answers=sum(count.n_answers for count in counts.values()),
        n_scored=sum(count.n_scored for count in counts.values()),
        missing=dict(missing),
    )


def _correlation_row(plan: Plan, group: Mapping[str, str], found: Correlation, count: Count, coder: str) -> Estimate:
    nothing = count.n_scored == 0
    parts = ["Spearman's rank correlation", "nothing was scored" if nothing else found.remark]
    if found.value is not None:
        parts.append(plan.text(found.n_draws) if found.low is not None else plan.no_interval)
    return Estimate(
        study=STUDY,
        measure=found.measure,
        group={**group, **({} if found.baseline is None else {"baseline": found.baseline})},
        value=found.value,
        low=found.low,
        high=found.high,
        n_items=count.n_items,
        n_answers=count.n_answers,
        n_scored=count.n_scored,
        missing=count.missing,
        method="; ".join([*parts, coder]),
    )
