"""Pictures that only this study has: models in the plane of ss and lms, and curves of retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isogloss.reports.charts import WIDTH, Json, top
from isogloss.reports.theme import INK, QUIET, categories

IDEAL_SS, IDEAL_LMS = 50.0, 100.0
HEIGHT = 260


class Standing(NamedTuple):
    """Where a model stands; each pair of ends is the interval, None where there is none."""

    model: str
    ss: float
    lms: float
    ss_ends: tuple[float | None, float | None]
    lms_ends: tuple[float | None, float | None]
    words: str


class Round(NamedTuple):
    """How many different claims there were after a round."""

    category: str
    round: int
    n_total: int


class Unseen(NamedTuple):
    """An estimate of how many there are in all."""

    category: str
    value: float
    low: float | None
    high: float | None


def score_plane(standings: Sequence[Standing]) -> Json:
    """ss to the right, lms upwards, an interval each way; the ideal is a ring at (50, 100).

    Both axes end at what is shown, with the line of 50 always among it.
    """
    x_domain = ends([IDEAL_SS, *(end for one in standings for end in (one.ss, *one.ss_ends) if end is not None)])
    y_domain = ends([IDEAL_LMS, *(end for one in standings for end in (one.lms, *one.lms_ends) if end is not None)])
    names = list(dict.fromkeys(one.model for one in standings))
    scales = categories(names)
    x_scale: Json = {"domain": list(x_domain), "nice": False, "zero": False}
    y_scale: Json = {"domain": list(y_domain), "nice": False, "zero": False}
    x: Json = {"field": "ss", "type": "quantitative", "scale": x_scale, "axis": {"title": "ss (50: no preference)"}}
    y: Json = {"field": "lms", "type": "quantitative", "scale": y_scale, "axis": {"title": "lms (100: best)"}}
    legend = {"title": None, "orient": "bottom", "columns": 1, "offset": 10, "labelLimit": 280}
    colour = {"field": "model", "type": "nominal", "scale": scales["color"], "legend": legend}
    shape = {**colour, "scale": scales["shape"]}
    rows = [
        {"model": one.model, "ss": one.ss, "lms": one.lms, "ss_low": one.ss_ends[0], "ss_high": one.ss_ends[1],
         "lms_low": one.lms_ends[0], "lms_high": one.lms_ends[1], "words": one.words}
        for one in standings
    ]  # fmt: skip
    line: Json = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.8}
    return top(
        width=WIDTH,
        height=HEIGHT,
        data={"values": rows},
        layer=[
            {
                "data": {"values": [{"ss": IDEAL_SS}]},
                "mark": {"type": "rule", "color": QUIET, "strokeWidth": 1, "strokeDash": [3, 3], "aria": False},
                "encoding": {"x": x},
            },
            {
                "data": {"values": [{"ss": IDEAL_SS, "lms": IDEAL_LMS}]},
                "mark": {"type": "point", "shape": "circle", "filled": False, "size": 150, "color": INK},
                "encoding": {"x": x, "y": y, "description": {"value": "ideal: ss 50, lms 100"}},
            },
            {"mark": line, "encoding": {"x": {**x, "field": "ss_low"}, "x2": {"field": "ss_high"}, "y": y,
                                        "color": colour}},
            {"mark": line, "encoding": {"x": x, "y": {**y, "field": "lms_low"}, "y2": {"field": "lms_high"},
                                        "color": colour}},
            {
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": {"x": x, "y": y, "color": colour, "shape": shape, "description": {"field": "words"}},
            },
        ],
    )  # fmt: skip


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis of scores: outward to whole tens, a little beyond so that nothing is cut."""
    low, high = min(values), max(values)
    return max(-4.0, 10 * (low // 10) - 2), min(104.0, 10 * (-(-high // 10)) + 4)


def saturation_curves(rounds: Sequence[Round], unseen: Sequence[Unseen]) -> Json:
    """Claims found after each round, a line a category; right of the last round the estimate of how many there are.

    The estimate is an upright line with its interval and a hollow point; where no estimate is, nothing stands there.
    """
    names = list(dict.fromkeys(one.category for one in rounds))
    scales = categories(names)
    last = max(one.round for one in rounds)
    gap = max(0.6, last * 0.08)
    spots = {name: last + gap * (1 + position) for position, name in enumerate(names)}
    highest = max([float(one.n_total) for one in rounds] + [one.high or one.value for one in unseen])
    right = last + gap * (len(names) + 0.5) if unseen else last
    x_scale: Json = {"domain": [0.5, right + 0.2], "nice": False}
    x: Json = {
        "field": "round",
        "type": "quantitative",
        "scale": x_scale,
        "axis": {"title": "round" + ("; beyond it: Chao1" if unseen else ""), "values": ticks(last), "format": "d"},
    }
    y: Json = {
        "field": "n",
        "type": "quantitative",
        "scale": {"domain": [0, highest * 1.08 or 1], "nice": False},
        "axis": {"title": "different claims", "tickCount": 5},
    }
    legend = {"title": None, "orient": "bottom", "columns": 2, "rowPadding": 3, "columnPadding": 14, "offset": 10}
    colour: Json = {"field": "category", "type": "nominal", "scale": scales["color"],
                    "legend": legend if len(names) > 1 else None}  # fmt: skip
    shape = {**colour, "scale": scales["shape"]}
    curve = [
        {"category": one.category, "round": one.round, "n": one.n_total,
         "words": f"{one.category}, round {one.round}: {one.n_total:,} claims"}
        for one in rounds
    ]  # fmt: skip
    beyond = [
        {"category": one.category, "round": spots[one.category], "n": one.value, "low": one.low, "high": one.high,
         "words": f"{one.category}: Chao1 estimates {one.value:,.0f} claims in all"}
        for one in unseen if one.category in spots
    ]  # fmt: skip
    layers: list[Json] = [
        {
            "data": {"values": curve},
            "mark": {"type": "line", "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y, "color": colour},
        },
        {
            "data": {"values": curve},
            "mark": {"type": "point", "filled": True, "size": 30},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape, "description": {"field": "words"}},
        },
    ]
    if beyond:
        layers += [
            {
                "data": {"values": [{"round": last + gap / 2}]},
                "mark": {"type": "rule", "color": QUIET, "strokeWidth": 1, "strokeDash": [3, 3], "aria": False},
                "encoding": {"x": x},
            },
            {
                "data": {"values": beyond},
                "mark": {"type": "rule", "strokeWidth": 1.4},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
            },
            {
                "data": {"values": beyond},
                "mark": {"type": "point", "filled": False, "size": 48, "strokeWidth": 1.4},
                "encoding": {"x": x, "y": y, "color": colour, "shape": shape, "description": {"field": "words"}},
            },
        ]
    return top(width=WIDTH, height=220, layer=layers)


def ticks(last: int) -> list[int]:
    """Rounds that are named at the axis: at most ten."""
    step = -(-last // 10)
    return list(range(1, last + 1, step))
