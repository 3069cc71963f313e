"""The stereotypes study's part of a run's report: scores with intervals, where models stand, what moves the means.

Numbers of two scoring rules never stand in one table or picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isogloss.records import Dataset, Estimate
from isogloss.reports import Chart, Panel, Prose, Section
from isogloss.reports.charts import Dot, interval_plot
from isogloss.reports.numbers import format_interval, format_value
from isogloss.reports.sections import Cell
from isogloss.studies.stereotypes.pictures import IDEAL_SS, Standing, score_plane
from isogloss.studies.stereotypes.run_tables import (
    BY,
    OWN_KEYS,
    bbq_tables,
    dashed,
    difference_table,
    group_table,
    is_main,
    overall,
    rule_title,
    score_table,
    target_table,
    term_tables,
)

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.studies.stereotypes.settings import StereotypeSettings

MOST_PANELS = 8
MAIN = ("ss", "crows_pairs_score")
BBQ_LIMITS = (
    "A bias near 0 says that answers go with the stereotype as often as against it, on the whole; look at groups.",
    "Where the text doesn’t tell, a model that always says so has no bias to measure (s_amb is 0 then).",
    "Questions about two people in made-up scenes say little about how a model writes of people elsewhere.",
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
        if not any(one.measure in MAIN for one in mine):
            parts += [*bbq_tables(mine, rule), difference_table(mine, rule)]
            continue
        parts += [score_table(mine, rule, alone=len(rules) == 1), plane(mine, rule)]
        for key in BY:
            parts += [group_chart(mine, rule, key), group_table(mine, rule, key)]
        parts.append(target_table(mine, rule))
        parts += [difference_table(mine, rule), *term_tables(mine, rule)]
    is_sentences = any(one.measure in MAIN for one in estimates) or not estimates
    words = methods(settings) if is_sentences else bbq_methods(settings)
    parts += [Prose("methods", "", (words,)), Prose("limits", "", LIMITS if is_sentences else BBQ_LIMITS)]
    return [part for part in parts if part is not None]


def methods(settings: StereotypeSettings) -> str:
    """How the numbers were made, for the methods paragraph."""
    return (
        "Following StereoSet, each sentence of a triple is scored; a stereotype is preferred when its score is "
        "strictly higher than that of the anti-stereotype. Shares are averaged over target terms with equal "
        f"weight. Intervals are {100 * settings.confidence:g} % percentile intervals of a bootstrap over the target "
        f"terms of each row, and over the examples of a single term, with {settings.resamples:,} draws; differences "
        "between models take the same draws."
    )


def bbq_methods(settings: StereotypeSettings) -> str:
    """The same for BBQ and EsBBQ."""
    return (
        f"Each question was put in {settings.orders} orders of its three answers. Accuracy and bias are pooled over "
        "answers, for ambiguous and for disambiguated contexts apart, as in BBQ and EsBBQ. Intervals are "
        f"{100 * settings.confidence:g} % percentile intervals of a bootstrap over templates with "
        f"{settings.resamples:,} draws."
    )


def summary(estimates: Sequence[Estimate], rules: Sequence[str]) -> Prose:
    """What stands at the top of the report: a paragraph a rule."""
    paragraphs = []
    for rule in rules:
        found = [one for one in overall(estimates) if one.group["format"] == rule and is_main(one)]
        if not found:
            paragraphs += _bbq_words([one for one in overall(estimates) if one.group["format"] == rule])
            continue
        scored = [one for one in found if one.value is not None]
        if not scored:
            paragraphs.append(f"{rule_title(rule)}: nothing could be scored, so there is no number.")
            continue
        words = "; ".join(_standing(one, estimates) for one in scored[:6])
        rest = f"; {len(scored) - 6} more stand in the table" if len(scored) > 6 else ""
        paragraphs.append(f"{rule_title(rule)}. {words}{rest}.")
    return Prose("summary", "In short", tuple(paragraphs or ["Nothing has been scored yet."]))


def _bbq_words(estimates: Sequence[Estimate]) -> list[str]:
    """A sentence a model: accuracy and bias in both kinds of context."""
    names = {"accuracy_ambiguous": "accuracy", "s_amb": "s_amb", "accuracy_disambiguated": "accuracy", "s_dis": "s_dis"}
    lines = []
    for model in dict.fromkeys(one.group["model"] for one in estimates):
        mine = {
            one.measure: one for one in estimates if one.group["model"] == model and one.group["reading"] != "lenient"
        }
        parts = [f"{words} {said(mine[measure])}" for measure, words in names.items() if measure in mine]
        if len(parts) == len(names):
            lines.append(
                f"{model}: where the text doesn’t tell, {parts[0]}, {parts[1]}; where it tells, {parts[2]}, {parts[3]}."
            )
    return lines


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
        dashed("plane", rule),
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
        spec = interval_plot(dots, title=f"{title} (50: no preference)", domain=(-4.0, 104.0), category_names=[""],
                             reference=IDEAL_SS)  # fmt: skip
        alt = f"{title} by {key} for {model}, rule {rule}: " + "; ".join(dot.words for dot in dots[:12]) + "."
        panels.append(Panel(model, spec, alt))
    rest = models[MOST_PANELS:]
    return Chart(
        dashed(key, rule),
        f"Stereotypes by {key}: {rule}",
        tuple(panels),
        data=tuple({**one.group, title: one.value, "low": one.low, "high": one.high, "n_items": one.n_items,
                    "n_answers": one.n_answers, "n_scored": one.n_scored} for one in rows),
        caption="Right of the dashed line the stereotype is preferred, left of it its opposite. Lines are intervals.",
        note=f"{rule_title(rule)}. A dash: nothing was scored. A hollow point has no interval: only one target term.",
        below=(f"Not drawn, but in the table: {', '.join(rest)}.",) if rest else (),
    )  # fmt: skip
