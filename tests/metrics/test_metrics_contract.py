"""Properties that every metric has: one table, all metrics × properties."""

import doctest
import importlib

import numpy as np
import pytest

from isogloss import metrics
from isogloss.errors import DataError, EmptyInputError, UndefinedError

RNG = np.random.default_rng(0)
TRUTH, SAID = RNG.random(40) < 0.4, RNG.random(40) < 0.5
X, Y = RNG.integers(0, 9, 40).astype(float), RNG.integers(0, 9, 40).astype(float)

BINARY = {
    # metric: (lowest value, value of always-yes with a share p of yes, whether swapped sides give the same)
    metrics.f1: (0.0, lambda p: 2 * p / (1 + p), True),
    metrics.precision: (0.0, lambda p: p, False),
    metrics.recall: (0.0, lambda p: 1.0, False),
    metrics.youden_j: (-1.0, lambda p: 0.0, False),
    metrics.mcc: (-1.0, None, True),
}


@pytest.mark.parametrize("metric", BINARY)
def test_order_of_answers_does_not_matter(metric):
    order = RNG.permutation(40)
    assert metric(TRUTH[order], SAID[order]) == pytest.approx(metric(TRUTH, SAID), abs=1e-15)


@pytest.mark.parametrize("metric", BINARY)
def test_three_copies_of_the_data_give_the_same(metric):
    assert metric(np.tile(TRUTH, 3), np.tile(SAID, 3)) == pytest.approx(metric(TRUTH, SAID), abs=1e-15)


@pytest.mark.parametrize("metric", BINARY)
def test_values_stay_in_their_range(metric):
    lowest = BINARY[metric][0]
    values = [metric(RNG.random(30) < 0.5, RNG.random(30) < 0.5) for _ in range(200)]
    assert lowest <= min(values)
    assert max(values) <= 1
    assert metric(TRUTH, TRUTH) == pytest.approx(1)
    assert metric(TRUTH, ~TRUTH) == pytest.approx(lowest)


@pytest.mark.parametrize("metric", BINARY)
def test_swapped_sides_give_what_the_table_says(metric):
    same = metric(SAID, TRUTH) == pytest.approx(metric(TRUTH, SAID))
    assert same is BINARY[metric][2]


def test_precision_is_recall_with_the_sides_swapped():
    assert metrics.precision(TRUTH, SAID) == metrics.recall(SAID, TRUTH)


@pytest.mark.parametrize("metric", BINARY)
def test_no_answers_raise(metric):
    with pytest.raises(EmptyInputError, match="at least one answer, got 0"):
        metric([], [])


@pytest.mark.parametrize("metric", BINARY)
def test_always_yes_gives_the_documented_value(metric):
    expected = BINARY[metric][1]
    if expected is None:
        with pytest.raises(UndefinedError, match="only one of yes and no"):
            metric(TRUTH, np.ones(40, bool))
    else:
        assert metric(TRUTH, np.ones(40, bool)) == pytest.approx(expected(TRUTH.mean()))


@pytest.mark.parametrize(
    ("metric", "truth", "said"),
    [
        (metrics.f1, [False], [False]),
        (metrics.precision, [True], [False]),
        (metrics.recall, [False], [True]),
        (metrics.youden_j, [True, True], [True, False]),
        (metrics.youden_j, [False, False], [True, False]),
        (metrics.mcc, [True, True], [True, False]),
    ],
)
def test_what_has_no_value_raises(metric, truth, said):
    with pytest.raises(UndefinedError, match="is undefined"):
        metric(truth, said)


@pytest.mark.parametrize("metric", BINARY)
def test_arrays_that_do_not_fit_raise(metric):
    with pytest.raises(DataError, match="one length"):
        metric([True], [True, False])
    with pytest.raises(DataError, match="true or false in 'answered'"):
        metric([True, False], [0.3, 1.0])


@pytest.mark.parametrize("metric", BINARY)
def test_zeros_and_ones_are_read_as_no_and_yes(metric):
    assert metric(TRUTH.astype(int), SAID.astype(float)) == metric(TRUTH, SAID)


def test_spearman_keeps_the_contract():
    rho, p = metrics.spearman(X, Y)
    order = RNG.permutation(40)
    assert metrics.spearman(X[order], Y[order]) == pytest.approx((rho, p))
    assert metrics.spearman(Y, X) == pytest.approx((rho, p))
    assert metrics.spearman(X, -Y)[0] == pytest.approx(-rho)
    assert metrics.spearman(np.tile(X, 3), np.tile(Y, 3))[0] == pytest.approx(rho)
    assert metrics.spearman(X, X**3) == (1.0, 0.0)


def test_adjusted_jaccard_keeps_the_contract():
    n = RNG.integers(2, 30, 300)
    s, t = RNG.integers(1, n + 1), RNG.integers(0, n + 1)
    x = RNG.integers(np.maximum(0, s + t - n), np.minimum(s, t) + 1)
    for expectation in ("exact", "first_order"):
        values = metrics.adjusted_jaccard(n, s, t, x, expectation=expectation, clip=False)
        order = RNG.permutation(300)
        again = metrics.adjusted_jaccard(n[order], s[order], t[order], x[order], expectation=expectation, clip=False)
        assert np.array_equal(again, values[order])
        assert values.max() <= 1 + 1e-12
        clipped = metrics.adjusted_jaccard(n, s, t, x, expectation=expectation)
        assert np.array_equal(clipped, np.maximum(values, 0))
        both = t > 0
        swapped = metrics.adjusted_jaccard(n, t, s, x, expectation=expectation, clip=False)
        assert np.allclose(swapped[both], values[both])
        assert np.allclose(metrics.adjusted_jaccard(n, s, s, s, expectation=expectation), 1)


def test_the_exact_expectation_is_never_below_the_first_order_one():
    n = RNG.integers(2, 60, 2000)
    s, t = RNG.integers(1, n + 1), RNG.integers(1, n + 1)
    exact = metrics.expected_jaccard(n, s, t)
    assert np.all(exact >= metrics.expected_jaccard(n, s, t, expectation="first_order") - 1e-12)


def test_all_names_are_exported_and_sorted():
    assert metrics.__all__ == sorted(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)


@pytest.mark.parametrize("module", ["binary", "bootstrap", "overlap", "rank"])
def test_the_examples_in_the_docstrings_hold(module):
    found = doctest.testmod(importlib.import_module(f"isogloss.metrics.{module}"))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", metrics.__all__)
def test_every_metric_has_an_example(name):
    assert ">>>" in getattr(metrics, name).__doc__
