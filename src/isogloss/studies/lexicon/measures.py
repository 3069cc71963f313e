"""The lexicon study's measures as functions of sums over items, for one group or thousands of draws of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.metrics import (
    f1_always_yes,
    f1_from_counts,
    f1_yes_at_rate,
    mcc_from_counts,
    ratio,
    youden_j_from_counts,
)

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Key: TypeAlias = tuple[str, str | None]
"""Measure and the baseline it belongs to or is reported against."""
Measures: TypeAlias = dict[Key, FloatArray]

ALWAYS_YES, YES_AT_RATE, FIRST_THREE = "always_yes", "yes_at_rate_p", "first_three"
UNIQUE, ELSEWHERE = "recall_unique", "recall_unique_elsewhere"

UNDEFINED: Mapping[str, str] = {
    "f1": "neither the labels nor the answers hold a yes",
    "delta_f1": "neither the labels nor the answers hold a yes",
    "youden_j": "the labels hold only one of + and -",
    "mcc": "the labels or the answers hold only one of yes and no",
}
"""Why a measure may have no value although something was scored."""

REMARKS: Mapping[Key, str] = {
    ("f1", ALWAYS_YES): "answering yes to everything, 2p/(1+p), p the share of +",
    ("f1", YES_AT_RATE): "guessing yes at rate p, the share of +",
    ("delta_f1", ALWAYS_YES): "F1 minus that of answering yes to everything, over the same answers",
    ("delta_f1", YES_AT_RATE): "F1 minus that of guessing yes at rate p, the share of +, over the same answers",
    ("adjusted_jaccard", None): "exact expectation, clipped at 0 per question",
    ("adjusted_jaccard_first_order", None): "first-order expectation, clipped at 0 per question",
    (
        "adjusted_jaccard",
        FIRST_THREE,
    ): "mean to expect of the first three of a shuffled list, exact expectation, clipped",
    ("adjusted_jaccard_first_order", FIRST_THREE): (
        "mean to expect of the first three of a shuffled list, first-order expectation, clipped"
    ),
    ("delta_adjusted_jaccard", FIRST_THREE): "minus the first three of a shuffled list, over the same answers, exact",
    ("delta_adjusted_jaccard_first_order", FIRST_THREE): (
        "minus the first three of a shuffled list, over the same answers, first-order"
    ),
    (UNIQUE, None): "variants that are + in one country only, asked of that country's informant",
    (ELSEWHERE, None): "yes to variants that are + in this country only by informants of other countries",
}
"""What a measure's name leaves open."""


def _columns(sums: FloatArray) -> tuple[FloatArray, ...]:
    return tuple(np.moveaxis(sums, -1, 0))


def yes_no_measures(sums: FloatArray) -> Measures:
    """Measures of yes–no answers from `tally.YES_NO_SUMS`, (..., 8); each (...), NaN where undefined."""
    true_plus, false_plus, false_minus, true_minus, *unique = _columns(sums)
    n = true_plus + false_plus + false_minus + true_minus
    share_plus = ratio(true_plus + false_minus, n)
    f1 = f1_from_counts(true_plus, false_plus, false_minus)
    return {
        ("f1", None): f1,
        ("delta_f1", ALWAYS_YES): f1 - f1_always_yes(share_plus),
        ("delta_f1", YES_AT_RATE): f1 - f1_yes_at_rate(share_plus),
        ("youden_j", None): youden_j_from_counts(true_plus, false_plus, false_minus, true_minus),
        ("mcc", None): mcc_from_counts(true_plus, false_plus, false_minus, true_minus),
        ("yes_share", None): ratio(true_plus + false_plus, n),
        (UNIQUE, None): ratio(unique[0], unique[1]),
        (ELSEWHERE, None): ratio(unique[2], unique[3]),
    }


def choice_measures(sums: FloatArray) -> Measures:
    """Measures of multiple-choice answers from `tally.CHOICE_SUMS`, (..., 11); each (...), NaN where undefined."""
    n, exact, first_order, base, base_first_order, _, answer_size, *unique = _columns(sums)
    return {
        ("adjusted_jaccard", None): ratio(exact, n),
        ("adjusted_jaccard_first_order", None): ratio(first_order, n),
        ("delta_adjusted_jaccard", FIRST_THREE): ratio(exact - base, n),
        ("delta_adjusted_jaccard_first_order", FIRST_THREE): ratio(first_order - base_first_order, n),
        ("mean_answer_size", None): ratio(answer_size, n),
        (UNIQUE, None): ratio(unique[0], unique[1]),
        (ELSEWHERE, None): ratio(unique[2], unique[3]),
    }


def label_measures(sums: FloatArray) -> Measures:
    """What the labels alone give from the number of + and of cells, (..., 2); each (...)."""
    plus, cells = _columns(sums)
    share_plus = ratio(plus, cells)
    return {
        ("share_plus", None): share_plus,
        ("f1", ALWAYS_YES): f1_always_yes(share_plus),
        ("f1", YES_AT_RATE): f1_yes_at_rate(share_plus),
    }


def question_measures(sums: FloatArray) -> Measures:
    """What the labels alone give of questions: their number, gold size, both baselines, (..., 4); each (...)."""
    n, gold_size, base, base_first_order = _columns(sums)
    return {
        ("mean_gold_size", None): ratio(gold_size, n),
        ("adjusted_jaccard", FIRST_THREE): ratio(base, n),
        ("adjusted_jaccard_first_order", FIRST_THREE): ratio(base_first_order, n),
    }


def area_means(values: FloatArray, area_of: IntArray, n_areas: int) -> FloatArray:
    """Unweighted mean of each area's countries.

    Parameters
    ----------
    values : ndarray of float, shape (n_rows, n_countries)
        Row 0 holds the values as they are, further rows those of bootstrap draws; NaN where undefined.
    area_of : ndarray of int, shape (n_countries,)
        Index of each country's area, -1 for none.
    n_areas : int
        Number of areas.

    Returns
    -------
    ndarray of float, shape (n_rows, n_areas)
        Means over the countries that have a value in row 0; NaN where none has, or where one of them has none in
        that row.
    """
    means = np.full((len(values), n_areas), np.nan)
    for area in range(n_areas):
        members = (area_of == area) & ~np.isnan(values[0])
        if members.any():
            means[:, area] = values[:, members].mean(axis=1)
    return means
