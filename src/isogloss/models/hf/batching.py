"""Calls that come one by one, computed together: sorted by length, in one worker thread beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, NamedTuple, Protocol, TypeVar

from isogloss.errors import ModelError
from isogloss.models.model import CalledOffError

FAULTS = (
    RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, OSError,
    MemoryError,
)  # fmt: skip
"""What the libraries below raise for an input that they can't take, or for too little memory."""

_PAUSE = 0.005
"""Seconds; when no call has come for so long, those waiting are computed."""
_PAUSES = 10


class Task(Protocol):
    """A call made ready: tokens in place of text."""

    @property
    def group(self) -> tuple[str | int, ...]:
        """Only tasks of one group are computed together."""

    @property
    def length(self) -> int:
        """Tokens; tasks of like length are computed together."""


C = TypeVar("C")
T = TypeVar("T", bound=Task)
R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """What became of a call."""

    result: R | None
    error: str
    """Words where there is no result."""
    n_tries: int
    final: bool = False
    """The call itself is at fault: no other try helps."""


@dataclass
class _Waiting(Generic[C, R]):
    call: C
    future: asyncio.Future[Outcome[R]]
    n_tries: int = 0


class Batcher(Generic[C, T, R]):
    """Collects calls into batches.

    Parameters
    ----------
    name : str
        Of the model, for messages.
    prepare : callable
        Call → task; may raise one of `FAULTS`, which fails this call only (a ValueError for good).
    compute : callable
        Tasks of one group → a result for each, in their order. Where it raises one of `FAULTS` (too little memory,
        or one bad input), the batch is halved and tried again, down to the single call at fault.
    size : int
        Tasks computed together, at most.
    thread : ThreadPoolExecutor
        Of one worker: where `prepare` and `compute` run.
    """

    def __init__(
        self,
        name: str,
        *,
        prepare: Callable[[C], T],
        compute: Callable[[Sequence[T]], Sequence[R]],
        size: int,
        thread: ThreadPoolExecutor,
    ) -> None:
        self._name = name
        self._prepare = prepare
        self._compute = compute
        self._size = size
        self._thread = thread
        self._pending: list[_Waiting[C, R]] = []
        self._pump: asyncio.Task[None] | None = None
        self._called_off = threading.Event()
        self.stopping = threading.Event()
        """Set once closed: a long computation should end soon, its results are thrown away."""

    async def put(self, call: C) -> Outcome[R]:
        """The outcome of a call, computed with others that wait.

        Raises
        ------
        ModelError, CalledOffError
            Where the model is closed or called off before.
        """
        if self.stopping.is_set() or self._called_off.is_set():
            raise self._ended()
        waiting: _Waiting[C, R] = _Waiting(call, asyncio.get_running_loop().create_future())
        self._pending.append(waiting)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())
        return await waiting.future

    async def close(self) -> None:
        """End: calls that wait are told so, the batch under way is left as soon as it can be."""
        self.stopping.set()
        self._give_up(self._pending)
        if self._pump is not None:
            await asyncio.wait([self._pump])

    def call_off(self) -> None:
        """Begin no further batch; the one under way ends and counts."""
        self._called_off.set()
        self._give_up(self._pending)

    def _ended(self) -> Exception:
        if self.stopping.is_set():
            return ModelError(f"{self._name} was closed before it answered; run the same command again")
        return CalledOffError()

    def _give_up(self, calls: Sequence[_Waiting[C, R]], fault: BaseException | None = None) -> None:
        for waiting in calls:
            if not waiting.future.done():
                waiting.future.set_exception(fault or self._ended())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._pending:
            await self._gather()
            calls = [waiting for waiting in self._pending if not waiting.future.done()]
            self._pending.clear()
            working = loop.run_in_executor(self._thread, self._work, calls, loop)
            await asyncio.wait([working])
            self._give_up(calls, working.exception())

    async def _gather(self) -> None:
        """Let a batch fill while calls keep coming."""
        for _ in range(_PAUSES):
            n_before = len(self._pending)
            if n_before >= self._size:
                return
            await asyncio.sleep(_PAUSE)
            if len(self._pending) == n_before:
                return

    # --- in the worker thread -----------------------------------------------------------------------------------------

    def _work(self, calls: Sequence[_Waiting[C, R]], loop: asyncio.AbstractEventLoop) -> None:
        ready: list[tuple[T, _Waiting[C, R]]] = []
        for waiting in calls:
            waiting.n_tries = 1
            try:
                ready.append((self._prepare(waiting.call), waiting))
            except FAULTS as fault:
                is_final = isinstance(fault, ValueError) and not is_memory(fault)
                self._deliver(loop, waiting, None, words_of(fault), final=is_final)
        ready.sort(key=lambda pair: (pair[0].group, pair[0].length))
        for _, members in groupby(ready, key=lambda pair: pair[0].group):
            group = list(members)
            for start in range(0, len(group), self._size):
                self._halving(group[start : start + self._size], loop)

    def _halving(self, batch: list[tuple[T, _Waiting[C, R]]], loop: asyncio.AbstractEventLoop) -> None:
        """Compute a batch; on a fault its halves, so that only the call at fault fails."""
        parts = [batch]
        while parts and not (self.stopping.is_set() or self._called_off.is_set()):
            part = parts.pop()
            results: Sequence[R] | None = None
            error = ""
            try:
                results = self._compute([task for task, _ in part])
            except FAULTS as fault:  # left before the next try: the traceback holds the tensors
                error = words_of(fault)
            if self.stopping.is_set():
                return
            if results is not None:
                for (_, waiting), result in zip(part, results, strict=True):
                    self._deliver(loop, waiting, result, "")
            elif len(part) == 1:
                self._deliver(loop, part[0][1], None, error)
            else:
                for _, waiting in part:
                    waiting.n_tries += 1
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]

    def _deliver(
        self, loop: asyncio.AbstractEventLoop, waiting: _Waiting[C, R], result: R | None, error: str, *,
        final: bool = False,
    ) -> None:  # fmt: skip
        def set_result() -> None:
            if not waiting.future.done():
                waiting.future.set_result(Outcome(result, error, waiting.n_tries, final))

        loop.call_soon_threadsafe(set_result)


def words_of(fault: BaseException) -> str:
    """A fault of the libraries below in one line of at most 300 characters."""
    text = " ".join(str(fault).split())
    if is_memory(fault):
        return f"not enough memory ({text[:200] or type(fault).__name__})"
    return text[:300] if isinstance(fault, ValueError) and text else f"{type(fault).__name__}: {text}"[:300]


def is_memory(fault: BaseException) -> bool:
    """Whether a fault says that memory ran out, on the processor or the accelerator."""
    text = str(fault).lower()
    return isinstance(fault, MemoryError) or any(
        words in text for words in ("out of memory", "can't allocate memory", "not enough memory")
    )
