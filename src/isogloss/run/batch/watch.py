"""The batches of one model at its provider: handed in, looked at, taken in, and what is done when they go wrong."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isogloss.errors import ModelError
from isogloss.models.batches import (
    KEPT_SECONDS,
    BatchApi,
    BatchState,
    CrowdedError,
    NotThereError,
    UncertainError,
)
from isogloss.models.faults import PassingError
from isogloss.records import Price, Sampling
from isogloss.run.batch.parts import Parts
from isogloss.run.batch.results import Harvest, Kept, Reader
from isogloss.run.budget import Budget, most_cost
from isogloss.store import Arm, Ledger
from isogloss.store.batches import Batch, Batches

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel

RECENT = 3600.0
"""The creation of a batch may still have been on its way so many seconds after it was recorded."""


class Waits(NamedTuple):
    """How long a provider is waited for, in seconds."""

    first: float = 10.0
    """Before the first look at a batch; half as much again after each."""
    longest: float = 60.0
    settling: float = 120.0
    """A batch that isn't in the provider's list after so long was never made."""
    appearing: float = 600.0
    """A batch may be unknown for so long, above all a fresh one."""
    silence: float = 3600.0
    """Nothing but faults for so long ends the asking; the batches go on."""
    hearing: float = 0.25
    """How soon a wish to stop is heard."""


@dataclass
class Watched:
    """A batch at the provider."""

    batch: Batch
    since: float
    """When it was made, or when a lost creation was first looked for."""
    reserved: float = 0.0
    """US dollars taken aside for it."""
    n_done: int = 0
    missing_since: float | None = None
    not_it: set[str] = field(default_factory=set)
    """Ids of batches that turned out to be another's."""


@dataclass
class Watch:
    """The batches under way, and what becomes of them."""

    ledger: Ledger
    model: ChatModel
    api: BatchApi
    arm: Arm
    sampling: Sampling
    kept: Kept
    warn: Callable[[str], None]
    waits: Waits
    chunk: int
    parts: Parts | None
    budget: Budget | None

    def __post_init__(self) -> None:
        self.batches = Batches(self.ledger)
        self.reader = Reader(self.ledger, self.model, self.api, self.arm, self.sampling, self.kept, chunk=self.chunk)
        self.open: list[Watched] = []
        self.has_returned = False
        """Whether prompts are due again that were handed in but not carried out."""
        self.heard_at = time.time()

    @property
    def n_prompts(self) -> int:
        return sum(watched.batch.n for watched in self.open)

    def standing(self) -> str:
        """A line on how they stand."""
        if not self.open:
            return ""
        n_done = sum(watched.n_done for watched in self.open)
        return f"{batches_in_words(len(self.open))} at the provider: {n_done:,} of {self.n_prompts:,} requests done"

    async def take_up(self) -> None:
        """Watch what an earlier command left."""
        now = time.time()
        for batch in self.batches.open(self.arm):
            is_recent = batch.provider_id is None and now - batch.created_at < RECENT
            watched = Watched(batch, now if is_recent else batch.created_at)
            if self.budget is not None and batch.price:
                price, prompts = Price.model_validate_json(batch.price), self.batches.prompts(batch)
                watched.reserved = sum(most_cost(prompt, self.sampling, price) for prompt in prompts)
                self.budget.set_aside(watched.reserved)
            self.open.append(watched)

    async def look_at(self, watched: Watched) -> None:
        """Look where one batch stands, and take it in if it has ended.

        Raises
        ------
        ModelError
            For what every further batch would meet.
        """
        try:
            if watched.batch.provider_id is None:
                await self._find(watched)
            else:
                state = await self.api.look(watched.batch.provider_id)
                watched.n_done = state.n_done
                if state.end:
                    await self._end(watched, state)
        except NotThereError:
            self._miss(watched)
        except PassingError as fault:
            if time.time() - self.heard_at > self.waits.silence:
                raise ModelError(
                    f"{self.model.name}: no word of the batches for {self.waits.silence / 60:.0f} minutes, only: "
                    f"{fault.words}; they go on at the provider, the same command looks again"
                ) from None
        else:
            self.heard_at, watched.missing_since = time.time(), None

    async def _find(self, watched: Watched) -> None:
        """Look for a batch whose creation was cut off."""
        batch = watched.batch
        known = self.batches.provider_ids()
        held = {other.batch.provider_id for other in self.open}
        found = await self.api.find(batch.label, since=batch.created_at, n=batch.n)
        ids = [id_ for id_ in found if id_ not in watched.not_it and (id_ in held or id_ not in known)]
        free = [id_ for id_ in ids if id_ not in held]
        if free:
            watched.batch = self.batches.running(batch, free[0])
        elif not ids and time.time() - watched.since >= self.waits.settling:
            # Not while another of our batches holds one that may be this one: which it is shows in its results.
            self._give_up(watched, "it never came to be")

    def _miss(self, watched: Watched) -> None:
        """The provider doesn't know a batch: not yet, for a moment, or not any more."""
        batch, now = watched.batch, time.time()
        watched.missing_since = watched.missing_since or now
        if now - watched.missing_since <= self.waits.appearing:
            return
        if now - batch.created_at > KEPT_SECONDS:
            self.warn(f"the results of batch {batch.provider_id} are gone; its {batch.n:,} prompts are asked again")
            self._give_up(watched, "its results are gone")
            return
        raise ModelError(
            f"{self.model.name}: the provider knows no batch {batch.provider_id}, which {batch.n:,} prompts wait for; "
            "is the key that of the account it was made with?"
        )

    async def _end(self, watched: Watched, state: BatchState) -> None:
        batch = watched.batch
        if state.end == "failed" and not state.results:
            self._give_up(watched, state.words)
            if not state.is_crowded:
                raise ModelError(f"{self.model.name}: batch {batch.provider_id} failed as a whole: {state.words}")
            self.turned_down(batch.n, state.words)
            return
        harvest = await self.reader.take_in(batch, state)
        if harvest.is_foreign:
            watched.not_it.add(batch.provider_id or "")
            watched.batch, watched.since = self.batches.disown(batch), time.time()
            return
        self._drop(watched, harvest.cost + harvest.n_unmetered / batch.n * watched.reserved)
        self._judge(batch, harvest)

    def _judge(self, batch: Batch, harvest: Harvest) -> None:
        """Say what failed, and end the asking if nothing is to be hoped for."""
        for key in harvest.worth_trying:
            if self.parts is not None:
                self.parts.failed(key)
        for key in harvest.hopeless:
            if self.parts is not None:
                self.parts.failed(key, for_good=True)
        faults = self.batches.faults(batch)
        n_failed = faults.total()
        if not n_failed:
            return
        words, n_alike = faults.most_common(1)[0]
        if harvest.fatal:
            raise ModelError(harvest.fatal)
        what = f"{n_failed:,} of the {batch.n:,} requests of batch {batch.provider_id} failed"
        alike = "" if n_alike == n_failed else f" {n_alike:,} of them"
        has_hope = self.parts is not None and any(self.parts.is_worth_trying(key) for key in harvest.worth_trying)
        if n_failed == batch.n and not has_hope:
            raise ModelError(f"{self.model.name}: {what},{alike} with: {words}")
        self.warn(f"{what},{alike} with: {words}" + ("; they are handed in again" if has_hope else ""))

    def turned_down(self, n: int, words: str) -> None:
        """A batch of `n` requests was too much: wait until another has ended, or hand in fewer at a time."""
        if self.open or self.parts is None:
            return
        if n <= 1:
            raise ModelError(f"{self.model.name}: not even one request fits in a batch just now: {words}")
        self.parts.most_requests = n // 2
        self.warn(f"a batch of {n:,} requests is too much for the provider ({words}); going on with {n // 2:,} a batch")

    def _give_up(self, watched: Watched, words: str) -> None:
        self.batches.give_up(watched.batch, words=words)
        self.has_returned = True
        self._drop(watched, 0.0)

    def _drop(self, watched: Watched, cost: float) -> None:
        self.open.remove(watched)
        if self.budget is not None:
            self.budget.release(watched.reserved, cost)

    async def submit(self, parts: Parts, price: str) -> bool:
        """Hand in one batch of what is due; whether a cap on the cost leaves no room for more.

        Raises
        ------
        ModelError
            If it can't be handed in.
        """
        label = f"isogloss-{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "requests.jsonl")
            with path.open("wb") as file:
                part = parts.fill(file, label, room=float("inf") if self.budget is None else self.budget.left)
            if not part.items:
                return part.is_capped
            batch = self.batches.record(self.arm, label, part.items, price=price, created_at=time.time())
            watched = Watched(batch, batch.created_at, part.most)
            self.open.append(watched)
            if self.budget is not None:
                self.budget.set_aside(part.most)
            try:
                watched.batch = self.batches.running(batch, await self.api.submit(label, path))
            except UncertainError:
                watched.since = time.time()
            except CrowdedError as fault:
                self._give_up(watched, str(fault))
                self.turned_down(batch.n, str(fault))
            except PassingError as fault:
                self._give_up(watched, fault.words)
                raise ModelError(f"{self.model.name}: a batch can't be handed in: {fault.words}") from None
            except ModelError as fault:
                self._give_up(watched, str(fault))
                raise
        return part.is_capped


def batches_in_words(n: int) -> str:
    """E.g. "3 batches"."""
    return "1 batch" if n == 1 else f"{n:,} batches"
