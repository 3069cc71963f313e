"""Trying again: bounded in number and in time, with a jittered back-off that heeds the provider's own wait.

Entered only after a first failure: `tenacity` round every call would cost the good path half as much again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from isogloss.models.faults import PassingError
from isogloss.models.usage import Usage
from isogloss.records import Status

T = TypeVar("T")

CALLED_OFF = "called off between two tries"
"""Error of a call that was paid for; one that cost nothing leaves no response."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long one call is worth trying."""

    tries: int = 4
    """Tries in all, the first among them."""
    max_seconds: float = 600.0
    """No try starts later than this after the first."""
    first_wait: float = 1.0
    """Seconds before the second try; doubled for each further one; up to as much as this is added by chance."""
    longest_wait: float = 60.0
    """Seconds at most, where the provider doesn't ask for more."""


class Tries:
    """The requests of one call: how many, when the first went out, what those took that came to nothing."""

    __slots__ = ("n", "paid", "started")

    def __init__(self) -> None:
        self.n = 0
        self.started = 0.0
        self.paid: Usage | None = None

    def pay(self, usage: Usage) -> None:
        """Count a request that came to nothing."""
        if usage.is_told:
            self.paid = usage if self.paid is None else self.paid.plus(usage)

    def total(self, last: Usage, status: Status) -> Usage:
        """Tokens of all requests, the last among them. A reply that tells none leaves unknown what was written."""
        if self.paid is None:
            return last
        if last.is_told:
            return self.paid.plus(last)
        return self.paid if status is Status.FAILED else self.paid._replace(output_tokens=None)


async def try_again(
    attempt: Callable[[], Awaitable[T]],
    first: PassingError,
    policy: RetryPolicy,
    *,
    elapsed: float,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Go on with `attempt` after it has failed once with `first`, `elapsed` seconds after its start.

    `sleep` waits between tries; what it raises ends the trying.

    Raises
    ------
    PassingError
        The last one, when tries or time are used up, or when the provider asks for a longer wait than is left.
    """
    pending: PassingError | None = first
    growing = tenacity.wait_exponential(multiplier=policy.first_wait, max=policy.longest_wait)
    jitter = tenacity.wait_random(0, policy.first_wait)
    backoff = growing + jitter

    def wait(state: tenacity.RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome is not None else None
        asked = fault.retry_after if isinstance(fault, PassingError) else None
        return backoff(state) if asked is None else asked + jitter(state)

    retrying = tenacity.AsyncRetrying(
        sleep=sleep,
        stop=tenacity.stop_after_attempt(policy.tries)
        | tenacity.stop_before_delay(max(0.0, policy.max_seconds - elapsed)),
        wait=wait,
        retry=tenacity.retry_if_exception_type(PassingError),
        reraise=True,
    )

    async def once() -> T:
        nonlocal pending
        fault, pending = pending, None
        if fault is not None:  # the first try was made outside; tenacity only learns of it here
            raise fault
        return await attempt()

    return await retrying(once)
