"""Fifth step: every triple passes two reviews, the coordinator's and then the owner's.

Each accepts, corrects or rejects, with a reason for the last two. The owner is asked when the coordinator is through,
about what was not rejected, in the coordinator's words. Who wrote a triple is shown to neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isogloss.annotation import Field, Form, Together
from isogloss.construction import Sheet, Step, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import DataError, SettingError
from isogloss.records import Rating, content_id
from isogloss.studies.stereotypes.build.people import (
    TEXTS,
    Left,
    category_words,
    one_form,
    waiting,
    wording_files,
    words_for,
)
from isogloss.studies.stereotypes.build.people_writing import by_model, by_people

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

TASK = "review"
ACCEPT, EDIT, REJECT = DECISIONS = ("accept", "edit", "reject")


@dataclass
class Case:
    """A triple on its way through the reviews."""

    row: Row
    texts: dict[str, str]
    """As the last review left them."""
    decisions: list[Row]
    is_rejected: bool = False
    is_open: bool = False
    """Whether a review is still to come."""

    @property
    def item_id(self) -> str:
        """Of the triple in its present words: a decision holds for just the texts that it was made about."""
        return f"{self.row['id']}~{content_id(list(self.texts.values())).removeprefix('b2:')[:8]}"


def review(workshop: Workshop) -> Tables:
    """Take what both reviews decided, or keep all where people are left out.

    Raises
    ------
    DataError
        If there is nothing to review.
    SettingError
        If there aren't two reviewers.
    WaitingError
        While a review isn't finished.
    """
    instances = workshop.tables["instances"]
    if not instances:
        raise DataError(nothing_to_review(workshop))
    if workshop.skip_people:
        return {"reviewed": [{**row, "decisions": [], "accepted": True, "reviewed": False} for row in instances]}
    given = decided(workshop)
    cases = opened(instances)
    for stage, rater in stages(workshop.config):
        asked = [case for case in cases if not case.is_rejected]
        pass_through(asked, stage, rater, given)
        n_left = sum(case.is_open for case in asked)
        if n_left:
            raise waiting(
                TASK, {rater: Left(n_left, len(asked))}, workshop.folder, more=notes(stage, given, rater, asked)
            )
        counts = {name: sum(case.decisions[-1]["decision"] == name for case in asked) for name in DECISIONS}
        workshop.tell(f"{stage}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))
    warn_of_faults(workshop, cases)
    return {
        "reviewed": [
            {**case.row, **case.texts, "decisions": [*case.decisions], "accepted": not case.is_rejected,
             "reviewed": True}
            for case in cases
        ]
    }  # fmt: skip


def sheet(workshop: Workshop) -> Sheet:
    """All triples for the coordinator; when that review is finished, what it left for the owner."""
    config: BuildConfig = workshop.config
    given = decided(workshop)
    (_, coordinator), (_, owner) = stages(config)
    cases = opened(workshop.tables["instances"])
    rows = {coordinator: shown_rows(workshop, cases)}
    pass_through(cases, "coordinator", coordinator, given)
    if not any(case.is_open for case in cases):
        rows[owner] = shown_rows(workshop, [case for case in cases if not case.is_rejected])
    form = form_of(config)
    return Sheet(one_form(dict.fromkeys(rows, form)), rows)


def stages(config: BuildConfig) -> tuple[tuple[str, str], tuple[str, str]]:
    """Stage and reviewer, in order. Raises SettingError where there aren't two persons who don't write."""
    pair = (("coordinator", config.review.coordinator), ("owner", config.review.owner))
    for stage, rater in pair:
        if not rater:
            raise SettingError(f"review.{stage} isn't set; name a person's code, or build with --skip-people")
    if pair[0][1] == pair[1][1]:
        raise SettingError("review.coordinator and review.owner are one person; each triple passes two reviews")
    return pair


def nothing_to_review(workshop: Workshop) -> str:
    """Why, and what helps: that depends on who writes."""
    config: BuildConfig = workshop.config
    models = by_model(config)
    help_of = []
    if by_people(config) - (models if workshop.skip_people else set()):
        help_of.append(f"correct what people wrote ('isogloss annotate export {workshop.folder} --task write')")
    if models:
        help_of.append("take another model as instances.writer")
    return (
        "there is no triple to review: not one keeps the rules. tables/rejects.jsonl and the report say which rule "
        f"each breaks; {', or '.join(help_of)}"
    )


# --- decisions --------------------------------------------------------------------------------------------------------


def opened(instances: Sequence[Row]) -> list[Case]:
    """Every triple before its first review."""
    return [Case(row, {name: str(row[name]) for name in TEXTS}, []) for row in instances]


def decided(workshop: Workshop) -> dict[tuple[str, str], Rating]:
    """(rater, item) → what was said of it."""
    return {(rating.rater, rating.item_id): rating for rating in workshop.ratings(TASK)}


def pass_through(cases: Sequence[Case], stage: str, rater: str, given: Mapping[tuple[str, str], Rating]) -> None:
    """Take one stage's decisions over into the cases."""
    for case in cases:
        rating = given.get((rater, case.item_id))
        case.is_open = rating is None
        if rating is None:
            continue
        decision = str(rating.values["decision"])
        case.decisions.append(
            {"stage": stage, "rater": rater, "decision": decision, "reason": str(rating.values.get("reason") or "")}
        )
        case.is_rejected = decision == REJECT
        if decision == EDIT:
            case.texts = {name: str(rating.values.get(f"new_{name}") or text) for name, text in case.texts.items()}


def warn_of_faults(workshop: Workshop, cases: Sequence[Case]) -> None:
    """Say which corrected triples break a rule that they kept as they were written; people decide, so they stay."""
    from isogloss.studies.stereotypes.build.instance_rules import About, fault_of

    languages = frozenset(country.language for country in workshop.config.countries)
    claims = claims_of(workshop)
    for case in cases:
        if case.is_rejected or all(case.row[name] == text for name, text in case.texts.items()):
            continue
        group, language = str(case.row["group"]), str(case.row["language"])
        fault = fault_of(
            case.texts, About(group, claims.get(str(case.row["stereotype_id"]), ""), language, languages), []
        )
        if fault is not None:
            workshop.warn(f"triple {case.row['id']} as corrected: {fault.rule} ({fault.words}); it is kept")


def claims_of(workshop: Workshop) -> dict[str, str]:
    """Id of a stereotype → its words."""
    return {str(row["id"]): str(row["claim"]) for row in workshop.tables["validated"]}


def notes(stage: str, given: Mapping[tuple[str, str], Rating], rater: str, cases: Sequence[Case]) -> list[str]:
    """What else is to say of a review that isn't finished."""
    ids = {str(case.row["id"]) for case in cases if case.is_open}
    n_old = len({item_id for who, item_id in given if who == rater and item_id.rpartition("~")[0] in ids})
    return [f"decisions of the {stage} on texts that have changed since: {n_old:,}"] if n_old else []


# --- what reviewers see -----------------------------------------------------------------------------------------------


def shown_rows(workshop: Workshop, cases: Sequence[Case]) -> list[Row]:
    """Rows of a sheet: what a triple is about, and its texts."""
    config: BuildConfig = workshop.config
    names = {country.code: country.name for country in config.countries}
    claims = claims_of(workshop)
    return [
        {
            "item_id": case.item_id,
            "country": names.get(str(case.row["country"]), case.row["country"]),
            "category": category_words(config, str(case.row["category"]), str(case.row["country"])),
            "group": case.row["group"],
            "claim": claims.get(str(case.row["stereotype_id"]), ""),
            **case.texts,
        }
        for case in cases
    ]


def form_of(config: BuildConfig) -> Form:
    """What reviewers are asked, in the language of the first country (or of `validation.wording`)."""
    held = words_for(config, config.countries[0], TASK)
    texts = held.texts
    changed = (EDIT, REJECT)
    return Form(
        task=TASK,
        title=str(texts["title"]),
        instructions=texts["instructions"],
        language=held.language,
        shown=tuple((name, str(texts[name])) for name in ("country", "category", "group", "claim", *TEXTS)),
        fields=(
            Field(
                name="decision", title=texts["decision"], kind="choice", choices=DECISIONS, labels=texts["decisions"]
            ),
            Field(name="reason", title=texts["reason"], kind="text", required_if=("decision", changed)),
            *(
                Field(name=f"new_{name}", title=str(texts[f"new_{name}"]), kind="text", required=False)
                for name in TEXTS
            ),
        ),
        together=Together(field="decision", values=(EDIT,), fields=tuple(f"new_{name}" for name in TEXTS)),
    )


REVIEW = Step(
    name=TASK,
    title="Let two people review each triple, one after the other",
    by="people",
    reads=("validated", "instances"),
    writes=("reviewed",),
    make=review,
    settings=lambda config: [config.review.model_dump(mode="json"), config.validation.wording],
    sheet=sheet,
    files=wording_files,
)
