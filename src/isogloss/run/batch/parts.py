"""What is due, cut into files of requests that a provider's batch API takes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from isogloss.models.batches import BatchApi
from isogloss.records import Price, Sampling
from isogloss.run.budget import most_cost
from isogloss.store import Arm, Due, Ledger, Plan

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel

MOST_ROUNDS = 3
"""How often one command hands in the same prompt."""


class Part(NamedTuple):
    """The requests of one batch."""

    items: list[tuple[str, int, int, int]]
    """Custom id, repeat, prompt's row, attempt."""
    most: float
    """US dollars that they can cost at most."""
    is_capped: bool
    """Whether the next one would have cost too much."""


class Parts:
    """One arm's due prompts over all repeats, handed out until they are used up; a new round finds those due again."""

    def __init__(
        self, ledger: Ledger, plan: Plan, model: ChatModel, api: BatchApi, arm: Arm, sampling: Sampling, repeats: int
    ) -> None:
        self.most_requests = api.most_requests
        self.most_bytes = api.most_bytes
        self.price: Price | None = None
        """Of a request in a batch."""
        self._ledger, self._plan, self._arm, self._repeats = ledger, plan, arm, repeats
        self._model, self._api, self._sampling = model, api, sampling
        self._n_failures: Counter[tuple[int, int]] = Counter()
        self._due: Iterator[tuple[int, Due]] = iter(())
        self._held_back: tuple[int, Due] | None = None
        self.begin_round()

    def begin_round(self) -> None:
        """Start again with all that is due now, but for what has failed too often."""
        self._due, self._held_back = self._all(), None

    def _all(self) -> Iterator[tuple[int, Due]]:
        for repeat in range(1, self._repeats + 1):
            for due in self._ledger.due(self._plan, self._arm, repeat):
                if self._n_failures[repeat, due.seq] < MOST_ROUNDS:
                    yield repeat, due

    def failed(self, key: tuple[int, int], *, for_good: bool = False) -> None:
        """Count a failure of (repeat, prompt's row)."""
        self._n_failures[key] += MOST_ROUNDS if for_good else 1

    def is_worth_trying(self, key: tuple[int, int]) -> bool:
        """Whether a failed one will be handed in once more."""
        return self._n_failures[key] < MOST_ROUNDS

    def take(self) -> tuple[int, Due] | None:
        """The next prompt that is due, with its repeat; None when the round is through."""
        held_back, self._held_back = self._held_back, None
        return held_back or next(self._due, None)

    def put_back(self, one: tuple[int, Due]) -> None:
        """Let `take` give this one next."""
        self._held_back = one

    def fill(self, file: BinaryIO, label: str, *, room: float) -> Part:
        """Write requests up to the limits of one batch, and for at most `room` US dollars."""
        head, between, tail = self._api.frame
        size = file.write(head) + len(tail)
        items: list[tuple[str, int, int, int]] = []
        most, is_capped = 0.0, False
        while len(items) < self.most_requests and (one := self.take()) is not None:
            repeat, due = one
            custom_id = short_id(label, due.prompt.id, repeat, due.attempt)
            request = self._api.request(custom_id, self._model.request_body(due.prompt, self._sampling))
            cost = 0.0 if self.price is None else most_cost(due.prompt, self._sampling, self.price)
            is_capped = most + cost > room
            if is_capped or (items and size + len(between) + len(request) > self.most_bytes):
                self.put_back(one)
                break
            if items:
                size += file.write(between)
            size += file.write(request)
            most += cost
            items.append((custom_id, repeat, due.seq, due.attempt))
        file.write(tail)
        return Part(items, most, is_capped)


def short_id(label: str, prompt_id: str, repeat: int, attempt: int) -> str:
    """24 hex digits that stand for one request of one batch, whatever the length of the names behind it."""
    return hashlib.blake2b(f"{label}/{prompt_id}/{repeat}/{attempt}".encode(), digest_size=12).hexdigest()
