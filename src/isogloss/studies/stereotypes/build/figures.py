"""The report of a construction: what was found, what people confirmed, what was turned down, what countries share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from isogloss.construction import Table as Rows
from isogloss.construction.pipeline import Row
from isogloss.reports import Chart, Panel, Prose, Section
from isogloss.reports.charts import Dot, heat_map, interval_plot
from isogloss.reports.numbers import format_number
from isogloss.studies.stereotypes.build.card import rule_words
from isogloss.studies.stereotypes.build.report_cells import count_of, plain_rows, real, whole
from isogloss.studies.stereotypes.build.report_tables import (
    agreement_counts,
    agreement_table,
    asking_table,
    borderline_table,
    comparison_table,
    corrections_table,
    counts_table,
    examples_table,
    groups_table,
    merged_list,
    merges_table,
    model_overlap_table,
    model_rates_table,
    overlap_table,
    rates_table,
    rejects_table,
    review_table,
    sets_table,
    unseen_table,
)
from isogloss.studies.stereotypes.pictures import Round, Unseen, saturation_curves

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

MOST_PANELS = 8
MOST_SIDE_BY_SIDE = 8
"""Countries up to which heat maps stand side by side."""
BOTH_WAYS = (
    "A row is the country whose stereotypes are counted, a column the country they are looked for in: .40 in row A and "
    "column B says that 40 % of A’s stereotypes are found in B, too. Read backwards it is another share, since the two "
    "have different numbers of stereotypes."
)


def sections(tables: Mapping[str, Rows], config: BuildConfig) -> list[Section]:
    """The report of a construction, as far as it has come; what there is no table for is left out.

    Parameters
    ----------
    tables : mapping
        Name → rows, of the steps that are done.
    config : BuildConfig
    """
    names = {country.code: country.name for country in config.countries}
    writers = {writer for people in config.instances.writers.values() for writer in people}
    makers: tuple[Callable[[], Section | None], ...] = (
        lambda: summary(tables, config, names),
        lambda: counts_table(tables.get("counts"), names),
        lambda: asking_table(tables.get("retrieval_log"), names),
        lambda: saturation_chart(tables.get("saturation"), tables.get("unseen"), names),
        lambda: unseen_table(tables.get("unseen") if tables.get("retrieval_log") else None, names),
        lambda: merges_table(tables.get("merges"), names),
        lambda: merged_list(tables.get("merges")),
        lambda: borderline_table(tables.get("borderline")),
        lambda: rates_chart(tables.get("validation_rates"), names),
        lambda: rates_table(tables.get("validation_rates"), names, rule_words(config)),
        lambda: model_rates_table(tables.get("model_rates"), names),
        lambda: model_overlap_table(tables.get("model_overlap"), names),
        lambda: agreement_table(tables.get("agreement"), names),
        lambda: agreement_counts(tables.get("agreement"), names),
        lambda: rejects_table(tables.get("rejects")),
        lambda: corrections_table(tables.get("rejects"), tables.get("stereotypes"), writers),
        lambda: review_table(tables.get("reviewed"), names),
        lambda: comparison_table(tables.get("comparison"), names),
        lambda: overlap_chart(tables.get("overlap_countries"), names),
        lambda: overlap_table(tables.get("overlap_countries")),
        lambda: groups_table(tables.get("overlap_groups"), names),
        lambda: sets_table(tables.get("overlap_sets"), names),
        lambda: examples_table(tables.get("triples"), names),
    )
    return [section for make in makers if (section := make()) is not None]


def summary(tables: Mapping[str, Rows], config: BuildConfig, names: Mapping[str, str]) -> Prose:
    """What stands at the top: how far it has come, in a few sentences."""
    said = []
    stereotypes = tables.get("stereotypes")
    if log := tables.get("retrieval_log"):
        refused = sum(row["status"] == "refused" for row in log)
        models = len({row["model"] for row in log})
        said.append(
            f"{count_of(len(log), 'call')} to {count_of(models, 'model')}, {refused:,} of them refused"
            + (f", gave {count_of(len(tables['retrieved']), 'claim')}" if "retrieved" in tables else "")
            + (f", {count_of(len(stereotypes), 'stereotype')} after merging" if stereotypes is not None else "")
            + "."
        )
    validated = tables.get("validated")
    if validated is not None:
        rated = [row for row in validated if row["validated"]]
        kept = sum(bool(row["kept"]) for row in rated)
        said.append(
            f"People rated {len(rated):,} of {count_of(len(validated), 'stereotype')} and kept {kept:,}."
            if rated
            else "No people took part: no stereotype was confirmed."
        )
    if (triples := tables.get("triples")) is not None:
        per_country = Counter(str(row["country"]) for row in triples)
        parts = ", ".join(f"{name} {per_country[code]:,}" for code, name in names.items())
        said.append(f"The data set has {count_of(len(triples), 'triple')}: {parts}.")
    if not said:
        said = ["Nothing has been made yet."]
    return Prose("summary", "In short", tuple(said))


def saturation_chart(rows: Rows | None, unseen: Rows | None, names: Mapping[str, str]) -> Chart | None:
    """Different claims after each round, with Chao1's estimate: a panel a country and model."""
    rows = [row for row in rows or () if row["model"] and whole(row["round"])]
    if not rows:
        return None
    pairs = list(dict.fromkeys((str(row["country"]), str(row["model"])) for row in rows))
    models = {code: len({model for place, model in pairs if place == code}) for code, _ in pairs}
    panels = []
    for code, model in pairs[:MOST_PANELS]:
        mine = [row for row in rows if (row["country"], row["model"]) == (code, model)]
        rounds = [Round(str(row["category"]), whole(row["round"]) or 0, whole(row["n_total"]) or 0) for row in mine]
        estimates = [
            Unseen(str(row["category"]), value, real(row.get("low")), real(row.get("high")))
            for row in (unseen or ())
            if row["country"] == code and models[code] == 1 and (value := real(row.get("chao1"))) is not None
        ]
        last = {one.category: one.n_total for one in sorted(rounds, key=lambda one: one.round)}
        alt = (
            f"Different claims after each round for {names.get(code, code)}, {model}. At the end: "
            + ", ".join(f"{category} {n:,}" for category, n in last.items()) + "."
        )  # fmt: skip
        title = names.get(code, code) + (f", {model}" if models[code] > 1 else "")
        panels.append(Panel(title, saturation_curves(rounds, estimates), alt))
    rest = pairs[MOST_PANELS:]
    return Chart(
        "saturation",
        "Does another round add anything?",
        tuple(panels),
        data=plain_rows(rows),
        caption="A curve that has become flat says that this model has no more to give under this wording, not that "
        "the country has no more stereotypes.",
        note="Beyond the last round, where one model was asked: Chao1’s estimate of how many claims there are in all, "
        "from those seen once and twice, with its interval. It is a lower bound.",
        below=(f"Not drawn: {', '.join(f'{names.get(code, code)} {model}' for code, model in rest)}.",) if rest else (),
    )


def rates_chart(rows: Rows | None, names: Mapping[str, str]) -> Chart | None:
    """Share confirmed by category, a panel a country."""
    known = [row for row in rows or () if row.get("category")]
    if not any(real(row.get("rate")) is not None for row in known):
        return None
    panels = []
    codes = list(dict.fromkeys(str(row["country"]) for row in known))
    for code in codes[:MOST_PANELS]:
        mine = [row for row in known if row["country"] == code]
        dots = []
        for row in mine:
            rate, low, high = (real(row.get(key)) for key in ("rate", "low", "high"))
            words = f"{row['category']}: {_share(rate)} ({_share(low)} … {_share(high)}), {row['n_kept']} of {row['n']}"
            dots.append(Dot(str(row["category"]), "", rate, low, high, words=words))
        spec = interval_plot(dots, title="share confirmed", domain=(0.0, 1.0), category_names=[""])
        alt = (
            f"Share of stereotypes confirmed in {names.get(code, code)}. " + "; ".join(dot.words for dot in dots) + "."
        )
        panels.append(Panel(names.get(code, code), spec, alt))
    return Chart(
        "validation",
        "What people confirmed",
        tuple(panels),
        data=plain_rows(known),
        caption="Each point is the share of a category’s stereotypes that people of the country kept, each line its "
        "interval.",
        below=(f"Not drawn, but in the table: {', '.join(codes[MOST_PANELS:])}.",) if codes[MOST_PANELS:] else (),
    )


def overlap_chart(rows: Rows | None, names: Mapping[str, str]) -> Chart | None:
    """Heat maps of shares found in another country, over all and by category."""
    if not rows:
        return None
    present = dict.fromkeys(str(row[key]) for row in rows for key in ("a", "b"))
    countries = [code for code in names if code in present]
    regions = [name for name in present if name not in names]
    categories = list(dict.fromkeys(str(row.get("category") or "") for row in rows))
    maps = [
        (places, category) for places in (countries, regions) if places for category in sorted(categories, key=bool)
    ]
    panels = []
    for places, category in maps[:MOST_PANELS]:
        mine = [row for row in rows if row["a"] in places and str(row.get("category") or "") == category]
        cells = [cell for row in mine for cell in both_directions(row, names)]
        title = ("regions, " if places is regions else "") + (category or "all categories")
        spec = heat_map(cells, rows=places, columns=places, row_title="stereotypes of", column_title="found in",
                        value_title="share of the row’s stereotypes", kind="share", domain=(0.0, 1.0))  # fmt: skip
        panels.append(Panel(title, spec, f"Share of each place’s stereotypes found in each other, {title}. "
                            + "; ".join(str(cell["words"]) for cell in cells[:12]) + "."))  # fmt: skip
    rest = [("regions, " if places is regions else "") + (category or "all") for places, category in maps[MOST_PANELS:]]
    return Chart("overlap", "What countries share", tuple(panels), data=plain_rows(rows), caption=BOTH_WAYS,
                 wide=len(countries) > MOST_SIDE_BY_SIDE,
                 note="Two claims are the same at the threshold of similarity of the configuration.",
                 below=(f"Not drawn, but in the table: {', '.join(rest)}.",) if rest else ())  # fmt: skip


def both_directions(row: Row, names: Mapping[str, str]) -> list[dict[str, object]]:
    """A pair of countries as two squares: share of a's found in b, and of b's found in a."""
    cells: list[dict[str, object]] = []
    for one, other, side in (("a", "b", "a"), ("b", "a", "b")):
        code, other_code = str(row[one]), str(row[other])
        if one == "b" and code == other_code:
            continue
        share, n, shared = real(row.get(f"share_of_{side}")), row.get(f"n_{side}"), row.get(f"n_shared_{side}")
        words = f"{names.get(code, code)}: {shared} of {n} also in {names.get(other_code, other_code)}"
        cells.append({"row": code, "column": other_code, "value": share, "words": words})
    return cells


def _share(value: float | None) -> str:
    return format_number(value, "share")
