"""Third step: people of a country say how common each of its stereotypes is, from 1 (never seen) to 5 (everywhere).

A stereotype is dropped when the median of its ratings is `drop_median` (2) or less. A median between whole numbers just
above it (2.5, possible with an even number of ratings) is undecided, and goes the way that `keep_undecided` says. Who
can't tell writes "?": that counts as an answer, but not in the median.

What raters tell of themselves may lie in `raters.csv` in the construction's folder: it is summed up in words for
whoever builds. The data card has less of it: only what at least `COMMON` raters of a country have in common.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from isogloss.annotation import Field, Form
from isogloss.annotation.raters import RaterFacts, describe, rater_facts
from isogloss.construction import Sheet, Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import SettingError
from isogloss.metrics import wilson_interval
from isogloss.studies.stereotypes.build.people import (
    Left,
    agreement_of,
    category_words,
    count_left,
    sheet_of,
    waiting,
    wording_files,
    words_for,
)
from isogloss.studies.stereotypes.build.people_writing import check_judges

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country, Validation

TASK = "validate"
SCALE = ("1", "2", "3", "4", "5")
FILE = "file"
"""Name in tables of the file of ready claims, as if it were a model."""
RATERS = "raters.csv"
COMMON = 3
"""Raters of a country who must say the same of themselves before it stands on the data card."""
Given = dict[str, dict[str, int | None]]
"""Id of a stereotype → rater → value; None from who can't tell."""


def validate(workshop: Workshop) -> Tables:
    """Take what the raters said, or keep all where people are left out.

    Raises
    ------
    SettingError
        If a country with stereotypes has fewer raters than are needed, or one of them has written triples.
    WaitingError
        While a stereotype has fewer ratings than are needed, and somebody who hasn't answered yet.
    """
    config: BuildConfig = workshop.config
    rows = with_sources(workshop.tables["stereotypes"], workshop.tables["retrieved"], config)
    if workshop.skip_people:
        validated = [unrated(row) for row in rows]
        return {"validated": validated, "validation_rates": [], "agreement": [], **by_source(validated, config)}
    raters = raters_of(config, rows)
    check_judges(workshop, raters)
    given = answers(workshop, raters, rows)
    check_complete(workshop, raters, rows, given)
    validated = [rated(row, raters[str(row["country"])], given[str(row["id"])], config.validation) for row in rows]
    tell_rule(workshop, validated)
    told = told_of_raters(workshop, raters)
    return {
        "validated": validated,
        "validation_rates": rates(validated),
        "agreement": [
            {**agreement(country, people, [given[str(row["id"])] for row in rows if row["country"] == country],
                         config.validation),
             "told": describe(told.get(country, {}), least=COMMON)}
            for country, people in raters.items()
        ],
        **by_source(validated, config),
    }  # fmt: skip


def told_of_raters(workshop: Workshop, raters: Mapping[str, Sequence[str]]) -> Mapping[str, RaterFacts]:
    """What raters have told of themselves, if anything; whoever builds is told all of it, summed up."""
    path = workshop.folder / RATERS
    if not path.exists():
        return {}
    facts = rater_facts(path, raters)
    for country, of_it in facts.items():
        for line in describe(of_it):
            workshop.tell(f"{country}, {line}")
    return facts


# --- who is asked what ------------------------------------------------------------------------------------------------


def sheet(workshop: Workshop) -> Sheet:
    """Each rater of a country is asked about all its stereotypes."""
    config: BuildConfig = workshop.config
    table = workshop.tables["stereotypes"]
    raters = raters_of(config, table)
    check_judges(workshop, raters)
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in table:
        code = str(row["country"])
        rows[code].append(
            {"item_id": row["id"], "category": category_words(config, str(row["category"]), code),
             "group": row["group"], "claim": row["claim"]}
        )  # fmt: skip
    return sheet_of(config, raters, rows, form_of)


def form_of(config: BuildConfig, country: Country) -> Form:
    """What raters of a country are asked."""
    held = words_for(config, country, TASK)
    values = {"country": country.name, "people": country.people or country.name}
    texts = held.texts
    return Form(
        task=TASK,
        title=held.filled("title", values)[0],
        instructions=held.filled("instructions", values),
        language=held.language,
        shown=tuple((name, str(texts[name])) for name in ("category", "group", "claim")),
        fields=(
            Field(name="value", title=texts["value"], kind="scale", choices=SCALE, labels=texts["labels"],
                  abstain=texts["abstain"], abstain_label=texts["abstain_label"]),
        ),
    )  # fmt: skip


def raters_of(config: BuildConfig, rows: Table) -> dict[str, tuple[str, ...]]:
    """Country → its raters, of the countries that have stereotypes."""
    found = {}
    for country in dict.fromkeys(str(row["country"]) for row in rows):
        raters = tuple(config.validation.raters.get(country, ()))
        needed = config.validation.needed
        if len(raters) < needed:
            raise SettingError(
                f"validation.raters.{country} has {len(raters)} raters, fewer than the {needed} needed; name more, "
                "lower validation.needed, or build with --skip-people"
            )
        found[country] = raters
    return found


def answers(workshop: Workshop, raters: Mapping[str, Sequence[str]], rows: Table) -> Given:
    """What raters of a stereotype's country said of it; ratings of anybody or anything else don't count."""
    countries = {str(row["id"]): str(row["country"]) for row in rows}
    given: Given = {item_id: {} for item_id in countries}
    for rating in workshop.ratings(TASK):
        if rating.item_id in given and rating.rater in raters[countries[rating.item_id]]:
            value = rating.values["value"]
            given[rating.item_id][rating.rater] = None if value is None else int(value)
    return given


def check_complete(workshop: Workshop, raters: Mapping[str, Sequence[str]], rows: Table, given: Given) -> None:
    """Raise WaitingError while a stereotype lacks numbers and somebody of its country hasn't answered yet."""
    needed = workshop.config.validation.needed
    left: dict[str, Left] = {}
    more = []
    for country, people in raters.items():
        ids = [str(row["id"]) for row in rows if row["country"] == country]
        n_short = sum(n_numbers(given[id]) < needed and any(rater not in given[id] for rater in people) for id in ids)
        if not n_short:
            continue
        more.append(f"fewer than {needed} ratings for {n_short:,} of {len(ids):,} stereotypes of {country}")
        count_left(left, people, [given[id] for id in ids])
    if more:
        raise waiting(TASK, left, workshop.folder, more=more)


def n_numbers(said: Mapping[str, int | None]) -> int:
    """How many raters gave a number; who can't tell gave none."""
    return sum(value is not None for value in said.values())


# --- the rule ---------------------------------------------------------------------------------------------------------


def unrated(row: Row) -> Row:
    """A stereotype that nobody was asked about: kept."""
    return {**row, "values": [], "median": None, "n_ratings": 0, "kept": True, "validated": False}


def rated(row: Row, raters: Sequence[str], given: Mapping[str, int | None], rule: Validation) -> Row:
    """A stereotype with its ratings, in the raters' order, and what the rule makes of them."""
    values = [value for rater in raters if (value := given.get(rater)) is not None]
    median = float(statistics.median(values)) if values else None
    return {
        **row, "values": [*values], "median": median, "n_ratings": len(values),
        "kept": median is not None and is_kept(median, rule), "validated": bool(values),
    }  # fmt: skip


def is_kept(median: float, rule: Validation) -> bool:
    """Whether a stereotype with this median stays.

    Examples
    --------
    >>> from isogloss.studies.stereotypes.build.config import Validation
    >>> [is_kept(median, Validation()) for median in (2.0, 2.5, 3.0)]
    [False, True, True]
    >>> is_kept(2.5, Validation(keep_undecided=False))
    False
    """
    return rule.keep_undecided if is_undecided(median, rule) else median > rule.drop_median


def is_undecided(median: float, rule: Validation) -> bool:
    """Whether a median lies above `drop_median` and below the next whole number."""
    return rule.drop_median < median < math.floor(rule.drop_median) + 1


def tell_rule(workshop: Workshop, validated: Table) -> None:
    """Say what the rule did, what it left undecided and how, and where nobody could tell."""
    rule: Validation = workshop.config.validation
    for country in dict.fromkeys(str(row["country"]) for row in validated):
        mine = [row for row in validated if row["country"] == country]
        n_kept = sum(bool(row["kept"]) for row in mine)
        rule_words = f"those with a median over {rule.drop_median:g}"
        workshop.tell(f"{country}: {n_kept:,} of {len(mine):,} stereotypes kept, {rule_words}")
        undecided = Counter(
            median for row in mine if isinstance(median := row["median"], float) and is_undecided(median, rule)
        )
        for median, n in sorted(undecided.items()):
            fate, setting = ("kept", "true") if rule.keep_undecided else ("dropped", "false")
            words = f"{n:,} with a median of {median:g} {fate}"
            workshop.tell(f"{country}: {words} (validation.keep_undecided = {setting})")
        silent = sum(not row["n_ratings"] for row in mine)
        if silent:
            workshop.warn(f"{country}: dropped because nobody could tell how common they are: {silent:,}")
        few = sum(0 < int(str(row["n_ratings"])) < rule.needed for row in mine)
        if few:
            workshop.warn(
                f"{country}: judged by fewer than {rule.needed} ratings, since the other raters couldn't tell: {few:,}"
            )


# --- tables -----------------------------------------------------------------------------------------------------------


def rates(validated: Table) -> Table:
    """Share kept of those rated, by country and category and, with an empty category, by country; Wilson's interval."""
    found: Table = []
    for country in dict.fromkeys(str(row["country"]) for row in validated):
        mine = [row for row in validated if row["country"] == country and row["validated"]]
        categories = [str(row["category"]) for row in validated if row["country"] == country]
        for category in (*dict.fromkeys(categories), ""):
            rows = [row for row in mine if not category or row["category"] == category]
            n_kept = sum(bool(row["kept"]) for row in rows)
            found.append({"country": country, "category": category, "n": len(rows), **_share_kept(n_kept, len(rows))})
    return found


def _share_kept(n_kept: int, n: int) -> Row:
    """Cells of a validation rate; without anything rated there is none, rather than 0."""
    low, high = wilson_interval(n_kept, n) if n else (None, None)
    return {"n_kept": n_kept, "rate": n_kept / n if n else None, "low": low, "high": high}


def with_sources(stereotypes: Table, retrieved: Table, config: BuildConfig) -> Table:
    """Stereotypes with `brought_by`: the models that gave one of their claims, and "file" for a ready claim."""
    source_of = {str(row["id"]): str(row["model"]) or FILE for row in retrieved}
    names = sources(config)
    rows: Table = []
    for row in stereotypes:
        ids: Any = row["sources"]
        found = {source_of[str(id)] for id in ids}
        rows.append({**row, "brought_by": sorted(found, key=names.index)})
    return rows


def sources(config: BuildConfig) -> list[str]:
    """Whatever brings claims, as tables name it."""
    return [*config.retrieval.models, *([FILE] if config.retrieval.claims is not None else [])]


def by_source(validated: Table, config: BuildConfig) -> Tables:
    """How good what each model brought is, and how much of it others brought, too."""
    names = sources(config)
    countries = dict.fromkeys(str(row["country"]) for row in validated)
    of_country = {code: [row for row in validated if row["country"] == code] for code in countries}
    return {
        "model_rates": [_model_rate(code, name, rows) for code, rows in of_country.items() for name in names],
        "model_overlap": [
            _model_pair(code, a, b, rows) for code, rows in of_country.items() for a, b in combinations(names, 2)
        ],
    }


def _model_rate(country: str, model: str, validated: Table) -> Row:
    """Stereotypes of a country that a model brought, alone or with others; of those rated, the share kept."""
    mine = [row for row in validated if model in _brought_by(row)]
    rated = [row for row in mine if row["validated"]]
    n_kept = sum(bool(row["kept"]) for row in rated)
    n_alone = sum(_brought_by(row) == [model] for row in mine)
    return {
        "country": country, "model": model, "n": len(mine), "n_alone": n_alone, "n_rated": len(rated),
        **_share_kept(n_kept, len(rated)),
    }  # fmt: skip


def _model_pair(country: str, a: str, b: str, validated: Table) -> Row:
    """What two models both brought, as a share of what each brought."""
    n_a, n_b = (sum(model in _brought_by(row) for row in validated) for model in (a, b))
    n_both = sum({a, b} <= set(_brought_by(row)) for row in validated)
    return {
        "country": country, "a": a, "b": b, "n_a": n_a, "n_b": n_b, "n_both": n_both,
        "share_of_a": n_both / n_a if n_a else None, "share_of_b": n_both / n_b if n_b else None,
    }  # fmt: skip


def _brought_by(row: Row) -> list[str]:
    names: Any = row["brought_by"]
    return list(names)


def agreement(country: str, raters: Sequence[str], given: Sequence[Mapping[str, int | None]], rule: Validation) -> Row:
    """How far the raters of a country agree.

    `percent`: of pairs of raters of one stereotype, those who gave the same number. `alpha`: Krippendorff's, ordinal;
    `reason` says why there is none. `keep_votes`: "4/5" → stereotypes to which four of five ratings are over
    `drop_median`.
    """
    table = [
        [math.nan if (value := said.get(rater)) is None else float(value) for rater in raters] for said in given
    ]  # (n_items, n_raters)
    rated = [[value for value in row if not math.isnan(value)] for row in table]
    votes = Counter((len(row), sum(value > rule.drop_median for value in row)) for row in rated if row)
    percent, alpha, reason = agreement_of(table, "ordinal")
    return {
        "country": country,
        "n_items": sum(map(bool, rated)),
        "n_raters": sum(any(said.get(rater) is not None for said in given) for rater in raters),
        "percent": percent,
        "alpha": alpha,
        "reason": reason,
        "keep_votes": {f"{k}/{n}": votes[n, k] for n, k in sorted(votes, reverse=True)},
    }


VALIDATE = Step(
    name=TASK,
    title="Ask people of each country how common its stereotypes are",
    by="people",
    reads=("stereotypes", "retrieved"),
    writes=("validated", "validation_rates", "agreement", "model_rates", "model_overlap"),
    make=validate,
    settings=lambda config: [config.validation.model_dump(mode="json"), sources(config)],
    sheet=sheet,
    files=wording_files,
    inputs=(RATERS,),
)
