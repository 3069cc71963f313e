"""How fast one model is asked: requests and tokens a minute, and as many connections as it bears.

The good path costs a comparison and a counter; waiting begins only where a limit is met.
"""

from __future__ import annotations

import asyncio
from collections import deque

from aiolimiter import AsyncLimiter

FIRST_WINDOW = 32
"""Calls under way at the start, where as many are allowed; from there on it grows by one an answer."""
SHRINK = 0.5
CALM_SECONDS = 1.0
"""Refusals of calls that were under way when the window last shrank say nothing new."""


class Throttle:
    """Requests and tokens a minute; may be shared by the models of one provider.

    Never more than the limit in any minute: what may go at once is a second's worth, and the flow is that much slower.
    """

    def __init__(self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self._requests = _limiter(requests_per_minute)
        self._tokens = _limiter(tokens_per_minute)

    async def enter(self, n_tokens: int) -> None:
        """Wait for one request with about so many tokens, in and out."""
        if self._requests is not None:
            await self._requests.acquire(1)
        if self._tokens is not None:
            await self._tokens.acquire(min(max(1, n_tokens), self._tokens.max_rate))


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    if per_minute is None:
        return None
    burst = max(1.0, per_minute / 60)
    # In any minute: the burst and what flows in 60 s, together not more than allowed.
    flow = max(per_minute - burst, per_minute / 2) / 60
    return AsyncLimiter(burst, burst / flow)


class Pace:
    """A window on calls under way that grows with answers and is halved by "too many requests"."""

    def __init__(self, *, most: int, throttles: tuple[Throttle, ...] = ()) -> None:
        self.most = most
        self.window = float(min(most, FIRST_WINDOW))
        self.n_crowded = 0
        """How often the provider said it was too much."""
        self._throttles = throttles
        self._n_under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shrunk_at = float("-inf")
        self._closed_until = 0.0
        self._has_met_limit = False
        self._tokens_seen = 0
        self._n_seen = 0

    async def enter(self, n_characters: int) -> None:
        """Wait until one more request may go out. Each `enter` is followed by one `leave`."""
        while self._n_under_way >= self.window:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            finally:
                if not place.done() or place.cancelled():
                    self._waiting = deque(other for other in self._waiting if other is not place)
        self._n_under_way += 1
        if self._throttles or self._closed_until:
            try:
                await self._wait(n_characters)
            except BaseException:
                self._free()
                raise

    async def _wait(self, n_characters: int) -> None:
        loop = asyncio.get_running_loop()
        while (seconds := self._closed_until - loop.time()) > 0:
            await asyncio.sleep(seconds)
        self._closed_until = 0.0
        n_tokens = self._tokens_seen // self._n_seen if self._n_seen else n_characters // 3 + 8
        for throttle in self._throttles:
            await throttle.enter(n_tokens)

    def answered(self, n_tokens: int | None) -> None:
        """A request was answered (well or badly, but not with "too many"): the window may grow."""
        if self._throttles and n_tokens:
            self._n_seen += 1
            self._tokens_seen += n_tokens
        if self.window < self.most:
            # Before any refusal the window doubles each round; after one it grows by one a round.
            self.window = min(self.most, self.window + (1.0 / self.window if self._has_met_limit else 1.0))
        self._free()

    def crowded(self, wait: float | None) -> None:
        """The provider said it was too much; `wait`: seconds it asks for, for everybody."""
        now = asyncio.get_running_loop().time()
        self.n_crowded += 1
        self._has_met_limit = True
        if now - self._shrunk_at > CALM_SECONDS:
            self._shrunk_at = now
            self.window = max(1.0, self.window * SHRINK)
        if wait is not None:
            self._closed_until = max(self._closed_until, now + wait)
        self._free()

    def lost(self) -> None:
        """No answer came: says nothing of the limits."""
        self._free()

    def _free(self) -> None:
        self._n_under_way -= 1
        n_free = int(self.window) - self._n_under_way
        while n_free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                n_free -= 1
