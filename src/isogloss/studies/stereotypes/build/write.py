"""Fourth step: some triples for each stereotype that was kept, by a model or by people, checked by rule.

Countries whose writers are named are written for by them, the others by the model: `instances.writer = "people"` with
`instances.writers` for all of them, or a model with writers for some.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import DataError, SettingError
from isogloss.prompts import Template
from isogloss.records import Message, Prompt, Response, Sampling, Status, content_id
from isogloss.studies.stereotypes.build.instance_rules import About, fault_of
from isogloss.studies.stereotypes.build.people import TEXTS, wording_files
from isogloss.studies.stereotypes.build.people_writing import TASK, by_people, kept_rows, writing_sheet, written
from isogloss.studies.stereotypes.build.retrieve import read_reply
from isogloss.studies.stereotypes.build.wording import Wording, wording

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country

FIELDS = frozenset({"country", "people", "group", "claim", "number", "again"})
INCOMPLETE = "incomplete row"


@dataclass
class Desk:
    """One stereotype, and what has been written for it."""

    row: Row
    about: About
    instances: Table = field(default_factory=list)
    rejects: Table = field(default_factory=list)

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
    """Have `number` triples written for each kept stereotype; those that break a rule are in `rejects`.

    A model is asked for all triples of a stereotype at once, and again for those that are lacking, told which contexts
    are taken, up to `instances.max_rounds` times.

    Raises
    ------
    WaitingError
        While people haven't finished writing.
    SettingError
        If people are to write and are left out, or a country has no writer.
    DataError
        If there is nothing to write for, or not one triple keeps the rules.
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
    asked = [desk for desk in desks.values() if desk.row["country"] not in by_people(config)]
    if asked:
        ask_model(workshop, asked)
    instances = [row for desk in desks.values() for row in desk.instances]
    rejects = [row for desk in desks.values() for row in desk.rejects]
    rules = ", ".join(f"{n:,} {rule}" for rule, n in Counter(str(row["rule"]) for row in rejects).most_common())
    if not instances:
        raise DataError(f"not one triple keeps the rules ({rules}); take another model as instances.writer")
    few = sum(len(desk.instances) < config.instances.number for desk in desks.values())
    if few:
        workshop.warn(
            f"{few:,} of {len(desks):,} stereotypes have fewer than {config.instances.number} triples; turned down: "
            f"{rules or 'none'}; see tables/rejects.jsonl"
        )
    return {"instances": instances, "rejects": rejects}


# --- people -----------------------------------------------------------------------------------------------------------


def take_from_people(workshop: Workshop, desks: Mapping[str, Desk]) -> None:
    """Put what people wrote to the rules; what is turned down can be corrected in the sheet and imported again."""
    if workshop.skip_people:
        raise SettingError(
            "people are to write triples (instances.writer, instances.writers), and --skip-people leaves them out; "
            "name a model as instances.writer, and no writers"
        )
    for row in written(workshop):
        texts = {name: str(row[name] or "") for name in TEXTS}
        desks[str(row["stereotype_id"])].take(texts, writer=str(row["writer"]), origin="person", repaired=False)


# --- a model ----------------------------------------------------------------------------------------------------------


def ask_model(workshop: Workshop, desks: Sequence[Desk]) -> None:
    """Round after round, ask for what is lacking."""
    config: BuildConfig = workshop.config
    wanted = config.instances
    countries = {country.code: country for country in config.countries}
    sampling = Sampling(temperature=wanted.temperature, max_tokens=wanted.max_tokens)
    times: Counter[str] = Counter()
    for number in range(1, wanted.max_rounds + 1):
        lacking = [desk for desk in desks if len(desk.instances) < wanted.number]
        rounds: dict[int, list[tuple[Desk, Prompt]]] = defaultdict(list)
        for desk in lacking:
            prompt = prompt_of(config, countries[str(desk.row["country"])], desk)
            times[prompt.id] += 1
            rounds[times[prompt.id]].append((desk, prompt))
        for repeat, pairs in sorted(rounds.items()):
            replies = workshop.ask([prompt for _, prompt in pairs], wanted.writer, repeat=repeat, sampling=sampling)
            for (desk, _), response in zip(pairs, replies, strict=True):
                take_reply(desk, response, wanted.number)
        n_written = sum(len(desk.instances) for desk in desks)
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
        if len(desk.instances) == number:
            return
        desk.take(row, writer=response.model, origin="model", repaired=read.repaired)


def prompt_of(config: BuildConfig, country: Country, desk: Desk) -> Prompt:
    """What the model is asked for one stereotype, given what is written already."""
    held = wording_of(config, country)
    used = "\n".join(f"- {one['context']}" for one in desk.instances)
    again = Template(held.table["again"].strip(), name=f"{held.name}: again").render({"used": used}) if used else ""
    text = held.prompt.render(
        {
            "country": country.name, "people": country.people or country.name, "group": desk.about.group,
            "claim": desk.about.claim, "number": str(config.instances.number - len(desk.instances)),
            "again": f"\n{again}\n" if again else "",
        }
    )  # fmt: skip
    return Prompt.make((Message(role="user", content=text),))


def wording_of(config: BuildConfig, country: Country) -> Wording:
    """The wording for a country. Raises SettingError where its text `again` lacks or hasn't just the field {used}."""
    held = wording("write", config.instances.wording or country.language, FIELDS)
    again = held.table.get("again")
    if not isinstance(again, str) or Template(again, name=f"{held.name}: again").fields != {"used"}:
        raise SettingError(f"wording {held.name} needs a text 'again' with just the field {{used}}")
    return held


def _forecast(workshop: Workshop) -> Mapping[str, int]:
    """Calls at most: every kept stereotype in every round."""
    config: BuildConfig = workshop.config
    asked = [country for country in config.countries if country.code not in by_people(config)]
    for country in asked:
        wording_of(config, country)  # a wording that lacks something is said now
    codes = {country.code for country in asked}
    tables = workshop.tables
    rows: Iterable[Row] = (
        [row for row in tables["validated"] if row["kept"]] if "validated" in tables else tables.get("stereotypes", ())
    )
    n = sum(row["country"] in codes for row in rows)
    return {config.instances.writer: n * config.instances.max_rounds} if n else {}


def _files(config: BuildConfig) -> list[Path]:
    named = config.instances.wording
    return [*wording_files(config), *([Path(named)] if named is not None and named.endswith(".toml") else [])]


WRITE = Step(
    name=TASK, title="Write triples for each stereotype", by="model", reads=("stereotypes", "validated"),
    writes=("instances", "rejects"), make=write, sheet=writing_sheet, files=_files, forecast=_forecast,
    settings=lambda config: config.model_dump(mode="json", include={"instances", "countries"}),
)  # fmt: skip
