"""Agreement of raters, by hand and by the cases that have no value."""

import doctest
import importlib

import numpy as np
import pytest

from isogloss.errors import DataError, EmptyInputError, UndefinedError
from isogloss.metrics import krippendorff_alpha, pairwise_agreement, wilson_interval

NAN = float("nan")
TABLE = np.random.default_rng(0).integers(1, 6, (12, 4)).astype(float)


def test_ratings_without_variation_have_no_alpha_but_full_agreement():
    table = np.full((5, 5), 4.0)
    with pytest.raises(UndefinedError, match="no variation"):
        krippendorff_alpha(table)
    assert pairwise_agreement(table) == 1.0


@pytest.mark.parametrize("metric", [krippendorff_alpha, pairwise_agreement])
@pytest.mark.parametrize("table", [[[1], [2], [3]], [[1, NAN], [2, NAN]]])
def test_one_rater_is_not_enough(metric, table):
    with pytest.raises(UndefinedError, match="needs two raters"):
        metric(table)


@pytest.mark.parametrize("metric", [krippendorff_alpha, pairwise_agreement])
def test_raters_who_never_meet_have_no_agreement(metric):
    with pytest.raises(UndefinedError, match="no item has ratings by two raters"):
        metric([[1, NAN], [NAN, 2]])
    with pytest.raises(EmptyInputError):
        metric([[NAN, NAN]])
    with pytest.raises(DataError, match="items × raters"):
        metric([1, 2, 3])


def test_one_dissent_among_twenty_five_gives_alpha_zero_beside_high_agreement():
    table = np.full((5, 5), 3.0)
    table[2, 2] = 1
    assert krippendorff_alpha(table) == 0.0
    assert pairwise_agreement(table) == 46 / 50  # 4 items with 10 pairs alike, 1 with 6 of 10


def test_ordinal_alpha_equals_a_sum_by_hand():
    # Items (1,1), (2,2), (1,2): values 1 three times, 2 three times. Two values only, so the distance is one constant:
    # observed disagreement 1 of 3 pairs; expected 2·3·3 / (6·5) = 0.6; alpha = 1 - (1/3) / 0.6.
    assert krippendorff_alpha([[1, 1], [2, 2], [1, 2]]) == pytest.approx(1 - (1 / 3) / 0.6, abs=1e-12)


@pytest.mark.parametrize("metric", [krippendorff_alpha, pairwise_agreement])
def test_order_of_items_and_raters_does_not_matter(metric):
    rng = np.random.default_rng(1)
    assert metric(TABLE[rng.permutation(12)][:, rng.permutation(4)]) == pytest.approx(metric(TABLE))


def test_an_item_with_one_rating_changes_nothing():
    more = np.vstack([TABLE, [5, NAN, NAN, NAN]])
    assert pairwise_agreement(more) == pairwise_agreement(TABLE)
    assert krippendorff_alpha(more) == pytest.approx(krippendorff_alpha(TABLE))


def test_wilsons_interval_equals_its_formula():
    z, n, k = 1.959963984540054, 20, 3
    p = k / n
    middle, half = (
        (p + z * z / (2 * n)) / (1 + z * z / n),
        z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n),
    )
    assert wilson_interval(k, n) == pytest.approx((middle - half, middle + half), abs=1e-9)
    assert wilson_interval(0, 5)[0] == 0
    assert wilson_interval(5, 5)[1] == 1
    with pytest.raises(EmptyInputError):
        wilson_interval(0, 0)
    with pytest.raises(DataError):
        wilson_interval(3, 2)


def test_the_examples_in_the_docstrings_hold():
    found = doctest.testmod(importlib.import_module("isogloss.metrics.agreement"))
    assert found.attempted > 0
    assert found.failed == 0
