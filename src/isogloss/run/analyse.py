"""From stored replies to answers, estimates and the report, without asking anything again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.records import Answer, Condition, Dataset, Estimate, RunSpec
from isogloss.run.folder import RunFolder
from isogloss.run.plan import plan_digest
from isogloss.store import Arm, Ledger, Plan
from isogloss.study import ANSWER_COLUMNS, Settings, Study
from isogloss.version import __version__

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (*ANSWER_COLUMNS, "reply")


def held_plan(ledger: Ledger, spec: RunSpec) -> Plan | None:
    """The plan that a spec describes, if its questions are in the ledger."""
    return ledger.plan(plan_digest(spec))


def code(study: Study, ledger: Ledger, spec: RunSpec, dataset: Dataset) -> pd.DataFrame:
    """Read every stored reply with the study's coders.

    Returns
    -------
    DataFrame
        Columns `ANSWER_COLUMNS` and `reply` (the raw text); one row per question × model × repeat × coder.
        Questions never asked are there as `missing`.
    """
    import pandas as pd

    plan = held_plan(ledger, spec)
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    if plan is not None:
        for arm in current_arms(ledger, spec):
            for repeat in range(1, spec.repeats + 1):
                _code_arm(study, ledger, plan, arm, repeat, dataset, columns)
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    return frame.astype({"repeat": "int64"})


def _code_arm(
    study: Study, ledger: Ledger, plan: Plan, arm: Arm, repeat: int, dataset: Dataset, columns: dict[str, list[object]]
) -> None:
    items = {item.id: item for item in dataset.items}
    appends = [columns[name].append for name in COLUMNS]
    for item_id, condition, response in ledger.asked(plan, arm, repeat):
        head = _condition_cells(item_id, condition)
        for answer in study.code(items[item_id], condition, response):
            for append, cell in zip(appends, (*head, *_answer_cells(answer), response.text), strict=True):
                append(cell)


def _condition_cells(item_id: str, c: Condition) -> tuple[object, ...]:
    return (item_id, c.country, c.language, c.format, c.wording, c.reading, c.option, c.order, c.factors)


def _answer_cells(a: Answer) -> tuple[object, ...]:
    return (a.prompt_id, a.model, a.repeat, a.coder, a.reading, a.status.value, a.value, a.note)


def current_arms(ledger: Ledger, spec: RunSpec) -> list[Arm]:
    """The arms a spec speaks of, in its order of models: for each name its revision, or the newest one asked."""
    arms = []
    for name in spec.models:
        model, _, revision = name.partition("@")
        held = [
            arm
            for arm in ledger.arms()
            if (arm.model, arm.sampling) == (model, spec.sampling) and (not revision or arm.revision == revision)
        ]
        arms += held[-1:]
    return arms


def standing(ledger: Ledger, plan: Plan | None, arms: Sequence[Arm], repeats: int) -> dict[str, int]:
    """How the prompts of a plan stand over arms and repeats: counts by status, sorted by its name."""
    counts: Counter[str] = Counter()
    if plan is None:
        return {}
    for arm in arms:
        for repeat in range(1, repeats + 1):
            counts.update({status.value: n for status, n in ledger.standing(plan, arm, repeat).items()})
    return dict(sorted(counts.items()))


def write_answers(frame: pd.DataFrame, path: Path) -> None:
    """Write answers to Parquet. Rows of other coder versions that are in the file already are kept.

    `value`, `order` and `factors` are JSON text there, so that one column can hold words, numbers and lists.
    """
    import pandas as pd

    flat = frame.copy()
    for name in ("value", "order", "factors"):
        flat[name] = [None if cell is None else json.dumps(_plain(cell), ensure_ascii=False) for cell in flat[name]]
    if path.exists():
        held = pd.read_parquet(path)
        held = held[~held["coder"].isin(set(flat["coder"]))]
        if len(held):
            flat = pd.concat([held, flat], ignore_index=True)
    partial = path.with_suffix(".parquet.partial")
    flat.to_parquet(partial, index=False)
    partial.replace(path)


def _plain(cell: object) -> object:
    return dict(cell) if isinstance(cell, Mapping) else list(cell) if isinstance(cell, tuple) else cell


def analyse(study: Study, folder: RunFolder) -> tuple[list[Estimate], pd.DataFrame, Dataset, Settings]:
    """Code and score a run, and write answers.parquet and estimates.csv beside its ledger."""
    from isogloss.reports import write_estimates

    spec = folder.spec()
    settings = study.parse_settings(spec.settings)
    with folder.ledger() as ledger:
        dataset = ledger.dataset(spec.data_digest)
        state = state_of(ledger, study, spec)
        answers = code(study, ledger, spec, dataset)
    estimates = study.estimate(answers, dataset, settings, spec.seed)
    write_answers(answers, folder.answers_file)
    write_estimates(folder.estimates_file, estimates)
    folder.note(analysed=state)
    return estimates, answers, dataset, settings


def state_of(ledger: Ledger, study: Study, spec: RunSpec) -> dict[str, object]:
    """What the stored answers and estimates of a run depend on: equal state, equal numbers."""
    return {
        "spec": plan_digest(spec),
        "models": list(spec.models),
        "repeats": spec.repeats,
        "responses": ledger.n_responses(),
        "isogloss": __version__,
        "study": f"{study.name}@{study.version}",
    }
