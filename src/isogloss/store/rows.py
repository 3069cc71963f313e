"""Rows of the ledger as Python values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from isogloss.records import Condition, Price, Prompt, Response, Sampling, Status

RESPONSE_COLUMNS = (
    "r.status, r.text, r.reasoning, r.candidate_logprobs, r.finish_reason, r.error, "
    "r.input_tokens, r.output_tokens, r.n_tries, r.seconds, r.received_at, "
    "r.cached_tokens, r.candidate_tokens, r.rendered, r.final"
)

OPEN_BATCH = "('submitting', 'running')"
"""States of a batch that its provider still works on, as SQL."""


class Plan(NamedTuple):
    """What a set of questions comes to."""

    id: int
    n_questions: int
    n_chat: int
    """Distinct prompts that ask for a reply."""
    n_scored: int
    """Distinct prompts whose candidates are scored."""


class Arm(NamedTuple):
    """One model under one sampling: with prompt and repeat the resume key."""

    id: int
    model: str
    revision: str | None
    sampling: Sampling
    chats: bool
    scores: bool

    def n_prompts(self, plan: Plan) -> int:
        """How many of a plan's prompts such a model can be asked."""
        return plan.n_chat * self.chats + plan.n_scored * self.scores


class Due(NamedTuple):
    """A prompt still to be put to one arm."""

    seq: int
    attempt: int
    prompt: Prompt


class Row(NamedTuple):
    """A response on its way into the ledger."""

    arm: int
    seq: int
    attempt: int
    response: Response
    price: str = ""
    """The Price record as JSON, "" where it isn't known."""


class Spending(NamedTuple):
    """What one arm took under one price."""

    arm: int
    price: Price | None
    n_calls: int
    n_unmetered: int
    """Calls for which the provider told no token counts; their tokens are in no sum."""
    input_tokens: int
    cached_tokens: int
    """Among the input tokens."""
    output_tokens: int

    @property
    def cost(self) -> float | None:
        """US dollars of the metered calls; None where the price isn't known."""
        if self.price is None:
            return None
        return self.price.cost(self.input_tokens, self.output_tokens, self.cached_tokens)


class Tally(NamedTuple):
    """How many prompts of one arm and repeat stand at one status, and the tokens they took."""

    arm: int
    repeat: int
    status: Status
    n: int
    input_tokens: int
    output_tokens: int


class Asked(NamedTuple):
    """A planned question beside the newest response to it."""

    item_id: str
    condition: Condition
    response: Response


def response_of(prompt_id: str, arm: Arm, repeat: int, cells: Sequence[Any]) -> Response:
    """Cells of RESPONSE_COLUMNS as a record; all None where there is no row."""
    status, text, reasoning, logprobs, finish_reason, error, n_in, n_out, n_tries, seconds, received_at, *rest = cells
    n_cached, candidate_tokens, rendered, final = rest
    return Response(
        prompt_id=prompt_id,
        model=arm.model,
        revision=arm.revision,
        repeat=repeat,
        status=Status(status or Status.MISSING),
        text=text,
        reasoning=reasoning,
        candidate_logprobs=None if logprobs is None else tuple(json.loads(logprobs)),
        finish_reason=finish_reason,
        error=error,
        input_tokens=n_in,
        output_tokens=n_out,
        n_tries=n_tries or 1,
        seconds=seconds,
        received_at=received_at,
        cached_tokens=n_cached,
        candidate_tokens=None if candidate_tokens is None else tuple(json.loads(candidate_tokens)),
        rendered=rendered,
        final=bool(final),
    )
