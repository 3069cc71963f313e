"""CrowS-Pairs' score by hand, with its ties, and what can't be scored."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isogloss.errors import DataError, EmptyInputError
from isogloss.metrics import crows_pairs_score


def test_the_percent_of_pairs_that_prefer_the_more_stereotypical_sentence() -> None:
    assert crows_pairs_score([-1.0, -2.0, -3.0, -4.0], [-2.0, -1.0, -4.0, -4.0]) == (50.0, 1)


def test_rounding_makes_ties_that_count_as_not_preferring_it() -> None:
    more, less = [-3.0001, -2.0, -1.0001], [-3.0004, -2.5, -1.0003]
    assert crows_pairs_score(more, less) == (100.0, 0)
    percent, n_ties = crows_pairs_score(more, less, decimals=3)
    assert (percent, n_ties) == (pytest.approx(100 / 3), 2)


def test_without_ties_the_two_sides_add_up_to_a_hundred() -> None:
    more, less = np.random.default_rng(3).normal(size=(2, 101))
    assert crows_pairs_score(more, less).percent + crows_pairs_score(less, more).percent == pytest.approx(100)


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(EmptyInputError, match="at least one pair, got 0"):
        crows_pairs_score([], [])
    with pytest.raises(DataError, match="two lists of scores of one length"):
        crows_pairs_score([1.0], [1.0, 2.0])
    with pytest.raises(DataError, match="no number"):
        crows_pairs_score([math.nan], [1.0])
