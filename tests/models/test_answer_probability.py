"""Probabilities of answers as products over their tokens."""

from __future__ import annotations

import math

import pytest

from isogloss.models.answer_probability import answer_logprobs, inner_nodes

L = math.log


def test_an_answer_of_two_tokens_is_their_product() -> None:
    logprobs = {(): {1: L(0.2), 3: L(0.1)}, (1,): {2: L(0.5)}}
    assert [math.exp(x) for x in answer_logprobs([(1, 2), (3,)], logprobs)] == pytest.approx([0.1, 0.1])


def test_an_answer_that_begins_others_leaves_out_their_share() -> None:
    """P("1") = 0.4, of which 0.4 x 0.3 goes on to "12"."""
    logprobs = {(): {1: L(0.4), 2: L(0.3)}, (1,): {2: L(0.3)}}
    assert [math.exp(x) for x in answer_logprobs([(1,), (2,), (1, 2)], logprobs)] == pytest.approx([0.28, 0.3, 0.12])


def test_numbers_to_114_need_twelve_steps_where_digits_are_tokens() -> None:
    numbers = [tuple(map(int, str(k))) for k in range(1, 115)]
    assert inner_nodes(numbers) == [(), *((d,) for d in range(1, 10)), (1, 0), (1, 1)]


def test_rounding_never_makes_a_probability_above_one_or_infinite() -> None:
    logprobs = {(): {1: 1e-6}, (1,): {2: 1e-6}}
    found = answer_logprobs([(1,), (1, 2)], logprobs)
    assert found[1] == 0.0
    assert -1000 < found[0] < -600
