"""The engine's heart: put what is due to each model, and keep every reply before asking on. It knows no study."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from isogloss.errors import AbilityError, IncompleteError, ModelError
from isogloss.models.model import Model
from isogloss.records import Sampling, Status
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
        If a model can't be reached or used at all, and it is the only one.
    StoreError
        If the ledger can't take a reply (a full disk); all earlier ones are kept.
    """

    async def main() -> list[Progress]:
        stop = Stop()
        with _signals(stop), rare_collections():
            return [
                await _ask_model(ledger, plan, model, sampling, repeats, max_connections, observe, warn, stop)
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
def _signals(stop: Stop) -> Iterator[None]:
    """Ctrl-C lets calls in flight end; a second one doesn't wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def interrupted(name: str) -> None:
        if stop.reason and task is not None:
            task.cancel()
        stop(f"stopped by {name}")

    names = [name for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
    for name in names:
        loop.add_signal_handler(getattr(signal, name), interrupted, "Ctrl-C" if name == "SIGINT" else name)
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))


async def _ask_model(
    ledger: Ledger,
    plan: Plan,
    model: Model,
    sampling: Sampling,
    repeats: int,
    max_connections: int,
    observe: Observer,
    warn: Callable[[str], None],
    stop: Stop,
) -> Progress:
    progress = Progress(model.name, n_prompts=0)
    check_abilities(model, plan, sampling)
    for arm in ledger.arms():
        if arm.model == model.name and arm.sampling == sampling and model.revision in (None, arm.revision):
            n_settled = _n_settled(ledger, plan, arm, repeats)
            if n_settled == arm.n_prompts(plan) * repeats:
                progress.n_prompts = progress.n_cached = n_settled
                observe(progress)
                return progress
    if stop.reason:
        progress.n_prompts = _n_possible(model, plan) * repeats
        progress.stopped = stop.reason
        return progress
    try:
        await model.open()
        arm = ledger.arm(model.name, model.revision, sampling, model.abilities.model_dump())
        progress.n_prompts = arm.n_prompts(plan) * repeats
        progress.n_cached = _n_settled(ledger, plan, arm, repeats)
        observe(progress)
        for repeat in range(1, repeats + 1):
            due = ledger.due(plan, arm, repeat)
            await _ask_due(ledger, arm, model, sampling, repeat, due, max_connections, progress, observe, warn, stop)
    except ModelError as error:
        progress.n_prompts = progress.n_prompts or _n_possible(model, plan) * repeats
        progress.stopped = str(error)
    finally:
        progress.remarks = model.remarks
        await model.close()
    progress.stopped = progress.stopped or stop.reason
    return progress


async def _ask_due(
    ledger: Ledger,
    arm: Arm,
    model: Model,
    sampling: Sampling,
    repeat: int,
    due: Iterator[Due],
    max_connections: int,
    progress: Progress,
    observe: Observer,
    warn: Callable[[str], None],
    stop: Stop,
) -> None:
    """Let workers take from one iterator until it is empty, or until there is a reason to stop."""
    commit = GroupCommit(ledger)
    ask = model.ask
    n_failed_in_a_row = 0
    patience = max(EARLY, 2 * max_connections)

    async def work() -> None:
        nonlocal n_failed_in_a_row
        for seq, attempt, prompt in due:
            response = await ask(prompt, sampling, repeat)
            await commit.add(Row(arm.id, seq, attempt, response))
            progress.n_asked += 1
            progress.statuses[response.status] += 1
            progress.input_tokens += response.input_tokens or 0
            progress.output_tokens += response.output_tokens or 0
            observe(progress)
            if progress.n_asked == EARLY:
                _warn_early(progress, warn)
            in_vain = response.status is Status.FAILED and response.n_tries > 1
            n_failed_in_a_row = n_failed_in_a_row + 1 if in_vain else 0
            if n_failed_in_a_row >= patience:
                raise ModelError(
                    f"{n_failed_in_a_row} calls in a row failed after several tries, the last with: {response.error}"
                )
            if stop.reason:
                return

    workers = [asyncio.create_task(work()) for _ in range(max_connections)]
    try:
        done, running = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        faults = [fault for task in done if (fault := task.exception()) is not None]
        if faults and running:
            due.close() if hasattr(due, "close") else None
            stopped = await asyncio.gather(*running, return_exceptions=True)
            faults += [fault for fault in stopped if isinstance(fault, BaseException)]
    except asyncio.CancelledError:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        commit.flush()
        raise IncompleteError("stopped without waiting for calls in flight; all earlier replies are kept") from None
    for fault in faults:
        if not isinstance(fault, ModelError):
            raise fault
    if faults:
        raise faults[0]


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
