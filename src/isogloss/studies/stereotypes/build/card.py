"""The data card: what the data set holds, who made it of what, what it is for, and what it isn't for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isogloss.construction import Table
from isogloss.construction.pipeline import Row
from isogloss.reports.numbers import DASH, format_number
from isogloss.studies.stereotypes.build.people import words_for
from isogloss.studies.stereotypes.build.people_writing import by_model
from isogloss.studies.stereotypes.build.report_cells import listed, real
from isogloss.studies.stereotypes.build.retrieve import wording_for
from isogloss.studies.stereotypes.build.validate import COMMON
from isogloss.studies.stereotypes.build.write import wording_of
from isogloss.version import __version__

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

TEMPLATE = Path(__file__).parents[1] / "data" / "card.md.j2"
HUB_LICENCES = re.compile(
    r"apache-2\.0|mit|cc0-1\.0|cc-by(-sa|-nc|-nd|-nc-sa|-nc-nd)?-[34]\.0|odc-by|odbl|pddl|etalab-2\.0|unknown"
)
"""Names of licences that the hub knows; any other goes by `other`."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card_text(
    config: BuildConfig,
    tables: Mapping[str, Table],
    triples: Sequence[Row],
    ratings: Sequence[Row],
    canary: str,
    *,
    skip_people: bool,
) -> str:
    """The card as Markdown under the hub's header.

    Parameters
    ----------
    config : BuildConfig
    tables : mapping
        Of the construction.
    triples, ratings : sequence of Row
        As they are published.
    canary : str
    skip_people : bool
        Whether steps for people were to be passed over.
    """
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"cell": cell, "quoted": quoted}
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    countries = [country for country in config.countries if any(row["country"] == country.code for row in triples)]
    return template.render(
        config=config,
        version=__version__,
        canary=canary,
        skip_people=skip_people,
        countries=countries,
        n_triples=len(triples),
        n_unrelated=sum(bool(row["unrelated"]) for row in triples),
        hub=hub_header(config, triples),
        counts=country_rows(config, tables, triples),
        categories=category_rows(triples),
        origins=origin_rows(triples),
        pools=pool_rows(triples),
        people=people(triples, ratings),
        models=model_rows(tables.get("retrieval_log", ())),
        sources=source_rows(tables.get("validated", ())),
        writers=sorted({str(row["writer"]) for row in triples if row["origin"] == "model"}),
        n_rejects=len(tables.get("rejects", ())),
        agreement=agreement_rows(tables.get("agreement", ())),
        common=COMMON,
        told=[f"{row['country']}: {line}" for row in tables.get("agreement", ()) for line in listed(row.get("told"))],
        rule=rule_words(config),
        n_validated=sum(bool(row["validated"]) for row in triples),
        compared=[line for row in tables.get("comparison", ()) if (line := comparison_words(row, config))],
        n_reviewed=sum(bool(row["reviewed"]) for row in triples),
        n_corrected=sum(bool(row["corrected"]) for row in triples),
        n_rejected=sum(not row["accepted"] for row in tables.get("reviewed", ())),
        wordings=wording_names(config, skip_people=skip_people),
        has_ratings=bool(ratings),
    )


def wording_names(config: BuildConfig, *, skip_people: bool) -> list[str]:
    """Names, with their versions, of the wordings that models and people are asked in."""
    found = []
    for country in config.countries:
        if config.retrieval.models:
            found.append(wording_for(config, country).name)
        if country.code in by_model(config):
            found.append(wording_of(config, country).name)
        if not skip_people:
            found.append(words_for(config, country, "validate").name)
    return sorted(set(found))


def hub_header(config: BuildConfig, triples: Sequence[Row]) -> dict[str, Any]:
    """What the hub's header says beside its data files."""
    licence = config.licence.lower().replace(" ", "-")
    known = HUB_LICENCES.fullmatch(licence) is not None
    tags = list(dict.fromkeys(country.language for country in config.countries))
    return {
        "languages": list(dict.fromkeys(tag.split("-")[0].lower() for tag in tags)),
        "tags": tags,
        "licence": licence if known else "other",
        "licence_name": "" if known else re.sub(r"[^a-z0-9.]+", "-", licence).strip("-"),
        "size": next((words for most, words in SIZES if len(triples) < most), "n>1M"),
        "by_people": any(row["origin"] == "person" for row in triples),
        "by_models": any(row["origin"] == "model" for row in triples),
    }


# --- tables -----------------------------------------------------------------------------------------------------------


def country_rows(config: BuildConfig, tables: Mapping[str, Table], triples: Sequence[Row]) -> list[list[str]]:
    """Country, language, stereotypes found, confirmed by people, with triples; triples."""
    rows = []
    for country in config.countries:
        found = sum(row["country"] == country.code for row in tables.get("stereotypes", ()))
        rated = [row for row in tables.get("validated", ()) if row["country"] == country.code and row["validated"]]
        mine = [row for row in triples if row["country"] == country.code]
        confirmed = f"{sum(bool(row['kept']) for row in rated):,} of {len(rated):,}" if rated else DASH
        used = len({row["stereotype_id"] for row in mine})
        rows.append([f"{country.name} ({country.code})", country.language, f"{found:,}", confirmed, f"{used:,}",
                     f"{len(mine):,}"])  # fmt: skip
    return rows


def category_rows(triples: Sequence[Row]) -> list[list[str]]:
    """Category, then triples of each country."""
    countries = list(dict.fromkeys(str(row["country"]) for row in triples))
    categories = list(dict.fromkeys(str(row["category"]) for row in triples))
    counts = Counter((row["category"], row["country"]) for row in triples)
    body = [[name, *(f"{counts[name, country]:,}" for country in countries)] for name in categories]
    return [["category", *countries], *body] if body else []


def origin_rows(triples: Sequence[Row]) -> list[list[str]]:
    """Who wrote how many triples, under which licence."""
    counts = Counter(
        (f"{row['origin']}{', corrected in review' if row['corrected'] else ''}", written_by(row),
         str(row["licence"] or DASH))
        for row in triples
    )  # fmt: skip
    return [[*key, f"{n:,}"] for key, n in sorted(counts.items())]


def written_by(row: Row) -> str:
    """The model by name; people not by code."""
    return str(row["writer"] or DASH) if row["origin"] == "model" else "people"


def pool_rows(triples: Sequence[Row]) -> list[list[str]]:
    """Where the unrelated sentences come from."""
    counts = Counter(str(row["unrelated_source"] or DASH) for row in triples if row["unrelated"])
    return [[source, f"{n:,}"] for source, n in sorted(counts.items())]


def model_rows(log: Iterable[Row]) -> list[list[str]]:
    """Model, calls, replies with rows, refused, otherwise without rows, rows read, repaired, dropped."""
    counts: dict[str, Counter[str]] = {}
    for row in log:
        of = counts.setdefault(str(row["model"]), Counter())
        status = str(row["status"])
        of["calls"] += 1
        of[status if status in ("ok", "refused") else "other"] += 1
        for name in ("n_rows", "n_repaired", "n_dropped"):
            of[name] += int(str(row.get(name) or 0))
    names = ("calls", "ok", "refused", "other", "n_rows", "n_repaired", "n_dropped")
    return [[model, *(f"{of[name]:,}" for name in names)] for model, of in counts.items()]


def source_rows(validated: Iterable[Row]) -> list[list[str]]:
    """Model or "file", stereotypes that it brought, brought alone, confirmed by people; none where there is but one."""
    counts: dict[str, Counter[str]] = {}
    for row in validated:
        names = listed(row.get("brought_by"))
        for name in names:
            of = counts.setdefault(str(name), Counter())
            of["brought"] += 1
            of["alone"] += len(names) == 1
            of["rated"] += bool(row["validated"])
            of["kept"] += bool(row["validated"] and row["kept"])
    if len(counts) < 2:
        return []
    return [
        [name, f"{of['brought']:,}", f"{of['alone']:,}", f"{of['kept']:,} of {of['rated']:,}" if of["rated"] else DASH]
        for name, of in sorted(counts.items())
    ]


def agreement_rows(agreement: Iterable[Row]) -> list[list[str]]:
    """Country, stereotypes rated, raters, percent agreement, alpha or why there is none."""
    rows = []
    for row in agreement:
        percent, alpha = row.get("percent"), row.get("alpha")
        rows.append(
            [
                str(row["country"]),
                format_number(int(str(row["n_items"])), "count"),
                format_number(int(str(row["n_raters"])), "count"),
                format_number(percent, "number") if isinstance(percent, int | float) else DASH,
                format_number(alpha, "signed") if isinstance(alpha, int | float) else str(row.get("reason") or DASH),
            ]
        )
    return rows


def comparison_words(row: Row, config: BuildConfig) -> str:
    """What came of comparing a country's triples by whose they are; "" for one category alone, or without a pair."""
    if row["category"] or not row["n_pairs"]:
        return ""
    share, low, high = (format_number(real(row[key]), "share") for key in ("model_share", "low", "high"))
    country = next((one.name for one in config.countries if one.code == row["country"]), str(row["country"]))
    return (
        f"{country}: {row['n_pairs']:,} pairs of a triple by a model and one by a person were rated blind. Of "
        f"{row['n_judgements']:,} judgements, {row['n_model']:,} hold the model’s for better, {row['n_person']:,} the "
        f"person’s, {row['n_same']:,} neither, {row['n_cannot_tell']:,} can’t tell. Share for the model’s of those "
        f"that prefer one: {share} ({low} … {high}; 0.5 is no preference)."
    )


def people(triples: Sequence[Row], ratings: Sequence[Row]) -> list[list[str]]:
    """Country, task, people, what they gave."""
    raters: dict[tuple[str, str], set[str]] = {}
    given: Counter[tuple[str, str]] = Counter()
    for row in ratings:
        key = (str(row["country"]), str(row["task"]))
        raters.setdefault(key, set()).add(str(row["rater"]))
        given[key] += 1
    rows = [[country, task, f"{len(raters[country, task]):,}", f"{n:,}"] for (country, task), n in given.items()]
    for country in dict.fromkeys(str(row["country"]) for row in triples):
        mine = [row for row in triples if row["country"] == country and row["origin"] == "person"]
        if mine:
            rows.append([country, "write", f"{len({row['writer'] for row in mine}):,}", f"{len(mine):,}"])
    return sorted(rows)


def rule_words(config: BuildConfig) -> str:
    """When a stereotype counts as confirmed."""
    rule = config.validation
    words = f"dropped when the median of its ratings is {rule.drop_median:g} or less"
    if rule.drop_median.is_integer():  # 2.5 lies above 2 and below 3
        words += (
            f"; a median between whole numbers that is just above it ({rule.drop_median + 0.5:g}, possible with an "
            f"even number of raters) is {'kept' if rule.keep_undecided else 'dropped'}"
        )
    return f"{words}. {rule.needed} ratings are needed"


# --- words ------------------------------------------------------------------------------------------------------------


def cell(text: object) -> str:
    """Text that stands in one cell of a Markdown table as it is."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_|<\[])", r"\\\1", line)


def quoted(text: object) -> str:
    """A quoted YAML string: the country NO is no falsehood."""
    return json.dumps(str(text), ensure_ascii=False)
