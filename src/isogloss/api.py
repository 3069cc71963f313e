"""The same jobs as the command line, for notebooks and programs: data frames in and out.

>>> import isogloss
>>> run = isogloss.run("lexicon", "sample", models=["scripted/random"], out="runs/first")  # doctest: +SKIP
>>> run.estimates                                                                        # doctest: +SKIP
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isogloss import studies
from isogloss.errors import DataError, SettingError
from isogloss.models import open_model
from isogloss.records import Dataset, Estimate, RunSpec, Sampling, Status
from isogloss.run.analyse import analyse, current_arms, held_plan, state_of
from isogloss.run.execute import Observer, Progress, check_abilities, execute
from isogloss.run.folder import RunFolder
from isogloss.run.plan import Forecast, forecast, plan_digest, planned, rows
from isogloss.study import Finding, Question, Settings, Study
from isogloss.study import Source as StudySource

if TYPE_CHECKING:
    import pandas as pd

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


class Run:
    """A run folder, opened for reading."""

    def __init__(self, path: str | Path, *, study: Study | None = None) -> None:
        self.folder = RunFolder(path)
        self.spec = self.folder.spec()
        self.study = study or studies.get(self.spec.study)
        self.summary: Summary | None = None

    def __repr__(self) -> str:
        return f"Run({str(self.folder.path)!r})"

    @property
    def records(self) -> list[Estimate]:
        """Estimates as records; scored first where the ledger holds newer replies."""
        from isogloss.reports import read_estimates

        if not self.is_analysed():
            self.score()
        return read_estimates(self.folder.estimates_file)

    @property
    def estimates(self) -> pd.DataFrame:
        """Estimates as a table, one row each, with the columns of estimates.csv."""
        from isogloss.reports import estimates_frame

        return estimates_frame(self.records)

    @property
    def answers(self) -> pd.DataFrame:
        """Coded answers, one row per question × model × repeat × coder."""
        from isogloss.run.analyse import code

        with self.folder.ledger() as ledger:
            return code(self.study, ledger, self.spec, ledger.dataset(self.spec.data_digest))

    def is_analysed(self) -> bool:
        """Whether the stored answers and estimates belong to all that the ledger holds."""
        return self._is_current("analysed", self.folder.answers_file, self.folder.estimates_file)

    def is_reported(self) -> bool:
        """Whether the report in the folder does, too."""
        return self.is_analysed() and self._is_current("reported", self.folder.report_file)

    def _is_current(self, what: str, *files: Path) -> bool:
        with self.folder.ledger() as ledger:
            state = state_of(ledger, self.study, self.spec)
        return self.folder.facts().get(what) == state and all(file.exists() for file in files)

    def score(self) -> list[Estimate]:
        """Code and score again, without asking."""
        return analyse(self.study, self.folder)[0]

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report; returns where it is."""
        return report([self.folder.path], path)


def find_study(study: str | Study) -> Study:
    """A study by name; a Study value is passed through."""
    return studies.get(study) if isinstance(study, str) else study


def split_settings(study: Study, given: Mapping[str, object]) -> tuple[Settings, Sampling]:
    """Settings given by name → those of the study and those of sampling.

    Raises
    ------
    UnknownNameError, SettingError
        For a name that neither has, or a value that can't be.
    """
    from pydantic import ValidationError

    of_sampling = {name: value for name, value in given.items() if name in Sampling.model_fields}
    settings = study.parse_settings({name: value for name, value in given.items() if name not in of_sampling})
    try:
        sampling = Sampling.model_validate({"max_tokens": study.default_max_tokens, **of_sampling})
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingError(f"setting {first['loc'][0]!r}: {first['msg']}, got {first['input']!r}") from error
    return settings, sampling


def load(study: Study, data: StudySource, settings: Settings) -> Dataset:
    """Read a data set: a sample's name, a path, or a data frame."""
    if isinstance(data, str) and data in study.samples:
        dataset = study.load(study.samples[data], settings)
        return dataset.model_copy(update={"name": data})
    return study.load(data, settings)


@dataclass(frozen=True)
class Job:
    """A run that is set out but not begun."""

    study: Study
    dataset: Dataset
    settings: Settings
    spec: RunSpec

    def questions(self) -> Iterable[Question]:
        return planned(self.study, self.dataset, self.settings, self.spec)

    def forecast(self) -> dict[str, Forecast]:
        """Calls and tokens for one model and one repeat."""
        return forecast(self.questions(), max_tokens=self.spec.sampling.max_tokens or self.study.default_max_tokens)


def prepare(
    study: str | Study,
    data: StudySource,
    *,
    models: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    repeats: int = 1,
) -> Job:
    """Read the data and settle everything that decides what is asked."""
    study = find_study(study)
    parsed, sampling = split_settings(study, settings or {})
    dataset = load(study, data, parsed)
    spec = RunSpec(
        study=study.name,
        study_version=study.version,
        data=dataset.name,
        data_digest=dataset.digest,
        settings=parsed.model_dump(mode="json"),
        sampling=sampling,
        seed=seed,
        limit=limit,
        repeats=repeats,
        models=tuple(dict.fromkeys(models)),
    )
    return Job(study, dataset, parsed, spec)


def default_out(spec: RunSpec) -> Path:
    """Where a run goes when nobody says: the same command finds the same folder again."""
    same = spec.model_copy(update={"models": (), "repeats": 1, "limit": None})
    name = "".join(c if c.isalnum() else "-" for c in Path(spec.data).stem.lower()).strip("-")[:40] or "data"
    return Path("runs") / f"{spec.study}-{name}-{plan_digest(same)[3:9]}{spec.sampling.id[3:5]}"


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
    study, dataset = job.study, job.dataset
    environment = os.environ if environment is None else environment

    def reference(prompt_id: str) -> str | None:
        return references().get(prompt_id)

    held: dict[str, str] = {}

    def references() -> dict[str, str]:
        if not held:
            for question in job.questions():
                held.setdefault(question.prompt.id, study.perfect_reply(question, dataset, job.settings) or "")
        return held

    models = models or [
        open_model(
            name,
            base_url=base_url,
            environment=environment,
            max_connections=max_connections,
            seed=job.spec.seed,
            reference=reference if study.reference else None,
        )
        for name in job.spec.models
    ]
    if not models:
        raise SettingError("no model to ask; give one with --model, e.g. --model gguf/smollm2")
    with folder.locked():
        spec = folder.begin(job.spec)
        with folder.ledger(create=True) as ledger:
            ledger.add_dataset(dataset, spec.data_digest)
            plan = held_plan(ledger, spec) or ledger.add_plan(plan_digest(spec), rows(job.questions()))
            for model in models:
                check_abilities(model, plan, spec.sampling)
            progress = execute(
                ledger, plan, models, spec.sampling,
                repeats=spec.repeats, max_connections=max_connections, observe=observe, warn=warn,
            )  # fmt: skip
            statuses: dict[str, int] = {}
            for arm in current_arms(ledger, spec):
                for repeat in range(1, spec.repeats + 1):
                    for status, n in ledger.standing(plan, arm, repeat).items():
                        statuses[status.value] = statuses.get(status.value, 0) + n
    return _summary(folder, progress, statuses, free=all(model.local for model in models))


def _summary(folder: RunFolder, progress: Sequence[Progress], statuses: Mapping[str, int], *, free: bool) -> Summary:
    n_asked = sum(p.n_asked for p in progress)
    return Summary(
        run=str(folder.path),
        prompts=sum(p.n_prompts for p in progress),
        asked=n_asked,
        cached=sum(p.n_cached for p in progress),
        statuses=dict(sorted(statuses.items())),
        tokens={"input": sum(p.input_tokens for p in progress), "output": sum(p.output_tokens for p in progress)},
        cost=0.0 if free or not n_asked else None,
        stopped=tuple(f"{p.model}: {p.stopped}" for p in progress if p.stopped),
    )


def run(
    study: str | Study,
    data: StudySource,
    *,
    models: Sequence[str | Model],
    out: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    repeats: int = 1,
    base_url: str | None = None,
    max_connections: int = DEFAULT_CONNECTIONS,
    observe: Observer = lambda progress: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Run:
    """Put a study's questions to models, code and score. Works inside a running event loop.

    Parameters
    ----------
    study : str or Study
    data : str, Path or DataFrame
        Name of a sample, path of a file, or a table.
    models : sequence of str or Model
        `provider/model[@revision]`, or model values.
    out : path, optional
        Run folder; a stable one under `runs/` otherwise. What it holds already isn't asked again.
    settings : mapping, optional
        The study's settings and those of sampling (`temperature`, `max_tokens`, `constrained`, …).

    Returns
    -------
    Run
        With `estimates` and `answers` (data frames), `report()` and `summary`.
    """
    values = [model for model in models if not isinstance(model, str)]
    if values and len(values) != len(models):
        raise SettingError("models are either all names or all model values")
    names = [model if isinstance(model, str) else model.name for model in models]
    job = prepare(study, data, models=names, settings=settings, seed=seed, limit=limit, repeats=repeats)
    out = Path(out) if out is not None else default_out(job.spec)
    summary = ask(
        job, out, models=values, base_url=base_url, max_connections=max_connections, observe=observe, warn=warn
    )
    opened = Run(out, study=job.study)
    if not opened.is_analysed():
        opened.score()
    opened.summary = summary
    return opened


def report(runs: Sequence[str | Path | Run], out: str | Path | None = None) -> Path:
    """Write one HTML report over runs of one study on one data set; into the first run's folder unless told otherwise."""
    from isogloss.run.report import write_report

    opened = [run if isinstance(run, Run) else Run(run) for run in runs]
    path = Path(out) if out is not None else opened[0].folder.report_file
    write_report([run.folder for run in opened], opened[0].study, path)
    return path


def state(folder: str | Path) -> dict[str, Any]:
    """How a run stands, from its summary: quick for runs of any size."""
    opened = Run(folder)
    spec = opened.spec
    counts: dict[str, int] = {}
    with opened.folder.ledger() as ledger:
        plan = held_plan(ledger, spec)
        arms = current_arms(ledger, spec)
        for arm in arms if plan else ():
            for repeat in range(1, spec.repeats + 1):
                for status, n in ledger.standing(plan, arm, repeat).items():
                    counts[status.value] = counts.get(status.value, 0) + n
    unfinished = len(arms) < len(spec.models) or counts.get(Status.MISSING) or counts.get(Status.FAILED)
    return {
        "run": str(opened.folder.path),
        "study": spec.study,
        "data": spec.data,
        "models": list(spec.models),
        "state": "incomplete" if unfinished else "complete",
        "statuses": dict(sorted(counts.items())),
        "created": opened.folder.facts().get("created"),
    }


def check(
    study: str | Study, data: StudySource, *, settings: Mapping[str, object] | None = None, seed: int = 0
) -> tuple[Job, Sequence[Finding]]:
    """Read a data set and say what would be asked and what looks odd. Raises DataError where it can't be used."""
    job = prepare(study, data, settings=settings, seed=seed)
    findings = job.study.findings(job.dataset, job.settings) if job.study.findings else ()
    return job, findings


def score(
    study: str | Study,
    data: StudySource,
    responses: str | Path | pd.DataFrame,
    *,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    out: str | Path | None = None,
) -> Run:
    """Score replies made elsewhere to the prompts of this data set, settings and seed.

    `responses` has columns `prompt_id, model, repeat, response` (JSONL, CSV or a table); see
    `isogloss run --dry-run --prompts-out`. The run folder is kept at `out`, in a temporary place otherwise.

    Raises
    ------
    DataError
        If a column is missing, a prompt id is unknown or doubled.
    """
    from isogloss.run.responses import read_responses, store_responses

    table = read_responses(responses)
    if not table:
        raise DataError(f"{responses} holds no response")
    names = tuple(dict.fromkeys(row.model for row in table))
    n_repeats = max(row.repeat for row in table)
    job = prepare(study, data, models=names, settings=settings, seed=seed, limit=limit, repeats=n_repeats)
    folder = RunFolder(out if out is not None else tempfile.mkdtemp(prefix="isogloss-score-"))
    with folder.locked():
        spec = folder.begin(job.spec)
        with folder.ledger(create=True) as ledger:
            ledger.add_dataset(job.dataset, spec.data_digest)
            plan = held_plan(ledger, spec) or ledger.add_plan(plan_digest(spec), rows(job.questions()))
            store_responses(table, ledger, plan, spec.sampling)
    opened = Run(folder.path, study=job.study)
    opened.score()
    return opened
