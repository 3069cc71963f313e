"""Triples written by people of a country, who aren't its raters: what they are asked, and what they wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isogloss.annotation import Field, Form
from isogloss.construction import Sheet, Table, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import SettingError
from isogloss.records import content_id
from isogloss.studies.stereotypes.build.people import TEXTS, Left, category_words, nobody, one_form, waiting, words_for

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country

TASK = "write"
MODEL, PERSON = "model", "person"
"""Origins of a triple."""
JUDGING = ("validate", "review")
"""Steps in which others judge what is written, or what is written about."""


def writing_sheet(workshop: Workshop) -> Sheet:
    """`number` rows a kept stereotype; a country's writers share its stereotypes, and one writes all rows of one.

    Raises
    ------
    SettingError
        If a country with kept stereotypes has no writer, or somebody who writes rates or reviews, too, or once did.
    """
    config: BuildConfig = workshop.config
    asked = assigned(workshop)
    if not asked:
        return nobody(TASK)
    countries = {country.code: country for country in config.countries}
    places = {str(row["id"]): str(row["country"]) for row in kept_rows(workshop)}
    forms = {}
    for writer, rows in asked.items():
        n_rows = Counter(places[str(row["item_id"]).rpartition("/")[0]] for row in rows)
        forms[writer] = form_of(config, countries[n_rows.most_common(1)[0][0]])  # one form, for most of the rows
    return Sheet(one_form(forms), asked)


def written(workshop: Workshop) -> Table:
    """What people wrote, as candidates: the columns of `instances` but `id`; `writer` is the code, `origin` "person".

    Raises
    ------
    SettingError
        As for `writing_sheet`.
    WaitingError
        Until every row is written.
    """
    config: BuildConfig = workshop.config
    asked = assigned(workshop)
    given = {(rating.rater, rating.item_id): rating for rating in workshop.ratings(TASK)}
    left = {
        writer: Left(sum((writer, str(row["item_id"])) not in given for row in rows), len(rows))
        for writer, rows in asked.items()
    }
    if any(one.n_left for one in left.values()):
        raise waiting(TASK, left, workshop.folder)
    writers = {str(row["item_id"]): writer for writer, rows in asked.items() for row in rows}
    found: Table = []
    for row in kept_rows(workshop):
        for number in range(1, config.instances.number + 1):
            item_id = row_id(row, number)
            writer = writers[item_id]
            values = given[writer, item_id].values
            found.append(
                {
                    "stereotype_id": row["id"], "country": row["country"], "language": row["language"],
                    "category": row["category"], "group": row["group"], "number": number,
                    **{name: values[name] for name in TEXTS}, "writer": writer, "origin": PERSON,
                }
            )  # fmt: skip
    return found


def assigned(workshop: Workshop) -> dict[str, list[Row]]:
    """Writer → rows to write. One writer has all rows of a stereotype, whatever other stereotypes come and go.

    That is who has written most of them before, the first named of equals; where nobody has, a hash decides.
    """
    config: BuildConfig = workshop.config
    table = sorted(kept_rows(workshop), key=lambda row: str(row["id"]))
    check_writers(workshop, {str(row["country"]) for row in table})
    n_written = Counter((rating.item_id.rpartition("/")[0], rating.rater) for rating in workshop.ratings(TASK))
    found: dict[str, list[Row]] = {}
    for row in table:
        id, code = str(row["id"]), str(row["country"])
        writers = config.instances.writers[code]
        writer = max(writers, key=lambda one: n_written[id, one])
        if not n_written[id, writer]:
            writer = min(writers, key=lambda one: content_id(["writes", id, one]))
        found.setdefault(writer, []).extend(
            {"item_id": row_id(row, number), "category": category_words(config, str(row["category"]), code),
             "group": row["group"], "claim": row["claim"], "number": number}
            for number in range(1, config.instances.number + 1)
        )  # fmt: skip
    return found


def by_people(config: BuildConfig) -> frozenset[str]:
    """Countries that people write for: all of them, or, where a model writes, those with writers of their own."""
    if config.instances.writer == "people":
        return frozenset(country.code for country in config.countries)
    return frozenset(code for code, writers in config.instances.writers.items() if writers)


def by_model(config: BuildConfig) -> frozenset[str]:
    """Countries that the model writes for: those that people don't write for, and those of `instances.both`."""
    every = frozenset(country.code for country in config.countries)
    return (every - by_people(config)) | frozenset(config.instances.both)


def kept_rows(workshop: Workshop) -> Table:
    """Stereotypes that people write triples for; where people are left out and a model writes, too, there are none."""
    codes = by_people(workshop.config)
    if workshop.skip_people:
        codes -= by_model(workshop.config)
    return [row for row in workshop.tables["validated"] if row["kept"] and row["country"] in codes]


def row_id(row: Row, number: int) -> str:
    """Of one triple to write."""
    return f"{row['id']}/{number}"


def check_writers(workshop: Workshop, countries: set[str]) -> None:
    """Each of the countries has writers, and none of them rates or reviews, or did so before; nor the other way round.

    Raises
    ------
    SettingError
    """
    config: BuildConfig = workshop.config
    judged = {rating.rater: task for task in JUDGING for rating in workshop.ratings(task)}
    others = {rater for raters in config.validation.raters.values() for rater in raters}
    others |= {config.review.coordinator, config.review.owner}
    for country in sorted(countries):
        writers = config.instances.writers.get(country, ())
        if not writers:
            raise SettingError(
                f"instances.writers names nobody for {country}; name writers, or a model as instances.writer"
            )
        for writer in writers:
            if writer in others:
                raise SettingError(f"{writer!r} writes and judges what is written; name another for one of the two")
            if writer in judged:
                raise SettingError(
                    f"{writer!r} is to write for {country}, and has answered in the step {judged[writer]!r} before; "
                    f"writers don't judge what is written, so name another in instances.writers.{country}"
                )
    if countries:
        check_judges(workshop, {**config.validation.raters, "review": (config.review.coordinator, config.review.owner)})


def check_judges(workshop: Workshop, judges: Mapping[str, Sequence[str]]) -> None:
    """Nobody who rates or reviews has written triples before.

    Parameters
    ----------
    workshop : Workshop
    judges : mapping of str to sequence of str
        Country, or "review" → codes.

    Raises
    ------
    SettingError
    """
    wrote = {rating.rater for rating in workshop.ratings(TASK)}
    for where, people in judges.items():
        for person in people:
            if person in wrote:
                setting = "review" if where == "review" else f"validation.raters.{where}"
                raise SettingError(
                    f"{person!r} is named in {setting}, and has written triples before; who writes doesn't judge what "
                    "is written, so name another there"
                )


def form_of(config: BuildConfig, country: Country) -> Form:
    """What writers of a country are asked."""
    held = words_for(config, country, TASK)
    values = {
        "country": country.name, "people": country.people or country.name, "number": str(config.instances.number)
    }  # fmt: skip
    return Form(
        task=TASK,
        title=held.filled("title", values)[0],
        instructions=held.filled("instructions", values),
        language=held.language,
        shown=tuple((name, str(held.texts[name])) for name in ("category", "group", "claim", "number")),
        fields=tuple(Field(name=name, title=str(held.texts[name]), kind="text") for name in TEXTS),
    )
