"""How fast one model is asked: requests and tokens a minute, and as many connections as it bears.

The good path costs a comparison and a counter; waiting begins only where a limit is met.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

from isogloss.models.model import CalledOffError

FIRST_WINDOW = 32
"""Requests under way at the start, where as many are allowed; from there on it grows by one an answer."""
CALM_SECONDS = 1.0
"""The window shrinks at most once in such a time, and grows by one place at most once it has met a limit."""
LONGEST_PAUSE = 60.0
"""Seconds without a request, at most, where one at a time is too much and the provider asks for no time."""
MINUTE = 60.5
"""Seconds; half of one is for what lies between this clock and the provider's."""


class _Limit:
    """So much in any minute, spread over it: at once goes only a second's worth, or one request that is larger.

    The flow is that of the generic cell rate algorithm (ITU-T I.371); what went in the last minute is kept besides,
    since flow and what goes at once may together come to more than the limit.
    """

    def __init__(self, per_minute: float) -> None:
        self._per_minute = per_minute
        self._interval = MINUTE / per_minute
        self._at_once = max(1.0, per_minute / 60)
        self._level_at = float("-inf")
        """When all that went will have flowed off."""
        self._gone: deque[tuple[float, float]] = deque()
        self._n_gone = 0.0

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may go; 0 or less: now."""
        while self._gone and self._gone[0][0] <= now - MINUTE:
            self._n_gone -= self._gone.popleft()[1]
        seconds = self._level_at - now - max(0.0, self._at_once - amount) * self._interval
        excess = self._n_gone + min(amount, self._per_minute) - self._per_minute
        for gone_at, gone in self._gone:
            if excess <= 0:
                break
            excess -= gone
            seconds = max(seconds, gone_at + MINUTE - now)
        return seconds

    def take(self, amount: float, now: float) -> None:
        """Let so much go."""
        self._level_at = max(self._level_at, now) + amount * self._interval
        counted = min(amount, self._per_minute)
        self._gone.append((now, counted))
        self._n_gone += counted


class Throttle:
    """Requests and tokens a minute; may be shared by the models of one provider. Never more in any minute."""

    def __init__(self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self._requests = None if requests_per_minute is None else _Limit(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else _Limit(tokens_per_minute)

    def wait(self, n_tokens: int, now: float) -> float:
        """Seconds until a request with about so many tokens, in and out, may go; 0 or less: now."""
        seconds = 0.0
        if self._requests is not None:
            seconds = self._requests.wait(1, now)
        if self._tokens is not None:
            seconds = max(seconds, self._tokens.wait(n_tokens, now))
        return seconds

    def take(self, n_tokens: int, now: float) -> None:
        """Count a request that goes now."""
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(n_tokens, now)


class Pace:
    """A window on requests under way that grows with answers and is halved by "too many requests".

    Each place taken by `try_enter` or `enter` is given back by just one of `answered`, `crowded`, `lost`.

    Parameters
    ----------
    most : int
        Requests under way at once, at most.
    throttles : tuple of Throttle
        The model's own limits a minute, and those it shares with other models.
    calm : float
        Seconds in which the window changes by one step at most, once it has met a limit.
    """

    def __init__(self, *, most: int, throttles: tuple[Throttle, ...] = (), calm: float = CALM_SECONDS) -> None:
        self.most = most
        self.window = min(most, FIRST_WINDOW)
        """Requests that may be under way at once by now."""
        self.n_crowded = 0
        """How often the provider said it was too much."""
        self._throttles = throttles
        self._n_under_way = 0
        self._turn = asyncio.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._calm = calm
        self._shrunk_at = float("-inf")
        self._changed_at = float("-inf")
        self._closed_until = 0.0
        """Nobody may ask before; infinite once the asking is called off."""
        self._called_off = asyncio.Event()
        self._pause = 0.0
        self._tokens_seen = 0
        self._n_seen = 0

    @property
    def n_under_way(self) -> int:
        """Requests under way, and those that hold a place while they wait for a limit a minute."""
        return self._n_under_way

    @property
    def is_called_off(self) -> bool:
        """Whether nobody may enter any more."""
        return self._called_off.is_set()

    def try_enter(self) -> bool:
        """Take a place, where none has to be waited for and no limit a minute is set."""
        if self._n_under_way >= self.window or self._throttles or self._closed_until:
            return False
        self._n_under_way += 1
        return True

    async def enter(self, n_characters: int) -> None:
        """Wait until one more request, of about so many characters, may go out.

        Raises
        ------
        CalledOffError
            After `call_off`.
        """
        if self._called_off.is_set():
            raise CalledOffError
        if self._n_under_way >= self.window:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if not place.cancelled():  # the place was handed over just before
                    self._free()
                raise
        else:
            self._n_under_way += 1
        if self._throttles or self._closed_until:
            try:
                await self._wait(n_characters)
            except BaseException:
                self._free()
                raise

    async def _wait(self, n_characters: int) -> None:
        """Wait in the order of coming while nobody may ask or a limit a minute is met; then count one request."""
        clock = asyncio.get_running_loop().time
        async with self._turn:
            n_tokens = self._tokens_seen // self._n_seen if self._n_seen else n_characters // 3 + 8
            while (seconds := self._seconds_left(n_tokens, clock())) > 0:
                await self.sleep(max(seconds, 0.001))
            self._closed_until = 0.0
            for throttle in self._throttles:
                throttle.take(n_tokens, clock())

    async def sleep(self, seconds: float) -> None:
        """Wait so long. Raises CalledOffError as soon as the asking is called off."""
        try:
            async with asyncio.timeout(seconds):
                await self._called_off.wait()
        except TimeoutError:
            return
        raise CalledOffError

    def call_off(self) -> None:
        """Let nobody enter any more; whoever waits gets CalledOffError."""
        self._called_off.set()
        self._closed_until = math.inf
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(CalledOffError())

    def resume(self) -> None:
        """Let requests out again."""
        if self._called_off.is_set():
            self._called_off.clear()
            self._closed_until = 0.0

    def _seconds_left(self, n_tokens: int, now: float) -> float:
        waits = (throttle.wait(n_tokens, now) for throttle in self._throttles)
        return max(self._closed_until - now, *waits, 0.0)

    def answered(self, n_tokens: int | None) -> None:
        """A request was answered, with so many tokens in and out: the window may grow."""
        if self._throttles and n_tokens:
            self._n_seen += 1
            self._tokens_seen += n_tokens
        self._pause = 0.0
        if self.window < self.most:
            self._grow()
        self._free()

    def _grow(self) -> None:
        """By one an answer before any refusal, which doubles it each round; after one, a step at a time."""
        if self.n_crowded:
            now = asyncio.get_running_loop().time()
            if now - self._changed_at < self._calm:
                return
            self._changed_at = now
        self.window = min(self.most, self.window + 1)

    def crowded(self, wait: float | None) -> None:
        """The provider said it was too much; `wait`: seconds it asks for, for everybody."""
        now = asyncio.get_running_loop().time()
        self.n_crowded += 1
        if now - self._shrunk_at >= self._calm:
            self._shrunk_at = self._changed_at = now
            if wait is None and self.window == 1:  # one at a time is still too much
                wait = self._pause = min(LONGEST_PAUSE, max(self._calm, 2 * self._pause))
            self.window = max(1, self.window // 2)
        if wait is not None:
            self._closed_until = max(self._closed_until, now + wait)
        self._free()

    def lost(self) -> None:
        """No answer came: says nothing of the limits."""
        self._free()

    def _free(self) -> None:
        self._n_under_way -= 1
        while self._waiting and self._n_under_way < self.window:
            place = self._waiting.popleft()
            if not place.done():  # the place goes to the one who waits longest, before anybody new can take it
                self._n_under_way += 1
                place.set_result(None)
