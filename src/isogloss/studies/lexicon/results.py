"""Tables of the lexicon report: by country, by area, rank correlations, whose words fit best."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isogloss.records import Estimate
from isogloss.reports import Column, Table, estimate_table
from isogloss.reports.sections import Cell
from isogloss.studies.lexicon.borrowing import CrossRow, closest
from isogloss.studies.lexicon.view import (
    ALWAYS_YES,
    FIRST_THREE,
    FORMAT_TITLES,
    MULTIPLE_CHOICE,
    TITLES,
    YES_AT_RATE,
    YES_NO,
    View,
)

MEASURES = {
    YES_NO: {
        "Youden’s J": ("youden_j", None),
        "F1": ("f1", None),
        "ΔF1 to always yes": ("delta_f1", ALWAYS_YES),
        "ΔF1 to yes at rate p": ("delta_f1", YES_AT_RATE),
        "Matthews": ("mcc", None),
        "share of yes": ("yes_share", None),
    },
    MULTIPLE_CHOICE: {
        "adjusted Jaccard": ("adjusted_jaccard", None),
        "Δ to first three": ("delta_adjusted_jaccard", FIRST_THREE),
        "first-order": ("adjusted_jaccard_first_order", None),
        "variants chosen": ("mean_answer_size", None),
    },
}
LABEL_MEASURES = {
    YES_NO: {
        "share of + (p)": ("share_plus", None),
        "F1 of always yes": ("f1", ALWAYS_YES),
        "F1 of yes at rate p": ("f1", YES_AT_RATE),
    },
    MULTIPLE_CHOICE: {
        "variants said there": ("mean_gold_size", None),
        "adjusted Jaccard of the first three": ("adjusted_jaccard", FIRST_THREE),
    },
}
LONG = 45
"""Rows from which a table is shown closed."""
AREA_NOTE = (
    "An area’s number is the unweighted mean of its countries’; “pooled” counts every answer once. Both are shown, "
    "because a country with more answers weighs more in the pooled one."
)
MEASURE_NOTES = {
    YES_NO: "Youden’s J is the share of + answered yes minus the share of - answered yes: 0 for anyone who doesn’t "
    "know, however often they say yes. F1 rises with the share of + and with every yes, so it is shown with what "
    "always saying yes gives (2p/(1+p)) and what guessing yes at rate p gives (p).",
    MULTIPLE_CHOICE: "Adjusted Jaccard is the overlap of the set chosen with the set said there, minus what a random "
    "choice of as many variants is to be expected to give, clipped at 0 per question. “First-order” takes a simpler "
    "expectation, which is never above the exact one and so gives higher scores.",
}


def country_table(view: View, format: str) -> Table:
    """One row per country and informant, all readings."""
    rows = [estimate for estimate in view.estimates
            if estimate.group.get("format") == format and {"country", "model"} <= set(estimate.group)]  # fmt: skip
    order = {code: rank for rank, code in enumerate(view.countries(format))}
    rows.sort(key=lambda estimate: order.get(estimate.group["country"], len(order)))
    by = {"country": "country", "model": "informant", "reading": "reading"}
    found = estimate_table(
        f"countries-{_dashed(format)}-table",
        f"Country by country: {FORMAT_TITLES[format]}",
        rows,
        MEASURES[format],
        by,
        names={"country": view.names()},
        note=MEASURE_NOTES[format],
    )
    return _folded(found)


def area_table(view: View, format: str) -> Table:
    """Areas as means of countries and pooled."""
    rows = [estimate for estimate in view.estimates
            if estimate.group.get("format") == format and {"area", "model"} <= set(estimate.group)]  # fmt: skip
    measures = dict(list(MEASURES[format].items())[:3])
    pooled = {f"{title}, pooled": (f"{measure}_pooled", baseline) for title, (measure, baseline) in measures.items()}
    order = {area: rank for rank, area in enumerate(view.areas())}
    rows.sort(key=lambda estimate: order.get(estimate.group["area"], len(order)))
    found = estimate_table(
        f"areas-{_dashed(format)}",
        f"Areas: {FORMAT_TITLES[format]}",
        rows,
        {**measures, **pooled},
        {"area": "area", "model": "informant", "reading": "reading"},
        note=AREA_NOTE,
    )
    return _folded(found)


def label_table(view: View, format: str) -> Table:
    """What the labels alone give: the share of +, sizes of sets, baselines."""
    rows = [estimate for estimate in view.estimates if estimate.group.get("format") == format
            and "model" not in estimate.group and "area" not in estimate.group]  # fmt: skip
    found = estimate_table(
        f"labels-{_dashed(format)}",
        f"What the labels alone give: {FORMAT_TITLES[format]}",
        rows,
        LABEL_MEASURES[format],
        {"country": "country"},
        names={"country": view.names()},
        note="Computed from the reference over the questions asked, without any informant. The first row is over all "
        "countries.",
    )
    return _folded(found)


def _folded(table: Table) -> Table:
    if len(table.rows) <= LONG:
        return table
    return Table(table.id, table.title, table.columns, table.rows, note=table.note, caption=table.caption, folded=True)


def _dashed(format: str) -> str:
    return format.replace("_", "-")


KINDS = {"spearman": "countries", "spearman_areas": "areas", "spearman_questions": "questions"}


def correlation_table(view: View) -> Table | None:
    """Rank correlations with p-values, of those the survey is about; None where there are none."""
    rows: list[tuple[Cell, ...]] = []
    studied = {voice for format in view.formats() for voice in view.studied(format)}
    for estimate in view.correlations():
        match = re.fullmatch(r"(\w+)\((\w+),(\w+)\)", estimate.measure)
        who = (estimate.group.get("model"), estimate.group.get("reading"))
        if match is None or who not in studied or "first_order" in estimate.measure:
            continue
        kind, x, y = match.groups()
        over, p = _remark(estimate)
        rows.append(
            (
                estimate.group.get("model", ""),
                estimate.group.get("reading", ""),
                TITLES.get(x, x.replace("_", " ")),
                TITLES.get(y, y.replace("_", " ")),
                estimate.group.get("baseline", "").replace("_", " ") or None,
                estimate,
                p,
                over or KINDS.get(kind, kind),
            )
        )
    if not rows:
        return None
    titles = ("informant", "reading", "of", "with", "baseline", "Spearman’s ρ", "p", "over")
    columns = tuple(Column(title, "estimate" if title.startswith("Spearman") else "text") for title in titles)
    note = (
        "A correlation over 21 countries is uncertain, and many are shown: of twenty without any true relation, one "
        "has p < 0.05. Countries aren’t independent either, since neighbours share words. ρ of a measure with the "
        "share of + shows how far it merely follows it. Other readings, scripted informants and the first-order "
        "measure stand under “All numbers”."
    )
    return _folded(Table("correlations", "What goes with what", columns, tuple(rows), note=note))


def _remark(estimate: Estimate) -> tuple[str | None, str | None]:
    """Number of pairs and p-value, which the method names."""
    over = re.search(r"over ([\d,]+ \w+)", estimate.method)
    p = re.search(r"p ([<=] [\d.e-]+)", estimate.method)
    return (over.group(1) if over else None), (p.group(1).removeprefix("= ") if p else None)


def closest_table(view: View, cross: Sequence[CrossRow]) -> Table | None:
    """For each informant country, whose labels the answers fit best."""
    rows: list[tuple[Cell, ...]] = []
    for fit in closest(cross):
        if fit["reading"] == "lenient":
            continue
        others = [code for code in fit["closest"] if code != fit["informant"]]
        own = fit["informant"] in fit["closest"]
        rows.append(
            (
                f"{view.name(fit['informant'])} ({fit['informant']})",
                fit["model"],
                FORMAT_TITLES.get(fit["format"], fit["format"]),
                fit["reading"],
                "its own"
                if own and not others
                else ", ".join((["its own"] if own else []) + [view.name(c) for c in others]),
                fit["value"],
                fit["own"],
                fit["own_rank"],
                fit["n_compared"],
            )
        )
    if not rows:
        return None
    columns = (
        Column("asked as"),
        Column("informant"),
        Column("format"),
        Column("reading"),
        Column("answers fit best"),
        Column("fit there", "signed"),
        Column("fit at home", "signed"),
        Column("rank of home", "count"),
        Column("of", "count"),
    )
    note = (
        "Fit is Youden’s J for yes–no questions and adjusted Jaccard for multiple choice, over the answers for which "
        "both places are labelled; n and intervals stand in the tooltips and data of the heat maps. A rank of 1 means "
        "that the model answers as this country more than as any other. Small differences in fit don’t settle the "
        "order."
    )
    return _folded(Table("closest", "Whose words the answers are", columns, tuple(rows), note=note))
