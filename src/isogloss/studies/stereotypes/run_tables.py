"""Tables of a run's report: scores by rule, country, category and split, models compared, terms with one example.

Numbers of two scoring rules never stand in one table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from isogloss.records import Dataset, Estimate
from isogloss.reports import Column, Section, Table, estimate_table
from isogloss.reports.sections import Cell

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.studies.stereotypes.settings import StereotypeSettings

LONG = 30
"""Rows from which a table is shown closed."""
TRIPLES = {"ss": ("ss", None), "lms": ("lms", None), "iCAT": ("icat", None), "neither": ("neither", None)}
PAIRS: dict[str, tuple[str, str | None]] = {"score": ("crows_pairs_score", None), "neither": ("neither", None)}
OWN_KEYS = {"model", "format", "reading", "baseline"}
BY = {"country": "country", "category": "category", "split": "split"}
RULES = {
    "causal": "log p(sentence | context)",
    "causal_per_token": "log p(sentence | context) per token",
    "total": "log-likelihood of the whole text",
    "per_token": "log-likelihood of the whole text per token",
    "masked": "pseudo-log-likelihood given the context",
    "next_sentence": "next-sentence head",
    "crows_pairs": "tokens both sentences share, masked one at a time",
    "forced_choice": "a chat model chooses between two, each pair in both orders",
    "given": "scores made elsewhere",
}
MEASURE_NOTE = (
    "ss is the share of stereotypes preferred to their anti-stereotypes (50: no preference, 100: always the "
    "stereotype), lms the share of sensible sentences preferred to an unrelated one (100: always), both as "
    "unweighted means over target terms; iCAT = lms · min(ss, 100 − ss) / 50. Small figures are intervals."
)
PAIR_NOTE = (
    "The share of pairs, in per cent, whose stereotyping sentence has the higher score (50: no preference). Small "
    "figures are intervals."
)
BBQ = {
    "ambiguous": {"accuracy": ("accuracy_ambiguous", None), "s_amb": ("s_amb", None), "bias": ("bias_ambiguous", None)},
    "disambiguated": {
        "accuracy": ("accuracy_disambiguated", None), "s_dis": ("s_dis", None), "bias": ("bias_disambiguated", None),
    },
}  # fmt: skip
"""Kind of context → its measures."""
BBQ_NOTES = {
    "ambiguous": "Here “it can’t be known” is right. s_amb, in per cent, is (1 − accuracy) · (2 · biased / known − 1), "
    "where known are the answers that name a person; bias is (biased − counter-biased) / all. 0: as often one as the "
    "other.",
    "disambiguated": "Here the text tells. s_dis, in per cent, is 2 · biased / known − 1; bias is the accuracy where "
    "the text bears the stereotype out minus that where it goes against it. 0: the stereotype makes no difference.",
}


def rule_title(rule: str) -> str:
    """A rule by name, with what it is."""
    return f"Rule {rule}" + (f": {RULES[rule]}" if rule in RULES else "")


def overall(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Over all rows of the data, differences left out."""
    return [one for one in estimates if set(one.group) <= OWN_KEYS and not one.measure.endswith("_difference")]


def is_main(one: Estimate) -> bool:
    """ss (or the score of pairs) in the reading that pictures go by."""
    return one.measure in ("ss", "crows_pairs_score") and one.group.get("reading") != "lenient"


def dashed(*words: str) -> str:
    """An id of words."""
    return "-".join(words).replace("_", "-")


def score_table(estimates: Sequence[Estimate], rule: str, *, alone: bool) -> Table | None:
    """Every informant's scores under one rule; the opening table where there is one rule only."""
    rows = [one for one in overall(estimates) if "baseline" not in one.group]
    if not rows:
        return None
    measures, note = columns_of(rows)
    id = "overview" if alone else dashed("scores", rule)
    title = "Overall" if alone else f"Scores by {rule}"
    return estimate_table(id, title, rows, measures, {"model": "informant", "reading": "reading"},
                          note=f"{rule_title(rule)}. {note}")  # fmt: skip


def columns_of(rows: Sequence[Estimate]) -> tuple[dict[str, tuple[str, str | None]], str]:
    """Headings → measures of what is there, and what is said of them."""
    names = dict.fromkeys(one.measure for one in rows)
    if "ss" in names:
        return dict(TRIPLES), MEASURE_NOTE
    return dict(PAIRS), PAIR_NOTE


def group_table(estimates: Sequence[Estimate], rule: str, key: str) -> Table | None:
    """One row a country, category or split, and informant."""
    rows = [one for one in estimates if set(one.group) - OWN_KEYS == {key}]
    if not rows:
        return None
    measures, note = columns_of(rows)
    table = estimate_table(
        dashed(key, rule, "table"), f"By {key}: {rule}", rows, measures,
        {key: BY[key], "model": "informant", "reading": "reading"}, note=f"{rule_title(rule)}. {note}",
    )  # fmt: skip
    return folded(table)


def folded(table: Table) -> Table:
    """A long table is shown closed."""
    if len(table.rows) <= LONG:
        return table
    return Table(table.id, table.title, table.columns, table.rows, note=table.note, caption=table.caption, folded=True)


def bbq_tables(estimates: Sequence[Estimate], rule: str) -> list[Table]:
    """Accuracy and bias of BBQ or EsBBQ: a table a kind of context, over all and by category and group."""
    found = []
    keys = [key for key in ("category", "group") if any(key in one.group for one in estimates)]
    for context, measures in BBQ.items():
        wanted = {measure for measure, _ in measures.values()}
        rows = [one for one in estimates if one.measure in wanted and not one.measure.endswith("_difference")]
        if rows:
            by = {**{key: key for key in keys}, "model": "informant", "reading": "reading"}
            found.append(
                folded(
                    estimate_table(dashed("bbq", context, rule), f"Questions in {context} contexts", rows, measures, by,
                                   note=f"{BBQ_NOTES[context]} Small figures are intervals over templates.",
                                   absent="all")
                )
            )  # fmt: skip
    return found


def difference_table(estimates: Sequence[Estimate], rule: str) -> Table | None:
    """Two models on the items that both have."""
    pairs: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    for one in estimates:
        if one.measure.endswith("_difference") and set(one.group) <= OWN_KEYS:
            key = (one.group["model"], one.group["baseline"], one.group["reading"])
            pairs.setdefault(key, {})[one.measure.removesuffix("_difference")] = one
    if not pairs:
        return None
    names = [
        name for name in ("ss", "lms", "icat", "crows_pairs_score") if any(name in cells for cells in pairs.values())
    ]
    columns = (
        Column("informant"), Column("minus"), Column("reading"),
        *(Column(name.replace("icat", "iCAT").replace("_", " "), "estimate") for name in names),
        Column("items", "count"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for (model, baseline, reading), cells in pairs.items():
        items = max(one.n_items for one in cells.values())
        rows.append((model, baseline, reading, *(cells.get(name) for name in names), items))
    note = (
        f"{rule_title(rule)}. The first minus the second, over the items that both have, with the same draws for "
        "both: an interval without 0 tells them apart. A larger ss is only worse where both are above 50."
    )
    return folded(Table(dashed("differences", rule), f"Models compared: {rule}", columns, tuple(rows), note=note))


def term_tables(
    answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings, rule: str
) -> list[Section | None]:
    """What terms with a single example do to the mean, and each such term."""
    from isogloss.studies.stereotypes.estimate import terms_of
    from isogloss.studies.stereotypes.tally import lay_out, series_of

    answers = answers[answers["format"] == rule]
    if not len(answers):
        return []
    layout = lay_out(dataset)
    if layout.is_pairs:
        return []
    rows: list[tuple[Cell, ...]] = []
    single: list[tuple[Cell, ...]] = []
    for series in series_of(answers, dataset, layout, settings.rounding):
        if series.reading == "lenient":
            continue
        terms = terms_of(series, layout)
        once = [term for term in terms if term.n_examples == 1]
        more = [term for term in terms if term.n_examples > 1]
        if not terms:
            continue
        rows.append((series.model, len(terms), len(once), _mean([term.ss for term in once]),
                     _mean([term.ss for term in more]), _mean([term.ss for term in terms]),
                     100 / len(terms)))  # fmt: skip
        single += [
            (series.model, term.country or None, term.target, term.ss, None if math.isnan(term.lms) else term.lms)
            for term in once
        ]
    if not rows:
        return []
    titles = (
        "target terms",
        "with one example",
        "their mean ss",
        "mean ss of the others",
        "ss",
        "one example’s weight",
    )
    columns = (Column("informant"), Column(titles[0], "count"), Column(titles[1], "count"),
               *(Column(title, "number") for title in titles[2:]))  # fmt: skip
    note = (
        f"{rule_title(rule)}. A term with one example has an ss of 0 or 100, and weighs as much as a term with "
        "many. The last column says by how many points the mean ss moves when the answer to that one example turns."
    )
    parts: list[Section | None] = [
        Table(dashed("terms", rule), f"Terms with a single example: {rule}", columns, tuple(rows), note=note)
    ]
    if single:
        heads = (
            Column("informant"),
            Column("country"),
            Column("target term"),
            Column("ss", "number"),
            Column("lms", "number"),
        )
        parts.append(Table(dashed("single-terms", rule), f"Each of them: {rule}", heads, tuple(single), folded=True))
    return parts


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
