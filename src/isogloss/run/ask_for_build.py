"""`ask`, as the steps of a construction are given it: through the engine and its ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from isogloss.errors import AbilityError, IncompleteError
from isogloss.records import Condition, Prompt, Response, Sampling, Status, content_id
from isogloss.run.asking import Informant, n_settled
from isogloss.run.breaker import Patience
from isogloss.run.budget import Budget, added
from isogloss.run.execute import execute, new_runner, outside
from isogloss.run.progress import Observer, Progress, early_warnings
from isogloss.store import Arm, Ledger, Plan

if TYPE_CHECKING:
    from isogloss.models.model import Able, Model

MANY = 5
"""So many failed calls, and more than half of them all, end a step: the line is down, and little would come of it."""
HINTS: Mapping[Status, str] = {
    Status.TRUNCATED: "; the token limit may be too small, above all for a model that reasons: raise max_tokens of "
    "this step in the configuration",
    Status.FAILED: "; they are asked again by the same command",
    Status.BLOCKED: "; a filter of the provider's holds them back: name another model in the configuration, or change "
    "the wording",
    Status.REFUSED: "; name another model in the configuration, or change the wording",
}
"""Status → what to do about it in a construction."""


class EngineAsk:
    """Puts prompts to models: every reply is in the ledger before the next is asked for, and free from then on.

    A context manager; what it counts is of this command. A model of this machine stays open from one call to the next,
    until another of this machine is asked (two might not fit into its memory) or the manager is left.
    """

    def __init__(
        self,
        ledger: Ledger,
        informant: Callable[[str], Informant],
        *,
        observe: Observer = lambda progress: None,
        warn: Callable[[str], None] = lambda line: None,
        budget: Budget | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.n_asked = 0
        """Calls made."""
        self.cost: float | None = 0.0
        """US dollars of them; None where a price or token counts aren't known."""
        self.n_failed = 0
        """Failed calls that a step was given, asked for now or not."""
        self.remarks: dict[str, tuple[str, ...]] = {}
        """Model → what it says of how it was asked."""
        self._ledger = ledger
        self._informant = informant
        self._observe = observe
        self._warn = warn
        self._budget = budget
        self._patience = patience or Patience()
        self._runner = new_runner()
        self._n_answered: Counter[str] = Counter()
        self._open: list[Model] = []
        self._warned: set[tuple[str, str]] = set()
        """Models and samplings whose first replies were warned of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close(self._open)
        finally:
            outside(self._runner.close)

    def __call__(
        self, prompts: Sequence[Prompt], model: str, *, repeat: int = 1, sampling: Sampling | None = None
    ) -> list[Response]:
        """See `isogloss.construction.Ask`."""
        distinct = {prompt.id: prompt for prompt in prompts}
        if not distinct:
            return []
        sampling = sampling or Sampling()
        digest = content_id(["prompts of a construction", *distinct])
        plan = self._ledger.plan(digest) or self._ledger.add_plan(
            digest, ((prompt.id, Condition(), prompt) for prompt in distinct.values())
        )
        informant = self._informant(model)
        if informant.model.local:
            self._close([other for other in self._open if other is not informant.model])
        [progress] = execute(
            self._ledger, plan, [informant], sampling, first=repeat, repeats=repeat, observe=self._observe,
            warn=self._warn, budget=self._budget, patience=self._patience, runner=self._runner,
            early=lambda progress, statuses: self._early(progress, statuses, sampling), kept_open=self._open,
        )  # fmt: skip
        self._count(progress)
        arm = self._arm(informant, sampling, plan, repeat)
        found = {asked.item_id: asked.response for asked in self._ledger.asked(plan, arm, repeat)} if arm else {}
        n_failed = sum(response.is_due_again for response in found.values())
        if progress.stopped:
            words = progress.stopped if progress.model in progress.stopped else f"{progress.model}: {progress.stopped}"
            raise IncompleteError(words)
        if len(found) < len(distinct):
            raise AbilityError(
                f"model {model!r} can't answer {len(distinct) - len(found):,} of {len(distinct):,} prompts; "
                "see 'isogloss models'"
            )
        self._look(list(found.values()), n_failed, progress.model)
        return [found[prompt.id] for prompt in prompts]

    def able(self, model: str) -> Able:
        """The model of a name, before it is asked. Raises SettingError, ModelError."""
        return self._informant(model).model

    def _close(self, models: Sequence[Model]) -> None:
        async def close() -> None:
            for model in tuple(models):
                self._open.remove(model)
                await model.close()

        if models:
            outside(lambda: self._runner.run(close()))

    def _early(self, progress: Progress, statuses: Sequence[Status], sampling: Sampling) -> list[str]:
        """What is wrong with too many first replies; said once for a model and sampling, not round after round."""
        key = (progress.model, sampling.id)
        if key in self._warned:
            return []
        self._warned.add(key)
        return early_warnings(progress, statuses, hints=HINTS)

    def _count(self, progress: Progress) -> None:
        self.n_asked += progress.n_asked
        if progress.n_asked:
            self.cost = added((self.cost, None if progress.n_unmetered else progress.cost))
        if progress.remarks:
            self.remarks[progress.model] = progress.remarks

    def _arm(self, informant: Informant, sampling: Sampling, plan: Plan, repeat: int) -> Arm | None:
        """Whose replies hold: of the model's revisions the one that answered most of the plan, the newest if equal."""
        name, revision = informant.model.name, informant.model.revision
        arms = [
            arm
            for arm in reversed(self._ledger.arms())
            if (arm.model, arm.sampling) == (name, sampling) and revision in (None, arm.revision)
        ]
        return max(arms, key=lambda arm: n_settled(self._ledger, plan, arm, repeat, first=repeat), default=None)

    def _look(self, responses: Sequence[Response], n_failed: int, model: str) -> None:
        """Say how many calls failed. Raises IncompleteError where too few are left for the step to go on."""
        finals = [response for response in responses if response.final]
        if finals:
            self._warn(
                f"{len(finals):,} of {len(responses):,} calls can't be answered by {model}, and aren't asked again: "
                f"{finals[0].error or 'no words'}"
            )
        self._n_answered[model] += len(responses) - n_failed
        if not n_failed:
            return
        self.n_failed += n_failed
        error = next((response.error for response in responses if response.is_due_again), None)
        words = f"{n_failed:,} of {len(responses):,} calls to {model} failed ({error or 'no words'})"
        if not self._n_answered[model] or (n_failed >= MANY and 2 * n_failed > len(responses)):
            raise IncompleteError(words)
        self._warn(f"{words}; the step goes on without them, and the same command asks them again")
