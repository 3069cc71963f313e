"""How numbers are printed: decimals by what it is, a typographic minus, a sign where zero means "no difference"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from isogloss.records import Estimate
from isogloss.reports.sections import Kind

DASH = "–"
"""Printed where nothing was scored: never a zero."""
MINUS = "−"
ELLIPSIS = "…"

SIGNED = {"youden_j", "mcc", "bias_ambiguous", "bias_disambiguated"}
TWO_DECIMALS = {"ss", "lms", "icat", "crows_pairs_score", "s_amb", "s_dis"}


def kind_of(measure: str) -> Kind:
    """How values of a measure are printed, by its name.

    Differences (`delta_*`, `*_gap`, `*_difference`) and measures on [-1, 1] carry a sign; means of counts and scores up
    to 100 have two decimals; all else three.
    """
    base = measure.removesuffix("_pooled")
    if base.startswith(("delta_", "spearman(")) or base.endswith(("_gap", "_difference")) or base in SIGNED:
        return "signed"
    if base.startswith("mean_") or base in TWO_DECIMALS:
        return "number"
    return "share"


def format_number(value: float | int | None, kind: Kind) -> str:
    """One number in print; a dash for None.

    Examples
    --------
    >>> format_number(-0.04, "signed"), format_number(0.0, "signed"), format_number(None, "share")
    ('−0.040', '0.000', '–')
    """
    if value is None:
        return DASH
    if kind == "count":
        return f"{value:,.0f}".replace("-", MINUS)
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    text = f"{value:.2f}" if kind == "number" else f"{value:.3f}"
    if float(text) == 0:
        return text.lstrip("-")
    if kind == "signed":
        text = f"+{text}" if value > 0 else text
    return text.replace("-", MINUS)


def format_value(estimate: Estimate) -> str:
    """The value of an estimate in print."""
    return format_number(estimate.value, kind_of(estimate.measure))


def format_interval(estimate: Estimate) -> str:
    """The interval of an estimate in print: `+0.03 … +0.21`, or a dash."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return DASH
    kind = kind_of(estimate.measure)
    return f"{format_number(estimate.low, kind)} {ELLIPSIS} {format_number(estimate.high, kind)}"


def interval_heading(estimates: Iterable[Estimate]) -> str:
    """`95 % interval` where all methods that name a level name the same one; `interval` otherwise."""
    with_interval = [estimate for estimate in estimates if estimate.low is not None]
    levels = {level for one in with_interval for level in re.findall(r"\b(\d+(?:\.\d+)?) ?%(?:;|$)", one.method)}
    return f"{levels.pop()} % interval" if len(levels) == 1 else "interval"


def display_width(text: str) -> int:
    """Columns a text takes on a terminal: combining marks none, East Asian wide characters two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
