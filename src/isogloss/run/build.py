"""The engine of constructions: step after step; what is done and unchanged isn't done again. It knows no study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isogloss.construction import Ask, Construction, Requests, Sheet, Step, Tables, WaitingError, Workshop
from isogloss.errors import AbilityError, DataError, IncompleteError
from isogloss.records import Price, Prompt, Response, Sampling, content_id
from isogloss.run.ask_for_build import EngineAsk
from isogloss.run.budget import TOKENS_WITHOUT_LIMIT, added
from isogloss.run.build_folder import BuildFolder
from isogloss.run.plan import prompt_tokens
from isogloss.run.tokens import NOTHING, Range

if TYPE_CHECKING:
    from isogloss.models.model import Able

State = Literal["done", "waiting", "stopped", "to do"]
"""Of a step: made and current, waiting for people, ended early, or not begun (or to be made again)."""


@dataclass
class Built:
    """How a construction stands after a command."""

    build: str
    steps: dict[str, State]
    made: list[str] = field(default_factory=list)
    """Steps done by this command; others that are done were done before."""
    tables: dict[str, int] = field(default_factory=dict)
    """Table → rows, of the steps that are done."""
    waiting: str = ""
    """For whom, and what to do; empty where no step waits."""
    stopped: str = ""
    """Why a step ended early (Ctrl-C, cap on the cost, a line that is down); empty while all is well."""
    failed: dict[str, int] = field(default_factory=dict)
    """Step → calls that failed and are asked again by the next command."""
    asked: int = 0
    """Calls made by this command."""
    cost: float | None = 0.0
    """US dollars of them; None where a price or token counts aren't known."""

    @property
    def complete(self) -> bool:
        """Whether every step is done, with no call missing."""
        return not self.failed and all(state == "done" for state in self.steps.values())


@dataclass(frozen=True)
class Bench:
    """A construction with its checked configuration and the folder it is built in."""

    construction: Construction
    config: Any
    folder: BuildFolder
    skip_people: bool = False
    seed: int = 0

    def workshop(self, step: Step, tables: Tables, ask: Ask | None = None) -> Workshop:
        """What a step works with: of the tables only those that it says it reads."""
        return Workshop(
            config=self.config,
            tables={name: tables[name] for name in step.reads if name in tables},
            folder=self.folder.path,
            ask=ask or _ask_nobody,
            ratings=self.folder.ratings,
            skip_people=self.skip_people,
            seed=self.seed,
        )

    def digest(self, step: Step) -> str:
        """Hash of all that a step depends on: equal digest, equal tables."""
        skips = self.skip_people and self._comes_after_people(step)
        ratings = [] if skips or not _asks_people(step) else self.folder.ratings(step.name)
        files = [*map(Path, step.files(self.config)), *(self.folder.path / name for name in step.inputs)]
        return content_id(
            {
                "step": [step.name, step.version, self.seed, skips],
                "settings": step.settings(self.config),
                "files": [self.folder.digest(path) for path in files],
                "tables": {name: self.folder.digest(self.folder.table_file(name)) for name in step.reads},
                "reviews": {name: self.folder.decisions_digest(name) for name in step.reviews},
                "ratings": sorted(content_id([r.item_id, r.rater, dict(r.values)]) for r in ratings),
            }
        )

    def _comes_after_people(self, step: Step) -> bool:
        """Whether it is the first step for people, or one after it: to those before it makes no difference."""
        steps = self.construction.steps
        return any(_asks_people(earlier) for earlier in steps[: steps.index(step) + 1])

    def is_done(self, step: Step) -> bool:
        """Whether what a step has made is there and still holds, with no failed call in it."""
        held = self.folder.steps().get(step.name, {})
        return (
            all(self.folder.table_file(name).exists() for name in step.writes)
            and all((self.folder.path / name).exists() for name in step.outputs)
            and not held.get("n_failed")
            and held.get("digest") == self.digest(step)
        )


def _asks_people(step: Step) -> bool:
    return step.by == "people" or step.sheet is not None


def build(
    bench: Bench,
    ask: EngineAsk,
    *,
    tell: Callable[[str], None] = lambda line: None,
    warn: Callable[[str], None] = lambda line: None,
) -> Built:
    """Do every step that is due, in order, until all are done or one waits for people.

    Raises
    ------
    DataError, SettingError, ModelError, StoreError
        Of a step; what the steps before have made stays.
    """
    built = Built(str(bench.folder.path), dict.fromkeys([step.name for step in bench.construction.steps], "to do"))
    check_models(bench, ask.able)
    try:
        _make_what_is_due(bench, ask, built, tell=tell, warn=warn)
    finally:
        for name in _outdated(bench, built):
            warn(f"{bench.folder.path / name} is of an earlier state, and doesn't hold any more")
    bench.folder.note_states(built.steps)
    built.asked, built.cost = ask.n_asked, ask.cost
    return built


def check_models(bench: Bench, able: Callable[[str], Able | None]) -> None:
    """Look at the models of all steps that are due, before any is asked; None is one of which nothing can be known.

    Raises
    ------
    SettingError, ModelError, AbilityError
        For a name that is unknown, terms or files that are lacking, a grammar that a model hasn't.
    """
    for step in bench.construction.steps:
        models = step.models(bench.config)
        for name, constrained in models.items() if models and not bench.is_done(step) else ():
            model = able(name)
            if model is not None and not model.abilities.grammar and constrained:
                raise AbilityError(
                    f"{step.name}: model {name!r} can't be held to a form of answer; leave out constrained = true"
                )


def _make_what_is_due(
    bench: Bench, ask: EngineAsk, built: Built, *, tell: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Step after step, noting in `built` how each stands, until one stops or waits."""
    folder = bench.folder
    tables: Tables = {}
    for step in bench.construction.steps:
        if bench.is_done(step):
            made = {name: folder.read_table(name) for name in step.writes}
        else:
            tell(f"{step.name}: {step.title}")
            before = ask.n_failed
            try:
                made = _make(bench, step, tables, ask, tell=tell, warn=warn)
            except WaitingError as wait:
                built.steps[step.name], built.waiting = "waiting", str(wait)
                break
            except IncompleteError as end:
                built.steps[step.name], built.stopped = "stopped", str(end)
                break
            built.made.append(step.name)
            if ask.n_failed > before:
                built.failed[step.name] = ask.n_failed - before
        built.steps[step.name] = "done"
        tables.update(made)
        built.tables.update({name: len(rows) for name, rows in made.items()})


def _outdated(bench: Bench, built: Built) -> list[str]:
    """Files and folders that a step wrote earlier, of tables that aren't current any more."""
    found = []
    stale: set[str] = set()
    for step in bench.construction.steps:
        if built.steps[step.name] == "done" or (not stale.intersection(step.reads) and bench.is_done(step)):
            continue
        stale.update(step.writes)
        if step.outputs and (bench.folder.path / step.outputs[0]).exists():
            found.append(Path(step.outputs[0]).parts[0])
    return found


def _make(
    bench: Bench, step: Step, tables: Tables, ask: EngineAsk, *, tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> Tables:  # fmt: skip
    """Do one step and keep what it makes: its tables are written, then the digest of all that it read."""
    folder, digest, n_failed = bench.folder, bench.digest(step), ask.n_failed
    missing = [name for name in step.reads if name not in tables]
    if missing:
        raise DataError(f"step {step.name!r} reads {', '.join(missing)}, which no step before it writes")
    # Without a digest, tables that a cut leaves half renewed aren't taken for whole.
    folder.note_step(step.name, state="begun")
    made = step.make(
        replace(bench.workshop(step, tables, ask), tell=lambda line: tell(f"{step.name}: {line}"), warn=warn)
    )
    if set(made) != set(step.writes):
        raise DataError(f"step {step.name!r} makes {', '.join(made)}; expected {', '.join(step.writes)}")
    for name, rows in made.items():
        folder.write_table(name, rows)
    folder.note_step(step.name, state="done", digest=digest, n_failed=ask.n_failed - n_failed)
    return made


def _ask_nobody(
    prompts: Sequence[Prompt], model: str, *, repeat: int = 1, sampling: Sampling | None = None
) -> list[Response]:
    raise DataError("a model is asked only while a step is made")


# --- without making anything ------------------------------------------------------------------------------------------


class Load(NamedTuple):
    """What would be asked of a model, at most; loads of one model add up."""

    model: str
    n_calls: int
    input_tokens: Range
    """Estimated from the prompts, see `isogloss.run.tokens`."""
    output_tokens: int
    cost: float | None
    """US dollars; None where the price isn't known."""

    def __add__(self, other: Load) -> Load:  # type: ignore[override]  # sums, where a tuple would join
        return Load(
            self.model, self.n_calls + other.n_calls, self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens, added((self.cost, other.cost)),
        )  # fmt: skip


class Prospect(NamedTuple):
    """What a command would do with a step."""

    step: Step
    state: State
    loads: Sequence[Load] | None
    """One for each model that is asked; None where that can't be told before an earlier step is done."""


def prospects(bench: Bench, price_of: Callable[[str], Price | None]) -> list[Prospect]:
    """How each step stands, without making or writing anything.

    Parameters
    ----------
    bench : Bench
    price_of : callable
        Name of a model → its price, None where that isn't known.
    """
    found: list[Prospect] = []
    tables: Tables = {}
    changing: set[str] = set()
    for step in bench.construction.steps:
        if not changing.intersection(step.reads) and bench.is_done(step):
            tables.update({name: bench.folder.read_table(name) for name in step.writes})
            found.append(Prospect(step, "done", ()))
            continue
        ready = all(name in tables for name in step.reads)
        loads: Sequence[Load] | None = ()
        if step.forecast is not None:
            requests = step.forecast(bench.workshop(step, tables))
            loads = None if requests is None else loads_of(requests, price_of)
        waits = not bench.skip_people and (
            step.by == "people" if not ready else step.sheet is not None and not _all_are_back(bench, step, tables)
        )
        found.append(Prospect(step, "waiting" if waits else "to do", loads))
        changing.update(step.writes)
    return found


def loads_of(requests: Sequence[Requests], price_of: Callable[[str], Price | None]) -> list[Load]:
    """Calls, tokens and cost of what a step would ask, a load for each model."""
    loads = []
    for model, prompts, times, max_tokens in requests:
        n_calls = len(prompts) * times
        tokens_in = reduce(add, map(prompt_tokens, prompts), NOTHING).times(times)
        tokens_out = n_calls * (max_tokens or TOKENS_WITHOUT_LIMIT)
        price = price_of(model)
        cost = None if price is None else price.cost(tokens_in.high, tokens_out)
        loads.append(Load(model, n_calls, tokens_in, tokens_out, cost))
    return [load for load in by_model(loads) if load.n_calls]


def by_model(loads: Iterable[Load]) -> list[Load]:
    """One load a model: their sums."""
    found: dict[str, Load] = {}
    for load in loads:
        found[load.model] = found[load.model] + load if load.model in found else load
    return list(found.values())


def _all_are_back(bench: Bench, step: Step, tables: Tables) -> bool:
    if step.sheet is None:
        return False
    return all(one.n_back >= one.n_rows for one in returns(bench, step, step.sheet(bench.workshop(step, tables))))


def done_tables(bench: Bench) -> Tables:
    """Tables of the steps that were done when the last command ended; of those after one that isn't, none."""
    tables: Tables = {}
    states = bench.folder.steps()
    for step in bench.construction.steps:
        if states.get(step.name, {}).get("state") != "done":
            break
        tables.update({name: bench.folder.read_table(name) for name in step.writes})
    return tables


# --- people -----------------------------------------------------------------------------------------------------------


class Return(NamedTuple):
    """How much of a sheet has come back."""

    task: str
    rater: str
    n_rows: int
    n_back: int


def returns(bench: Bench, step: Step, sheet: Sheet) -> list[Return]:
    """Rater by rater: rows asked for, and those that a rating came in for."""
    wanted = {rater: {str(row["item_id"]) for row in rows} for rater, rows in sheet.rows.items()}
    n_back = Counter(
        rating.rater for rating in bench.folder.ratings(step.name) if rating.item_id in wanted.get(rating.rater, ())
    )
    return [Return(step.name, rater, len(ids), n_back[rater]) for rater, ids in wanted.items()]


def sheets(bench: Bench) -> list[tuple[Step, Sheet]]:
    """What people are asked in the steps that are ready for them: all they read is made, and holds."""
    found = []
    tables: Tables = {}
    for step in bench.construction.steps:
        if step.sheet is not None and all(name in tables for name in step.reads):
            sheet = step.sheet(bench.workshop(step, tables))
            if any(sheet.rows.values()):
                found.append((step, sheet))
        if not bench.is_done(step):
            break
        tables.update({name: bench.folder.read_table(name) for name in step.writes})
    return found
