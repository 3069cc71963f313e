"""Seventh step: which stereotypes countries share, and which of them other data sets and the literature have.

Two stereotypes are the same when they are of one category, about the same group, and say the same, see `matching`.
review/matched.csv lists each pair with its similarity, and pairs that just miss it; `same` or `different` in its last
column goes before any similarity when the construction is built again. Stereotypes of countries with a `region` are
pooled, too, under the region's name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.construction.review_file import of_absent, read_pairs, write_review
from isogloss.construction.similarity import check_encoder, fold
from isogloss.errors import SettingError
from isogloss.studies.stereotypes.build.claims import Claim, documented_claims, own_claim, read_set
from isogloss.studies.stereotypes.build.matching import (
    DIFFERENT,
    SAME,
    Bench,
    Encoded,
    Match,
    shown,
)

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

DOCUMENTED = "documented"
"""What the user's table of documented claims is called."""
REVIEW = "review/matched.csv"
COLUMNS = (
    "set_or_country_a", "a_id", "group_a", "a", "set_or_country_b", "b_id", "group_b", "b", "category", "similarity",
    "group_similarity", "found",
)  # fmt: skip


class Overlapping(NamedTuple):
    """Ids of two lists' claims that the other has, too."""

    a: set[str]
    b: set[str]


def overlap(workshop: Workshop) -> Tables:
    """Compare countries with each other, with other data sets, and with documented claims.

    Raises
    ------
    DataError
        For a file that can't be read, naming row and column; for a decision that is neither same nor different.
    SettingError
        For a language that the encoder doesn't cover, or a name that two data sets share.
    """
    config: BuildConfig = workshop.config
    claims = [own_claim(row) for row in workshop.tables["validated"] if row["kept"]]
    sets = read_sets(config)
    path = workshop.folder / REVIEW
    decided = read_pairs(path, (SAME, DIFFERENT))
    bench = Bench(config.merging.encoder, config.overlap.threshold, config.overlap.group_threshold, decided)
    everything = bench.encode(claims)
    own = {country.code: everything.part([k for k, one in enumerate(claims) if one.place == country.code])
           for country in config.countries}  # fmt: skip
    matched: Table = []
    pairs: dict[tuple[str, str], Overlapping] = {}
    for a, b in combinations(own, 2):
        matches = bench.matches(own[a], own[b], lambda one, other: one.category == other.category)
        pairs[a, b] = overlapping(matches)
        matched += [line(one, a, b) for one in shown(matches)]
    other_sets: Table = []
    for name, theirs in sets.items():
        matches = bench.matches(everything, bench.encode(bench.worth(everything, theirs)), Fitting(name, config))
        matched += [line(one, one.a.place, name) for one in shown(matches)]
        other_sets += set_rows(name, claims, matches, config)
        workshop.tell(f"{name}: {len(theirs):,} claims compared with {len(claims):,} stereotypes")
    write_review(path, [*matched, *of_absent(decided, matched)], COLUMNS)
    return {
        "overlap_countries": country_rows(claims, pairs, config),
        "overlap_groups": group_rows(bench, everything),
        "overlap_sets": other_sets,
        "matched": matched,
    }


def read_sets(config: BuildConfig) -> dict[str, list[Claim]]:
    """Name → claims of every data set, the documented ones last."""
    found: dict[str, list[Claim]] = {}
    taken = {country.code for country in config.countries} | {DOCUMENTED}
    for one in config.overlap.sets:
        if one.name in taken or one.name in found:
            raise SettingError(f"overlap.sets: the name {one.name!r} is taken; give the data set another")
        found[one.name] = read_set(one)
    if config.overlap.claims is not None:
        found[DOCUMENTED] = documented_claims(config.overlap.claims, config.countries[0].language)
    return found


class Fitting:
    """Whether a stereotype and a claim of a data set can be the same at all.

    A documented claim whose category is one of the configuration's is compared within it; one whose region is a
    country's code, name or region, with the stereotypes of these countries. Other data sets have categories of their
    own, so with them the group alone decides.
    """

    def __init__(self, name: str, config: BuildConfig) -> None:
        self._is_documented = name == DOCUMENTED
        self._categories = {fold(category.name): category.name for category in config.categories}
        self._places: dict[str, set[str]] = defaultdict(set)
        for country in config.countries:
            for word in {fold(country.code), fold(country.name), fold(country.region)} - {""}:
                self._places[word].add(country.code)

    def __call__(self, own: Claim, other: Claim) -> bool:
        if not self._is_documented:
            return True
        category = self._categories.get(fold(other.category), own.category)
        return category == own.category and own.place in self._places.get(fold(other.place), {own.place})


# --- tables -----------------------------------------------------------------------------------------------------------


def overlapping(matches: Iterable[Match]) -> Overlapping:
    """The claims of either list that the other has."""
    same = [one for one in matches if one.is_same]
    return Overlapping({one.a.id for one in same}, {one.b.id for one in same})


def line(match: Match, a: str, b: str) -> Row:
    """A pair as it is listed."""
    return {
        "set_or_country_a": a, "a_id": match.a.id, "group_a": match.a.group, "a": match.a.text,
        "set_or_country_b": b, "b_id": match.b.id, "group_b": match.b.group, "b": match.b.text,
        "category": match.a.category, "similarity": match.similarity, "group_similarity": match.group_similarity,
        "found": match.is_same, "decision": match.decision,
    }  # fmt: skip


def country_rows(claims: Sequence[Claim], pairs: Mapping[tuple[str, str], Overlapping], config: BuildConfig) -> Table:
    """Shares of each pair of countries and of each pair of regions, in both directions; category "" is all of them.

    A region's stereotypes are those of all its countries, each counted where it was found.
    """
    regions: dict[str, list[str]] = defaultdict(list)
    for country in config.countries:
        if country.region:
            regions[country.region].append(country.code)
    codes = {country.code: [country.code] for country in config.countries}
    rows: Table = []
    for places in (codes, {name: members for name, members in regions.items() if name not in codes}):
        for a, b in combinations(places, 2):
            shared = Overlapping(set(), set())
            for one in places[a]:
                for other in places[b]:
                    found = pairs.get((one, other)) or Overlapping(*reversed(pairs[other, one]))
                    shared = Overlapping(shared.a | found.a, shared.b | found.b)
            for category in ("", *(category.name for category in config.categories)):
                rows.append(_pair_row(claims, (a, places[a]), (b, places[b]), category, shared))
    return rows


def _pair_row(
    claims: Sequence[Claim], a: tuple[str, list[str]], b: tuple[str, list[str]], category: str, shared: Overlapping
) -> Row:
    n: dict[str, int] = {}
    for side, (_, codes), ids in (("a", a, shared.a), ("b", b, shared.b)):
        mine = [one for one in claims if one.place in codes and category in ("", one.category)]
        n[f"n_{side}"] = len(mine)
        n[f"n_shared_{side}"] = sum(one.id in ids for one in mine)
    return {
        "a": a[0], "b": b[0], "category": category, **n,
        "share_of_a": n["n_shared_a"] / n["n_a"] if n["n_a"] else None,
        "share_of_b": n["n_shared_b"] / n["n_b"] if n["n_b"] else None,
    }  # fmt: skip


def group_rows(bench: Bench, everything: Encoded) -> Table:
    """Groups by category, with the countries that have stereotypes of them; names of one group stand once.

    The name that most stereotypes have stands for those that are alike to it, so that no chain of names is made.
    """
    alike = bench.groups(everything, everything) >= bench.group_threshold
    rows: Table = []
    for category in sorted({claim.category for claim in everything.claims}):
        n: dict[int, int] = defaultdict(int)
        places: dict[int, set[str]] = defaultdict(set)
        for claim, group in zip(everything.claims, everything.group.tolist(), strict=True):
            if claim.category == category:
                n[group] += 1
                places[group].add(claim.place)
        kept: list[int] = []
        for group in sorted(n, key=lambda k: (-n[k], everything.names[k])):
            first = next((other for other in kept if alike[group, other]), None)
            if first is None:
                kept.append(group)
            else:
                places[first] |= places[group]
        rows += [
            {"category": category, "group": everything.names[k][0], "countries": sorted(places[k]),
             "n_countries": len(places[k])}
            for k in kept
        ]  # fmt: skip
    return rows


def set_rows(name: str, claims: Sequence[Claim], matches: Sequence[Match], config: BuildConfig) -> Table:
    """How many stereotypes a data set has, of all (country ""), each country and region, by category; with examples.

    `example` is the pair most alike, with its citation; `not_found` a stereotype that the data set hasn't.
    """
    best: dict[str, Match] = {}
    for one in matches:
        if one.is_same:
            best.setdefault(one.a.id, one)
    places = {"": [country.code for country in config.countries]} if len(config.countries) > 1 else {}
    places |= {country.code: [country.code] for country in config.countries}
    for country in config.countries:
        if country.region and country.region not in places:
            places[country.region] = [one.code for one in config.countries if one.region == country.region]
    rows: Table = []
    for place, codes in places.items():
        for category in ("", *(category.name for category in config.categories)):
            mine = [one for one in claims if one.place in codes and category in ("", one.category)]
            if not mine:
                continue
            found = [best[one.id] for one in mine if one.id in best]
            top = min(found, key=lambda one: (-one.similarity, one.a.id)) if found else None
            other = next((one for one in mine if one.id not in best), None)
            rows.append(
                {
                    "set": name, "country": place, "category": category, "n": len(mine), "n_found": len(found),
                    "share_found": len(found) / len(mine), "example": "" if top is None else example(top),
                    "not_found": "" if other is None else f"{other.group}: {other.text}",
                }
            )  # fmt: skip
    return rows


def example(match: Match) -> str:
    """A pair in words, with its citation."""
    citation = f" ({match.b.citation})" if match.b.citation else ""
    return f"{match.a.group}: {match.a.text} ↔ {match.b.text}{citation}"


def _settings(config: BuildConfig) -> object:
    for country in config.countries:
        check_encoder(config.merging.encoder, country.language)
    return [config.model_dump(mode="json", include={"overlap", "countries", "categories"}), config.merging.encoder]


def _files(config: BuildConfig) -> list[Path]:
    claims = config.overlap.claims
    return [*(one.file for one in config.overlap.sets), *([claims] if claims is not None else [])]


OVERLAP = Step(
    name="overlap", title="Compare countries, other data sets and documented claims", by="rule", reads=("validated",),
    writes=("overlap_countries", "overlap_groups", "overlap_sets", "matched"), make=overlap, settings=_settings,
    files=_files, reviews=(REVIEW,), version=2,
)  # fmt: skip
