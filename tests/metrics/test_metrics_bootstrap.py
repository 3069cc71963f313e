"""Bootstrap over items by counts."""

import numpy as np
import pytest

from isogloss.errors import DataError, EmptyInputError
from isogloss.metrics import bootstrap, bootstrap_counts, percentile_interval, resampled_sums


def test_counts_are_draws_with_replacement():
    counts = bootstrap_counts(50, 4000, 0)
    assert counts.shape == (4000, 50)
    assert (counts.sum(axis=1) == 50).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.1)
    assert counts.var() == pytest.approx(1 - 1 / 50, abs=0.02)


def test_one_seed_gives_one_set_of_draws_whatever_the_block(monkeypatch):
    whole = bootstrap_counts(7, 100, 0)
    assert not np.array_equal(whole, bootstrap_counts(7, 100, 1))
    monkeypatch.setattr(bootstrap, "_BLOCK_CELLS", 10)
    assert np.array_equal(whole, bootstrap_counts(7, 100, 0))
    sums = np.arange(14.0).reshape(7, 2)
    assert np.array_equal(resampled_sums(whole, sums)[1:], whole @ sums)


def test_the_first_row_is_the_data_themselves():
    sums = np.arange(24.0).reshape(4, 3, 2)
    totals = resampled_sums(bootstrap_counts(4, 5, 0), sums)
    assert totals.shape == (6, 3, 2)
    assert np.array_equal(totals[0], sums.sum(axis=0))


def test_the_interval_of_a_mean_is_that_of_theory():
    values = np.random.default_rng(1).normal(size=400)
    counts = bootstrap_counts(400, 4000, 0)
    low, high = percentile_interval(resampled_sums(counts, values)[1:] / 400, 0.95)
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.05)


def test_percentiles_are_numpys():
    draws = np.random.default_rng(2).random((101, 4))
    low, high = percentile_interval(draws, 0.9)
    assert low == pytest.approx(np.quantile(draws, 0.05, axis=0))
    assert high == pytest.approx(np.quantile(draws, 0.95, axis=0))


def test_undefined_draws_are_left_out_and_too_many_leave_no_interval():
    draws = np.tile(np.arange(100.0)[:, None], 3)
    draws[:4, 1] = np.nan
    draws[:6, 2] = np.nan
    low, high = percentile_interval(draws, 0.5)
    assert low[1] == pytest.approx(np.quantile(np.arange(4, 100), 0.25))
    assert high[1] == pytest.approx(np.quantile(np.arange(4, 100), 0.75))
    assert np.isnan([low[2], high[2]]).all()
    assert np.isnan(percentile_interval(np.full((3, 1), np.nan), 0.9, min_defined=0.0)[0]).all()


def test_bad_input_is_named():
    with pytest.raises(EmptyInputError, match="one item"):
        bootstrap_counts(0, 10, 0)
    with pytest.raises(DataError, match="one draw, got 0"):
        bootstrap_counts(3, 0, 0)
    with pytest.raises(DataError, match="don't fit"):
        resampled_sums(bootstrap_counts(3, 2, 0), [1.0, 2.0])
    with pytest.raises(EmptyInputError, match="one draw"):
        percentile_interval([], 0.95)
    with pytest.raises(DataError, match=r"between 0 and 1, got 95"):
        percentile_interval([1.0], 95)
