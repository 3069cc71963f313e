"""Group commit: many replies in one transaction, and no connection asks again before its reply is safe."""

from __future__ import annotations

import asyncio

from isogloss.store import Ledger, Row

MOST_ROWS = 64
MOST_SECONDS = 0.004
BUSY = 1000.0
"""Replies a second from which on a group is waited for: below, it would hold hardly more than one."""
WINDOW = 0.1
"""Seconds over which replies are counted for that."""


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
        self._timer: asyncio.Handle | None = None
        self._rate = 0.0
        self._n_counted = 0
        self._counted_since = 0.0

    async def add(self, row: Row) -> None:
        """Put a row in the next group and wait until it is committed. Raises StoreError if that fails."""
        if self._committed is None:
            loop = asyncio.get_running_loop()
            self._committed = loop.create_future()
            # What came in at the same time is in the same group all the same.
            wait = MOST_SECONDS if self._rate >= BUSY else 0.0
            self._timer = loop.call_later(wait, self._commit)
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
        self._count(len(rows), committed.get_loop().time())
        try:
            self._ledger.append(rows)
        except BaseException as error:
            if not isinstance(error, Exception) or committed.cancelled():
                raise
            committed.set_exception(error)
        else:
            if not committed.cancelled():
                committed.set_result(None)

    def _count(self, n: int, now: float) -> None:
        """Keep the rate of the last tenth of a second."""
        self._n_counted += n
        seconds = now - self._counted_since
        if seconds >= WINDOW:
            self._rate = self._n_counted / seconds
            self._n_counted, self._counted_since = 0, now
