"""Group commit: many replies in one transaction, and no connection asks again before its reply is safe."""

from __future__ import annotations

import asyncio

from isogloss.store import Ledger, Row

MOST_ROWS = 64
MOST_SECONDS = 0.002


class GroupCommit:
    """Collects responses for at most some milliseconds and commits them together.

    `await add(row)` returns once the row is committed, so a crash loses only calls in flight.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.n_workers = 0
        """How many may add rows: when all of them wait, there is nothing to wait for."""
        self._ledger = ledger
        self._rows: list[Row] = []
        self._committed: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def add(self, row: Row) -> None:
        """Put a row in the next group and wait until it is committed. Raises StoreError if that fails."""
        if self._committed is None:
            loop = asyncio.get_running_loop()
            self._committed = loop.create_future()
            self._timer = loop.call_later(MOST_SECONDS, self._commit)
        committed = self._committed
        self._rows.append(row)
        if len(self._rows) >= min(MOST_ROWS, self.n_workers):
            self._commit()
        # Not shielded: a waiter is cancelled only together with all others, and `flush` then keeps their rows.
        await committed

    def worker_gone(self, task: asyncio.Task[None]) -> None:
        """One of the workers is done; those that wait needn't wait for it."""
        self.n_workers -= 1
        if self._rows and len(self._rows) >= self.n_workers:
            self._commit()

    def flush(self) -> None:
        """Commit what is waiting, at once."""
        if self._committed is not None:
            self._commit()

    def _commit(self) -> None:
        rows, committed = self._rows, self._committed
        assert committed is not None
        if self._timer is not None:
            self._timer.cancel()
        self._rows, self._committed, self._timer = [], None, None
        try:
            self._ledger.append(rows)
        except BaseException as error:
            if not isinstance(error, Exception) or committed.cancelled():
                raise
            committed.set_exception(error)
        else:
            if not committed.cancelled():
                committed.set_result(None)
