"""The batches of a ledger: what was handed to a provider's batch API, and which prompt each request stands for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isogloss.records import Prompt, Status
from isogloss.store.ledger import Ledger
from isogloss.store.rows import OPEN_BATCH, Arm

CHUNK = 1000


class Batch(NamedTuple):
    """A batch whose results aren't in yet. Its prompts aren't due meanwhile."""

    id: int
    arm: int
    label: str
    provider_id: str | None
    """None until the provider has told it: then it may have been made or not."""
    n: int
    price: str
    """The Price record as JSON, "" where it isn't known."""
    created_at: float
    """When it was recorded, before it was submitted: Unix time, seconds."""


class BatchItem(NamedTuple):
    """One request of a batch."""

    custom_id: str
    repeat: int
    seq: int
    """Row number of the prompt."""
    attempt: int
    prompt_id: str
    is_kept: bool
    """Whether its response is in the ledger already."""


class Batches:
    """The batches of one ledger, as tables `batches` and `batch_items` hold them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._connection = ledger._connection

    def record(
        self, arm: Arm, label: str, items: Sequence[tuple[str, int, int, int]], *, price: str, created_at: float
    ) -> Batch:
        """Keep what is going to be submitted; `items`: (custom id, repeat, prompt's row, attempt)."""
        with self._ledger._transaction() as connection:
            (id_,) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM batches").fetchone()
            connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?, NULL, 'submitting', ?, ?, ?, NULL)",
                (id_, arm.id, label, len(items), price, created_at),
            )
            connection.executemany("INSERT INTO batch_items VALUES (?, ?, ?, ?, ?)", [(id_, *item) for item in items])
        return Batch(id_, arm.id, label, None, len(items), price, created_at)

    def running(self, batch: Batch, provider_id: str) -> Batch:
        """Note the provider's id."""
        with self._ledger._transaction() as connection:
            connection.execute(
                "UPDATE batches SET provider_id = ?, state = 'running' WHERE id = ?", (provider_id, batch.id)
            )
        return batch._replace(provider_id=provider_id)

    def disown(self, batch: Batch) -> Batch:
        """Forget a provider's id that turned out to be another's."""
        with self._ledger._transaction() as connection:
            connection.execute("UPDATE batches SET provider_id = NULL, state = 'submitting' WHERE id = ?", (batch.id,))
        return batch._replace(provider_id=None)

    def end(self, batch: Batch, *, words: str = "") -> None:
        """All results are in: prompts without a good one are due again."""
        self._close(batch, "ended", words)

    def give_up(self, batch: Batch, *, words: str) -> None:
        """No results will come: its prompts are due again."""
        self._close(batch, "given up", words)

    def _close(self, batch: Batch, state: str, words: str) -> None:
        with self._ledger._transaction() as connection:
            connection.execute("UPDATE batches SET state = ?, words = ? WHERE id = ?", (state, words or None, batch.id))

    def open(self, arm: Arm | None = None) -> list[Batch]:
        """Batches whose results aren't in yet, of one arm or of all."""
        rows = self._connection.execute(
            f"SELECT id, arm, label, provider_id, n, price, created_at FROM batches WHERE state IN {OPEN_BATCH} "
            "AND (:arm IS NULL OR arm = :arm) ORDER BY id",
            {"arm": None if arm is None else arm.id},
        )
        return [Batch(*row) for row in rows]

    def provider_ids(self) -> set[str]:
        """Every id that a provider has told."""
        rows = self._connection.execute("SELECT provider_id FROM batches WHERE provider_id IS NOT NULL")
        return {id_ for (id_,) in rows}

    def items(self, batch: Batch, custom_ids: Sequence[str]) -> list[BatchItem]:
        """Those requests of a batch that have one of these ids."""
        return self._items(batch, "i.custom_id IN (SELECT value FROM json_each(:ids))", ids=json.dumps(custom_ids))

    def without_response(self, batch: Batch) -> list[BatchItem]:
        """Some requests of a batch whose response isn't in the ledger; none when all are."""
        return [item for item in self._items(batch, f"NOT {_IS_KEPT} LIMIT {CHUNK}") if not item.is_kept]

    def n_without_response(self, batch: Batch) -> int:
        """How many requests of a batch have no response in the ledger."""
        (n,) = self._connection.execute(
            f"SELECT COUNT(*) FROM batch_items AS i WHERE i.batch = :batch AND NOT {_IS_KEPT}",
            {"batch": batch.id, "arm": batch.arm},
        ).fetchone()
        return int(n)

    def _items(self, batch: Batch, condition: str, **values: str) -> list[BatchItem]:
        rows = self._connection.execute(
            f"SELECT i.custom_id, i.repeat, i.prompt, i.attempt, p.id, {_IS_KEPT} "
            f"FROM batch_items AS i JOIN prompts AS p ON p.seq = i.prompt WHERE i.batch = :batch AND {condition}",
            {"batch": batch.id, "arm": batch.arm, **values},
        )
        return [
            BatchItem(id_, repeat, seq, attempt, prompt, bool(kept)) for id_, repeat, seq, attempt, prompt, kept in rows
        ]

    def prompts(self, batch: Batch) -> Iterator[Prompt]:
        """The prompts of a batch."""
        rows = self._connection.execute(
            "SELECT p.content FROM batch_items AS i JOIN prompts AS p ON p.seq = i.prompt WHERE i.batch = ?",
            (batch.id,),
        )
        for (content,) in rows:
            yield Prompt.model_validate_json(content)

    def faults(self, batch: Batch) -> Counter[str]:
        """Words of the failed requests of a batch, with how many say so."""
        rows = self._connection.execute(
            "SELECT r.error, COUNT(*) FROM batch_items AS i JOIN responses AS r ON r.arm = :arm "
            "AND r.repeat = i.repeat AND r.prompt = i.prompt AND r.attempt = i.attempt "
            "WHERE i.batch = :batch AND r.status = :failed GROUP BY r.error",
            {"arm": batch.arm, "batch": batch.id, "failed": Status.FAILED.value},
        )
        return Counter({words or "no words": n for words, n in rows})


_IS_KEPT = (
    "EXISTS (SELECT 1 FROM responses AS r WHERE r.arm = :arm AND r.repeat = i.repeat AND r.prompt = i.prompt "
    "AND r.attempt = i.attempt)"
)
