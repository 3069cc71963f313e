"""Scoring replies and scores that were made elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from isogloss.api.job import find_study, load, settle, split_settings
from isogloss.api.opened import Run
from isogloss.errors import DataError
from isogloss.records import Dataset
from isogloss.run.analyse import held_plan
from isogloss.run.folder import RunFolder
from isogloss.run.plan import plan_digest, rows
from isogloss.study import Given, Settings, Source, Study

if TYPE_CHECKING:
    import pandas as pd

Results: TypeAlias = "str | Path | pd.DataFrame"


def score_responses(
    study: str | Study,
    data: Source,
    responses: Results | Sequence[Results],
    *,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    out: str | Path | None = None,
) -> Run:
    """Score replies made elsewhere to the prompts of this data set, settings and seed.

    Parameters
    ----------
    responses : path, DataFrame, or list of them
        With columns `prompt_id, model, repeat, response` (JSONL, CSV or a table), see
        `isogloss run --dry-run --prompts-out`; or files in a format of the study's own (StereoSet's predictions), each
        called by its name. Those of several models are compared.
    out : path, optional
        Run folder; one in a temporary place otherwise.

    Raises
    ------
    DataError
        If a column is missing, a prompt id is unknown or doubled, or two files of the study's own format have one name.
    """
    from isogloss.run.responses import store_responses

    study = find_study(study)
    given = dict(settings or {})
    parsed = split_settings(study, given)[0]
    sources = _as_list(responses)
    _check_there(sources)
    dataset = load(study, data, parsed)
    more, table = _results(study, sources, dataset, parsed)
    names = tuple(dict.fromkeys(row.model for row in table))
    n_repeats = max(row.repeat for row in table)
    job = settle(study, dataset, {**given, **more}, models=names, seed=seed, limit=limit, repeats=n_repeats)
    folder = RunFolder(out if out is not None else tempfile.mkdtemp(prefix="isogloss-score-"))
    with folder.locked():
        spec = folder.begin(job.spec, scoring=job.study.scoring)
        with folder.ledger(create=True) as ledger:
            ledger.add_dataset(job.dataset, spec.data_digest)
            plan = held_plan(ledger, spec) or ledger.add_plan(plan_digest(spec), rows(job.questions()))
            store_responses(table, ledger, plan, spec.sampling)
    opened = Run(folder.path, study=job.study)
    opened.score()
    return opened


def _as_list(responses: Results | Sequence[Results]) -> Sequence[Results]:
    import pandas as pd

    return [responses] if isinstance(responses, str | Path | pd.DataFrame) else responses


def _check_there(sources: Sequence[Results]) -> None:
    """Raise DataError for a file that isn't there, before a large data set is read."""
    for source in sources:
        if isinstance(source, str | Path) and not Path(source).exists():
            raise DataError(f"{source} can't be read: no such file")


def _results(
    study: Study, sources: Sequence[Results], dataset: Dataset, settings: Settings
) -> tuple[dict[str, object], list[Given]]:
    """All results with the settings that go with them. Raises DataError for a source without any."""
    from isogloss.run.responses import read_responses

    more: dict[str, object] = {}
    table: list[Given] = []
    owners: dict[str, Results] = {}
    for source in sources:
        is_file = isinstance(source, str | Path)
        own = study.given(Path(str(source)), dataset, settings) if study.given and is_file else None
        found = read_responses(source) if own is None else own[1]
        if not found:
            raise DataError(f"{source if is_file else 'the table'} holds no response")
        if own is not None:
            more |= own[0]
            _check_names(source, {row.model for row in found}, owners)
        table += found
    return more, table


def _check_names(source: Results, models: set[str], owners: dict[str, Results]) -> None:
    """Remember whose results a file holds. Raises DataError for a model that another file has, too."""
    for model in sorted(models):
        if model in owners:
            raise DataError(
                f"{owners[model]} and {source} are both called {model!r}; files of different models need different "
                "names (without model=…, each is called by its own)"
            )
        owners[model] = source
