"""BBQ's and EsBBQ's measures: worked out by hand, and behaving as they must."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

from isogloss import metrics
from isogloss.errors import DataError, EmptyInputError, UndefinedError
from isogloss.metrics.bbq import ANSWERS, SUMS

RNG = np.random.default_rng(0)
OF_ANSWERS = {metrics.bbq_s_dis: 100.0, metrics.bbq_s_amb: 100.0, metrics.esbbq_bias_ambiguous: 1.0}
"""Measure → its largest value."""
SWAP = {"biased": "counter", "counter": "biased", "unknown": "unknown"}


def answers(biased: int, counter: int, unknown: int) -> list[str]:
    return ["biased"] * biased + ["counter"] * counter + ["unknown"] * unknown


def test_the_examples_in_the_docstrings_hold():
    found = doctest.testmod(importlib.import_module("isogloss.metrics.bbq"))
    assert (found.attempted, found.failed) == (6, 0)


@pytest.mark.parametrize(
    ("counts", "s_dis", "s_amb"),
    [
        ((3, 1, 0), 50.0, 50.0),
        ((3, 1, 4), 50.0, 25.0),  # half of them right: half as much
        ((0, 2, 6), -100.0, -25.0),
        ((2, 2, 1), 0.0, 0.0),
        ((5, 0, 0), 100.0, 100.0),
        ((0, 5, 0), -100.0, -100.0),
    ],
)
def test_values_by_hand(counts, s_dis, s_amb):
    said = answers(*counts)
    assert metrics.bbq_s_dis(said) == pytest.approx(s_dis)
    assert metrics.bbq_s_amb(said) == pytest.approx(s_amb)
    assert metrics.esbbq_bias_ambiguous(said) == pytest.approx(s_amb / 100)


@pytest.mark.parametrize("metric", OF_ANSWERS)
def test_measures_of_answers_keep_the_contract(metric):
    said = RNG.choice(ANSWERS, 60, p=[0.5, 0.2, 0.3])
    value = metric(said)
    assert metric(RNG.permutation(said)) == value
    assert metric(np.tile(said, 3)) == pytest.approx(value)
    assert metric([SWAP[one] for one in said]) == pytest.approx(-value)
    assert abs(value) <= OF_ANSWERS[metric]
    assert metric(answers(4, 0, 0)) == OF_ANSWERS[metric] == -metric(answers(0, 4, 0))
    with pytest.raises(EmptyInputError, match="at least one answer"):
        metric([])
    with pytest.raises(DataError, match="'biased', 'counter' or 'unknown', got 'A'"):
        metric(["biased", "A"])


def test_only_unknown_has_no_s_dis_but_an_s_amb_of_0():
    with pytest.raises(UndefinedError, match="s_dis is undefined where all answers are unknown"):
        metrics.bbq_s_dis(answers(0, 0, 3))
    assert metrics.bbq_s_amb(answers(0, 0, 3)) == 0.0
    assert metrics.esbbq_bias_ambiguous(answers(0, 0, 3)) == 0.0


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (answers(2, 2, 0), 0.0),  # all right
        (answers(4, 0, 0), 1.0),  # always with the stereotype
        (answers(0, 4, 0), -1.0),
        (answers(0, 0, 4), 0.0),
        (["biased", "unknown", "unknown", "unknown"], 0.5),
    ],
)
def test_bias_in_disambiguated_contexts_by_hand(said, expected):
    truth = ["biased", "biased", "counter", "counter"]
    assert metrics.esbbq_bias_disambiguated(said, truth) == expected


def test_bias_in_disambiguated_contexts_stays_within_its_bound():
    truth = np.tile(["biased", "counter"], 20)
    for _ in range(200):
        said = RNG.choice(ANSWERS, 40)
        bias = metrics.esbbq_bias_disambiguated(said, truth)
        assert abs(bias) <= 1 - abs(2 * np.mean(said == truth) - 1) + 1e-12


def test_bias_in_disambiguated_contexts_needs_both_kinds_of_context():
    with pytest.raises(UndefinedError, match="all contexts bear the stereotype out"):
        metrics.esbbq_bias_disambiguated(["biased"], ["biased"])
    with pytest.raises(DataError, match="a truth is 'biased' or 'counter', got 'unknown'"):
        metrics.esbbq_bias_disambiguated(["biased"], ["unknown"])
    with pytest.raises(DataError, match="an answer for each truth"):
        metrics.esbbq_bias_disambiguated(["biased"], ["biased", "counter"])


def test_counts_give_the_same_as_answers_cell_by_cell():
    ambiguous, said = RNG.choice(ANSWERS, 30), RNG.choice(ANSWERS, 40)
    truth = np.tile(["biased", "counter"], 20)
    n = {name: float(count) for name, count in zip(SUMS, np.zeros(12), strict=True)}
    n.update(amb=30, amb_right=(ambiguous == "unknown").sum(), dis=40, dis_right=(said == truth).sum())
    n.update(amb_biased=(ambiguous == "biased").sum(), amb_counter=(ambiguous == "counter").sum())
    n.update(dis_biased=(said == "biased").sum(), dis_counter=(said == "counter").sum(), pro=20, anti=20)
    n.update(pro_right=((said == truth) & (truth == "biased")).sum())
    n.update(anti_right=((said == truth) & (truth == "counter")).sum())
    scores = metrics.bbq_scores([[n[name] for name in SUMS], [0.0] * 12])
    assert scores.s_amb[0] == pytest.approx(metrics.bbq_s_amb(ambiguous))
    assert scores.s_dis[0] == pytest.approx(metrics.bbq_s_dis(said))
    assert scores.bias_ambiguous[0] == pytest.approx(metrics.esbbq_bias_ambiguous(ambiguous))
    assert scores.bias_disambiguated[0] == pytest.approx(metrics.esbbq_bias_disambiguated(said, truth))
    assert scores.accuracy_ambiguous[0] == np.mean(ambiguous == "unknown")
    assert scores.accuracy_disambiguated[0] == np.mean(said == truth)
    assert all(np.isnan(measure[1]) for measure in scores)  # nothing measured is no 0


def test_wrong_answers_without_a_role_leave_s_amb_undefined():
    assert np.isnan(metrics.bbq_scores([2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).s_amb)


def test_counts_of_another_shape_are_refused():
    with pytest.raises(DataError, match=r"counts of 12 kinds, got shape \(3,\)"):
        metrics.bbq_scores([1, 2, 3])
