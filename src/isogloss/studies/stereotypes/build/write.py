"""Fourth step: some triples for each stereotype that was kept, by a model or by people, checked by rule.

Countries whose writers are named are written for by them, the others by the model: `instances.writer = "people"` with
`instances.writers` for all of them, or a model with writers for some. For countries of `instances.both` people and the
model write `number` triples each; the model isn't shown what people wrote.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.construction import Requests, Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import DataError, SettingError
from isogloss.prompts import Template
from isogloss.records import AnswerForm, Message, Prompt, Response, Sampling, Status, content_id
from isogloss.studies.stereotypes.build.instance_rules import About, fault_of
from isogloss.studies.stereotypes.build.people import TEXTS, wording_files
from isogloss.studies.stereotypes.build.people_writing import (
    MODEL,
    PERSON,
    TASK,
    by_model,
    kept_rows,
    writing_sheet,
    written,
)
from isogloss.studies.stereotypes.build.retrieve import read_reply
from isogloss.studies.stereotypes.build.wording import Wording, own_files, wanted_for, wording

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country

FIELDS = frozenset({"country", "people", "group", "claim", "number", "again"})
INCOMPLETE = "incomplete row"
LEFT_OUT = (
    "people are to write triples (instances.writer, instances.writers), and --skip-people leaves them out; name a "
    "model as instances.writer, and no writers"
)
MOST_NAMED = 3
"""Rows of people's, turned down, that a warning names."""


@dataclass
class Desk:
    """One stereotype, and what has been written for it."""

    row: Row
    about: About
    instances: Table = field(default_factory=list)
    rejects: Table = field(default_factory=list)

    @property
    def by_model(self) -> Table:
        """Instances that the model wrote."""
        return [one for one in self.instances if one["origin"] == MODEL]

    def take(self, texts: Mapping[str, str], *, writer: str, origin: str, repaired: bool) -> None:
        """Keep a triple, or turn it down with the rule that it breaks."""
        number = len(self.instances) + 1
        fault = fault_of(texts, self.about, [{name: str(one[name]) for name in TEXTS} for one in self.instances])
        if fault is not None:
            self.turn_down(fault.rule, fault.words, writer=writer, texts=texts)
            return
        id = content_id(["instance", self.row["id"], *(texts[name] for name in TEXTS)]).removeprefix("b2:")[:16]
        self.instances.append(
            {
                "id": id, "stereotype_id": self.row["id"],
                **{name: self.row[name] for name in ("country", "language", "category", "group")}, "number": number,
                **{name: texts[name] for name in TEXTS}, "writer": writer, "origin": origin, "repaired": repaired,
            }
        )  # fmt: skip

    def turn_down(self, rule: str, words: str, *, writer: str, texts: Mapping[str, str] | None = None) -> None:
        """Note what isn't kept; `texts` where there are any."""
        self.rejects.append(
            {
                "stereotype_id": self.row["id"], "number": len(self.instances) + 1,
                **{name: (texts or {}).get(name, "") for name in TEXTS}, "writer": writer, "rule": rule, "words": words,
            }
        )  # fmt: skip


def write(workshop: Workshop) -> Tables:
    """Have `number` triples written for each kept stereotype, twice in `both`; those that break a rule are `rejects`.

    A model is asked for all triples of a stereotype at once, and again for those that are lacking, told which contexts
    are taken, up to `instances.max_rounds` times.

    Raises
    ------
    WaitingError
        While people haven't finished writing.
    SettingError
        If people are to write and are left out, or a country has no writer.
    DataError
        If there is nothing to write for. That not one triple keeps the rules is no fault here: `rejects` is kept.
    """
    config: BuildConfig = workshop.config
    kept = [row for row in workshop.tables["validated"] if row["kept"]]
    if not kept:
        raise DataError("no stereotype was kept by the step before, so there is nothing to write; see its rates")
    languages = frozenset(country.language for country in config.countries)
    desks = {
        str(row["id"]): Desk(row, About(str(row["group"]), str(row["claim"]), str(row["language"]), languages))
        for row in kept
    }
    if kept_rows(workshop):
        take_from_people(workshop, desks)
    asked = [desk for desk in desks.values() if desk.row["country"] in by_model(config)]
    if asked:
        ask_model(workshop, asked)
    instances = [row for desk in desks.values() for row in desk.instances]
    rejects = [row for desk in desks.values() for row in desk.rejects]
    rules = ", ".join(f"{n:,} {rule}" for rule, n in Counter(str(row["rule"]) for row in rejects).most_common())
    warn_of_few(workshop, desks.values(), rules)
    return {"instances": instances, "rejects": rejects}


def warn_of_few(workshop: Workshop, desks: Collection[Desk], rules: str) -> None:
    """Say for how many stereotypes the model, people or both wrote fewer triples than `number`."""
    config: BuildConfig = workshop.config
    number, both = config.instances.number, () if workshop.skip_people else config.instances.both
    few = sum(len(desk.instances) < number * (2 if desk.row["country"] in both else 1) for desk in desks)
    if few:
        workshop.warn(
            f"{few:,} of {len(desks):,} stereotypes have fewer than {number} triples"
            f"{' of each origin' if both else ''}; turned down: {rules or 'none'}; see tables/rejects.jsonl"
        )


# --- people -----------------------------------------------------------------------------------------------------------


def take_from_people(workshop: Workshop, desks: Mapping[str, Desk]) -> None:
    """Put what people wrote to the rules; what is turned down can be corrected in the sheet and imported again."""
    if workshop.skip_people:
        raise SettingError(LEFT_OUT)
    for row in written(workshop):
        texts = {name: str(row[name] or "") for name in TEXTS}
        desks[str(row["stereotype_id"])].take(texts, writer=str(row["writer"]), origin=PERSON, repaired=False)
    warn_of_rejects(workshop, desks.values())


def warn_of_rejects(workshop: Workshop, desks: Collection[Desk]) -> None:
    """Name the rows of people's that were turned down, for their writers can mend them."""
    named = [
        f"{row['writer']}, '{desk.about.group}: {desk.about.claim}': {row['rule']} ({row['words']})"
        for desk in desks
        for row in desk.rejects
    ]
    rest = len(named) - MOST_NAMED
    if named:
        workshop.warn(
            f"turned down of what people wrote: {len(named):,}. {'; '.join(named[:MOST_NAMED])}"
            + (f"; and {rest:,} more in tables/rejects.jsonl" if rest > 0 else "")
            + f". To correct them: 'isogloss annotate export {workshop.folder} --task {TASK}', change those rows, "
            f"'isogloss annotate import {workshop.folder} SHEET', then build again"
        )


# --- a model ----------------------------------------------------------------------------------------------------------


def ask_model(workshop: Workshop, desks: Sequence[Desk]) -> None:
    """Round after round, ask for what is lacking."""
    config: BuildConfig = workshop.config
    wanted = config.instances
    countries = {country.code: country for country in config.countries}
    sampling = Sampling(temperature=wanted.temperature, max_tokens=wanted.max_tokens, constrained=wanted.constrained)
    times: Counter[str] = Counter()
    for number in range(1, wanted.max_rounds + 1):
        lacking = [desk for desk in desks if len(desk.by_model) < wanted.number]
        rounds: dict[int, list[tuple[Desk, Prompt]]] = defaultdict(list)
        for desk in lacking:
            prompt = prompt_of(config, countries[str(desk.row["country"])], desk)
            times[prompt.id] += 1
            rounds[times[prompt.id]].append((desk, prompt))
        for repeat, pairs in sorted(rounds.items()):
            replies = workshop.ask([prompt for _, prompt in pairs], wanted.writer, repeat=repeat, sampling=sampling)
            for (desk, _), response in zip(pairs, replies, strict=True):
                take_reply(desk, response, wanted.number)
        n_written = sum(len(desk.by_model) for desk in desks)
        if lacking:
            workshop.tell(f"round {number}: {n_written:,} of {wanted.number * len(desks):,} triples")


def take_reply(desk: Desk, response: Response, number: int) -> None:
    """Rows of a reply, until there are enough; a reply without rows is turned down under its status."""
    status, read = read_reply(response, TEXTS)
    if not read.rows:
        desk.turn_down(status.value if status is not Status.OK else INCOMPLETE, read.note, writer=response.model)
    elif read.n_dropped:
        words = f"{read.n_dropped} rows of a reply lack one of {', '.join(TEXTS)}"
        desk.turn_down(INCOMPLETE, words, writer=response.model)
    for row in read.rows:
        if len(desk.by_model) == number:
            return
        desk.take(row, writer=response.model, origin=MODEL, repaired=read.repaired)


def prompt_of(config: BuildConfig, country: Country, desk: Desk) -> Prompt:
    """What the model is asked for one stereotype, given what it has written already."""
    held = wording_of(config, country)
    used = "\n".join(f"- {one['context']}" for one in desk.by_model)
    again = Template(held.table["again"].strip(), name=f"{held.name}: again").render({"used": used}) if used else ""
    text = held.prompt.render(
        {
            "country": country.name, "people": country.people or country.name, "group": desk.about.group,
            "claim": desk.about.claim, "number": str(config.instances.number - len(desk.by_model)),
            "again": f"\n{again}\n" if again else "",
        }
    )  # fmt: skip
    form = AnswerForm(kind="rows", choices=TEXTS, n_options=config.instances.number)
    return Prompt.make((Message(role="user", content=text),), form=form if config.instances.constrained else None)


def wording_of(config: BuildConfig, country: Country) -> Wording:
    """The wording for a country. Raises SettingError where its text `again` lacks or hasn't just the field {used}."""
    held = wording("write", wanted_for(config.instances.wording, country.language), FIELDS)
    again = held.table.get("again")
    if not isinstance(again, str) or Template(again, name=f"{held.name}: again").fields != {"used"}:
        raise SettingError(f"wording {held.name} needs a text 'again' with just the field {{used}}")
    return held


def _forecast(workshop: Workshop) -> list[Requests] | None:
    """Every kept stereotype in every round; in later ones the prompt tells which contexts are taken.

    Before people have validated them, all count as kept.
    """
    config: BuildConfig = workshop.config
    wanted, tables = config.instances, workshop.tables
    countries = {country.code: country for country in config.countries if country.code in by_model(config)}
    for country in countries.values():
        wording_of(config, country)  # a wording that lacks something is said now
    if not countries:
        return []
    if not tables:
        return None
    table = tables["validated"] if "validated" in tables else tables["stereotypes"]
    rows = [row for row in table if row.get("kept", True)]
    first, later = [], []
    for row in rows:
        writes_for = countries.get(str(row["country"]))
        if writes_for is not None:
            about = About(str(row["group"]), str(row["claim"]), str(row["language"]), frozenset())
            taken: Row = {"context": f"{about.group} {about.claim} " * 2, "origin": MODEL}
            first.append(prompt_of(config, writes_for, Desk(row, about)))
            later.append(prompt_of(config, writes_for, Desk(row, about, [taken] * (wanted.number - 1))))
    if not first:
        return []
    return [
        Requests(wanted.writer, first, 1, wanted.max_tokens),
        Requests(wanted.writer, later, wanted.max_rounds - 1, wanted.max_tokens),
    ]


def _files(config: BuildConfig) -> list[Path]:
    return [*wording_files(config), *own_files(config.instances.wording)]


def _settings(config: BuildConfig) -> object:
    """Without later keys where they are unset, so that what was written before there were such keys still holds."""
    new = {key for key in ("both", "constrained") if not getattr(config.instances, key)}
    return config.model_dump(mode="json", include={"instances", "countries"}, exclude={"instances": new})


WRITE = Step(
    name=TASK, title="Write triples for each stereotype", by="model", reads=("stereotypes", "validated"),
    writes=("instances", "rejects"), make=write, sheet=writing_sheet, files=_files, forecast=_forecast,
    settings=_settings,
    models=lambda config: {config.instances.writer: config.instances.constrained} if by_model(config) else {},
)  # fmt: skip
