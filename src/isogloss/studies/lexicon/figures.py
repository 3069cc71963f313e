"""The lexicon study's part of the report: figures, maps, tables and item pages, in the order a reader needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from isogloss.records import Dataset, Estimate
from isogloss.reports import Chart, Panel, Prose, Section
from isogloss.reports.charts import Dot, extent, heat_map, interval_plot, scatter_plot, value_range
from isogloss.reports.maps import map_picture
from isogloss.reports.sections import Cell
from isogloss.studies.lexicon.borrowing import CrossRow, cross_table
from isogloss.studies.lexicon.pages import item_pages
from isogloss.studies.lexicon.results import (
    area_table,
    closest_table,
    correlation_table,
    country_table,
    label_table,
)
from isogloss.studies.lexicon.summary import overview, summary
from isogloss.studies.lexicon.view import (
    ALWAYS_YES,
    FIRST_THREE,
    FORMAT_TITLES,
    MAIN,
    MULTIPLE_CHOICE,
    TITLES,
    YES_NO,
    View,
    Voice,
    described,
    said,
)

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.studies.lexicon.settings import LexiconSettings

MOST_PANELS = 8
"""Pictures of one figure; further informants stand in the tables."""
MOST_HEAT_MAPS = 4
LARGEST_HEAT_MAP = 45

COUNTRY_CAPTIONS = {
    YES_NO: "Each point is a country, each line its interval. The dashed line is what anyone reaches who doesn’t know "
    "the words.",
    MULTIPLE_CHOICE: "Each point is a country, each line its interval. The upright stroke is what the first three of "
    "a shuffled list are to be expected to reach there.",
}
METHODS = (
    "Each question put one concept to an informant from one country: in yes–no questions one variant, in multiple "
    "choice all variants in a seeded random order, from which any number could be chosen. Yes–no answers are measured "
    "by F1 on yes, by its difference from always answering yes and from guessing yes at the rate of predominant "
    "variants, by Youden’s J and by Matthews’ correlation; multiple choice by the Jaccard index adjusted for chance "
    "with the exact hypergeometric expectation and clipped at 0 per question. Only variants labelled predominant or "
    "not for a country count there. Overall numbers are pooled over questions; an area’s is the unweighted mean of its "
    "countries’."
)
LIMITS = (
    "The reference says which variants predominate in a country, mostly in its cities and at the time of the survey. "
    "A word marked as not predominant can be well known there, and words that the reference lacks can’t be found.",
    "A country isn’t a way of speaking: differences of region, age and setting inside it are not measured, and "
    "speakers of other languages of the country aren’t either.",
    "F1 rises with the share of predominant variants, so countries are compared by Youden’s J and by differences from "
    "the baselines.",
)


def sections(
    estimates: Sequence[Estimate], answers: pd.DataFrame, dataset: Dataset, settings: LexiconSettings
) -> list[Section]:
    """What the report shows of this study.

    Parameters
    ----------
    estimates : sequence of Estimate
        What `estimate` gave, of one run or several.
    answers : DataFrame
        Columns of `study.ANSWER_COLUMNS`.
    dataset : Dataset
    settings : LexiconSettings
        `resamples` and `confidence`, for the cross table.
    """
    view = View.of(estimates, dataset)
    cross = cross_table(answers, dataset, settings, seed_of(estimates))
    parts: list[Section | None] = [summary(view), overview(view)]
    formats = view.formats()
    parts += [country_chart(view, format) for format in formats]
    parts += [map_chart(view, format) for format in formats]
    parts += [country_table(view, format) for format in formats]
    if view.areas():
        parts += [area_table(view, format) for format in formats]
    parts += [label_table(view, format) for format in formats]
    parts += scatter_charts(view, dataset)
    parts += [correlation_table(view), cross_chart(view, cross), closest_table(view, cross)]
    parts += [unique_chart(view, format) for format in formats]
    parts += [
        item_pages(answers, dataset, view),
        Prose("methods", "", (METHODS, intervals_words(settings))),
        Prose("limits", "", LIMITS),
    ]
    return [part for part in parts if part is not None]


def intervals_words(settings: LexiconSettings) -> str:
    """How the intervals were made, for the methods paragraph."""
    return (
        f"Intervals are {100 * settings.confidence:g} % percentile intervals of a bootstrap over items with "
        f"{settings.resamples:,} draws; correlations are Spearman’s."
    )


def seed_of(estimates: Iterable[Estimate]) -> int:
    """The seed of the bootstrap draws, which the method of the estimates names; 0 where it doesn't."""
    for estimate in estimates:
        if match := re.search(r"seed (-?\d+)", estimate.method):
            return int(match.group(1))
    return 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def rows_of(estimates: Iterable[Estimate]) -> tuple[dict[str, Cell], ...]:
    """Estimates as the data behind a figure."""
    return tuple(
        {
            "measure": one.measure,
            **one.group,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "n_items": one.n_items,
            "n_answers": one.n_answers,
            "n_scored": one.n_scored,
        }
        for one in estimates
    )


def country_chart(view: View, format: str) -> Chart | None:
    """Dots and intervals by country, one panel per informant."""
    voices, codes = view.voices(format)[:MOST_PANELS], view.countries(format)
    numbers = {(voice, code): view.main(voice, format, country=code) for voice in voices for code in codes}
    shown = [number for number in numbers.values() if number is not None]
    ends = [end for number in shown for end in (number.low, number.value, number.high) if end is not None]
    if not codes or not ends:
        return None
    title = TITLES[MAIN[format]]
    marks = {code: _baseline(view, format, code) for code in codes}
    ends += [mark for mark in marks.values() if mark is not None]
    low, high = value_range([*ends, 0.0], signed=False)
    panels = []
    for voice in voices:
        dots = [
            Dot(view.name(code), view.area(code), number.value if number else None, number.low if number else None,
                number.high if number else None, mark=marks[code], words=described(view.name(code), title, number))
            for code in codes for number in [numbers[voice, code]]
        ]  # fmt: skip
        spec = interval_plot(dots, title=title, domain=(low, high), category_names=view.areas(), reference=0.0)
        alt = f"{title} by country for {voice.title}. {_extremes(view, voice, format)}"
        panels.append(Panel(voice.title, spec, alt))
    return Chart(
        f"countries-{format.replace('_', '-')}",
        f"{_capital(title)} by country: {FORMAT_TITLES[format]}",
        tuple(panels),
        data=rows_of(shown),
        caption=COUNTRY_CAPTIONS[format],
        note="A dash: nothing was scored. A hollow point has no interval: too few answers. Colour and shape stand for "
        "the area.",
        below=_left_out(view.voices(format), MOST_PANELS),
    )


def _baseline(view: View, format: str, code: str) -> float | None:
    if format != MULTIPLE_CHOICE:
        return None
    number = view.get(MAIN[format], format=format, baseline=FIRST_THREE, country=code)
    return number.value if number else None


def _extremes(view: View, voice: Voice, format: str) -> str:
    found = view.scored(voice, format)
    if not found:
        return "Nothing was scored."
    _, worst, low = min(found, key=lambda one: one[0])
    _, best, high = max(found, key=lambda one: one[0])
    return f"Lowest {view.name(worst)}, {said(low)}; highest {view.name(best)}, {said(high)}."


def _left_out(voices: Sequence[Voice], most: int) -> tuple[str, ...]:
    rest = voices[most:]
    return (f"Not drawn, but in the tables: {', '.join(voice.title for voice in rest)}.",) if rest else ()


def map_chart(view: View, format: str) -> Chart | None:
    """The main measure on the map, one panel per informant that the survey is about."""
    voices, codes = view.studied(format)[:MOST_PANELS], view.countries(format)
    numbers = {voice: {code: view.main(voice, format, country=code) for code in codes} for voice in voices}
    values = [
        number.value for found in numbers.values() for number in found.values() if number and number.value is not None
    ]
    if not codes or not voices:
        return None
    title, signed = TITLES[MAIN[format]], format == YES_NO
    domain = value_range(values, signed=signed)
    panels, undrawn = [], dict[str, None]()
    for voice, found in numbers.items():
        picture = map_picture(
            {code: number.value if number else None for code, number in found.items()},
            title=title,
            places=view.places,
            words={code: described(view.name(code), title, number) for code, number in found.items()},
            signed=signed,
            domain=domain,
        )
        undrawn.update(dict.fromkeys(picture.undrawn))
        alt = f"Map of {title} by country for {voice.title}. {_extremes(view, voice, format)}"
        panels.append(Panel(voice.title, picture.spec, alt))
    below = _left_out(view.studied(format), MOST_PANELS)
    if undrawn:
        below += (f"Not on the map, having neither shape nor coordinates: {', '.join(undrawn)}.",)
    return Chart(
        f"map-{format.replace('_', '-')}",
        f"Map: {title}, {FORMAT_TITLES[format]}",
        tuple(panels),
        data=rows_of(number for found in numbers.values() for number in found.values() if number),
        caption="Places too small for a shape are dots; places far from the others stand in frames of their own, at "
        "another scale.",
        note="Grey: nothing was scored. Faint land isn’t part of the survey. Colour doesn’t show how sure a number "
        "is. Point at a place for its number, interval and n.",
        below=below,
    )


def scatter_charts(view: View, dataset: Dataset) -> list[Chart | None]:
    """Adjusted Jaccard against ΔF1 and the size of the reference set, each main measure against each covariate."""
    charts: list[Chart | None] = []
    formats = view.formats()
    if MULTIPLE_CHOICE in formats:
        if YES_NO in formats:
            delta = _values(view, "delta_f1", YES_NO, ALWAYS_YES)
            charts.append(_scatter(view, MULTIPLE_CHOICE, "delta-f1", "ΔF1 to always yes", delta, zero_lines=True))
        sizes = {code: view.get("mean_gold_size", format=MULTIPLE_CHOICE, country=code) for code in view.places}
        gold = {
            (voice, code): size.value for voice in view.studied(MULTIPLE_CHOICE) for code, size in sizes.items() if size
        }
        charts.append(_scatter(view, MULTIPLE_CHOICE, "gold-size", "variants said there, mean", gold))
    rows = {str(row["code"]): row for row in dataset.tables.get("covariates", ())}
    names = dict.fromkeys(name for row in rows.values() for name in row if name != "code")
    for name in names:
        for format in formats:
            known = {(voice, code): float(value) for voice in view.studied(format) for code, row in rows.items()
                     if isinstance(value := row.get(name), int | float)}  # fmt: skip
            charts.append(_scatter(view, format, f"{format}-{name}", name, known))
    return charts


def _values(view: View, measure: str, format: str, baseline: str | None) -> dict[tuple[Voice, str], float | None]:
    return {
        (voice, code): number.value
        for voice in view.studied(format)
        for code in view.places
        if (number := view.get(measure, model=voice.model, reading=voice.reading, format=format, baseline=baseline,
                               country=code)) is not None
    }  # fmt: skip


def _scatter(
    view: View,
    format: str,
    id: str,
    x_title: str,
    xs: Mapping[tuple[Voice, str], float | None],
    *,
    zero_lines: bool = False,
) -> Chart | None:
    """The main measure of a format against something, by country, one panel per informant."""
    title = TITLES[MAIN[format]]
    panels, data = [], list[dict[str, Cell]]()
    found_xs = [x for x in xs.values() if x is not None]
    wide = bool(found_xs) and min(found_xs) > 0 and max(found_xs) / min(found_xs) > 50
    for voice in view.studied(format)[:MOST_PANELS]:
        dots = []
        for code in view.countries(format):
            number, x = view.main(voice, format, country=code), xs.get((voice, code))
            if number is None or number.value is None or x is None:
                continue
            words = f"{described(view.name(code), title, number)}; {x_title} {x:,.3g}"
            dots.append(Dot(code, view.area(code), number.value, number.low, x=x, words=words))
            data.append({**rows_of([number])[0], x_title: x})
        if len(dots) < 2:
            continue
        spec = scatter_plot(dots, x_title=x_title + (" (logarithmic)" if wide else ""), y_title=title,
                            category_names=view.areas(), log_x=wide, zero_lines=zero_lines)  # fmt: skip
        panels.append(Panel(voice.title, spec, f"{title} against {x_title} for {voice.title}, {len(dots)} countries."))
    if not panels:
        return None
    return Chart(
        f"against-{re.sub(r'[^a-z0-9]+', '-', id.lower()).strip('-')}",
        f"{_capital(title)} against {x_title}",
        tuple(panels),
        data=tuple(data),
        caption="One point per country, labelled with its code. The rank correlations with their p-values stand under "
        "“What goes with what”.",
        note="Each point has an interval of its own, which stands in the tables and in the data of this figure. "
        "A hollow point has none: too few answers.",
    )


def cross_chart(view: View, cross: Sequence[CrossRow]) -> Chart | None:
    """Heat maps of answers given as one country, scored on the labels of another."""
    panels, drawn = [], list[CrossRow]()
    wanted = [(format, voice) for format in view.formats() for voice in view.studied(format)]
    for format, voice in wanted[:MOST_HEAT_MAPS]:
        rows = [row for row in cross if (row["format"], row["model"], row["reading"]) == (format, *voice)]
        codes = [code for code in view.countries(format) if any(row["informant"] == code for row in rows)]
        if not 2 <= len(codes) <= LARGEST_HEAT_MAP:
            continue
        by_j = format == YES_NO
        cells = [
            {"row": row["informant"], "column": row["labels"], "value": row["youden_j"] if by_j else row["value"],
             "words": _cross_words(view, row)}
            for row in rows if row["labels"] in codes
        ]  # fmt: skip
        title = TITLES[MAIN[format]]
        spec = heat_map(cells, rows=codes, columns=codes, row_title="asked as", column_title="scored on the labels of",
                        value_title=title, signed=by_j, kind="signed" if by_j else "share")  # fmt: skip
        alt = f"{title} of answers given as each country, on the labels of each other, for {voice.title}."
        panels.append(Panel(f"{voice.title}: {FORMAT_TITLES[format]}", spec, alt))
        drawn += rows
    if not panels:
        return None
    rest = len(wanted) - MOST_HEAT_MAPS
    return Chart(
        "borrowed",
        "Borrowed words",
        tuple(panels),
        data=tuple(
            {key: value for key, value in row.items() if isinstance(value, str | int | float | None)} for row in drawn
        ),
        caption="Answers given as the country of a row, scored on the labels of the country of a column. Framed: its "
        "own labels. A row that is darker elsewhere than in its frame speaks with another country’s words.",
        note="Point at a square for interval and n; both are in the data of the figure. Grey with a dash: nothing was "
        "scored.",
        below=(f"{rest} more are left out here; their best fits stand in the table.",) if rest > 0 else (),
        wide=True,
    )


def _cross_words(view: View, row: CrossRow) -> str:
    where = f"asked as {view.name(row['informant'])}, labels of {view.name(row['labels'])}"
    if row["value"] is None:
        return f"{where}: no value, {row['n_scored']:,} answers scored"
    interval = "" if row["low"] is None or row["high"] is None else f" ({row['low']:.3f} … {row['high']:.3f})"
    j = "" if row["youden_j"] is None else f"Youden’s J {row['youden_j']:.3f}, "
    return f"{where}: {j}{TITLES[row['measure']]} {row['value']:.3f}{interval}, {row['n_scored']:,} answers scored"


def unique_chart(view: View, format: str) -> Chart | None:
    """Recognition of variants that predominate in one country only, at home and elsewhere."""
    panels, data = [], list[Estimate]()
    for voice in view.studied(format)[:MOST_PANELS]:
        dots = []
        for code in view.countries(format):
            group = {"model": voice.model, "reading": voice.reading, "format": format, "country": code}
            home, away = view.get("recall_unique", **group), view.get("recall_unique_elsewhere", **group)
            if home is None:
                continue
            data += [one for one in (home, away) if one is not None]
            words = (
                f"{described(view.name(code), 'share recognised', home)}; by informants of other countries {said(away)}"
            )
            mark = away.value if away else None
            dots.append(Dot(view.name(code), view.area(code), home.value, home.low, home.high, mark=mark, words=words))
        if not any(dot.value is not None for dot in dots):
            continue
        spec = interval_plot(dots, title="share recognised", domain=extent([0.0, 1.0]), category_names=view.areas())
        alt = f"Share of variants said in one country only that {voice.title} recognises, for {len(dots)} countries."
        panels.append(Panel(voice.title, spec, alt))
    if not panels:
        return None
    return Chart(
        f"unique-{format.replace('_', '-')}",
        f"Words said in one country only: {FORMAT_TITLES[format]}",
        tuple(panels),
        data=rows_of(data),
        caption="Point and line: share of such words recognised when asked as that country, with its interval. "
        "Upright stroke: share accepted when asked as other countries. Knowing a country’s own words means a point to "
        "the right of its stroke.",
        note="These words are few, so the intervals are wide. Always saying yes puts point and stroke at 1. Numbers: "
        "see “All numbers”, recall_unique and recall_unique_elsewhere.",
    )
