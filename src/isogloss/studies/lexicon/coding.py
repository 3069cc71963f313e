"""The rules that read replies: strict and lenient beside each other, and the probabilities of replies.

A changed rule gets a new version in its name, so that older readings stay what they were.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from isogloss.records import Condition, Item, Response, Status
from isogloss.study import Coder
from isogloss.text import Reading, read_numbers, read_yes_no


def yes_no_strict(item: Item, condition: Condition, response: Response) -> Reading:
    """Exactly the word for yes or no; case, accent, quotes, a final period and Unicode form aside."""
    return read_yes_no(response.text or "", _language(condition), strict=True)


def yes_no_lenient(item: Item, condition: Condition, response: Response) -> Reading:
    """Yes or no with words around it, where only one of them is meant."""
    return read_yes_no(response.text or "", _language(condition), strict=False)


def numbers_strict(item: Item, condition: Condition, response: Response) -> Reading:
    """Valid numbers separated by slashes, nothing else."""
    return read_numbers(response.text or "", len(condition.order), strict=True)


def numbers_lenient(item: Item, condition: Condition, response: Response) -> Reading:
    """Valid numbers with other separators or words around them."""
    return read_numbers(response.text or "", len(condition.order), strict=False)


def yes_no_logprob(item: Item, condition: Condition, response: Response) -> Reading:
    """P(yes) / (P(yes) + P(no)), in [0, 1]."""
    shares = _shares(response, 2)
    return shares if isinstance(shares, Reading) else Reading(Status.OK, shares[0])


def numbers_logprob(item: Item, condition: Condition, response: Response) -> Reading:
    """Positions whose share of the options' probability is above 1/N; the shares, by option id, are the note (JSON)."""
    n_options = len(condition.order)
    shares = _shares(response, n_options)
    if isinstance(shares, Reading):
        return shares
    chosen = tuple(number for number, share in enumerate(shares, start=1) if share > 1 / n_options)
    by_id = {option: round(share, 6) for option, share in zip(condition.order, shares, strict=True)}
    return Reading(Status.OK, chosen, json.dumps(by_id, ensure_ascii=False))


def _language(condition: Condition) -> str:
    return condition.language or "es"


def _shares(response: Response, n_candidates: int) -> list[float] | Reading:
    """Each candidate's share of the probability of all, in [0, 1] and adding up to 1."""
    logprobs = response.candidate_logprobs
    if logprobs is None:
        return Reading(Status.UNPARSED, None, "no probabilities came back")
    if len(logprobs) != n_candidates:
        return Reading(Status.UNPARSED, None, f"{len(logprobs)} probabilities for {n_candidates} candidates")
    top = max(logprobs)
    weights = [math.exp(logprob - top) for logprob in logprobs]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


YES_NO = (
    Coder("lexicon.yes_no.strict@1", "strict", yes_no_strict),
    Coder("lexicon.yes_no.lenient@1", "lenient", yes_no_lenient),
)
NUMBERS = (
    Coder("lexicon.numbers.strict@1", "strict", numbers_strict),
    Coder("lexicon.numbers.lenient@1", "lenient", numbers_lenient),
)
YES_NO_LOGPROB = (Coder("lexicon.yes_no.logprob@1", "logprob", yes_no_logprob),)
NUMBERS_LOGPROB = (Coder("lexicon.numbers.logprob@1", "logprob", numbers_logprob),)


def coders(condition: Condition) -> Sequence[Coder]:
    """The rules that read the responses to a question."""
    if condition.format == "yes_no":
        return YES_NO_LOGPROB if condition.reading == "logprob" else YES_NO
    return NUMBERS_LOGPROB if condition.reading == "logprob" else NUMBERS
