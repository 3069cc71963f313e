"""From stored replies to answers, estimates and the report, without asking anything again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isogloss.errors import DataError
from isogloss.records import Answer, Condition, Dataset, Estimate, RunSpec, content_id
from isogloss.run.answers import read_answers, write_answers
from isogloss.run.collector import rare_collections
from isogloss.run.folder import RunFolder
from isogloss.run.plan import plan_digest
from isogloss.store import Arm, Ledger, Plan
from isogloss.study import ANSWER_COLUMNS, Settings, Study
from isogloss.text import REASONING_TAGS, Tag
from isogloss.version import __version__

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (*ANSWER_COLUMNS, "reply")


def held_plan(ledger: Ledger, spec: RunSpec) -> Plan | None:
    """The plan that a spec describes, if its questions are in the ledger."""
    return ledger.plan(plan_digest(spec))


def code(
    study: Study, ledger: Ledger, spec: RunSpec, dataset: Dataset, tags: Sequence[Tag] = REASONING_TAGS
) -> pd.DataFrame:
    """Read every stored reply with the study's coders, without what stands between marks of reasoning (`tags`).

    Returns
    -------
    DataFrame
        Columns `ANSWER_COLUMNS` and `reply` (the raw text); one row per question × model × repeat × coder.
        Questions never asked are there as `missing`.
    """
    import pandas as pd

    plan = held_plan(ledger, spec)
    rows: list[tuple[object, ...]] = []
    if plan is not None:
        items = {item.id: item for item in dataset.items}
        for arm in current_arms(ledger, spec):
            for repeat in range(1, spec.repeats + 1):
                for item_id, condition, response in ledger.asked(plan, arm, repeat):
                    head = _condition_cells(item_id, condition)
                    coded = study.code(items[item_id], condition, response, tags)
                    rows += [(*head, *_answer_cells(answer), response.text) for answer in coded]
    columns = zip(*rows, strict=True) if rows else ([] for _ in COLUMNS)
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in zip(COLUMNS, columns, strict=True)})
    return frame.astype({"repeat": "int64"})


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


def analyse(
    study: Study, folder: RunFolder, *, again: bool, all_replies: bool = True
) -> tuple[list[Estimate], pd.DataFrame, Dataset, Settings]:
    """Code and score a run, and keep that beside its ledger; what is kept and current is read, unless `again`.

    Without `all_replies` the raw text may be missing from answers that have a value.
    """
    from isogloss.reports import write_estimates

    spec = folder.spec()
    settings = study.parse_settings(folder.scored_spec().settings)
    with folder.ledger() as ledger:
        dataset = ledger.dataset(spec.data_digest)
        tags = folder.reasoning_tags()
        state = state_of(ledger, study, folder)
        if not again and is_current(folder, "analysed", state):
            held = read_answers(folder.answers_file, folder.facts()["coders"], all_replies=all_replies)
            known = held_estimates(folder)
            if held is not None and known is not None:
                return known, held, dataset, settings
        with rare_collections():
            answers = code(study, ledger, spec, dataset, tags)
    estimates = study.estimate(answers, dataset, settings, spec.seed)
    write_answers(answers, folder.answers_file)
    write_estimates(folder.estimates_file, estimates)
    folder.note(analysed=state, coders=sorted(set(answers["coder"])))
    return estimates, answers, dataset, settings


def held_estimates(folder: RunFolder) -> list[Estimate] | None:
    """The estimates kept with a run; None where the file is damaged, since they can be made again."""
    from isogloss.reports import read_estimates

    try:
        return read_estimates(folder.estimates_file)
    except DataError:
        return None


def is_current(folder: RunFolder, what: str, state: Mapping[str, object]) -> bool:
    """Whether the stored outputs of a step ("analysed", "reported") belong to a state."""
    files = {"analysed": (folder.answers_file, folder.estimates_file), "reported": (folder.report_file,)}[what]
    return folder.facts().get(what) == state and all(file.exists() for file in files)


def state_of(ledger: Ledger, study: Study, folder: RunFolder) -> dict[str, object]:
    """What the stored answers and estimates of a run depend on: equal state, equal numbers."""
    spec = folder.spec()
    return {
        "spec": plan_digest(spec),
        "models": list(spec.models),
        "repeats": spec.repeats,
        "responses": ledger.n_responses(),
        "isogloss": __version__,
        "study": f"{study.name}@{study.version}",
        "reasoning_tags": content_id(folder.reasoning_tags()),
        "scoring": folder.scoring(),
    }
