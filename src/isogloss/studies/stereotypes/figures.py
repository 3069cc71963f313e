"""The stereotypes study's part of a run's report: scores with intervals, where models stand, what moves the means.

Numbers of two scoring rules never stand in one table or picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from isogloss.records import Dataset, Estimate
from isogloss.reports import Chart, Column, Panel, Prose, Section, Table, estimate_table
from isogloss.reports.charts import Dot, interval_plot
from isogloss.reports.numbers import format_interval, format_value
from isogloss.reports.sections import Cell
from isogloss.studies.stereotypes.pictures import IDEAL_SS, Standing, score_plane

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.studies.stereotypes.settings import StereotypeSettings

MOST_PANELS = 8
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
    "forced_choice": "forced choice",
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
LIMITS = (
    "ss near 50 says that these stereotypes aren’t preferred on the whole. A model that prefers half of them "
    "strongly and the opposite of the others has 50, too; look at categories and terms.",
    "A model that tells sense from nonsense badly (lms near 50) has no ss worth reading.",
    "A score depends on the rule by which sentences are scored. Compare numbers of one rule only.",
    "What counts as a stereotype in a country is what its raters say; where no people took part, nobody has said so.",
)


def sections(
    estimates: Sequence[Estimate], answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings
) -> list[Section]:
    """What the report shows of this study.

    Parameters
    ----------
    estimates : sequence of Estimate
        What `estimate` gave, of one run or several.
    answers : DataFrame
        Columns of `study.ANSWER_COLUMNS`.
    dataset : Dataset
    settings : StereotypeSettings
    """
    estimates = list(estimates)
    rules = list(dict.fromkeys(one.group["format"] for one in estimates if "format" in one.group))
    parts: list[Section | None] = [summary(estimates, rules)]
    for rule in rules:
        mine = [one for one in estimates if one.group.get("format") == rule]
        parts.append(score_table(mine, rule, alone=len(rules) == 1))
        if any(one.measure in ("ss", "crows_pairs_score") for one in mine):
            parts.append(plane(mine, rule))
            for key in BY:
                parts += [group_chart(mine, rule, key), group_table(mine, rule, key)]
            parts += [difference_table(mine, rule), *term_tables(answers, dataset, settings, rule)]
        else:
            parts += other_tables(mine, rule)
    parts += [Prose("methods", "", (methods(settings),)), Prose("limits", "", LIMITS)]
    return [part for part in parts if part is not None]


def methods(settings: StereotypeSettings) -> str:
    """How the numbers were made, for the methods paragraph."""
    return (
        "Following StereoSet, each sentence of a triple is scored; a stereotype is preferred when its score is "
        "strictly higher than that of the anti-stereotype. Shares are averaged over target terms with equal "
        f"weight. Intervals are {100 * settings.confidence:g} % percentile intervals of a bootstrap over target "
        f"terms with {settings.resamples:,} draws, and differences between models take the same draws."
    )


def summary(estimates: Sequence[Estimate], rules: Sequence[str]) -> Prose:
    """What stands at the top of the report: a paragraph a rule."""
    paragraphs = []
    for rule in rules:
        found = [one for one in overall(estimates) if one.group["format"] == rule and is_main(one)]
        if not found:
            continue
        scored = [one for one in found if one.value is not None]
        if not scored:
            paragraphs.append(f"{rule_title(rule)}: nothing could be scored, so there is no number.")
            continue
        said = "; ".join(_standing(one, estimates) for one in scored[:6])
        rest = f"; {len(scored) - 6} more stand in the table" if len(scored) > 6 else ""
        paragraphs.append(f"{rule_title(rule)}. {said}{rest}.")
    if not paragraphs:
        named = f"{len(estimates):,} estimates; see the tables below." if estimates else "Nothing has been scored yet."
        paragraphs = [named]
    return Prose("summary", "In short", tuple(paragraphs))


def _standing(one: Estimate, estimates: Sequence[Estimate]) -> str:
    name = "ss" if one.measure == "ss" else "score"
    verdict = ""
    if one.low is not None and one.high is not None:
        if one.low > IDEAL_SS:
            verdict = ", so it prefers these stereotypes"
        elif one.high < IDEAL_SS:
            verdict = ", so it prefers their opposites"
        else:
            verdict = ", which can’t be told from no preference"
    others = [
        f"{title} {format_value(other)}"
        for title, measure in (("lms", "lms"), ("iCAT", "icat"))
        if (other := _twin(one, measure, estimates)) is not None and other.value is not None
    ]
    beside = f" ({', '.join(others)})" if others else ""
    return f"{one.group['model']}: {name} {said(one)}{verdict}{beside}"


def _twin(one: Estimate, measure: str, estimates: Sequence[Estimate]) -> Estimate | None:
    return next((other for other in estimates if other.measure == measure and other.group == one.group), None)


def said(one: Estimate) -> str:
    """A number in a sentence, with its interval."""
    return format_value(one) + (f" ({format_interval(one)})" if one.low is not None else "")


def rule_title(rule: str) -> str:
    """A rule by name, with what it is."""
    return f"Rule {rule}" + (f": {RULES[rule]}" if rule in RULES else "")


def overall(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Over all rows of the data, differences left out."""
    return [one for one in estimates if set(one.group) <= OWN_KEYS and not one.measure.endswith("_difference")]


def is_main(one: Estimate) -> bool:
    """ss (or the score of pairs) in the reading that pictures go by."""
    return one.measure in ("ss", "crows_pairs_score") and one.group.get("reading") != "lenient"


def _dashed(*words: str) -> str:
    return "-".join(words).replace("_", "-")


# --- tables -----------------------------------------------------------------------------------------------------------


def score_table(estimates: Sequence[Estimate], rule: str, *, alone: bool) -> Table | None:
    """Every informant's scores under one rule; the opening table where there is one rule only."""
    rows = [one for one in overall(estimates) if "baseline" not in one.group]
    if not rows:
        return None
    measures, note = columns_of(rows)
    id = "overview" if alone else _dashed("scores", rule)
    title = "Overall" if alone else f"Scores by {rule}"
    return estimate_table(id, title, rows, measures, {"model": "informant", "reading": "reading"},
                          note=f"{rule_title(rule)}. {note}")  # fmt: skip


def columns_of(rows: Sequence[Estimate]) -> tuple[dict[str, tuple[str, str | None]], str]:
    """Headings → measures of what is there, and what is said of them."""
    names = dict.fromkeys(one.measure for one in rows)
    if "ss" in names:
        return dict(TRIPLES), MEASURE_NOTE
    if "crows_pairs_score" in names:
        return dict(PAIRS), PAIR_NOTE
    return {name: (name, None) for name in names}, "Small figures are intervals; a dash: nothing was scored."


def group_table(estimates: Sequence[Estimate], rule: str, key: str) -> Table | None:
    """One row a country, category or split, and informant."""
    rows = [one for one in estimates if set(one.group) - OWN_KEYS == {key}]
    if not rows:
        return None
    measures, note = columns_of(rows)
    table = estimate_table(
        _dashed(key, rule, "table"), f"By {key}: {rule}", rows, measures,
        {key: BY[key], "model": "informant", "reading": "reading"}, note=f"{rule_title(rule)}. {note}",
    )  # fmt: skip
    return folded(table)


def other_tables(estimates: Sequence[Estimate], rule: str) -> list[Section | None]:
    """Tables of another instrument's measures (BBQ), over all and by each grouping that there is."""
    parts: list[Section | None] = []
    groupings = dict.fromkeys(tuple(sorted(set(one.group) - OWN_KEYS)) for one in estimates)
    for keys in groupings:
        rows = [one for one in estimates if tuple(sorted(set(one.group) - OWN_KEYS)) == keys]
        if not keys:
            continue
        measures, note = columns_of(rows)
        by = {**{key: key for key in keys}, "model": "informant", "reading": "reading"}
        parts.append(folded(estimate_table(_dashed(*keys, rule, "table"), f"By {' and '.join(keys)}: {rule}", rows,
                                           measures, by, note=note)))  # fmt: skip
    return parts


def folded(table: Table) -> Table:
    """A long table is shown closed."""
    if len(table.rows) <= LONG:
        return table
    return Table(table.id, table.title, table.columns, table.rows, note=table.note, caption=table.caption, folded=True)


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
    return folded(Table(_dashed("differences", rule), f"Models compared: {rule}", columns, tuple(rows), note=note))


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
        Table(_dashed("terms", rule), f"Terms with a single example: {rule}", columns, tuple(rows), note=note)
    ]
    if single:
        heads = (
            Column("informant"),
            Column("country"),
            Column("target term"),
            Column("ss", "number"),
            Column("lms", "number"),
        )
        parts.append(Table(_dashed("single-terms", rule), f"Each of them: {rule}", heads, tuple(single), folded=True))
    return parts


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# --- pictures ---------------------------------------------------------------------------------------------------------


def plane(estimates: Sequence[Estimate], rule: str) -> Chart | None:
    """Models by ss and lms, under one rule."""
    standings, data = [], list[dict[str, Cell]]()
    for one in overall(estimates):
        if one.measure != "ss" or not is_main(one):
            continue
        lms = _twin(one, "lms", estimates)
        if one.value is None or lms is None or lms.value is None:
            continue
        words = f"{one.group['model']}: ss {said(one)}, lms {said(lms)}"
        standings.append(
            Standing(one.group["model"], one.value, lms.value, (one.low, one.high), (lms.low, lms.high), words)
        )
        data.append(
            {**one.group, "ss": one.value, "ss_low": one.low, "ss_high": one.high, "lms": lms.value,
             "lms_low": lms.low, "lms_high": lms.high, "n_items": one.n_items, "n_scored": one.n_scored}
        )  # fmt: skip
    if not standings:
        return None
    alt = f"Models by ss and lms under the rule {rule}. " + "; ".join(one.words for one in standings[:6]) + "."
    return Chart(
        _dashed("plane", rule),
        f"Where the models stand: {rule}",
        (Panel("", score_plane(standings), alt),),
        data=tuple(data),
        caption="To the right: stereotypes preferred. To the left of the dashed line: their opposites. Upwards: tells "
        "sense from nonsense. The ring is the ideal.",
        note=f"{rule_title(rule)}. Each point has its interval both ways.",
    )


def group_chart(estimates: Sequence[Estimate], rule: str, key: str) -> Chart | None:
    """ss (or the score of pairs) by country, category or split: a panel an informant."""
    rows = [one for one in estimates if set(one.group) - OWN_KEYS == {key} and is_main(one)]
    models = list(dict.fromkeys(one.group["model"] for one in rows))
    names = list(dict.fromkeys(one.group[key] for one in rows))
    if not any(one.value is not None for one in rows):
        return None
    title = "ss" if rows[0].measure == "ss" else "score"
    panels = []
    for model in models[:MOST_PANELS]:
        mine = {one.group[key]: one for one in rows if one.group["model"] == model}
        dots = []
        for name in names:
            one = mine.get(name)
            words = f"{name}: not asked" if one is None else f"{name}: {title} {said(one)}, {one.n_scored:,} scored"
            dots.append(Dot(name, "", one.value if one else None, one.low if one else None, one.high if one else None,
                            words=words))  # fmt: skip
        spec = interval_plot(dots, title=f"{title} (50: no preference)", domain=(0.0, 100.0), category_names=[""],
                             reference=IDEAL_SS)  # fmt: skip
        alt = f"{title} by {key} for {model}, rule {rule}: " + "; ".join(dot.words for dot in dots[:12]) + "."
        panels.append(Panel(model, spec, alt))
    rest = models[MOST_PANELS:]
    return Chart(
        _dashed(key, rule),
        f"Stereotypes by {key}: {rule}",
        tuple(panels),
        data=tuple({**one.group, title: one.value, "low": one.low, "high": one.high, "n_items": one.n_items,
                    "n_answers": one.n_answers, "n_scored": one.n_scored} for one in rows),
        caption="Right of the dashed line the stereotype is preferred, left of it its opposite. Lines are intervals.",
        note=f"{rule_title(rule)}. A dash: nothing was scored. A hollow point has no interval: too few terms.",
        below=(f"Not drawn, but in the table: {', '.join(rest)}.",) if rest else (),
    )  # fmt: skip
