"""Asking what is missing, and what that came to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.api.job import Job
from isogloss.errors import SettingError
from isogloss.models import open_model
from isogloss.models.settings import ModelSettings
from isogloss.records import Status
from isogloss.run.analyse import current_arms, held_plan, standing
from isogloss.run.execute import Observer, Progress, check_abilities, execute
from isogloss.run.folder import RunFolder
from isogloss.run.plan import plan_digest, rows

if TYPE_CHECKING:
    from isogloss.models.model import Model

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
    """US dollars; 0 for models on this machine, None where the price isn't known."""
    stopped: Sequence[str] = ()
    """Why asking ended early, one line a model."""

    @property
    def complete(self) -> bool:
        """Whether every prompt has an answer that isn't a failed call."""
        return not (self.stopped or self.statuses.get(Status.FAILED) or self.statuses.get(Status.MISSING))


def ask(
    job: Job,
    out: str | Path,
    *,
    models: Sequence[Model] = (),
    base_url: str | None = None,
    max_connections: int = DEFAULT_CONNECTIONS,
    observe: Observer = lambda progress: None,
    warn: Callable[[str], None] = lambda text: None,
    environment: Mapping[str, str] | None = None,
) -> Summary:
    """Ask what is missing and keep it; nothing is coded or scored yet.

    Parameters
    ----------
    models : sequence of Model
        Models made by hand; opened from the job's names otherwise.
    """
    folder = RunFolder(out)
    models = models or _open_models(
        job,
        base_url=base_url,
        max_connections=max_connections,
        environment=os.environ if environment is None else environment,
    )
    if not models:
        raise SettingError("no model to ask; give one with --model, e.g. --model gguf/smollm2")
    with folder.locked():
        spec = folder.begin(job.spec)
        with folder.ledger(create=True) as ledger:
            ledger.add_dataset(job.dataset, spec.data_digest)
            if "analysed" in folder.facts() and not ledger.n_responses():
                warn(f"the ledger of {folder.path} holds no reply any more; everything is asked again")
            plan = held_plan(ledger, spec) or ledger.add_plan(plan_digest(spec), rows(job.questions()))
            for model in models:
                check_abilities(model, plan, spec.sampling)
            progress = execute(
                ledger, plan, models, spec.sampling,
                repeats=spec.repeats, max_connections=max_connections, observe=observe, warn=warn,
            )  # fmt: skip
            for part in progress:
                folder.note_remarks(part.model, part.remarks)
            statuses = standing(ledger, plan, current_arms(ledger, spec), spec.repeats)
    return _summary(folder, progress, statuses, free=all(model.local for model in models))


def _open_models(
    job: Job, *, base_url: str | None, max_connections: int, environment: Mapping[str, str]
) -> list[Model]:
    """The models that a job names; nothing is started or sent yet."""
    replies: dict[str, str] = {}

    def reference(prompt_id: str) -> str | None:
        if not replies:
            for question in job.questions():
                reply = job.study.perfect_reply(question, job.dataset, job.settings)
                replies.setdefault(question.prompt.id, reply or "")
        return replies.get(prompt_id)

    return [
        open_model(
            name,
            environment=environment,
            settings=ModelSettings(base_url=base_url, max_connections=max_connections),
            seed=job.spec.seed,
            reference=reference if job.study.reference else None,
        )
        for name in job.spec.models
    ]


def _summary(folder: RunFolder, progress: Sequence[Progress], statuses: Mapping[str, int], *, free: bool) -> Summary:
    n_asked = sum(p.n_asked for p in progress)
    return Summary(
        run=str(folder.path),
        prompts=sum(p.n_prompts for p in progress),
        asked=n_asked,
        cached=sum(p.n_cached for p in progress),
        statuses=statuses,
        tokens={"input": sum(p.input_tokens for p in progress), "output": sum(p.output_tokens for p in progress)},
        cost=0.0 if free or not n_asked else None,
        stopped=tuple(_named(p) for p in progress if p.stopped),
    )


def _named(progress: Progress) -> str:
    """Why a model's asking ended, with its name said once."""
    return progress.stopped if progress.model in progress.stopped else f"{progress.model}: {progress.stopped}"
