"""A circuit breaker: when call after call fails, asking pauses, tries now and then, and goes on when it can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from isogloss.run.progress import Progress, Stop

LEAST_FAILURES = 5


class Patience(NamedTuple):
    """How an outage is waited out; all in seconds."""

    first: float = 15.0
    """Before the first trial call; doubled after each that fails."""
    longest: float = 120.0
    total: float = 1800.0
    """After so long without an answer asking ends; the same command goes on later."""


WAITS_HALF_AN_HOUR = Patience()


class OutageError(Exception):
    """No answer for as long as patience lasts."""


class Breaker:
    """Closed while calls get through. Opened by as many failures in a row as calls may be under way (at least 5).

    While it is open one worker at a time makes a trial call, all others wait.
    """

    def __init__(
        self, progress: Progress, *, n_connections: int, patience: Patience, stop: Stop, warn: Callable[[str], None]
    ) -> None:
        self.is_open = False
        self.n_openings = 0
        self._progress = progress
        self._limit = max(LEAST_FAILURES, n_connections)
        self._patience = patience
        self._stop = stop
        self._warn = warn
        self._n_in_a_row = 0
        self._opened_at = 0.0
        self._pause = 0.0
        self._is_trying = False
        self._outage = ""
        self._changed: asyncio.Future[None] | None = None

    def succeeded(self) -> None:
        """A call got through. Cheap: called after every reply."""
        self._n_in_a_row = 0
        if self.is_open:
            self.is_open = self._is_trying = False
            self._progress.waiting = ""
            self._warn(f"{self._progress.model} answers again; going on")
            self._wake()

    def failed(self, words: str, *, is_trial: bool = False) -> None:
        """A call failed although it was tried several times. Raises OutageError when patience is used up."""
        loop = asyncio.get_running_loop()
        self._n_in_a_row += 1
        if self.is_open and is_trial:
            self._is_trying = False
            self._pause = min(2 * self._pause, self._patience.longest)
            self._progress.waiting = f"paused: {words}"
            gone = loop.time() - self._opened_at
            if gone >= self._patience.total:
                self._outage = f"no call got through for {_duration(gone)}, the last with: {words}"
            self._wake()
            self._check()
        elif not self.is_open and self._n_in_a_row >= self._limit:
            self.is_open = True
            self.n_openings += 1
            self._opened_at = loop.time()
            self._pause = self._patience.first
            self._progress.waiting = f"paused: {words}"
            self._warn(
                f"{self._n_in_a_row} calls of {self._progress.model} in a row failed, the last with: {words}; "
                f"paused, trying again every {self._patience.first:g} to {self._patience.longest:g} s "
                f"for up to {_duration(self._patience.total)}"
            )

    async def admit(self) -> bool:
        """Wait while the breaker is open; True for the one who is to make the trial call.

        Raises
        ------
        OutageError
            If patience is used up.
        """
        while self.is_open and not self._stop.reason:
            self._check()
            if not self._is_trying:
                self._is_trying = True
                await self._sleep(self._pause)
                return True
            if self._changed is None:
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._changed], timeout=1.0)
        return False

    def _check(self) -> None:
        if self._outage:
            raise OutageError(self._outage)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but not through a request to stop."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0 and not self._stop.reason:
            await asyncio.sleep(min(left, 0.25))

    def _wake(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
