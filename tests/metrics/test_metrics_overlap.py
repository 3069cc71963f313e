"""Jaccard and its correction for chance, against the reference values."""

import csv
import itertools

import numpy as np
import pytest

from isogloss.errors import DataError, EmptyInputError, UndefinedError
from isogloss.metrics import adjusted_jaccard, expected_adjusted_jaccard, expected_jaccard, jaccard


@pytest.fixture(scope="module")
def cases(shared):
    with (shared / "data" / "adjusted_jaccard" / "cases.csv").open(newline="") as file:
        return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def sizes(row):
    return tuple(int(row[name]) for name in ("n_options", "gold", "predicted", "overlap"))


@pytest.mark.parametrize("expectation", ["exact", "first_order"])
def test_every_reference_case_is_met(cases, expectation):
    assert len(cases) == 261
    for row in cases:
        n, s, t, x = sizes(row)
        assert jaccard(s, t, x) == pytest.approx(row["jaccard"], abs=1e-9)
        assert expected_jaccard(n, s, t, expectation=expectation) == pytest.approx(
            row[f"expected_{expectation}"], abs=1e-9
        )
        value = adjusted_jaccard(n, s, t, x, expectation=expectation, clip=False)
        assert isinstance(value, float)
        assert value == pytest.approx(row[f"adjusted_{expectation}"], abs=1e-8)


@pytest.mark.parametrize("expectation", ["exact", "first_order"])
def test_arrays_give_what_single_numbers_give(cases, expectation):
    n, s, t, x = np.array([sizes(row) for row in cases]).T
    together = adjusted_jaccard(n, s, t, x, expectation=expectation)
    assert together == pytest.approx([max(0, row[f"adjusted_{expectation}"]) for row in cases], abs=1e-8)
    assert adjusted_jaccard(n[:260].reshape(13, 20), 1, 1, 1).shape == (13, 20)


def test_the_exact_expectation_is_the_mean_over_all_choices():
    n, s, t = 6, 3, 2
    overlaps = [sum(option < s for option in choice) for choice in itertools.combinations(range(n), t)]
    assert expected_jaccard(n, s, t) == pytest.approx(np.mean([jaccard(s, t, x) for x in overlaps]))
    values = [adjusted_jaccard(n, s, t, x) for x in overlaps]
    assert expected_adjusted_jaccard(n, s, t) == pytest.approx(np.mean(values))
    first_order = [adjusted_jaccard(n, s, t, x, expectation="first_order") for x in overlaps]
    assert expected_adjusted_jaccard(n, s, t, expectation="first_order") == pytest.approx(np.mean(first_order))


def test_unclipped_chance_reaches_zero_on_average():
    n, s, t = np.meshgrid(np.arange(2, 12), [1, 2], [1, 2])
    assert np.allclose(expected_adjusted_jaccard(n + 2, s, t, clip=False), 0)


@pytest.mark.parametrize("expectation", ["exact", "first_order"])
def test_all_chosen_and_all_right_is_one(expectation):
    assert adjusted_jaccard(4, 4, 4, 4, expectation=expectation) == 1
    assert expected_adjusted_jaccard(4, 4, 4, expectation=expectation) == 1


@pytest.mark.parametrize("expectation", ["exact", "first_order"])
@pytest.mark.parametrize("clip", [True, False])
def test_nothing_chosen_counts_as_zero(expectation, clip):
    assert jaccard(3, 0, 0) == 0
    assert expected_jaccard(5, 3, 0, expectation=expectation) == 0
    assert adjusted_jaccard(5, 3, 0, 0, expectation=expectation, clip=clip) == 0


def test_one_hundred_and_fourteen_options_are_no_trouble():
    values = adjusted_jaccard(114, [57, 1, 114], [57, 113, 114], [57, 1, 114])
    assert values == pytest.approx([1, (1 / 113 - 1 / 114) / (1 - 1 / 114), 1], abs=1e-3)


def test_two_empty_sets_are_undefined():
    for ask in (
        lambda: jaccard(0, 0, 0),
        lambda: adjusted_jaccard(3, [1, 0], [1, 0], [1, 0]),
        lambda: expected_jaccard(3, 0, 0),
        lambda: expected_adjusted_jaccard(3, 0, 0),
    ):
        with pytest.raises(UndefinedError, match="two empty sets"):
            ask()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3, 4, 1, 0), "a set can't be larger than the options, got n_options=3, n_gold=4, n_predicted=1"),
        ((0, 0, 0, 0), "a set can't be larger"),
        ((5, 2, 2, 3), "overlap must lie between"),
        ((5, 4, 4, 2), "overlap must lie between"),
        ((5, -1, 2, 0), "sizes of at least 0 in 'n_gold', got -1"),
        ((5, 1.5, 2, 1), "whole numbers in 'n_gold'"),
        ((np.array([5, 5]), np.array([1, 1, 1]), 1, 1), "shapes don't fit"),
    ],
)
def test_sizes_that_cannot_be_are_named(given, message):
    with pytest.raises(DataError, match=message):
        adjusted_jaccard(*given)


def test_an_overlap_larger_than_a_set_is_named():
    with pytest.raises(DataError, match="can't exceed a set, got n_gold=1, n_predicted=2, overlap=2"):
        jaccard(1, 2, 2)


def test_no_sets_raise():
    with pytest.raises(EmptyInputError, match="at least one set"):
        adjusted_jaccard(np.array([], int), np.array([], int), np.array([], int), np.array([], int))


def test_an_unknown_expectation_is_named():
    with pytest.raises(DataError, match="no expectation named 'second'"):
        expected_jaccard(3, 1, 1, expectation="second")
