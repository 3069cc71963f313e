"""Chao1, against values worked out by hand from the formulas named in its docstring."""

import math

import pytest

from isogloss.errors import DataError, EmptyInputError
from isogloss.metrics import chao1


def test_kinds_seen_once_and_twice_tell_how_many_are_unseen():
    found = chao1([1, 1, 1, 2, 5])
    assert (found.n_observed, found.n_once, found.n_twice) == (5, 3, 1)
    assert found.chao1 == 5 + 3 * 2 / (2 * 2)
    variance = 3 * 2 / 4 + 3 * 25 / 16 + 9 * 1 * 4 / 64  # 6.75
    factor = math.exp(1.96 * math.sqrt(math.log(1 + variance / 1.5**2)))  # 10.049…
    assert (found.low, found.high) == pytest.approx((5 + 1.5 / factor, 5 + 1.5 * factor))
    assert (found.low, found.high) == pytest.approx((5.149, 20.077), abs=0.0005)


def test_without_a_kind_seen_twice_the_variance_is_the_smaller_one():
    found = chao1([1, 1, 1, 1, 3])
    assert found.chao1 == 5 + 4 * 3 / 2
    variance = 4 * 3 / 2 + 4 * 49 / 4 - 4**4 / (4 * 11)
    factor = math.exp(1.96 * math.sqrt(math.log(1 + variance / 36)))
    assert (found.low, found.high) == pytest.approx((5 + 6 / factor, 5 + 6 * factor))


def test_where_nothing_seems_unseen_there_is_still_an_interval():
    for counts in ([2, 2, 3, 3], [1, 3, 3, 3]):  # f1 of 0 and of 1, ten sightings of four kinds each
        found = chao1(counts)
        assert found.chao1 == 4
        missed = math.exp(-10 / 4)
        assert found.low == 4
        assert found.high == pytest.approx(4 / (1 - missed) + 1.96 * math.sqrt(4 * missed / (1 - missed)))
    assert chao1([1]).high > 1


def test_all_seen_once_says_that_there_are_many_more():
    found = chao1([1] * 10)
    assert found.chao1 == 55
    assert 10 < found.low < 55 < found.high


def test_order_does_not_matter():
    assert chao1([5, 1, 2, 1, 1]) == chao1([1, 1, 1, 2, 5])


def test_nothing_or_a_count_of_nought_is_an_error():
    with pytest.raises(EmptyInputError, match="at least one kind"):
        chao1([])
    with pytest.raises(DataError, match="positive, got 0"):
        chao1([1, 0])
