"""A cap on what a run may cost: no call starts that could break it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from isogloss.errors import SettingError
from isogloss.records import Price, Prompt, Sampling
from isogloss.store import Spending

TOKENS_AROUND_MESSAGE = 16
"""Most tokens that a chat template puts round one message."""
TOKENS_WITHOUT_LIMIT = 32_768
"""Taken for the longest reply where no limit is sent."""


def most_cost(prompt: Prompt, sampling: Sampling, price: Price) -> float:
    """US dollars that one call can cost at most: no tokeniser makes more tokens than a text has bytes."""
    n_in = sum(len(message.content.encode()) + TOKENS_AROUND_MESSAGE for message in prompt.messages)
    return price.cost(n_in, sampling.max_tokens or TOKENS_WITHOUT_LIMIT)


def spent(spending: Iterable[Spending]) -> float:
    """US dollars that a run has cost so far; a call without token counts is taken for a mean one.

    Raises
    ------
    SettingError
        If calls were made at a price that wasn't known: then nobody can say when a cap is met.
    """
    total, n_metered, n_unmetered = 0.0, 0, 0
    for part in spending:
        if not part.n_calls:
            continue
        if part.cost is None:
            raise SettingError(
                f"{part.n_calls:,} calls of this run were made at a price that wasn't known, so --max-cost can't hold; "
                "leave it out, or start another run"
            )
        if part.cost:
            total += part.cost
            n_metered += part.n_calls - part.n_unmetered
            n_unmetered += part.n_unmetered
    return total * (1 + n_unmetered / n_metered) if n_metered else total


class Budget:
    """What may still be spent; shared by all models of a run.

    A call reserves the most it can cost before it starts and settles for what it did cost.
    """

    def __init__(self, cap: float, *, spent: float = 0.0) -> None:
        self.cap = cap
        self.spent = spent
        self._reserved = 0.0
        self._n_reserved = 0
        self._settled: asyncio.Event | None = None

    @property
    def left(self) -> float:
        """US dollars that are neither spent nor reserved."""
        return self.cap - self.spent - self._reserved

    async def reserve(self, most: float) -> bool:
        """Take `most` US dollars aside, waiting for calls under way where only they stand in the way.

        Returns False when it doesn't fit though nothing is under way: the cap is reached.
        """
        while most > self.left:
            if not self._n_reserved:
                return False
            if self._settled is None:
                self._settled = asyncio.Event()
            await self._settled.wait()
        self._reserved += most
        self._n_reserved += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """Give back what was taken aside and count what was spent."""
        self._n_reserved -= 1
        self._reserved = self._reserved - most if self._n_reserved else 0.0
        self.spent += cost
        settled, self._settled = self._settled, None
        if settled is not None:
            settled.set()
