"""Asking what is missing, and what that came to."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.api.job import Job
from isogloss.errors import AbilityError, SettingError
from isogloss.models import foretell, open_model, parse_name
from isogloss.models.config import Config, read_config
from isogloss.models.prices import price_of
from isogloss.records import Response, Status
from isogloss.run.analyse import current_arms, held_plan, standing
from isogloss.run.asking import Informant, check_abilities, final_faults
from isogloss.run.breaker import Patience
from isogloss.run.budget import Budget, added, spent, total_cost
from isogloss.run.execute import execute
from isogloss.run.folder import RunFolder
from isogloss.run.plan import SCORED, plan_digest, rows
from isogloss.run.progress import Coding, Observer, Progress
from isogloss.store import Ledger, Plan
from isogloss.text import Tag

if TYPE_CHECKING:
    from isogloss.models.model import Able, Model
    from isogloss.run.plan import Forecast

DEFAULT_CONNECTIONS = 16


@dataclass(frozen=True)
class Summary:
    """What a command did and how the run stands; counts are of prompts (calls), over all models and repeats."""

    run: str
    prompts: int
    asked: int
    """Calls made by this command."""
    cached: int
    """Answered before."""
    statuses: Mapping[str, int]
    """How all prompts of the run stand now."""
    tokens: Mapping[str, int]
    """Used by this command."""
    cost: float | None
    """US dollars spent by this command; 0 for models on this machine, None where price or token counts aren't known."""
    stopped: Sequence[str] = ()
    """Why asking ended early, one line a model."""
    spent: float | None = None
    """US dollars that the run has cost so far, over all commands; None where price or token counts aren't known."""
    is_capped: bool = False
    """Whether asking ended because the cap on the cost was reached."""
    n_unmetered: int = 0
    """Replies of this command without token counts: their cost is in no sum."""
    missing_cost: float | None = None
    """US dollars that what is still missing may cost, at the mean of what was asked; None where nobody can say."""
    n_final: int = 0
    """Failed calls that no other try can mend; they aren't asked again."""
    final: Sequence[str] = ()
    """Why, one line a model."""

    @property
    def complete(self) -> bool:
        """Whether every prompt has an answer, or can't have one."""
        n_failed = self.statuses.get(Status.FAILED, 0) - self.n_final
        return not (self.stopped or n_failed or self.statuses.get(Status.MISSING))

    @property
    def is_hopeless(self) -> bool:
        """Whether not a single prompt can be put to any model of the run."""
        return 0 < self.n_final == sum(self.statuses.values())


def ask(
    job: Job,
    out: str | Path,
    *,
    models: Sequence[Model] = (),
    base_url: str | None = None,
    max_connections: int | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    config: Config | str | Path | None = None,
    observe: Observer = lambda progress: None,
    warn: Callable[[str], None] = lambda text: None,
    environment: Mapping[str, str] | None = None,
    patience: Patience | None = None,
) -> Summary:
    """Ask what is missing and keep it; nothing is coded or scored yet.

    Parameters
    ----------
    models : sequence of Model
        Models made by hand; opened from the job's names otherwise.
    max_connections : int, optional
        Calls under way at once, for each model; what `isogloss.toml` says, or 16, otherwise.
    max_cost : float, optional
        US dollars that the run may cost, earlier commands included.
    batch : bool
        Through the providers' batch APIs: within a day, at a lower price.
    config : Config or path, optional
        Limits, prices and addresses; `isogloss.toml` in the current folder otherwise, where there is one.
    patience : Patience, optional
        How an outage is waited out; what the config says otherwise.

    Raises
    ------
    SettingError
        If there is no model, or a cap on the cost of a model whose price isn't known.
    AbilityError, ModelError, StoreError
        See `isogloss.run.execute`.
    """
    folder = RunFolder(out)
    variables = os.environ if environment is None else environment
    held = config if isinstance(config, Config) else read_config(config, environment=variables)
    informants = [Informant(model, max_connections or DEFAULT_CONNECTIONS, None) for model in models] or _informants(
        job, held, base_url=base_url, max_connections=max_connections, environment=variables
    )
    if not informants:
        raise SettingError("no model to ask; give one with --model, e.g. --model gguf/smollm2")
    if max_cost is not None:
        check_prices(informants)
    with folder.locked():
        repeats = job.spec.repeats
        spec = folder.begin(job.spec, scoring=job.study.scoring)
        if held.reasoning_tags:
            folder.note_reasoning_tags(held.reasoning_tags)
        with folder.ledger(create=True) as ledger:
            ledger.add_dataset(job.dataset, spec.data_digest)
            if "analysed" in folder.facts() and not ledger.n_responses():
                warn(f"the ledger of {folder.path} holds no reply any more; everything is asked again")
            plan = held_plan(ledger, spec) or ledger.add_plan(plan_digest(spec), rows(job.questions()))
            for informant in informants:
                _check_needs(job, informant.model)
                check_abilities(informant.model, plan, spec.sampling, batch=batch)
            if spec.repeats > repeats:
                warn(f"this run has {spec.repeats} repeats of each prompt, so all models are asked that often")
            budget = None if max_cost is None else Budget(max_cost, spent=_spent(ledger, informants))
            progress = execute(
                ledger, plan, informants, spec.sampling,
                repeats=spec.repeats, observe=observe, warn=warn,
                coding=_coding(job, ledger, plan, folder.reasoning_tags()),
                budget=budget, patience=patience or patience_of(held), batch=batch,
            )  # fmt: skip
            for part in progress:
                folder.note_remarks(part.model, part.remarks)
            stopped = [_named(part) for part in progress if part.stopped]
            if folder.facts().get("stopped", []) != stopped:
                folder.note(stopped=stopped)
            arms = current_arms(ledger, spec)
            statuses = standing(ledger, plan, arms, spec.repeats)
            final = {arm.model: final_faults(ledger, plan, arm, spec.repeats) for arm in arms}
            is_capped = budget is not None and budget.was_reached
            return _summary(folder, ledger, progress, statuses, final, is_capped=is_capped)


def check_models(
    job: Job, stages: Mapping[str, Forecast], *, config: Config, environment: Mapping[str, str], base_url: str | None,
    batch: bool,
) -> None:  # fmt: skip
    """Refuse the models that `ask` would refuse for what they can't do; nothing is started or sent.

    Parameters
    ----------
    stages : mapping
        The job's questions by stage, see `Job.outlook`.

    Raises
    ------
    AbilityError
        Naming the first model that can't do what the settings need.
    """
    n_questions = sum(stage.n_questions for stage in stages.values())
    n_scored = sum(stage.n_questions for kind, stage in stages.items() if kind.endswith(SCORED))
    plan = Plan(0, n_questions, n_questions - n_scored, n_scored)
    for name in job.spec.models:
        model = foretold(name, config, environment, base_url=base_url)
        _check_needs(job, model)
        check_abilities(model, plan, job.spec.sampling, batch=batch)


def foretold(name: str, config: Config, environment: Mapping[str, str], *, base_url: str | None) -> Able:
    """What can be known of a model without a key, under the terms that the configuration says."""
    settings = config.settings(parse_name(name).full, base_url=base_url)
    return foretell(name, environment=environment, settings=settings)


def _informants(
    job: Job, config: Config, *, base_url: str | None, max_connections: int | None, environment: Mapping[str, str]
) -> list[Informant]:
    """The models that a job names, with their terms; nothing is started or sent yet."""
    replies: dict[str, str] = {}

    def reference(prompt_id: str) -> str | None:
        if not replies:
            for question in job.questions():
                reply = job.study.perfect_reply(question, job.dataset, job.settings)
                replies.setdefault(question.prompt.id, reply or "")
        return replies.get(prompt_id)

    return [
        informant_of(
            name, config, environment, seed=job.spec.seed, base_url=base_url, max_connections=max_connections,
            reference=reference if job.study.reference else None,
        )
        for name in job.spec.models
    ]  # fmt: skip


def informant_of(
    name: str, config: Config, environment: Mapping[str, str], *, seed: int, base_url: str | None,
    max_connections: int | None, reference: Callable[[str], str | None] | None = None,
) -> Informant:  # fmt: skip
    """A model by its name, with the terms that the configuration says; nothing is started or sent yet."""
    parsed = parse_name(name)
    settings = config.settings(parsed.full, base_url=base_url, max_connections=max_connections)
    model = open_model(
        name, environment=environment, settings=settings, throttle=config.throttle(parsed.provider), seed=seed,
        reference=reference,
    )  # fmt: skip
    price = price_of(parsed.full, settings, environment)
    return Informant(model, settings.max_connections, price, settings.batch_requests, settings.batch_megabytes)


def _spent(ledger: Ledger, informants: Sequence[Informant]) -> float:
    """What the run has cost so far; calls made before their price was known, at today's."""
    prices = {informant.model.name: informant.price for informant in informants}
    return spent(ledger, {arm.id: price for arm in ledger.arms() if (price := prices.get(arm.model)) is not None})


def patience_of(config: Config) -> Patience:
    """How an outage is waited out, with trial calls close enough to fit into a short one."""
    if config.pause_minutes is None:
        return Patience()
    total = 60 * config.pause_minutes
    return Patience(min(Patience().first, total / 4), min(Patience().longest, total / 2), total)


def _check_needs(job: Job, model: Able) -> None:
    """Say before anything is asked what a model can't do that the settings need. Raises AbilityError."""
    for need in job.study.needs(job.dataset, job.settings) if job.study.needs is not None else ():
        if getattr(model.abilities, need.ability) != need.wanted:
            raise AbilityError(f"model {model.name!r} doesn't fit: {need.words}")


def check_prices(informants: Sequence[Informant]) -> None:
    for informant in informants:
        if informant.price is None and not informant.model.local:
            raise SettingError(
                f"--max-cost needs the price of {informant.model.name}, which isn't known; "
                f'put input_price and output_price under [models."{informant.model.name}"] in isogloss.toml'
            )


def _coding(job: Job, ledger: Ledger, plan: Plan, tags: Sequence[Tag]) -> Coding:
    """What the study's coders make of a model's first replies: the best reading of each."""
    items = {item.id: item for item in job.dataset.items}

    def statuses(model: str, responses: Sequence[Response]) -> list[Status]:
        questions = ledger.questions_of(plan, [response.prompt_id for response in responses])
        found = []
        for response in responses:
            item_id, condition = questions[response.prompt_id]
            coded = [answer.status for answer in job.study.code(items[item_id], condition, response, tags)]
            found.append(Status.OK if Status.OK in coded or not coded else coded[0])
        return found

    return statuses


def _final_words(model: str, faults: Counter[str]) -> str:
    """How many and why; reasons that differ in their numbers only are one."""
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for fault, n in faults.items():
        kind = re.sub(r"\d+", "0", fault)
        kinds[kind] += n
        examples.setdefault(kind, fault)
    [(kind, n), *others] = kinds.most_common()
    words = f"{faults.total():,} calls can't be answered by {model}, and aren't asked again: {examples[kind]}"
    return words + (f" ({n:,} of them; for the others see the report)" if others else "")


def _summary(
    folder: RunFolder,
    ledger: Ledger,
    progress: Sequence[Progress],
    statuses: Mapping[str, int],
    final: Mapping[str, Counter[str]],
    *,
    is_capped: bool,
) -> Summary:
    cost = added(None if p.n_unmetered else p.cost for p in progress if p.n_asked)
    so_far = total_cost(ledger.spending())
    n_open = sum(n for status, n in statuses.items() if status in (Status.FAILED, Status.MISSING))
    n_answered = sum(statuses.values()) - n_open
    n_final = sum(faults.total() for faults in final.values())
    return Summary(
        run=str(folder.path),
        prompts=sum(p.n_prompts for p in progress),
        asked=sum(p.n_asked for p in progress),
        cached=sum(p.n_cached for p in progress),
        statuses=statuses,
        tokens={"input": sum(p.input_tokens for p in progress), "output": sum(p.output_tokens for p in progress)},
        cost=cost,
        stopped=tuple(_named(p) for p in progress if p.stopped),
        spent=so_far,
        is_capped=is_capped,
        n_unmetered=sum(p.n_unmetered for p in progress),
        missing_cost=so_far / n_answered * (n_open - n_final) if so_far is not None and n_answered else None,
        n_final=n_final,
        final=tuple(_final_words(model, faults) for model, faults in final.items() if faults),
    )


def _named(progress: Progress) -> str:
    """Why a model's asking ended, with its name said once."""
    return progress.stopped if progress.model in progress.stopped else f"{progress.model}: {progress.stopped}"
