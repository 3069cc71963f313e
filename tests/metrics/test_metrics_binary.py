"""Yes/no measures by hand."""

import numpy as np
import pytest

from isogloss.errors import DataError, EmptyInputError
from isogloss.metrics import (
    f1,
    f1_always_yes,
    f1_from_counts,
    f1_yes_at_rate,
    mcc,
    mcc_from_counts,
    precision,
    recall,
    youden_j,
    youden_j_from_counts,
)

# 3 true positives, 1 false positive, 2 false negatives, 4 true negatives
TRUTH = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
SAID = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_values_by_hand():
    assert precision(TRUTH, SAID) == 3 / 4
    assert recall(TRUTH, SAID) == 3 / 5
    assert f1(TRUTH, SAID) == pytest.approx(6 / 9)
    assert youden_j(TRUTH, SAID) == pytest.approx(3 / 5 - 1 / 5)
    assert mcc(TRUTH, SAID) == pytest.approx((3 * 4 - 1 * 2) / np.sqrt(4 * 5 * 5 * 6))


def test_mcc_is_pearsons_correlation():
    assert mcc(TRUTH, SAID) == pytest.approx(np.corrcoef(TRUTH, SAID)[0, 1])


def test_counts_give_what_the_arrays_give_and_nan_where_they_raise():
    counts = np.array([[3, 1, 2, 4], [0, 0, 0, 5], [2, 0, 0, 0]]).T
    assert f1_from_counts(*counts[:3]) == pytest.approx([6 / 9, np.nan, 1], nan_ok=True)
    assert youden_j_from_counts(*counts) == pytest.approx([0.4, np.nan, np.nan], nan_ok=True)
    assert mcc_from_counts(*counts) == pytest.approx([mcc(TRUTH, SAID), np.nan, np.nan], nan_ok=True)


def test_no_right_yes_is_an_f1_of_zero_not_undefined():
    assert f1([True, False], [False, True]) == 0


def test_always_yes_gives_2p_over_1_plus_p():
    truth = np.arange(10) < 3
    assert f1(truth, np.ones(10, bool)) == pytest.approx(f1_always_yes(0.3))
    assert f1_always_yes(0.3) == pytest.approx(0.6 / 1.3)


def test_guessing_yes_at_rate_p_gives_p():
    truth = np.arange(10) < 3  # expected counts of a guess at rate 0.3: 0.9 true, 2.1 false, 2.1 missed
    assert float(f1_from_counts(0.3 * truth.sum(), 0.3 * (~truth).sum(), 0.7 * truth.sum())) == pytest.approx(0.3)
    assert f1_yes_at_rate(0.3) == 0.3


@pytest.mark.parametrize("baseline", [f1_always_yes, f1_yes_at_rate])
def test_baselines_take_arrays_keep_nan_and_refuse_what_is_no_share(baseline):
    values = baseline([0.0, 1.0, float("nan")])
    assert values == pytest.approx([0, 1, np.nan], nan_ok=True)
    assert isinstance(baseline(0.5), float)
    with pytest.raises(DataError, match=r"shares from 0 to 1, got 1\.5"):
        baseline(1.5)
    with pytest.raises(EmptyInputError):
        baseline([])
