"""Rank correlation against scipy.stats and against cases written out."""

import numpy as np
import pytest
from scipy import stats

from isogloss.errors import DataError, EmptyInputError, UndefinedError
from isogloss.metrics import correlation_rows, midranks, spearman, spearman_rows, weighted_spearman

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [3, 4, 21, 500])
@pytest.mark.parametrize("n_values", [3, 1000])
def test_rho_and_p_are_those_of_scipy(n, n_values):
    for _ in range(5):
        x, y = np.append(RNG.integers(0, n_values, n - 2), [0, 1]), np.append([0, 1], RNG.integers(0, n_values, n - 2))
        expected = stats.spearmanr(x, y)
        assert spearman(x, y) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)


def test_ranks_of_ties_are_shared():
    assert midranks([[3, 1, 3, 3], [1, 2, 3, 4]]).tolist() == [[3, 1, 3, 3], [1, 2, 3, 4]]
    values = RNG.integers(0, 5, (20, 30))
    assert np.array_equal(midranks(values), stats.rankdata(values, axis=1))


def test_a_row_with_nan_has_no_ranks_and_no_correlation():
    values = np.array([[1.0, np.nan, 2.0], [1.0, 3.0, 2.0]])
    assert np.isnan(midranks(values)[0]).all()
    assert spearman_rows(values, [1.0, 2.0, 3.0]) == pytest.approx([np.nan, 0.5], nan_ok=True)


def test_rows_are_correlated_one_by_one():
    x, y = RNG.random((6, 9)), RNG.random((6, 9))
    assert spearman_rows(x, y) == pytest.approx([stats.spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)])
    assert correlation_rows(x, y) == pytest.approx([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])


def test_a_constant_row_has_no_correlation_even_where_its_mean_is_rounded():
    assert np.isnan(correlation_rows([[0.1] * 3], [[1.0, 2.0, 4.0]])).all()


def test_a_constant_is_undefined():
    with pytest.raises(UndefinedError, match="constant"):
        spearman([1, 1, 1, 1], [1, 2, 3, 4])


def test_two_pairs_are_too_few():
    with pytest.raises(UndefinedError, match="three pairs, got 2"):
        spearman([1, 2], [1, 2])


def test_bad_input_is_named():
    with pytest.raises(EmptyInputError):
        spearman([], [])
    with pytest.raises(EmptyInputError):
        midranks([])
    with pytest.raises(EmptyInputError):
        correlation_rows([], [])
    with pytest.raises(EmptyInputError):
        weighted_spearman(np.empty((2, 0)), np.empty((1, 0)))
    with pytest.raises(DataError, match="one length"):
        spearman([1, 2, 3], [1, 2])
    with pytest.raises(DataError, match="NaN"):
        spearman([1, 2, float("nan")], [1, 2, 3])


def test_weights_count_as_copies():
    values = RNG.integers(0, 4, (3, 25))
    weights = RNG.integers(0, 4, (40, 25))
    found = weighted_spearman(values, weights)
    assert found.shape == (40, 3, 3)
    for row, matrix in zip(weights, found, strict=True):
        written_out = np.repeat(values, row, axis=1)
        assert matrix == pytest.approx(np.atleast_2d(stats.spearmanr(written_out, axis=1).statistic))


def test_weights_that_leave_a_constant_give_no_value():
    found = weighted_spearman([[1, 1, 2], [1, 2, 3]], [[1, 1, 0]])
    assert np.isnan(found[0, 0, 1])
    assert found[0, 1, 1] == 1
