"""Estimates of a survey, ready to be looked up by who answered, where, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from isogloss.records import Dataset, Estimate
from isogloss.reports.numbers import DASH, format_interval, format_value

YES_NO, MULTIPLE_CHOICE = "yes_no", "multiple_choice"
ALWAYS_YES, YES_AT_RATE, FIRST_THREE = "always_yes", "yes_at_rate_p", "first_three"
MAIN = {YES_NO: "youden_j", MULTIPLE_CHOICE: "adjusted_jaccard"}
"""The measure of each format that charts and words go by: neither follows the share of +."""
TITLES = {
    "f1": "F1",
    "delta_f1": "ΔF1",
    "youden_j": "Youden’s J",
    "mcc": "Matthews correlation",
    "yes_share": "share of yes",
    "adjusted_jaccard": "adjusted Jaccard",
    "adjusted_jaccard_first_order": "adjusted Jaccard, first-order",
    "delta_adjusted_jaccard": "Δ adjusted Jaccard",
    "mean_answer_size": "variants chosen",
    "mean_gold_size": "variants said there",
    "share_plus": "share of +",
}
FORMAT_TITLES = {YES_NO: "yes–no questions", MULTIPLE_CHOICE: "multiple choice"}
READINGS = ("strict", "logprob", "lenient")


class Voice(NamedTuple):
    """One informant as one reading has it."""

    model: str
    reading: str

    @property
    def title(self) -> str:
        """The model; with the reading where it isn't the strict one."""
        words = {"strict": "", "logprob": ", by log-probability"}.get(self.reading, f", {self.reading} reading")
        return f"{self.model}{words}"

    @property
    def is_scripted(self) -> bool:
        """Known behaviour: chance, habit, a key."""
        return self.model.startswith("scripted/")


@dataclass(frozen=True)
class View:
    """What the report's part of this study looks at."""

    estimates: Sequence[Estimate]
    places: Mapping[str, Mapping[str, object]]
    """Code → row of the places table, in its order."""
    index: Mapping[tuple[str, frozenset[tuple[str, str]]], Estimate] = field(repr=False)

    @classmethod
    def of(cls, estimates: Sequence[Estimate], dataset: Dataset) -> View:
        """Index the estimates; places that only labels name are added without a name."""
        places: dict[str, Mapping[str, object]] = {
            str(row["code"]): dict(row) for row in dataset.tables.get("places", ())
        }
        for estimate in estimates:
            if (code := estimate.group.get("country")) is not None:
                places.setdefault(code, {"code": code, "name": code})
        index = {(estimate.measure, frozenset(estimate.group.items())): estimate for estimate in estimates}
        return cls(estimates, places, index)

    def get(self, measure: str, **group: str | None) -> Estimate | None:
        """The estimate of exactly this group; keys that are None don't count."""
        return self.index.get((measure, frozenset((key, word) for key, word in group.items() if word is not None)))

    def main(
        self, voice: Voice, format: str, *, country: str | None = None, area: str | None = None
    ) -> Estimate | None:
        """The main measure of a format."""
        return self.get(
            MAIN[format], model=voice.model, reading=voice.reading, format=format, country=country, area=area
        )

    def voices(self, format: str, *, readings: Sequence[str] = ("strict", "logprob")) -> list[Voice]:
        """Who answered a format: real models first, scripted informants last."""
        found = {
            Voice(estimate.group["model"], estimate.group["reading"])
            for estimate in self.estimates
            if estimate.measure == MAIN[format] and {"model", "reading"} <= set(estimate.group)
        }
        return sorted(
            (voice for voice in found if voice.reading in readings),
            key=lambda voice: (voice.is_scripted, voice.model, READINGS.index(voice.reading)),
        )

    def studied(self, format: str) -> list[Voice]:
        """Who the survey is about: real models, or the scripted ones where there is no other."""
        voices = self.voices(format)
        return [voice for voice in voices if not voice.is_scripted] or voices

    def formats(self) -> list[str]:
        """Formats that anyone answered."""
        return [format for format in MAIN if self.voices(format)]

    def countries(self, format: str) -> list[str]:
        """Countries asked about, area by area."""
        asked = {
            estimate.group["country"]
            for estimate in self.estimates
            if estimate.measure == MAIN[format] and "country" in estimate.group
        }
        areas = self.areas()
        codes = [code for code in self.places if code in asked]
        return sorted(codes, key=lambda code: areas.index(self.area(code)) if self.area(code) in areas else len(areas))

    def scored(self, voice: Voice, format: str) -> list[tuple[float, str, Estimate]]:
        """Main measure by country where it has a value: (value, code, estimate)."""
        found = ((code, self.main(voice, format, country=code)) for code in self.countries(format))
        return [(one.value, code, one) for code, one in found if one is not None and one.value is not None]

    def areas(self) -> list[str]:
        """Areas in the order of the places table."""
        return [area for area in dict.fromkeys(self.area(code) for code in self.places) if area]

    def area(self, code: str) -> str:
        """The area of a country; empty where it has none."""
        return str(self.places.get(code, {}).get("area") or "")

    def name(self, code: str) -> str:
        """A country in words."""
        return str(self.places.get(code, {}).get("name") or code)

    def names(self) -> dict[str, str]:
        """All countries in words."""
        return {code: self.name(code) for code in self.places}

    def correlations(self) -> Iterator[Estimate]:
        """Rank correlations of all kinds."""
        return (estimate for estimate in self.estimates if estimate.measure.startswith("spearman"))


def said(estimate: Estimate | None) -> str:
    """A number in a sentence: value, interval, answers; a dash where there is none."""
    if estimate is None or estimate.value is None:
        return DASH
    interval = f" ({format_interval(estimate)})" if estimate.low is not None else ""
    return f"{format_value(estimate)}{interval}"


def described(place: str, title: str, estimate: Estimate | None) -> str:
    """What a tooltip says of one place."""
    if estimate is None:
        return f"{place}: not asked"
    if estimate.value is None:
        return (
            f"{place}: no value, 0 of {estimate.n_answers:,} answers scored"
            if not estimate.n_scored
            else (f"{place}: {title} is undefined over {estimate.n_scored:,} answers")
        )
    return f"{place}: {title} {said(estimate)}, {estimate.n_scored:,} of {estimate.n_answers:,} answers scored"
