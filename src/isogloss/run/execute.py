"""The engine's heart: all models of a run at once, each on its own terms. It knows no study."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from isogloss.errors import IncompleteError, ModelError
from isogloss.records import Sampling
from isogloss.run.asking import Asking, Circumstances, Informant
from isogloss.run.breaker import WAITS_HALF_AN_HOUR, Patience
from isogloss.run.budget import Budget
from isogloss.run.collector import rare_collections
from isogloss.run.commit import GroupCommit
from isogloss.run.progress import Coding, Early, Observer, Progress, Stop, early_warnings
from isogloss.store import Ledger, Plan

if TYPE_CHECKING:
    from isogloss.models.model import Model

T = TypeVar("T")


def execute(
    ledger: Ledger,
    plan: Plan,
    informants: Sequence[Informant],
    sampling: Sampling,
    *,
    repeats: int,
    observe: Observer,
    warn: Callable[[str], None],
    coding: Coding | None = None,
    budget: Budget | None = None,
    patience: Patience = WAITS_HALF_AN_HOUR,
    batch: bool = False,
    first: int = 1,
    runner: asyncio.Runner | None = None,
    early: Early = early_warnings,
    kept_open: list[Model] | None = None,
) -> list[Progress]:
    """Ask each model what it hasn't answered yet, and commit every reply.

    Models behind a server are asked at once; those on this machine one after another beside them.
    Works where an event loop is running already (a notebook): the calls then go on in a thread of their own.

    Parameters
    ----------
    first, repeats : int
        The first and the last repeat of each prompt to ask; not for batches, which ask all.
    runner : asyncio.Runner, optional
        Whose loop the calls run on, for a caller that asks the same models several times.
    early : callable, optional
        What to warn of, given the first replies of a model.
    kept_open : list of Model, optional
        Models of this machine are put here once they are open, and not closed: the caller does that, on the same
        runner. What is in it already isn't opened again.

    Raises
    ------
    AbilityError
        If no question of the plan can be put to a model, or the sampling asks for more than it can.
    ModelError
        If no model can be made ready (no weights, no server).
    StoreError
        If the ledger can't take a reply (a full disk); all earlier ones are kept.
    """

    async def main() -> list[Progress]:
        stop = Stop()
        run = Circumstances(
            ledger, plan, sampling, repeats, GroupCommit(ledger), stop, observe, warn, coding, budget,
            patience, batch, first, early, kept_open,
        )  # fmt: skip
        with _signals(stop, warn), rare_collections():
            return await _all([Asking(informant, run) for informant in informants], run)

    return outside(lambda: _run(main()) if runner is None else runner.run(main()))


def outside(work: Callable[[], T]) -> T:
    """Do it where no event loop is running: here, or in a thread of its own where one is (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


async def _all(askings: Sequence[Asking], run: Circumstances) -> list[Progress]:
    """Every model's turn; a fault of the store stops all of them, one of a model only that model."""
    chains = [[asking] for asking in askings if not asking.model.local]
    chains.append([asking for asking in askings if asking.model.local])
    failed: list[ModelError] = []

    async def one_after_another(chain: Sequence[Asking]) -> None:
        for asking in chain:
            try:
                await asking.all()
            except ModelError as fault:
                asking.progress.stopped = str(fault)
                failed.append(fault)

    tasks = [asyncio.create_task(one_after_another(chain)) for chain in chains if chain]
    try:
        done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if running:
            run.stop("stopped by another fault")
            done |= (await asyncio.wait(running))[0]
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        run.commit.flush()
        raise IncompleteError("stopped without waiting for calls in flight; all earlier replies are kept") from None
    for task in done:
        task.result()
    if len(failed) == len(askings):
        raise failed[0]
    return [asking.progress for asking in askings]


def new_runner() -> asyncio.Runner:
    """For a loop of its own: uvloop's where it is installed, since it takes less of the processor a call."""
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    if importlib.util.find_spec("uvloop") is not None:
        factory = importlib.import_module("uvloop").new_event_loop
    return asyncio.Runner(loop_factory=factory)


def _run(work: Coroutine[None, None, T]) -> T:
    with new_runner() as runner:
        return runner.run(work)


@contextmanager
def _signals(stop: Stop, warn: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C lets calls in flight end; a second one doesn't wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def interrupted(name: str) -> None:
        if stop.reason and task is not None:
            task.cancel()
        elif not stop.reason:
            stop(f"stopped by {name}")
            warn("stopping; calls in flight may end and are kept, Ctrl-C again doesn't wait for them")

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if "SIGHUP" in names and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        names.remove("SIGHUP")  # nohup: the run outlives its terminal
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    for name in names:
        loop.add_signal_handler(getattr(signal, name), interrupted, "Ctrl-C" if name == "SIGINT" else name)
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))
            signal.signal(getattr(signal, name), before[name] or signal.SIG_DFL)
