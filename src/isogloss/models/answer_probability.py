"""Probabilities of given answers from a server that tells the next token's distribution.

The answers make a tree of tokens; each inner node of it costs one forward step, so "1", "10", "11", "12" cost
two nodes ("" and "1"), however many answers begin alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Tokens = tuple[int, ...]

SMALLEST = 1e-300


def inner_nodes(answers: Sequence[Tokens]) -> list[Tokens]:
    """Every proper beginning of an answer, shortest first: the points where a distribution is needed."""
    return sorted({answer[:k] for answer in answers for k in range(len(answer))}, key=lambda node: (len(node), node))


def wanted_tokens(answers: Sequence[Tokens]) -> dict[Tokens, set[int]]:
    """For each inner node, the tokens that some answer goes on with."""
    wanted: dict[Tokens, set[int]] = {node: set() for node in inner_nodes(answers)}
    for answer in answers:
        for k, token in enumerate(answer):
            wanted[answer[:k]].add(token)
    return wanted


def answer_logprobs(answers: Sequence[Tokens], logprobs: Mapping[Tokens, Mapping[int, float]]) -> tuple[float, ...]:
    r"""Log-probability that a reply begins with each answer, and with none of the longer ones that begin with it.

    Parameters
    ----------
    answers : sequence of token tuples
        None of them empty.
    logprobs : mapping
        Inner node → token → natural-log probability of that token next (at least the tokens of `wanted_tokens`).

    Returns
    -------
    tuple of float
        At most 0, in the order of `answers`; the probabilities of different answers add up to at most 1.

    Notes
    -----
    With :math:`p` the product over the answer's tokens, an answer that is the beginning of others ("1" of "12" where
    each digit is a token) has :math:`p\,(1 - \sum_t p_t)`, :math:`t` running over the tokens that lead on to them.
    """
    found = []
    for answer in answers:
        logprob = math.fsum(logprobs[answer[:k]][token] for k, token in enumerate(answer))
        following = logprobs.get(answer)
        if following is not None:
            length = len(answer)
            leads_on = {other[length] for other in answers if len(other) > length and other[:length] == answer}
            rest = 1.0 - math.fsum(math.exp(following[token]) for token in leads_on)
            logprob += math.log(max(rest, SMALLEST))
        found.append(min(logprob, 0.0))
    return tuple(found)
