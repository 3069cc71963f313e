"""Whose words does a model borrow? Answers given as one country, scored on the labels of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from isogloss.metrics import (
    adjusted_jaccard,
    bootstrap_counts,
    f1_from_counts,
    percentile_interval,
    ratio,
    resampled_sums,
    youden_j_from_counts,
)
from isogloss.records import Dataset
from isogloss.studies.lexicon.estimate import Resampling
from isogloss.studies.lexicon.measures import FloatArray, IntArray
from isogloss.studies.lexicon.tally import (
    YES_NO,
    Layout,
    Series,
    lay_out,
    read_series,
)

if TYPE_CHECKING:
    import pandas as pd

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class CrossRow(TypedDict):
    """One cell of the cross table."""

    model: str
    format: str
    reading: str
    measure: str
    """What `value` is: "f1" for yes_no, "adjusted_jaccard" (exact expectation) for multiple_choice."""
    informant: str
    """Country that the answers were given as."""
    labels: str
    """Country whose labels they are scored on."""
    value: float | None
    low: float | None
    high: float | None
    youden_j: float | None
    """For yes_no, beside F1, which favours labels with many +."""
    n_items: int
    n_scored: int


class Fit(TypedDict):
    """Which country's labels the answers of one informant fit best."""

    model: str
    format: str
    reading: str
    measure: str
    """What the fit goes by: "youden_j" or "adjusted_jaccard"."""
    informant: str
    closest: list[str]
    """Several where they tie."""
    value: float
    own: float | None
    own_rank: int | None
    """1: the informant's own labels fit best."""
    n_compared: int


def cross_table(answers: pd.DataFrame, dataset: Dataset, settings: Resampling, seed: int) -> list[CrossRow]:
    """Answers given as country a, scored on the labels of country b, for every a and b.

    Parameters
    ----------
    answers, dataset, settings, seed
        As in `estimate`.

    Returns
    -------
    list of CrossRow
        By model, format, reading, informant and labels. Yes–no answers count where the variant is + or - in b
        too; multiple-choice answers where something is + in b. Intervals: bootstrap over items. Informants that
        nobody was asked as are left out; a cell without a scored answer has no value.

    Notes
    -----
    F1 favours labels with many +, whoever answers; `youden_j` beside it doesn't, and is what `closest` goes by.
    """
    layout = lay_out(dataset)
    series = read_series(answers, layout)
    if not series:
        return []
    used = np.unique(np.concatenate([one.item for one in series]))
    counts = bootstrap_counts(used.size, settings.resamples, seed)
    rows: list[CrossRow] = []
    for one in series:
        sums = _yes_no_cross(one, layout) if one.format == YES_NO else _choice_cross(one, layout)
        n_items, n_scored = (sums[..., 0] > 0).sum(axis=0), sums[..., 0].sum(axis=0)
        sums = sums[used]
        for a in np.unique(one.country):  # one informant at a time, so that the draws of all never lie in memory
            totals = resampled_sums(counts, sums[:, a])
            rows += _cross_rows(one, layout.countries, int(a), totals, settings.confidence, n_items[a], n_scored[a])
    return rows


def _cross_rows(
    series: Series,
    countries: Sequence[str],
    informant: int,
    totals: FloatArray,
    confidence: float,
    n_items: IntArray,
    n_scored: IntArray,
) -> Iterator[CrossRow]:
    """One informant's row of the table, from sums (1 + n_resamples, n_countries, n_sums)."""
    if series.format == YES_NO:
        n, true_plus, false_plus, false_minus = np.moveaxis(totals, -1, 0)
        values = f1_from_counts(true_plus, false_plus, false_minus)
        true_minus = n - true_plus - false_plus - false_minus
        youden = youden_j_from_counts(true_plus[0], false_plus[0], false_minus[0], true_minus[0])
    else:
        n, score = np.moveaxis(totals, -1, 0)
        values, youden = ratio(score, n), np.full(len(countries), np.nan)
    low, high = percentile_interval(values[1:], confidence)
    low, high = (np.where(np.isnan(values[0]) | (n_items < 2), np.nan, end) for end in (low, high))
    for b, code in enumerate(countries):
        yield CrossRow(
            model=series.model,
            format=series.format,
            reading=series.reading,
            measure="f1" if series.format == YES_NO else "adjusted_jaccard",
            informant=countries[informant],
            labels=code,
            value=_number(values[0, b]),
            low=_number(low[b]),
            high=_number(high[b]),
            youden_j=_number(youden[b]),
            n_items=int(n_items[b]),
            n_scored=int(n_scored[b]),
        )


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _yes_no_cross(series: Series, layout: Layout) -> FloatArray:
    """(n_items, n_informants, n_countries, 4): answers, yes and +, yes and -, no and +."""
    n_options, n = len(layout.item_of), len(layout.countries)
    k = series.scored
    cell = series.option[k] * n + series.country[k]
    said_yes = np.bincount(cell, series.yes[k].astype(float), minlength=n_options * n).reshape(n_options, n, 1)
    said = np.bincount(cell, minlength=n_options * n).astype(float).reshape(n_options, n, 1)
    plus, labelled = layout.plus[:, None].astype(float), layout.labelled[:, None].astype(float)
    sums = np.zeros((len(layout.items), n, n, 4))
    starts, items = _runs(layout.item_of)
    factors = ((said, labelled), (said_yes, plus), (said_yes, labelled - plus), (said - said_yes, plus))
    for number, (given, so) in enumerate(factors):
        sums[items, :, :, number] = np.add.reduceat(given * so, starts, axis=0)
    return sums


def _runs(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Start of each run of equal codes, and its code; codes ascend."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(codes) > 0])) if codes.size else codes
    return starts, codes[starts]


def _choice_cross(series: Series, layout: Layout) -> FloatArray:
    """(n_items, n_informants, n_countries, 2): answers, adjusted Jaccard with b's + as reference."""
    n_rows, n = series.item.size, len(layout.countries)
    gold = series.shown.sums(n_rows, layout.plus[series.shown.option])  # (n_rows, n_countries)
    overlap = series.chosen.sums(n_rows, layout.plus[series.chosen.option])
    row, b = np.nonzero((gold > 0) & series.scored[:, None])
    sums = np.zeros((len(layout.items), n, n, 2))
    if row.size == 0:
        return sums
    n_options, size = series.shown.count(n_rows)[row], series.chosen.count(n_rows)[row]
    scores = adjusted_jaccard(n_options, gold[row, b], size, overlap[row, b])
    cell = (series.item[row] * n + series.country[row]) * n + b
    shape = sums.shape[:3]
    for k, weights in enumerate((None, scores)):
        sums[..., k] = np.bincount(cell, weights, minlength=int(np.prod(shape))).reshape(shape)
    return sums


def closest(table: Sequence[CrossRow]) -> list[Fit]:
    """For each informant, the country whose labels its answers fit best, and how its own country does.

    Goes by Youden's J for yes–no answers, since F1 would favour countries with many +, and by adjusted Jaccard for
    multiple choice. Informants without a value are left out.
    """
    groups: dict[tuple[str, str, str, str, str], dict[str, float]] = defaultdict(dict)
    for row in table:
        by = "youden_j" if row["format"] == YES_NO else "adjusted_jaccard"
        value = row["youden_j"] if by == "youden_j" else row["value"]
        if value is not None:
            groups[row["model"], row["format"], row["reading"], by, row["informant"]][row["labels"]] = value
    fits: list[Fit] = []
    for (model, format, reading, measure, informant), values in groups.items():
        best = max(values.values())
        own = values.get(informant)
        fits.append(
            Fit(
                model=model,
                format=format,
                reading=reading,
                measure=measure,
                informant=informant,
                closest=[code for code, value in values.items() if value == best],
                value=best,
                own=own,
                own_rank=None if own is None else 1 + sum(value > own for value in values.values()),
                n_compared=len(values),
            )
        )
    return fits
