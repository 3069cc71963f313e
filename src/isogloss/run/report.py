"""Fill in what the HTML report tells of runs, and write it."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.errors import DataError
from isogloss.records import Dataset, Estimate, Message, Prompt, RunSpec, Sampling, Status
from isogloss.run.analyse import analyse, current_arms, held_plan, standing, state_of
from isogloss.run.folder import RunFolder
from isogloss.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.reports.context import DatasetFacts, Example, RunFacts


def write_report(folders: Sequence[RunFolder], study: Study, path: Path) -> None:
    """Code and score runs and write one HTML report over them.

    Raises
    ------
    DataError
        If the runs aren't of one study on one data set.
    """
    import pandas as pd

    from isogloss.reports import ReportContext, invalid_replies, write_html

    specs = [folder.spec() for folder in folders]
    for folder, spec in zip(folders, specs, strict=True):
        if (spec.study, spec.data_digest) != (specs[0].study, specs[0].data_digest):
            raise DataError(
                f"{folder.path} asks {spec.study} on {spec.data}, {folders[0].path} asks {specs[0].study} on "
                f"{specs[0].data}; one report takes runs of one study on one data set"
            )
    parts, frames = [], []
    names = distinct_names(folders, specs)
    for folder in folders:
        found, answers, dataset, settings = analyse(study, folder, again=False, all_replies=False)
        parts.append(found)
        frames.append(answers)
    estimates = merged(parts, names)
    answers = pd.concat(
        [frame.assign(model=frame["model"].replace(of)) for frame, of in zip(frames, names, strict=True)],
        ignore_index=True,
    )
    sections = study.sections(estimates, answers, dataset, settings) if study.sections else ()
    context = ReportContext(
        title=f"{study.title} ({dataset.name})",
        study=study.name,
        study_version=study.version,
        study_title=study.title,
        runs=tuple(_run_facts(folder, spec, of) for folder, spec, of in zip(folders, specs, names, strict=True)),
        dataset=_dataset_facts(dataset, specs[0], study),
        estimates=tuple(estimates),
        sections=tuple(sections),
        examples=tuple(
            example
            for folder, frame in zip(folders, frames, strict=True)
            for example in _examples(folder, frame, dataset)
        ),
        invalid=tuple(invalid_replies(answers)),
        made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    write_html(path, context)
    for folder in folders:
        if path == folder.report_file:
            with folder.ledger() as ledger:
                folder.note(reported=state_of(ledger, study, folder))


def distinct_names(folders: Sequence[RunFolder], specs: Sequence[RunSpec]) -> list[dict[str, str]]:
    """For each run, model → the name it has in a common table: with its run's where several runs have the model."""
    models = [[model.partition("@")[0] for model in spec.models] for spec in specs]
    n_runs = Counter(model for held in models for model in held)
    return [
        {model: f"{model} ({folder.path.name})" if n_runs[model] > 1 else model for model in held}
        for folder, held in zip(folders, models, strict=True)
    ]


def merged(parts: Sequence[Sequence[Estimate]], names: Sequence[Mapping[str, str]]) -> list[Estimate]:
    """Estimates of several runs in one list. Of those that go by the data alone, the one over most answers is kept."""
    kept: dict[tuple[str, frozenset[tuple[str, str]]], Estimate] = {}
    for found, name_of in zip(parts, names, strict=True):
        for estimate in found:
            group = dict(estimate.group)
            if "model" in group:
                group["model"] = name_of.get(group["model"], group["model"])
                estimate = estimate.model_copy(update={"group": group})
            key = (estimate.measure, frozenset(group.items()))
            if key not in kept or estimate.n_answers > kept[key].n_answers:
                kept[key] = estimate
    return list(kept.values())


def _run_facts(folder: RunFolder, spec: RunSpec, name_of: Mapping[str, str]) -> RunFacts:
    from isogloss.reports.context import ModelFacts, RunFacts

    facts = folder.facts()
    models = []
    n_prompts = 0
    with folder.ledger() as ledger:
        plan = held_plan(ledger, spec)
        taken = ledger.spending()
        arms = current_arms(ledger, spec) if plan else []
        for arm in arms:
            statuses = standing(ledger, plan, [arm], spec.repeats)
            n_prompts += sum(statuses.values())
            words = [word for word, able in (("chat", arm.chats), ("scores of given texts", arm.scores)) if able]
            models.append(
                ModelFacts(
                    name=name_of.get(arm.model, arm.model),
                    revision=arm.revision,
                    abilities=tuple(words),
                    sampling=_sampling_words(arm.sampling),
                    constrained=arm.sampling.constrained,
                    statuses=statuses,
                    note="; ".join(facts.get("remarks", {}).get(arm.model, ())),
                    template=(ledger.template(arm) or ("",))[0],
                    spending=tuple(part for part in taken if part.arm == arm.id),
                )
            )
        others = {
            f"{arm.model}, {arm.revision or 'another revision'} (not in this report)": tuple(
                part for part in taken if part.arm == arm.id
            )
            for arm in ledger.arms()
            if arm not in arms
        }
        first, last = ledger.span()
    return RunFacts(
        id=folder.path.name,
        spec=folder.scored_spec(),
        models=tuple(models),
        versions=facts.get("versions", {}),
        started=_iso(first) or facts.get("created"),
        finished=_iso(last),
        n_prompts=n_prompts,
        command=command(folder.scored_spec(), folder.path),
        folder=str(folder.path),
        reasoning_tags=tuple(tag if isinstance(tag, str) else " … ".join(tag) for tag in folder.own_reasoning_tags()),
        unreported=others,
    )


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _sampling_words(sampling: Sampling) -> dict[str, str]:
    return {name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in sampling.model_dump(exclude={"constrained"}).items() if value is not None}  # fmt: skip


def command(spec: RunSpec, out: Path) -> str:
    """The command line that repeats a run (its settings that differ from the defaults)."""
    parts = ["isogloss", "run", spec.study, spec.data]
    for model in spec.models:
        parts += ["--model", model]
    given = {**spec.settings, **spec.sampling.model_dump(mode="json", exclude_defaults=True)}
    for name, value in given.items():
        if value not in (None, [], ()):
            shown = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            parts += ["--set", f"{name}={shown}"]
    parts += ["--seed", str(spec.seed)]
    if spec.limit:
        parts += ["--limit", str(spec.limit)]
    if spec.repeats > 1:
        parts += ["--repeats", str(spec.repeats)]
    return shlex.join([*parts, "--out", str(out)])


def _dataset_facts(dataset: Dataset, spec: RunSpec, study: Study) -> DatasetFacts:
    from isogloss.reports.context import DatasetFacts

    places = {str(row["code"]): str(row.get("name") or row["code"]) for row in dataset.tables.get("places", ())}
    about = ""
    if spec.data in study.samples:
        about = "Sample data of isogloss, an illustration and not a reference."
    return DatasetFacts(
        name=dataset.name,
        digest=spec.data_digest,
        n_items=len(dataset.items),
        n_options=sum(len(item.options) for item in dataset.items),
        places=places,
        languages=tuple(sorted({item.language for item in dataset.items if item.language})),
        notes=dataset.notes,
        about=about,
    )


def _examples(folder: RunFolder, answers: pd.DataFrame, dataset: Dataset) -> list[Example]:
    """One prompt of each format and way of reading with its reply and how it was read."""
    from isogloss.reports.context import CodedReply, Example

    spec = folder.spec()
    examples: list[Example] = []
    with folder.ledger() as ledger:
        plan = held_plan(ledger, spec)
        answered = answers[answers["status"] != Status.MISSING]
        if plan is None or answered.empty:
            return examples
        first = answered.drop_duplicates(["format", "asked_by"])
        wanted = dict(zip(first["prompt_id"], first["model"], strict=True))
        for prompt, response in ledger.exchanges(plan, wanted):
            same = answered[(answered["prompt_id"] == prompt.id) & (answered["model"] == wanted[prompt.id])]
            texts = _texts(prompt, dataset)
            examples.append(
                Example(
                    format=str(same["format"].iloc[0]),
                    model=wanted[prompt.id],
                    messages=tuple(
                        Message(role=m.role, content=texts.get(m.content, m.content)) for m in prompt.messages
                    ),
                    reply=response.text or "",
                    coded=tuple(
                        CodedReply(reading, status, _words(value), note)
                        for reading, status, value, note in zip(
                            same["reading"], same["status"], same["value"], same["note"], strict=True
                        )
                    ),
                    candidates=tuple(
                        (texts.get(candidate, candidate), score)
                        for candidate, score in zip(prompt.candidates, response.candidate_logprobs or (), strict=False)
                    ),
                    scored_by=_scored_by(prompt, is_elsewhere=bool(texts)),
                    rendered=response.rendered or "",
                )
            )
    return examples


def _texts(prompt: Prompt, dataset: Dataset) -> dict[str, str]:
    """Id → text, where a prompt names an item and its options by id: it stands for scores made elsewhere."""
    ids = {message.content for message in prompt.messages}
    for item in dataset.items:
        texts = {option.id: option.text for option in item.options}
        if item.id in ids and prompt.candidates and texts.keys() >= set(prompt.candidates):
            return {item.id: item.text or "(no context)", **texts}
    return {}


def _scored_by(prompt: Prompt, *, is_elsewhere: bool) -> str:
    """What the scores of candidates are."""
    if is_elsewhere:
        return "scores made elsewhere"
    return "log-odds" if prompt.form and prompt.form.kind == "next_sentence" else "log-probability"


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)
    if isinstance(value, tuple):
        return ", ".join(map(_words, value))
    return (
        {True: "yes", False: "no"}.get(value, str(value))
        if isinstance(value, bool)
        else f"{value:.3g}"
        if isinstance(value, float)
        else str(value)
    )
