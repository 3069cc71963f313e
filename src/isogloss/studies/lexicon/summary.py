"""The survey in plain words: who knows which countries' words best, how sure that is, and what chance looks like."""

from __future__ import annotations

from isogloss.records import Estimate
from isogloss.reports import Column, Prose, Table
from isogloss.reports.sections import Cell
from isogloss.studies.lexicon.view import (
    ALWAYS_YES,
    FIRST_THREE,
    FORMAT_TITLES,
    MAIN,
    MULTIPLE_CHOICE,
    TITLES,
    YES_AT_RATE,
    YES_NO,
    View,
    Voice,
    said,
)

SHORT = {YES_NO: "yes–no", MULTIPLE_CHOICE: "choice"}
SCALE = {
    YES_NO: "On Youden’s J, 0 is someone who doesn’t know (whether they always say yes, always no, or guess) and 1 an "
    "informant who knows every word.",
    MULTIPLE_CHOICE: "On adjusted Jaccard, 0 is what a random choice of as many variants would reach, or less, and 1 "
    "the exact set of words said there.",
}


def summary(view: View) -> Prose:
    """What stands at the top of the report."""
    paragraphs = [text for format in view.formats() for text in _format_paragraphs(view, format)]
    if not paragraphs:
        paragraphs = ["Nothing has been answered and scored yet."]
    return Prose("summary", "In short", tuple(paragraphs))


def _format_paragraphs(view: View, format: str) -> list[str]:
    scored = [(voice, number) for voice in view.studied(format) if (number := view.main(voice, format)) is not None]
    ranked = sorted((pair for pair in scored if pair[1].value is not None), key=lambda pair: -(pair[1].value or 0.0))
    heading = FORMAT_TITLES[format].capitalize()
    if not ranked:
        return [f"{heading}: no reply could be scored, so there is no number."] if scored else []
    where = _by_country(view, ranked[0][0], format)
    if len(ranked) > 1:
        where += _leaders(view, [voice for voice, _ in ranked], format)
    return list(filter(None, [f"{heading}. {_standing(ranked, format)}", " ".join(where), _chance(view, format)]))


def _standing(ranked: list[tuple[Voice, Estimate]], format: str) -> str:
    title = TITLES[MAIN[format]]
    parts = []
    for voice, number in ranked[:4]:
        counts = f"{number.n_scored:,} of {number.n_answers:,} answers"
        parts.append(f"{voice.title} reaches {title} {said(number)} over {counts}{_verdict(number, format)}")
    rest = f"; {len(ranked) - 4} more stand in the table" if len(ranked) > 4 else ""
    return "; ".join(parts) + rest + f". {SCALE[format]}"


def _verdict(number: Estimate, format: str) -> str:
    if format == YES_NO and number.low is not None and number.high is not None and number.low <= 0 <= number.high:
        return ", which can’t be told from guessing"
    return ""


def _by_country(view: View, voice: Voice, format: str) -> list[str]:
    found = [one for one in view.scored(voice, format) if one[2].low is not None]
    if len(found) < 2:
        return []
    _, worst, low = min(found, key=lambda one: one[0])
    _, best, high = max(found, key=lambda one: one[0])
    who = voice.title if len(view.studied(format)) > 1 else "It"
    if high.value == low.value:
        return [f"{who} reaches the same, {said(high)}, for all {len(found)} countries."]
    certainty = (
        "Their intervals don’t overlap."
        if _above(high, low)
        else "Their intervals overlap, so the order of countries is not settled."
    )
    best, worst = f"{view.name(best)}, {said(high)}", f"{view.name(worst)}, {said(low)}"
    return [f"{who} does best for {best}, and worst for {worst}. {certainty}"]


def _above(upper: Estimate, lower: Estimate) -> bool:
    return upper.low is not None and lower.high is not None and upper.low > lower.high


def _leaders(view: View, voices: list[Voice], format: str) -> list[str]:
    """In how many countries each informant leads, and in how many of them beyond the intervals."""
    voices = [voice for voice in voices if voice.reading == "strict"]
    by_country: dict[str, list[tuple[float, Estimate, Voice]]] = {}
    for voice in voices:
        for value, code, number in view.scored(voice, format):
            by_country.setdefault(code, []).append((value, number, voice))
    compared = [sorted(found, key=lambda one: -one[0]) for found in by_country.values() if len(found) > 1]
    leads: dict[Voice, list[bool]] = {}
    for first, second, *_ in compared:
        leads.setdefault(first[2], []).append(_above(first[1], second[1]))
    parts = [
        f"{voice.title} leads in {len(clear)} of {len(compared)} countries, in {sum(clear)} beyond both intervals"
        for voice, clear in sorted(leads.items(), key=lambda pair: -len(pair[1]))
    ]
    return ["; ".join(parts) + "."] if parts else []


def _chance(view: View, format: str) -> str:
    """What informants without knowledge reach in the same survey."""
    title = TITLES[MAIN[format]]
    scripted = [
        f"{voice.model} reaches {said(number)}"
        for voice in view.voices(format, readings=("strict",))
        if voice.is_scripted and voice not in view.studied(format)
        if (number := view.main(voice, format)) is not None and number.value is not None
    ]
    baseline = view.get("adjusted_jaccard", format=format, baseline=FIRST_THREE) if format == MULTIPLE_CHOICE else None
    if baseline is not None and baseline.value is not None:
        scripted.append(f"taking the first three of a shuffled list reaches {said(baseline)}")
    return f"What chance looks like here: {', '.join(scripted)} ({title})." if scripted else ""


def overview(view: View) -> Table | None:
    """Informants with their overall numbers, the baselines beneath."""
    formats = view.formats()
    if not formats:
        return None
    measures: list[tuple[str, str, str, str | None]] = []
    if YES_NO in formats:
        measures += [
            ("Youden’s J", YES_NO, "youden_j", None),
            ("F1", YES_NO, "f1", None),
            ("ΔF1", YES_NO, "delta_f1", ALWAYS_YES),
        ]
    if MULTIPLE_CHOICE in formats:
        measures += [
            ("adj. Jaccard", MULTIPLE_CHOICE, "adjusted_jaccard", None),
            ("Δ adj. Jaccard", MULTIPLE_CHOICE, "delta_adjusted_jaccard", FIRST_THREE),
        ]
    columns = [Column("informant"), Column("reading"), *(Column(title, "estimate") for title, *_ in measures)]
    columns += [Column(f"{SHORT[format]} scored", "code") for format in formats]
    rows = [_voice_row(view, voice, formats, measures) for voice in _all_voices(view, formats)]
    rows += _baseline_rows(view, formats, measures)
    note = (
        "Over all countries together, pooled over answers. Small figures under a number are its interval. ΔF1 is F1 "
        "minus that of always answering yes, Δ adj. Jaccard is against the first three of a shuffled list. A dash: "
        "nothing was scored, or the measure doesn’t apply. Rows that begin with “baseline” come from the labels, "
        "without asking anyone."
    )
    return Table("overview", "Overall", tuple(columns), tuple(rows), note=note)


def _scored(number: Estimate) -> str:
    return f"{number.n_scored:,} of {number.n_answers:,}"


def _all_voices(view: View, formats: list[str]) -> list[Voice]:
    readings = ("strict", "lenient", "logprob")
    return list(dict.fromkeys(voice for format in formats for voice in view.voices(format, readings=readings)))


def _voice_row(
    view: View, voice: Voice, formats: list[str], measures: list[tuple[str, str, str, str | None]]
) -> tuple[Cell, ...]:
    cells: list[Cell] = [voice.model, voice.reading]
    cells += [
        view.get(measure, model=voice.model, reading=voice.reading, format=format, baseline=baseline)
        for _, format, measure, baseline in measures
    ]
    for format in formats:
        main = view.main(voice, format)
        cells.append(None if main is None else _scored(main))
    return tuple(cells)


def _baseline_rows(
    view: View, formats: list[str], measures: list[tuple[str, str, str, str | None]]
) -> list[tuple[Cell, ...]]:
    names = [
        ("baseline: always yes", YES_NO, "f1", ALWAYS_YES),
        ("baseline: yes at rate p", YES_NO, "f1", YES_AT_RATE),
        ("baseline: first three", MULTIPLE_CHOICE, "adjusted_jaccard", FIRST_THREE),
    ]
    rows: list[tuple[Cell, ...]] = []
    for title, format, measure, baseline in names:
        number = view.get(measure, format=format, baseline=baseline)
        if format not in formats or number is None:
            continue
        cells: list[Cell] = [title, "labels"]
        cells += [number if (form, name, base) == (format, measure, None) else None for _, form, name, base in measures]
        for form in formats:
            cells.append(_scored(number) if form == format else None)
        rows.append(tuple(cells))
    return rows
