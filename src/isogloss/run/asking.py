"""One model's part of a run: put what is due to it, and keep every reply before asking on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from isogloss.errors import AbilityError, ModelError
from isogloss.models.model import Able, CalledOffError, Model
from isogloss.records import FREE, Price, Prompt, Response, Sampling, Status
from isogloss.run.breaker import WAITS_HALF_AN_HOUR, Breaker, OutageError, Patience
from isogloss.run.budget import Budget, most_cost, reply_cost
from isogloss.run.commit import GroupCommit
from isogloss.run.progress import EARLY, EARLY_SHARE, Coding, Early, Observer, Progress, Stop, early_warnings
from isogloss.store import Arm, Due, Ledger, Plan, Row

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel

MOST_PASSES = 5
"""How often one repeat is gone through while calls fail for passing reasons."""


class Informant(NamedTuple):
    """A model with the terms it is asked on."""

    model: Model
    max_connections: int = 16
    price: Price | None = None
    """None where it isn't known."""
    batch_requests: int | None = None
    """Most requests in one batch, where it is to be fewer than the provider takes."""
    batch_megabytes: float | None = None


@dataclass
class Circumstances:
    """What all models of a run share."""

    ledger: Ledger
    plan: Plan
    sampling: Sampling
    repeats: int
    commit: GroupCommit
    stop: Stop
    observe: Observer
    warn: Callable[[str], None]
    coding: Coding | None = None
    budget: Budget | None = None
    patience: Patience = WAITS_HALF_AN_HOUR
    batch: bool = False
    first: int = 1
    """The repeat to begin with: `first` to `repeats` are asked."""
    early: Early = early_warnings
    kept_open: list[Model] | None = None
    """Models of this machine that are open and stay so after their turn, for the caller to close; None: none does."""


class Asking:
    """One model's turn: everything due to it, over all repeats."""

    def __init__(self, informant: Informant, run: Circumstances) -> None:
        model = informant.model
        self.informant = informant
        self.model = model
        self.run = run
        self.n_connections = informant.max_connections
        self.price = FREE if model.local else informant.price
        self.progress = Progress(model.name, n_possible(model, run.plan) * (run.repeats - run.first + 1))
        self.breaker = Breaker(
            self.progress, n_connections=self.n_connections, patience=run.patience, stop=run.stop, warn=run.warn
        )
        self._price_key = "" if self.price is None else self.price.model_dump_json()
        self._first: list[Response] = []
        self._n_passing_faults = 0

    async def all(self) -> Progress:
        """Ask until nothing is due, or until there is a reason to stop.

        Raises
        ------
        ModelError
            If the model can't be made ready.
        StoreError
            If the ledger can't take a reply.
        """
        progress, model, run = self.progress, self.model, self.run
        check_abilities(model, run.plan, run.sampling)
        if self._is_finished():
            run.observe(progress)
            return progress
        if run.stop.reason:
            progress.stopped = run.stop.reason
            return progress
        try:
            await self._open()
            run.stop.hooks.append(model.call_off)
            arm = run.ledger.arm(model.name, model.revision, run.sampling, model.abilities.model_dump())
            if model.template is not None:
                run.ledger.add_template(arm, model.template)
            progress.n_cached = n_settled(run.ledger, run.plan, arm, run.repeats, first=run.first)
            run.observe(progress)
            if run.batch:
                progress.stopped = await self._ask_in_batches(arm)
            else:
                await self._collect_batches(arm)
                progress.stopped = await self._ask_all(arm)
        finally:
            progress.remarks = model.remarks
            if not self._stays_open:
                await model.close()
        progress.stopped = progress.stopped or run.stop.reason or self._idle(arm)
        return progress

    def _idle(self, arm: Arm) -> str:
        """What is wrong where nothing was found to be asked, though there are prompts; nothing where all is well."""
        if self.progress.n_cached or self.progress.n_asked or arm.n_prompts(self.run.plan):
            return ""
        return (
            f"nothing was asked of {self.progress.n_prompts:,} prompts: the run folder says that {self.model.name} "
            "can't be asked them; choose another --out"
        )

    @property
    def _stays_open(self) -> bool:
        return self.run.kept_open is not None and self.model in self.run.kept_open

    async def _open(self) -> None:
        """Make the model ready, unless it is. Raises ModelError."""
        if self._stays_open:
            return
        expected = self.model.abilities
        await self.model.open()
        if self.model.abilities != expected:
            raise ModelError(
                f"{self.model.name} turned out to be another kind of model than could be told before its files were "
                "here; give the same command again"
            )
        if self.run.kept_open is not None and self.model.local:
            self.run.kept_open.append(self.model)

    def _is_finished(self) -> bool:
        """Whether some revision of this model has answered everything: then it needn't even be started."""
        run = self.run
        for arm in run.ledger.arms():
            if (arm.model, arm.sampling) == (self.model.name, run.sampling):
                n = n_settled(run.ledger, run.plan, arm, run.repeats, first=run.first)
                if self.model.revision in (None, arm.revision) and n == self.progress.n_prompts:
                    self.progress.n_cached = n
                    return True
        return False

    async def _ask_all(self, arm: Arm) -> str:
        """Every repeat, each gone through again while passing faults leave something; returns what ended it early."""
        for repeat in range(self.run.first, self.run.repeats + 1):
            for n_passes in range(1, MOST_PASSES + 1):
                self._n_passing_faults, n_openings = 0, self.breaker.n_openings
                try:
                    await self._ask_due(arm, repeat)
                except ModelError as fault:
                    return str(fault)
                except OutageError as fault:
                    return f"{fault}; all replies are kept, the same command goes on"
                if self.run.stop.reason:
                    return ""
                if not self._n_passing_faults or (n_passes > 1 and self.breaker.n_openings == n_openings):
                    break
        return ""

    async def _ask_in_batches(self, arm: Arm) -> str:
        """Everything due through the provider's batch API; returns what ended it early."""
        from isogloss.run.batch import ask_in_batches

        run, informant = self.run, self.informant
        megabytes = informant.batch_megabytes
        try:
            end = await ask_in_batches(
                run.ledger, run.plan, cast("ChatModel", self.model), arm, run.sampling, run.repeats,
                price=self.price, kept=self._take_in, tell=self._tell, warn=run.warn, stop=run.stop, budget=run.budget,
                most_requests=informant.batch_requests,
                most_bytes=None if megabytes is None else int(megabytes * 1e6),
            )  # fmt: skip
        except ModelError as fault:
            return str(fault)
        finally:
            self._tell("")
        return end.stopped

    async def _collect_batches(self, arm: Arm) -> None:
        """Take in what batches of an earlier command have brought; their other prompts aren't due to this one."""
        run = self.run
        if not self.model.abilities.batch or not run.ledger.n_open_batches():
            return
        from isogloss.run.batch import collect_open_batches

        n_under_way = await collect_open_batches(
            run.ledger, cast("ChatModel", self.model), arm, run.sampling, kept=self._take_in, warn=run.warn,
            budget=run.budget,
        )  # fmt: skip
        if n_under_way:
            run.warn(f"{n_under_way:,} prompts of {self.model.name} are under way in batches and aren't asked live")

    def _take_in(self, responses: Sequence[Response], price: str) -> None:
        """Count replies that came in a batch."""
        known = Price.model_validate_json(price) if price else None
        for response in responses:
            self._count(response, known, in_batch=True)

    def _tell(self, line: str) -> None:
        self.progress.waiting = line
        self.run.observe(self.progress)

    async def _ask_due(self, arm: Arm, repeat: int) -> None:
        """Let workers take from one iterator until it is empty; the first fault that stops one stops all."""
        due, commit = self.run.ledger.due(self.run.plan, arm, repeat), self.run.commit
        n_left = self.progress.n_prompts - self.progress.n_cached - self.progress.n_settled
        n_workers = min(self.n_connections, max(1, n_left))
        workers = [asyncio.create_task(self._work(due, arm, repeat)) for _ in range(n_workers)]
        commit.n_workers += n_workers
        for worker in workers:
            worker.add_done_callback(commit.worker_gone)
        try:
            done, running = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            if running:
                due.close()
                done |= (await asyncio.wait(running))[0]
        except asyncio.CancelledError:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        faults = [fault for task in done if (fault := task.exception()) is not None]
        for fault in sorted(faults, key=lambda fault: isinstance(fault, ModelError | OutageError)):
            raise fault  # a fault of ours comes before one of the model

    async def _work(self, due: Generator[Due, None, None], arm: Arm, repeat: int) -> None:
        """Ask, commit, count, and only then ask on."""
        run, breaker, price = self.run, self.breaker, self._price_key
        ask, sampling, budget = self.model.ask, run.sampling, run.budget
        for seq, attempt, prompt in due:
            is_trial = breaker.is_open and await breaker.admit()
            if run.stop.reason:
                return
            try:
                if budget is None:
                    response = await ask(prompt, sampling, repeat)
                elif (found := await self._ask_within(budget, prompt, repeat)) is not None:
                    response = found
                else:
                    return
            except CalledOffError:
                return
            await run.commit.add(Row(arm.id, seq, attempt, response, price))
            self._count(response, self.price, is_trial=is_trial)

    async def _ask_within(self, budget: Budget, prompt: Prompt, repeat: int) -> Response | None:
        """Ask if the cap allows it; None, and the run stops, where it doesn't."""
        assert self.price is not None  # settled before anything is asked
        most = budget.safe(most_cost(prompt, self.run.sampling, self.price))
        if not await budget.reserve(most):
            self.run.stop(budget.words)
            return None
        if self.run.stop.reason:
            budget.settle(most, 0.0)
            return None
        cost = most
        try:
            response = await self.model.ask(prompt, self.run.sampling, repeat)
            cost = reply_cost(response, self.price, unmetered=most)
        except CalledOffError:
            cost = 0.0
            raise
        finally:
            budget.settle(most, cost)
        return response

    def _count(
        self, response: Response, price: Price | None, *, is_trial: bool = False, in_batch: bool = False
    ) -> None:
        """Take a kept reply into the progress, and see whether all is well."""
        progress, status = self.progress, response.status
        progress.n_asked += 1
        progress.statuses[status] += 1
        if price is None:
            progress.cost = None
        if response.input_tokens is not None or response.output_tokens is not None:
            progress.input_tokens += response.input_tokens or 0
            progress.output_tokens += response.output_tokens or 0
            if price is not None and progress.cost is not None:
                progress.cost += reply_cost(response, price)
        if not response.is_due_again:
            progress.n_settled += 1
            progress.n_unmetered += response.is_unmetered and price is not FREE
            if not in_batch:
                self.breaker.succeeded()
        elif (response.passing or response.n_tries > 1) and not in_batch:
            self._n_passing_faults += 1
            self.breaker.failed(response.error or "no words", is_trial=is_trial)
        elif is_trial:  # this prompt can't be answered, but the line is up
            self.breaker.succeeded()
        self.run.observe(progress)
        if len(self._first) < EARLY and progress.n_asked <= EARLY:
            self._look_early(response)

    def _look_early(self, response: Response) -> None:
        """After the first replies, say what is wrong with too many of them."""
        self._first.append(response)
        if len(self._first) < EARLY:
            return
        coding, name = self.run.coding, self.progress.model
        statuses = [r.status for r in self._first] if coding is None else coding(name, self._first)
        final = [response.error for response in self._first if response.final]
        if len(final) > EARLY_SHARE * EARLY:
            self.run.warn(f"{len(final)} of the first {EARLY} prompts can't be answered by {name}: {final[0]}")
        mendable = [status for status, response in zip(statuses, self._first, strict=True) if not response.final]
        for warning in self.run.early(self.progress, mendable):
            self.run.warn(warning)


def check_abilities(model: Able, plan: Plan, sampling: Sampling, *, batch: bool = False) -> None:
    """Say before anything is sent what a model can't do. Raises AbilityError."""
    if sampling.constrained and not model.abilities.grammar:
        raise AbilityError(f"model {model.name!r} can't be held to a form of answer; leave out constrained=true")
    if batch and not model.abilities.batch:
        raise AbilityError(f"model {model.name!r} has no batch API; leave out --batch, or ask it in a run of its own")
    if n_possible(model, plan) == 0 and plan.n_questions:
        need = "log-probabilities of given answers" if plan.n_scored else "chat"
        raise AbilityError(
            f"model {model.name!r} can't give {need}, which these settings ask for; see 'isogloss models'"
        )


def n_possible(model: Able, plan: Plan) -> int:
    """How many of a plan's prompts a model can be asked."""
    able = model.abilities
    return plan.n_chat * able.chat + plan.n_scored * able.scores


def n_settled(ledger: Ledger, plan: Plan, arm: Arm, repeats: int, *, first: int = 1) -> int:
    """How many prompts × repeats aren't asked again of an arm, repeats from `first` on."""
    n = 0
    for repeat in range(first, repeats + 1):
        counts = ledger.standing(plan, arm, repeat)
        n += sum(n for status, n in counts.items() if status not in (Status.FAILED, Status.MISSING))
        if counts.get(Status.FAILED):
            n += ledger.final_faults(plan, arm, repeat).total()
    return n


def final_faults(ledger: Ledger, plan: Plan, arm: Arm, repeats: int) -> Counter[str]:
    """Why calls of an arm failed for good, over all repeats, and how many for each reason."""
    return sum((ledger.final_faults(plan, arm, repeat) for repeat in range(1, repeats + 1)), Counter())
