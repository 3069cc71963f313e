"""What came of a batch: its result lines become responses, by the ids in them, and every request gets one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from isogloss.errors import ModelError
from isogloss.models.batches import BatchApi, BatchLine, BatchState
from isogloss.models.faults import PassingError
from isogloss.models.outcome import Outcome
from isogloss.models.usage import NOT_TOLD, Usage
from isogloss.records import Price, Response, Sampling, Status
from isogloss.run.budget import reply_cost
from isogloss.store import Arm, Ledger, Row
from isogloss.store.batches import Batch, Batches, BatchItem

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel

MOST_READS = 3
"""How often results are fetched while lines are missing that should be there."""
LOST = "no line came back for this request"
UNDONE: Mapping[str, str] = {
    "expired": "the batch expired before this request was carried out",
    "cancelled": "the batch was cancelled before this request was carried out",
}

Kept = Callable[[Sequence[Response], str], None]
"""Told of responses that were committed, and their price as JSON."""


@dataclass
class Harvest:
    """What was read of one batch."""

    n_ok: int = 0
    """Responses kept now that aren't failures."""
    n_known: int = 0
    """Lines whose id is one of ours, among all that were read."""
    n_lines: int = 0
    worth_trying: list[tuple[int, int]] = field(default_factory=list)
    """(repeat, prompt's row) of failures that may pass."""
    hopeless: list[tuple[int, int]] = field(default_factory=list)
    """The same for those that would fail again."""
    cost: float = 0.0
    """US dollars of what was kept, as far as its price and its tokens are known."""
    n_unmetered: int = 0
    """Replies kept now for which the provider told no (or not all) token counts."""
    fatal: str = ""
    """Words of a fault that every further call would meet."""

    @property
    def is_foreign(self) -> bool:
        """Whether these are another batch's results."""
        return self.n_lines > 0 and self.n_known == 0


class Reader:
    """Takes the results of ended batches of one arm into the ledger. May be interrupted anywhere and done again."""

    def __init__(
        self, ledger: Ledger, model: ChatModel, api: BatchApi, arm: Arm, sampling: Sampling, kept: Kept, *, chunk: int
    ) -> None:
        self._ledger = ledger
        self._batches = Batches(ledger)
        self._model = model
        self._api = api
        self._arm = arm
        self._sampling = sampling
        self._kept = kept
        self._chunk = chunk

    async def take_in(self, batch: Batch, state: BatchState) -> Harvest:
        """Keep every result of an ended batch; requests without one become failed. The batch is ended then.

        Nothing is kept of results that are another batch's (see `Harvest.is_foreign`), and the batch stays open.

        Raises
        ------
        NotThereError, PassingError, ModelError
            If the results can't be fetched; the batch stays open.
        """
        harvest = Harvest()
        for _ in range(MOST_READS if state.results else 0):
            with tempfile.TemporaryFile() as file:
                await self._api.download(state, file)
                file.seek(0)
                await self._read(file, batch, harvest)
            n_missing = self._batches.n_without_response(batch)
            if harvest.is_foreign or batch.n - n_missing >= min(batch.n, state.n_lines):
                break
        if not harvest.is_foreign:
            self._fill_up(batch, state, harvest)
            self._batches.end(batch, words=state.words)
        return harvest

    async def _read(self, file: BinaryIO, batch: Batch, harvest: Harvest) -> None:
        for chunk in _chunks(file, self._chunk):
            found: dict[str, BatchLine] = {}
            for text in chunk:
                line = self._api.read(text)
                if line is not None:
                    found.setdefault(line.custom_id, line)
            items = self._batches.items(batch, list(found))
            harvest.n_lines += len(found)
            harvest.n_known += len(items)
            fresh = [item for item in items if not item.is_kept]
            self._keep(batch, [(item, self._response(item, found[item.custom_id], harvest)) for item in fresh], harvest)
            await asyncio.sleep(0)

    def _fill_up(self, batch: Batch, state: BatchState, harvest: Harvest) -> None:
        """A failed response to each request that nothing came back for."""
        words = UNDONE.get(state.end, LOST)
        while items := self._batches.without_response(batch):
            harvest.worth_trying += [(item.repeat, item.seq) for item in items]
            self._keep(batch, [(item, self._failed(item, words)) for item in items], harvest)

    def _keep(self, batch: Batch, responses: Sequence[tuple[BatchItem, Response]], harvest: Harvest) -> None:
        rows = [Row(self._arm.id, item.seq, item.attempt, response, batch.price) for item, response in responses]
        if rows:
            self._ledger.append(rows)
            self._kept([response for _, response in responses], batch.price)
        harvest.n_unmetered += sum(response.is_unmetered for _, response in responses)
        if batch.price:
            price = Price.model_validate_json(batch.price)
            harvest.cost += sum(reply_cost(response, price) for _, response in responses)

    def _response(self, item: BatchItem, line: BatchLine, harvest: Harvest) -> Response:
        """What a line comes to, read as the reply to a live call would be."""
        key = (item.repeat, item.seq)
        if line.undone:
            harvest.worth_trying.append(key)
            return self._failed(item, line.undone)
        try:
            outcome = self._model.read_result(line.status, {}, line.body)
        except PassingError as fault:
            harvest.worth_trying.append(key)
            return self._failed(item, fault.words, fault.usage)
        except ModelError as fault:
            harvest.fatal = str(fault)
            harvest.worth_trying.append(key)
            return self._failed(item, str(fault))
        if outcome.status is not Status.FAILED:
            harvest.n_ok += 1
        elif self._model.learn_refusal(line.status, line.body, self._sampling):
            harvest.worth_trying.append(key)
        else:
            harvest.hopeless.append(key)
        return self._response_of(outcome, item)

    def _failed(self, item: BatchItem, words: str, usage: Usage = NOT_TOLD) -> Response:
        return self._response_of(Outcome(Status.FAILED, error=words, **usage._asdict()), item)

    def _response_of(self, outcome: Outcome, item: BatchItem) -> Response:
        model = self._model
        return outcome.response(item.prompt_id, model=model.name, revision=model.revision, repeat=item.repeat)


def _chunks(lines: Iterable[bytes], n: int) -> Iterator[list[bytes]]:
    rest = (line for line in lines if not line.isspace())
    while chunk := list(islice(rest, n)):
        yield chunk
