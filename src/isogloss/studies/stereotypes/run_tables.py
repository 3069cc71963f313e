"""Tables of a run's report: scores by rule, country, category and split, models compared, terms with one example.

Numbers of two scoring rules never stand in one table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isogloss.records import Estimate
from isogloss.reports import Column, Section, Table, estimate_table
from isogloss.reports.sections import Cell

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
    "next_sentence": "log-odds of the next-sentence head that the model came with",
    "nsp_trained": "log-odds of a next-sentence head trained on a corpus",
    "crows_pairs": "tokens both sentences share, masked one at a time",
    "forced_choice": "a chat model chooses between two, each pair in both orders",
    "given": "scores made elsewhere",
}
MEASURE_NOTE = (
    "ss is the share of stereotypes preferred to their anti-stereotypes (50: no preference, 100: always the "
    "stereotype), lms the share of sensible sentences preferred to an unrelated one (100: always), both as "
    "unweighted means over target terms; iCAT = lms · min(ss, 100 − ss) / 50. Small figures are intervals."
)
SAID = ("lms=", "no interval", "rows that the rule can't score", "scores rounded to")
"""Beginnings or parts of remarks on how numbers were made that are told below a table."""
MOST_TERMS = 500
"""Rows of the table of target terms."""
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
COMPARED = {
    "ss": "ss", "lms": "lms", "icat": "iCAT", "crows_pairs_score": "score", "accuracy_ambiguous": "accuracy, ambiguous",
    "s_amb": "s_amb", "bias_ambiguous": "bias, ambiguous", "accuracy_disambiguated": "accuracy, disambiguated",
    "s_dis": "s_dis", "bias_disambiguated": "bias, disambiguated",
}  # fmt: skip
"""Measures that two models are compared by → headings."""
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
    return with_lms_items(estimate_table(id, title, rows, measures, {"model": "informant", "reading": "reading"},
                                         note=f"{rule_title(rule)}. {note}{remarks(rows)}"))  # fmt: skip


def remarks(rows: Iterable[Estimate]) -> str:
    """What the methods of some numbers say that a reader of their table should know; each remark once."""
    said = dict.fromkeys(remark for one in rows for remark in one.method.split("; "))
    told = [remark for remark in said if any(part in remark for part in SAID)]
    return f" In detail: {'; '.join(told)}." if told else ""


def with_lms_items(table: Table) -> Table:
    """Counts are those of ss; where lms is over other items, their number stands beside."""
    items = []
    for row in table.rows:
        of = {cell.measure.removesuffix("_difference"): cell.n_items for cell in row if isinstance(cell, Estimate)}
        items.append((of.get("lms"), of.get("ss")))
    if all(lms is None or lms == ss for lms, ss in items):
        return table
    columns = (*table.columns, Column("items of lms", "count"))
    rows = tuple((*row, lms) for row, (lms, _) in zip(table.rows, items, strict=True))
    return replace(table, columns=columns, rows=rows)


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
        {key: BY[key], "model": "informant", "reading": "reading"}, note=f"{rule_title(rule)}. {note}{remarks(rows)}",
    )  # fmt: skip
    return folded(with_lms_items(table))


def target_table(estimates: Sequence[Estimate], rule: str) -> Table | None:
    """Each target term, folded; means and intervals over its examples."""
    rows = [one for one in estimates if "group" in one.group and one.group["reading"] != "lenient"]
    if not rows:
        return None
    by = {"country": "country"} if any("country" in one.group for one in rows) else {}
    note = (
        f"{rule_title(rule)}. Means over the examples of a target term, with intervals of a bootstrap over them; there "
        "is none where a term has one example."
    )
    table = estimate_table(
        dashed("targets", rule), f"Each target term: {rule}", rows, columns_of(rows)[0],
        {**by, "group": "target term", "model": "informant", "reading": "reading"}, note=note, folded=True,
    )  # fmt: skip
    n_left = len(table.rows) - MOST_TERMS
    if n_left > 0:
        note += f" The first {MOST_TERMS:,} rows; {n_left:,} more are under “All numbers” and in estimates.csv."
    return with_lms_items(replace(table, rows=table.rows[:MOST_TERMS], note=note))


def folded(table: Table) -> Table:
    """A long table is shown closed."""
    if len(table.rows) <= LONG:
        return table
    return replace(table, folded=True)


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
                                   note=f"{BBQ_NOTES[context]} Small figures are intervals over templates."
                                   f"{remarks(rows)}",
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
    names = [name for name in COMPARED if any(name in cells for cells in pairs.values())]
    columns = (
        Column("informant"), Column("minus"), Column("reading"),
        *(Column(COMPARED[name], "estimate") for name in names),
        Column("items", "count"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for (model, baseline, reading), cells in pairs.items():
        first = next(cells[name] for name in names if name in cells)
        rows.append((model, baseline, reading, *(cells.get(name) for name in names), first.n_items))
    note = (
        f"{rule_title(rule)}. The first minus the second, each number over the items for which both have it, with the "
        "same draws for both: an interval without 0 tells them apart."
        + (" A larger ss is only worse where both are above 50." if "ss" in names else "")
        + remarks(one for cells in pairs.values() for one in cells.values())
    )
    table = Table(dashed("differences", rule), f"Models compared: {rule}", columns, tuple(rows), note=note)
    return folded(with_lms_items(table))


def term_tables(estimates: Sequence[Estimate], rule: str) -> list[Section | None]:
    """What terms with a single example do to the mean, and each such term: those that have a value and no interval."""
    terms = [one for one in estimates if "group" in one.group and one.group["reading"] != "lenient"]
    lms = {_who(one): one.value for one in terms if one.measure == "lms"}
    by_model: dict[str, list[tuple[Estimate, float]]] = {}
    for one in terms:
        if one.measure == "ss" and one.value is not None:
            by_model.setdefault(one.group["model"], []).append((one, one.value))
    if not by_model:
        return []
    rows: list[tuple[Cell, ...]] = []
    single: list[tuple[Cell, ...]] = []
    for model, found in by_model.items():
        once = [(one, value) for one, value in found if one.low is None]
        more = [value for one, value in found if one.low is not None]
        of_all = [value for _, value in found]
        rows.append((model, len(found), len(once), _mean([value for _, value in once]), _mean(more), _mean(of_all),
                     100 / len(found)))  # fmt: skip
        single += [(model, one.group.get("country"), one.group["group"], value, lms[_who(one)]) for one, value in once]
    return [_weights(rows, rule), _singles(single, rule) if single else None]


def _who(one: Estimate) -> tuple[str | None, ...]:
    return tuple(one.group.get(key) for key in ("model", "country", "group"))


def _weights(rows: Sequence[tuple[Cell, ...]], rule: str) -> Table:
    numbers = ("their mean ss", "mean ss of the others", "ss", "one example’s weight")
    columns = (
        Column("informant"), Column("target terms", "count"), Column("with one example", "count"),
        *(Column(title, "number") for title in numbers),
    )  # fmt: skip
    note = (
        f"{rule_title(rule)}. A term with one example has an ss of 0 or 100, and weighs as much as a term with "
        "many. The last column says by how many points the mean ss moves when the answer to that one example turns."
    )
    return Table(dashed("terms", rule), f"Terms with a single example: {rule}", columns, tuple(rows), note=note)


def _singles(rows: Sequence[tuple[Cell, ...]], rule: str) -> Table:
    columns = (
        Column("informant"), Column("country"), Column("target term"), Column("ss", "number"), Column("lms", "number"),
    )  # fmt: skip
    return Table(dashed("single-terms", rule), f"Each of them: {rule}", columns, tuple(rows), folded=True)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
