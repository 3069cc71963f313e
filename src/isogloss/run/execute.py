"""The engine's heart: put what is due to each model, and keep every reply before asking on. It knows no study."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from isogloss.errors import AbilityError, IncompleteError, ModelError
from isogloss.models.model import Model
from isogloss.records import Response, Sampling, Status
from isogloss.run.collector import rare_collections
from isogloss.run.commit import GroupCommit
from isogloss.store import Arm, Due, Ledger, Plan, Row

T = TypeVar("T")

EARLY = 20
"""So many first replies of a model are looked at for a warning."""
EARLY_SHARE = 0.05


@dataclass
class Progress:
    """Where one model's asking stands; handed to the observer after every reply."""

    model: str
    n_prompts: int
    """All calls of this model: prompts × repeats."""
    n_cached: int = 0
    """Answered before this command."""
    n_asked: int = 0
    """Answered by this command."""
    statuses: Counter[Status] = field(default_factory=Counter)
    """Of this command's replies."""
    input_tokens: int = 0
    output_tokens: int = 0
    remarks: tuple[str, ...] = ()
    """What the model says of how it was asked."""
    stopped: str = ""
    """Why asking ended early; empty while all is well."""


Observer = Callable[[Progress], None]


class Stop:
    """Asked to end: calls in flight finish and are kept, no new one starts."""

    def __init__(self) -> None:
        self.reason = ""

    def __call__(self, reason: str) -> None:
        self.reason = self.reason or reason


def execute(
    ledger: Ledger,
    plan: Plan,
    models: Sequence[Model],
    sampling: Sampling,
    *,
    repeats: int,
    max_connections: int,
    observe: Observer,
    warn: Callable[[str], None],
) -> list[Progress]:
    """Ask each model what it hasn't answered yet, and commit every reply.

    Works where an event loop is running already (a notebook): the calls then go on in a thread of their own.

    Raises
    ------
    AbilityError
        If no question of the plan can be put to a model, or the sampling asks for more than it can.
    ModelError
        If a model can't be made ready (no weights, no server); replies of the models before it are kept.
    StoreError
        If the ledger can't take a reply (a full disk); all earlier ones are kept.
    """

    async def main() -> list[Progress]:
        stop = Stop()
        with _signals(stop, warn), rare_collections():
            return [
                await _Asking(ledger, plan, model, sampling, repeats, max_connections, observe, warn, stop).all()
                for model in models
            ]

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(main())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, main()).result()


def _run(work: Coroutine[None, None, T]) -> T:
    """Run on a loop of its own: uvloop's where it is installed, since it takes less of the processor a call."""
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    if importlib.util.find_spec("uvloop") is not None:
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
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

    names = [name for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
    for name in names:
        loop.add_signal_handler(getattr(signal, name), interrupted, "Ctrl-C" if name == "SIGINT" else name)
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))


@dataclass
class _Asking:
    """One model's turn: everything due to it, over all repeats."""

    ledger: Ledger
    plan: Plan
    model: Model
    sampling: Sampling
    repeats: int
    max_connections: int
    observe: Observer
    warn: Callable[[str], None]
    stop: Stop

    def __post_init__(self) -> None:
        self.progress = Progress(self.model.name, _n_possible(self.model, self.plan) * self.repeats)
        self.n_failed_in_a_row = 0

    async def all(self) -> Progress:
        """Ask until nothing is due, or until there is a reason to stop."""
        progress, model = self.progress, self.model
        check_abilities(model, self.plan, self.sampling)
        if self._is_finished():
            self.observe(progress)
            return progress
        if self.stop.reason:
            progress.stopped = self.stop.reason
            return progress
        try:
            await model.open()
            arm = self.ledger.arm(model.name, model.revision, self.sampling, model.abilities.model_dump())
            progress.n_cached = _n_settled(self.ledger, self.plan, arm, self.repeats)
            self.observe(progress)
            for repeat in range(1, self.repeats + 1):
                fault = await self._ask_due(arm, repeat)
                if fault is not None:
                    progress.stopped = str(fault)
                    break
        finally:
            progress.remarks = model.remarks
            await model.close()
        progress.stopped = progress.stopped or self.stop.reason
        return progress

    def _is_finished(self) -> bool:
        """Whether some revision of this model has answered everything: then it needn't even be started."""
        for arm in self.ledger.arms():
            if (arm.model, arm.sampling) == (self.model.name, self.sampling):
                n_settled = _n_settled(self.ledger, self.plan, arm, self.repeats)
                if self.model.revision in (None, arm.revision) and n_settled == self.progress.n_prompts:
                    self.progress.n_cached = n_settled
                    return True
        return False

    async def _ask_due(self, arm: Arm, repeat: int) -> ModelError | None:
        """Let workers take from one iterator until it is empty; what stopped them all, if anything did."""
        due = self.ledger.due(self.plan, arm, repeat)
        commit = GroupCommit(self.ledger)
        workers = [asyncio.create_task(self._work(due, arm, repeat, commit)) for _ in range(self.max_connections)]
        try:
            done, running = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            if running:
                due.close()
                done |= (await asyncio.wait(running))[0]
        except asyncio.CancelledError:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            commit.flush()
            raise IncompleteError("stopped without waiting for calls in flight; all earlier replies are kept") from None
        faults = [fault for task in done if (fault := task.exception()) is not None]
        for fault in faults:
            if not isinstance(fault, ModelError):
                raise fault
        return next((fault for fault in faults if isinstance(fault, ModelError)), None)

    async def _work(self, due: Generator[Due, None, None], arm: Arm, repeat: int, commit: GroupCommit) -> None:
        """Ask, commit, count, and only then ask on."""
        ask, progress = self.model.ask, self.progress
        for seq, attempt, prompt in due:
            response = await ask(prompt, self.sampling, repeat)
            await commit.add(Row(arm.id, seq, attempt, response))
            progress.n_asked += 1
            progress.statuses[response.status] += 1
            progress.input_tokens += response.input_tokens or 0
            progress.output_tokens += response.output_tokens or 0
            self.observe(progress)
            if progress.n_asked == EARLY:
                _warn_early(progress, self.warn)
            if response.status is Status.FAILED:
                self._lose_patience(response)
            else:
                self.n_failed_in_a_row = 0
            if self.stop.reason:
                return

    def _lose_patience(self, response: Response) -> None:
        """Stop where call after call fails in spite of several tries each."""
        self.n_failed_in_a_row += response.n_tries > 1
        if self.n_failed_in_a_row >= max(EARLY, 2 * self.max_connections):
            raise ModelError(
                f"{self.n_failed_in_a_row} calls in a row failed after several tries, the last with: {response.error}"
            )


def check_abilities(model: Model, plan: Plan, sampling: Sampling) -> None:
    """Say before anything is sent what a model can't do."""
    if sampling.constrained and not model.abilities.grammar:
        raise AbilityError(f"model {model.name!r} can't be held to a form of answer; leave out constrained=true")
    if _n_possible(model, plan) == 0 and plan.n_questions:
        need = "log-probabilities of given answers" if plan.n_scored else "chat"
        raise AbilityError(
            f"model {model.name!r} can't give {need}, which these settings ask for; see 'isogloss models'"
        )


def _n_possible(model: Model, plan: Plan) -> int:
    return plan.n_chat * model.abilities.chat + plan.n_scored * model.abilities.logprobs


def _n_settled(ledger: Ledger, plan: Plan, arm: Arm, repeats: int) -> int:
    return sum(
        n
        for repeat in range(1, repeats + 1)
        for status, n in ledger.standing(plan, arm, repeat).items()
        if status not in (Status.FAILED, Status.MISSING)
    )


def _warn_early(progress: Progress, warn: Callable[[str], None]) -> None:
    for status in (Status.TRUNCATED, Status.FAILED, Status.BLOCKED, Status.REFUSED):
        n = progress.statuses[status]
        if n > EARLY_SHARE * progress.n_asked:
            hint = {
                Status.TRUNCATED: "; the token limit may be too small, above all for a model that reasons: "
                "--set max_tokens=…",
                Status.FAILED: "; they are asked again by the same command",
            }.get(status, "")
            warn(f"{n} of the first {progress.n_asked} replies of {progress.model} are {status.value}{hint}")
