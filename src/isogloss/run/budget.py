"""A cap on what a run may cost: no call starts that could break it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from isogloss.errors import SettingError
from isogloss.records import FREE, Price, Prompt, Response, Sampling
from isogloss.store import Ledger, Spending

TOKENS_AROUND_MESSAGE = 16
"""Most tokens that a chat template puts round one message."""
TOKENS_WITHOUT_LIMIT = 32_768
"""Taken for the longest reply where no limit is sent."""


def most_cost(prompt: Prompt, sampling: Sampling, price: Price) -> float:
    """US dollars that one call can cost at most: no tokeniser makes more tokens than a text has bytes."""
    n_in = sum(len(message.content.encode()) + TOKENS_AROUND_MESSAGE for message in prompt.messages)
    return price.cost(n_in, sampling.max_tokens or TOKENS_WITHOUT_LIMIT)


def reply_cost(response: Response, price: Price, *, unmetered: float = 0.0) -> float:
    """US dollars of one reply; one without all its token counts costs at least `unmetered`."""
    known = price.cost(response.input_tokens or 0, response.output_tokens or 0, response.cached_tokens or 0)
    return max(known, unmetered) if response.is_unmetered else known


def spent(ledger: Ledger, prices: Mapping[int, Price]) -> float:
    """US dollars that a run has cost so far; a call without token counts is taken for the most it could cost.

    Parameters
    ----------
    prices : mapping
        Arm → what its calls cost today: holds for calls whose price wasn't known when they were made.

    Raises
    ------
    SettingError
        If calls were made at a price that nobody knows: then nobody can say when a cap is met.
    """
    total = 0.0
    samplings = {arm.id: arm.sampling for arm in ledger.arms()}
    dearest: dict[int, Price] = {}
    for part in ledger.spending():
        if not part.n_calls:
            continue
        price = part.price or prices.get(part.arm)
        if price is None:
            raise SettingError(
                f"{part.n_calls:,} calls were made to a model whose price isn't known, so --max-cost can't hold; put "
                "its price into isogloss.toml (and, for a run, name it with --model, too), or leave --max-cost out"
            )
        total += price.cost(part.input_tokens, part.output_tokens, part.cached_tokens)
        if part.n_unmetered and price != FREE:
            dearest[part.arm] = max(dearest.get(part.arm, price), price, key=lambda p: (p.output, p.input))
    for arm, price in dearest.items():
        total += sum(most_cost(prompt, samplings[arm], price) for prompt in ledger.unmetered(arm))
    return total


def total_cost(spending: Iterable[Spending]) -> float | None:
    """US dollars of all calls; None where the price or the token counts of some aren't known."""
    parts = [part for part in spending if part.n_calls]
    return added(None if part.n_unmetered and part.price != FREE else part.cost for part in parts)


def added(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None where one of them isn't known."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)


class Budget:
    """What may still be spent; shared by all models of a run.

    A call reserves the most it can cost before it starts and settles for what it did cost. Where a provider has billed
    more than that (a reply longer than allowed, tries that were billed too), later calls reserve as much.
    """

    def __init__(self, cap: float, *, spent: float = 0.0) -> None:
        self.cap = cap
        self.spent = spent
        self.was_reached = False
        self._reserved = 0.0
        self._n_reserved = 0
        self._aside = 0.0
        self._largest = 0.0
        self._settled: asyncio.Event | None = None

    @property
    def left(self) -> float:
        """US dollars that are neither spent nor reserved."""
        return self.cap - self.spent - self._reserved - self._aside

    @property
    def words(self) -> str:
        """Why asking ends when the cap is reached."""
        aside = f", {self._aside:.3g} kept for batches under way" if self._aside else ""
        return f"the cap of {self.cap:.4g} US$ is reached ({self.spent:.4g} spent{aside})"

    def safe(self, most: float) -> float:
        """What to reserve for a call that should cost `most` at most."""
        return max(most, self._largest)

    async def reserve(self, most: float) -> bool:
        """Take `most` US dollars aside, waiting for calls under way where only they stand in the way.

        Returns False when it doesn't fit though nothing is under way: the cap is reached.
        """
        while most > self.left:
            if not self._n_reserved:
                self.was_reached = True
                return False
            if self._settled is None:
                self._settled = asyncio.Event()
            await self._settled.wait()
        self._reserved += most
        self._n_reserved += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """Give back what was reserved and count what was spent."""
        self._n_reserved -= 1
        self._reserved = self._reserved - most if self._n_reserved else 0.0
        if cost > most:
            self._largest = max(self._largest, cost)
        self._spend(cost)

    def set_aside(self, dollars: float) -> None:
        """Keep money for a batch, which no call waits for."""
        self._aside += dollars

    def release(self, dollars: float, cost: float) -> None:
        """Give back what was set aside and count what was spent."""
        self._aside = max(0.0, self._aside - dollars)
        self._spend(cost)

    def _spend(self, cost: float) -> None:
        self.spent += cost
        settled, self._settled = self._settled, None
        if settled is not None:
            settled.set()
