"""The engine of constructions: step after step, what is done and unchanged isn't done again. It knows no study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isogloss.construction import Ask, Construction, Step, Tables, WaitingError, Workshop
from isogloss.errors import DataError, IncompleteError
from isogloss.records import Condition, Prompt, Rating, Response, Sampling, Status, content_id
from isogloss.run.asking import Informant, check_abilities
from isogloss.run.breaker import Patience
from isogloss.run.budget import Budget
from isogloss.run.build_folder import BuildFolder
from isogloss.run.execute import execute
from isogloss.run.progress import Observer
from isogloss.store import Ledger

if TYPE_CHECKING:
    from isogloss.store import Arm

State = Literal["done", "kept", "waiting", "to do"]
MOST_FAILED = 0.5
"""Share of failed calls from which on a step isn't gone through with."""


@dataclass
class Built:
    """How a construction stands after a command."""

    states: dict[str, State] = field(default_factory=dict)
    """Step → "done" by this command, "kept" from an earlier one, "waiting" for people, or "to do"."""
    rows: dict[str, int] = field(default_factory=dict)
    """Table → rows."""
    waiting: str = ""
    """For whom, and what to do."""


def build(
    construction: Construction,
    config: Any,
    folder: BuildFolder,
    ask: Ask,
    *,
    skip_people: bool = False,
    seed: int = 0,
    redo: Sequence[str] = (),
    tell: Callable[[str], None] = lambda line: None,
    warn: Callable[[str], None] = lambda line: None,
) -> Built:
    """Do every step that is due, in order, until one waits for people.

    Parameters
    ----------
    redo : sequence of str
        Steps to do again, whatever they have made.

    Raises
    ------
    DataError, SettingError, ModelError, IncompleteError
        Of a step; what the steps before have made stays.
    """
    built = Built(states=dict.fromkeys([step.name for step in construction.steps], "to do"))
    tables: Tables = {}
    for step in construction.steps:
        digest = digest_of(step, config, folder, skip_people=skip_people, seed=seed)
        if step.name not in redo and is_done(step, folder, digest):
            built.states[step.name] = "kept"
            made = {name: folder.read_table(name) for name in step.writes}
        else:
            tell(f"{step.name}: {step.title}")
            workshop = workshop_of(
                folder, config, {name: tables[name] for name in tables}, ask, skip_people=skip_people, seed=seed,
                tell=lambda line, name=step.name: tell(f"{name}: {line}"), warn=warn,  # type: ignore[misc]
            )  # fmt: skip
            try:
                made = step.make(workshop)
            except WaitingError as wait:
                built.states[step.name], built.waiting = "waiting", str(wait)
                folder.note_step(step.name, state="waiting", words=str(wait))
                break
            if set(made) != set(step.writes):
                raise DataError(f"step {step.name!r} made {sorted(made)}; expected {sorted(step.writes)}")
            for name, rows in made.items():
                folder.write_table(name, rows)
            folder.note_step(step.name, state="done", digest=digest)
            built.states[step.name] = "done"
        tables.update(made)
        built.rows.update({name: len(rows) for name, rows in made.items()})
    return built


def workshop_of(
    folder: BuildFolder, config: Any, tables: Mapping[str, Any], ask: Ask, *, skip_people: bool = False, seed: int = 0,
    tell: Callable[[str], None] = lambda line: None, warn: Callable[[str], None] = lambda line: None,
) -> Workshop:  # fmt: skip
    """What a step works with in a folder."""
    return Workshop(
        config=config, tables=tables, folder=folder.path, ask=ask, ratings=folder.ratings, tell=tell, warn=warn,
        skip_people=skip_people, seed=seed,
    )  # fmt: skip


def digest_of(step: Step, config: Any, folder: BuildFolder, *, skip_people: bool, seed: int) -> str:
    """Hash of all that a step depends on: equal digest, equal tables."""
    parts: dict[str, object] = {
        "step": [step.name, step.version, seed],
        "settings": step.settings(config),
        "files": {str(path): folder.digest(Path(path)) for path in step.files(config)},
        "tables": {name: folder.digest(folder.table_file(name)) for name in step.reads},
        "reviews": {name: folder.decisions_digest(name) for name in step.reviews},
    }
    if step.by == "people":
        parts["skip_people"] = skip_people
        parts["ratings"] = [] if skip_people else sorted(_words(rating) for rating in folder.ratings(step.name))
    return content_id(parts)


def _words(rating: Rating) -> str:
    return content_id([rating.item_id, rating.rater, dict(rating.values)])


def is_done(step: Step, folder: BuildFolder, digest: str) -> bool:
    """Whether what a step has made is there and still holds."""
    state = folder.facts()["steps"].get(step.name, {})
    return state.get("digest") == digest and all(folder.table_file(name).exists() for name in step.writes)


class EngineAsk:
    """`Ask` through the engine: every reply is in the ledger before the next is asked for, and is free from then on."""

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
        self._ledger = ledger
        self._informant = informant
        self._observe = observe
        self._warn = warn
        self._budget = budget
        self._patience = patience or Patience()
        self.n_asked = 0
        """Calls made by this command."""
        self.cost: float | None = 0.0
        """US dollars of them; None where a price or token count isn't known."""

    def __call__(
        self, prompts: Sequence[Prompt], model: str, *, repeat: int = 1, sampling: Sampling | None = None
    ) -> list[Response]:
        """See `Ask`."""
        held = sampling or Sampling()
        distinct = {prompt.id: prompt for prompt in prompts}
        if not distinct:
            return []
        digest = content_id(["prompts of a construction", list(distinct)])
        plan = self._ledger.plan(digest) or self._ledger.add_plan(
            digest, ((id, Condition(), prompt) for id, prompt in distinct.items())
        )
        informant = self._informant(model)
        check_abilities(informant.model, plan, held)
        [progress] = execute(
            self._ledger, plan, [informant], held, repeats=repeat, observe=self._observe, warn=self._warn,
            budget=self._budget, patience=self._patience,
        )  # fmt: skip
        self.n_asked += progress.n_asked
        self.cost = None if self.cost is None or progress.cost is None else self.cost + progress.cost
        if progress.stopped:
            raise IncompleteError(
                f"{progress.model}: {progress.stopped}; all replies are kept, the same command goes on"
            )
        arm = self._arm(informant, held)
        found = {asked.response.prompt_id: asked.response for asked in self._ledger.asked(plan, arm, repeat)}
        self._check_failed([found[id] for id in distinct], progress.model)
        return [found[prompt.id] for prompt in prompts]

    def _arm(self, informant: Informant, sampling: Sampling) -> Arm:
        name, revision = informant.model.name, informant.model.revision
        arms = [arm for arm in self._ledger.arms() if (arm.model, arm.sampling) == (name, sampling)]
        return next((arm for arm in reversed(arms) if revision in (None, arm.revision)), arms[-1])

    def _check_failed(self, responses: Sequence[Response], model: str) -> None:
        failed = [response for response in responses if response.status in (Status.FAILED, Status.MISSING)]
        if not failed:
            return
        words = f"{len(failed):,} of {len(responses):,} calls to {model} failed ({failed[0].error or 'no words'})"
        if len(failed) > MOST_FAILED * len(responses):
            raise IncompleteError(f"{words}; all replies are kept, the same command asks those again")
        self._warn(f"{words}; the step goes on without them, and --redo STEP asks them again")
