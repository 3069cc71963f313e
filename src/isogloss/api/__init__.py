"""The same jobs as the command line, for notebooks and programs: data frames in and out.

>>> import isogloss
>>> run = isogloss.run_study("lexicon", "sample", models=["scripted/random"], out="runs/first")  # doctest: +SKIP
>>> run.estimates                                                                        # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.api.asking import Summary, ask, check_models
from isogloss.api.build import build_dataset, preview, write_example
from isogloss.api.built import Build, Imported, build_state
from isogloss.api.job import Job, default_out, find_study, prepare
from isogloss.api.opened import Run, estimates_of, state, write_report
from isogloss.api.responses import score_responses
from isogloss.errors import SettingError
from isogloss.run.progress import Observer
from isogloss.study import Finding, Source, Study

if TYPE_CHECKING:
    from isogloss.models.model import Model

__all__ = [
    "Build",
    "Imported",
    "Job",
    "Run",
    "Summary",
    "ask",
    "build_dataset",
    "build_state",
    "check_data",
    "check_models",
    "default_out",
    "estimates_of",
    "find_study",
    "prepare",
    "preview",
    "run_study",
    "score_responses",
    "state",
    "write_example",
    "write_report",
]


def run_study(
    study: str | Study,
    data: Source,
    *,
    models: str | Sequence[str | Model],
    out: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    repeats: int = 1,
    base_url: str | None = None,
    max_connections: int | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    config: str | Path | None = None,
    observe: Observer = lambda progress: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Run:
    """Put a study's questions to models, code and score. Works inside a running event loop.

    Parameters
    ----------
    study : str or Study
    data : str, Path or DataFrame
        Name of a sample, path of a file, or a table.
    models : str, or sequence of str or Model
        `provider/model[@revision]`, or model values.
    out : path, optional
        Run folder; a stable one under `runs/` otherwise. What it holds already isn't asked again.
    settings : mapping, optional
        The study's settings and those of sampling (`temperature`, `max_tokens`, `constrained`, …).
    max_connections : int, optional
        Calls under way at once, for each model.
    max_cost : float, optional
        US dollars that the run may cost in all.
    batch : bool
        Through the providers' batch APIs.
    config : path, optional
        Limits, prices, addresses; `isogloss.toml` in the current folder otherwise, where there is one.

    Returns
    -------
    Run
        With `estimates` and `answers` (data frames), `report()` and `summary`.
    """
    models = [models] if isinstance(models, str) else models
    values = [model for model in models if not isinstance(model, str)]
    if values and len(values) != len(models):
        raise SettingError("models are either all names or all model values")
    names = [model if isinstance(model, str) else model.name for model in models]
    job = prepare(study, data, models=names, settings=settings, seed=seed, limit=limit, repeats=repeats)
    out = Path(out) if out is not None else default_out(job.spec)
    summary = ask(
        job, out, models=values, base_url=base_url, max_connections=max_connections, max_cost=max_cost, batch=batch,
        config=config, observe=observe, warn=warn,
    )  # fmt: skip
    opened = Run(out, study=job.study)
    if not opened.is_analysed():
        opened.score()
    opened.summary = summary
    return opened


def check_data(
    study: str | Study, data: Source, *, settings: Mapping[str, object] | None = None, seed: int = 0
) -> tuple[Job, Sequence[Finding]]:
    """Read a data set and say what would be asked and what looks odd. Raises DataError where it can't be used."""
    job = prepare(study, data, settings=settings, seed=seed)
    findings = job.study.findings(job.dataset, job.settings) if job.study.findings else ()
    return job, findings
