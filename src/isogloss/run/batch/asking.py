"""Asking through a provider's batch API: what is due goes out in batches, and comes back within a day.

Everything is in the ledger before it is sent, so that a run taken up again knows what is under way and pays once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isogloss.errors import ModelError
from isogloss.models.batches import batch_api
from isogloss.records import Price, Response, Sampling, Status
from isogloss.run.batch.parts import Parts
from isogloss.run.batch.results import Kept
from isogloss.run.batch.watch import Waits, Watch, batches_in_words
from isogloss.run.budget import Budget, most_cost, reply_cost
from isogloss.run.progress import Stop
from isogloss.store import Arm, Ledger, Plan, Row

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel
    from isogloss.models.retry import RetryPolicy

MOST_PROBES = 3
"""Live calls before the first batch, while they fail."""


class BatchEnd(NamedTuple):
    """How asking in batches ended."""

    n_under_way: int
    """Prompts that the provider still works on."""
    stopped: str
    """Why it ended early, and how to go on; empty where all was asked."""


async def ask_in_batches(
    ledger: Ledger,
    plan: Plan,
    model: ChatModel,
    arm: Arm,
    sampling: Sampling,
    repeats: int,
    *,
    price: Price | None,
    kept: Kept,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    stop: Stop,
    budget: Budget | None = None,
    most_requests: int | None = None,
    most_bytes: int | None = None,
    waits: Waits | None = None,
    policy: RetryPolicy | None = None,
    chunk: int = 1000,
) -> BatchEnd:
    """Put everything due to a model, over all repeats, through its batch API, and take in what comes back.

    Batches left by an earlier command are taken up first. One prompt is asked live before the first batch, so that a
    bad key, an unknown model or a refused parameter shows at once.

    Parameters
    ----------
    model : ChatModel
        Open.
    price : Price or None
        Of a live call; a batch costs `price.in_batch`.
    kept : callable
        Told of every group of responses that was committed, with their price as JSON.
    tell : callable
        Told in a line how the batches stand, after every look; "" when none is watched any more.
    budget : Budget or None
        Every batch reserves the most it can cost.
    most_requests, most_bytes : int or None
        Limits of one batch below the provider's own.
    waits : Waits or None
        How long the provider is waited for.
    policy : RetryPolicy or None
        How often one request to the batch API is tried.
    chunk : int
        Results committed together.

    Raises
    ------
    AbilityError
        If the provider has no batch API.
    ModelError
        For what every further batch would meet; batches under way go on and are taken up by the next command.
    StoreError
        If the ledger can't be written.
    """
    api = batch_api(model, policy=policy)
    parts = Parts(ledger, plan, model, api, arm, sampling, repeats)
    parts.most_requests = min(api.most_requests, most_requests or api.most_requests)
    parts.most_bytes = min(api.most_bytes, most_bytes or api.most_bytes)
    parts.price = None if price is None else price.in_batch
    watch = Watch(ledger, model, api, arm, sampling, kept, warn, waits or Waits(), chunk, parts, budget)
    return await _Asking(watch, parts, price, tell, stop).all()


async def collect_open_batches(
    ledger: Ledger,
    model: ChatModel,
    arm: Arm,
    sampling: Sampling,
    *,
    kept: Kept,
    warn: Callable[[str], None],
    budget: Budget | None = None,
    policy: RetryPolicy | None = None,
    chunk: int = 1000,
) -> int:
    """Look once at the batches of an arm, take in those that have ended; how many prompts are still under way.

    For a run without batches in a folder that has some: their prompts aren't due to it. Nothing is submitted, and
    what goes wrong is a warning. Of a budget as much is kept as those still under way can cost.

    Raises
    ------
    AbilityError, StoreError
        As `ask_in_batches` does.
    """
    api = batch_api(model, policy=policy)
    watch = Watch(ledger, model, api, arm, sampling, kept, warn, Waits(), chunk, parts=None, budget=budget)
    await watch.take_up()
    for watched in list(watch.open):
        try:
            await watch.look_at(watched)
        except ModelError as fault:
            warn(str(fault))
    return watch.n_prompts


@dataclass
class _Asking:
    """Everything due to one model, handed in and waited for."""

    watch: Watch
    parts: Parts
    price: Price | None
    tell: Callable[[str], None]
    stop: Stop

    def __post_init__(self) -> None:
        self.is_capped = False
        self.n_probes = 0
        self.has_probed = False

    async def all(self) -> BatchEnd:
        """Hand in, wait and take in, until nothing is due or there is a reason to stop."""
        watch = self.watch
        await watch.take_up()
        while True:
            await self._submit_due()
            if self.stop.reason or not (watch.open or watch.has_returned):
                break
            await self._until_one_ends()
            if self.is_capped or watch.has_returned or not watch.open:
                self.is_capped = watch.has_returned = False
                self.parts.begin_round()
        budget = watch.budget
        if self.is_capped and budget is not None and not self.stop.reason:
            budget.was_reached = True
            self.stop(budget.words)
        self.tell("")
        return BatchEnd(watch.n_prompts, self._how_to_go_on())

    def _how_to_go_on(self) -> str:
        if not self.watch.open:
            return self.stop.reason
        return (
            f"{self.stop.reason}; {batches_in_words(len(self.watch.open))} with {self.watch.n_prompts:,} prompts "
            "under way at the provider; give the same command again to take in what comes of it"
        )

    async def _submit_due(self) -> None:
        watch, parts = self.watch, self.parts
        price = "" if self.price is None else self.price.in_batch.model_dump_json()
        while not (self.stop.reason or self.is_capped or watch.has_returned):
            one = parts.take()
            if one is None:
                return
            parts.put_back(one)
            if self.has_probed:
                self.is_capped = await watch.submit(parts, price)
                self.tell(watch.standing())
            else:
                await self._probe()

    async def _probe(self) -> None:
        """Ask one prompt live: shows a bad key, an unknown model, a refused parameter before anything is handed in."""
        one = self.parts.take()
        assert one is not None
        repeat, due = one
        watch, price, budget = self.watch, self.price, self.watch.budget
        most = 0.0
        if budget is not None and price is not None:
            most = most_cost(due.prompt, watch.sampling, price)
            if most > budget.left:
                self.is_capped = True
                self.parts.put_back(one)
                return
            await budget.reserve(most)
        response: Response | None = None
        try:
            response = await watch.model.ask(due.prompt, watch.sampling, repeat)
        finally:
            if budget is not None:
                cost = 0.0 if response is None or price is None else reply_cost(response, price, unmetered=most)
                budget.settle(most, cost)
        key = "" if price is None else price.model_dump_json()
        watch.ledger.append([Row(watch.arm.id, due.seq, due.attempt, response, key)])
        watch.kept([response], key)
        self.has_probed = response.status is not Status.FAILED
        if not self.has_probed:
            self.n_probes += 1
            self.parts.failed((repeat, due.seq))
            if self.n_probes == MOST_PROBES:
                raise ModelError(
                    f"{watch.model.name}: {MOST_PROBES} calls failed before anything was put into a batch, "
                    f"the last with: {response.error}"
                )

    async def _until_one_ends(self) -> None:
        """Look now and then, ever more seldom, until a batch is no longer under way or asking is to stop."""
        watch, wait = self.watch, self.watch.waits.first
        n_open = len(watch.open)
        while not self.stop.reason:
            await self._pause(wait * random.uniform(0.8, 1.2))
            for watched in list(watch.open):
                if not self.stop.reason:
                    await watch.look_at(watched)
            self.tell(watch.standing())
            if len(watch.open) < n_open or not n_open:
                return
            wait = min(wait * 1.5, watch.waits.longest)

    async def _pause(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while not self.stop.reason and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(left, self.watch.waits.hearing))
