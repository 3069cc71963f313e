"""Figures as Vega-Lite specifications: dots with intervals, scatter plots with labels, heat maps.

A specification is a plain mapping; studies may hand in Altair charts instead. `pictures.py` turns either into SVG
and PNG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isogloss.reports.numbers import format_number
from isogloss.reports.sections import Kind
from isogloss.reports.theme import CONFIG, DIVERGING, INK, MISSING_COLOUR, PAPER, QUIET, SEQUENTIAL, categories

Json = dict[str, object]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 290
"""Of the plotting area, pixels: with its axis a panel fits a phone."""


class Dot(NamedTuple):
    """One row of a dot-and-interval plot, or one point of a scatter plot."""

    label: str
    category: str
    value: float | None
    low: float | None = None
    high: float | None = None
    x: float | None = None
    """Horizontal place in a scatter plot."""
    mark: float | None = None
    """A value to compare with, drawn as an upright stroke."""
    words: str = ""
    """Said of the point in its tooltip and to screen readers."""


def top(**parts: object) -> Json:
    """A specification with the one look."""
    return {"$schema": SCHEMA, "config": CONFIG, "padding": 4, **parts}


def interval_plot(
    dots: Sequence[Dot],
    *,
    title: str,
    domain: tuple[float, float],
    category_names: Sequence[str],
    reference: float | None = None,
    legend: bool = True,
) -> Json:
    """One row per dot: interval, value in colour and shape of its category, a stroke at the value to compare with.

    Parameters
    ----------
    dots : sequence of Dot
        In the order of rows. A dot without a value keeps its row, with a dash.
    title : str
        Of the value axis.
    domain : (float, float)
        Of the value axis; the same in all panels that are to be compared.
    category_names : sequence of str
        All categories in order, so that colours agree between panels.
    reference : float, optional
        An upright line over all rows (zero, or the overall value).
    """
    scales = categories(list(category_names))
    rows = [
        {
            "label": dot.label,
            "category": dot.category,
            "value": dot.value,
            "low": dot.low,
            "high": dot.high,
            "mark": dot.mark,
            "words": dot.words or dot.label,
        }
        for dot in dots
    ]
    y: Json = {
        "field": "label",
        "type": "nominal",
        "sort": [dot.label for dot in dots],
        "axis": {"title": None, "grid": True, "labelColor": INK, "labelLimit": 150, "tickBand": "center"},
    }
    scale: Json = {"domain": list(domain), "nice": False, "clamp": True}
    x: Json = {"field": "value", "type": "quantitative", "scale": scale, "axis": {"title": title, "tickCount": 5}}
    shape = {
        "field": "category",
        "type": "nominal",
        "scale": scales["shape"],
        "legend": _legend(legend, category_names),
    }
    colour = {**shape, "scale": scales["color"]}
    layers: list[Json] = []
    if reference is not None:
        layers.append({
            "data": {"values": [{"reference": reference}]},
            "mark": {"type": "rule", "color": QUIET, "strokeWidth": 1, "strokeDash": [3, 3]},
            "encoding": {
                "x": {"field": "reference", "type": "quantitative", "scale": scale},
                "y": {"value": 0},
                "y2": {"value": {"expr": "height"}},
            },
        })  # fmt: skip
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "opacity": 0.85},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "transform": [{"filter": "isValid(datum.mark)"}],
            "mark": {"type": "tick", "thickness": 1.6, "size": 9, "color": INK},
            "encoding": {"x": {**x, "field": "mark"}},
        },
        *_points({"x": x, "color": colour, "shape": shape, "description": {"field": "words"}}, size=48),
        {
            "transform": [{"filter": "!isValid(datum.value)"}],
            "mark": {"type": "text", "text": "–", "color": QUIET, "align": "left"},
            "encoding": {"x": {"datum": domain[0], "type": "quantitative", "scale": scale}},
        },
    ]
    return top(width=WIDTH - 40, height={"step": 17}, data={"values": rows}, encoding={"y": y}, layer=layers)


def scatter_plot(
    dots: Sequence[Dot],
    *,
    x_title: str,
    y_title: str,
    category_names: Sequence[str],
    log_x: bool = False,
    zero_lines: bool = False,
) -> Json:
    """Points in colour and shape of their category, each with its label beside it.

    Dots without `x` or `value` are left out. `log_x` needs all `x` above 0.
    """
    scales = categories(list(category_names))
    known = [dot for dot in dots if dot.x is not None and dot.value is not None]
    height = 250
    xs = [float(dot.x or 0) for dot in known]
    x_domain, y_domain = extent(xs, log=log_x), extent([float(dot.value or 0) for dot in known])
    spots = [(_along(x, x_domain, log_x) * WIDTH, (1 - _along(float(dot.value or 0), y_domain, False)) * height)
             for x, dot in zip(xs, known, strict=True)]  # fmt: skip
    labels = place_labels(spots, [dot.label for dot in known], WIDTH, height)
    points = [{"x": x, "value": dot.value, "low": dot.low, "category": dot.category, "words": dot.words or dot.label}
              for x, dot in zip(xs, known, strict=True)]  # fmt: skip
    texts = [{"px": px, "py": py, "label": dot.label, "category": dot.category}
             for (px, py), dot in zip(labels, known, strict=True)]  # fmt: skip
    x_scale: Json = {"domain": list(x_domain), "nice": False, "zero": False, **({"type": "log"} if log_x else {})}
    shape = {"field": "category", "type": "nominal", "scale": scales["shape"], "legend": _legend(True, category_names)}
    colour = {**shape, "scale": scales["color"]}
    layers: list[Json] = []
    if zero_lines and y_domain[0] < 0 < y_domain[1]:
        layers.append(_line("y", 0.0))
    if zero_lines and not log_x and x_domain[0] < 0 < x_domain[1]:
        layers.append(_line("x", 0.0))
    axis = {"title": x_title, "tickCount": 4 if log_x else 5, **({"format": "~s"} if log_x else {})}
    y_scale = {"domain": list(y_domain), "nice": False, "zero": False}
    encoding: Json = {
        "x": {"field": "x", "type": "quantitative", "scale": x_scale, "axis": axis},
        "y": {"field": "value", "type": "quantitative", "scale": y_scale, "axis": {"title": y_title, "tickCount": 5}},
        "color": colour,
        "shape": shape,
        "description": {"field": "words"},
    }
    layers += [
        *({"data": {"values": points}, **layer} for layer in _points(encoding, size=52)),
        {
            "data": {"values": texts},
            "mark": {"type": "text", "fontSize": 10, "baseline": "middle", "aria": False},
            "encoding": {
                "x": {"field": "px", "type": "quantitative", "scale": None},
                "y": {"field": "py", "type": "quantitative", "scale": None},
                "text": {"field": "label"},
            },
        },
    ]
    return top(width=WIDTH, height=height, layer=layers)


_WIDE = 4
"""Letters of a column's name from which names of neighbours would touch."""


def heat_map(
    cells: Sequence[Mapping[str, object]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    value_title: str,
    signed: bool = False,
    kind: Kind = "share",
    domain: tuple[float, float] | None = None,
) -> Json:
    """A square per row and column with its value in figures; grey where nothing was scored.

    Parameters
    ----------
    cells : sequence of mapping
        With `row`, `column`, `value` (None where nothing was scored) and `words`.
    signed : bool
        One hue on each side of zero.
    domain : (float, float), optional
        Values at the ends of the colours, so that several maps can be compared; those of the cells otherwise.
    """
    values = [value for cell in cells if isinstance(value := cell["value"], int | float)]
    low, high = domain or value_range(values, signed=signed)
    slanted = {"labelAngle": -40, "labelAlign": "left"} if max(map(len, columns), default=0) > _WIDE else {}
    on_dark = f"isValid(datum.value) && ({_is_dark('datum.value', low, high, signed)})"
    colour = colour_scale(value_title, low, high, signed=signed)
    rows_of_data = [{**cell, "figure": _short(cell["value"], kind)} for cell in cells]
    return top(
        width={"step": 25},
        height={"step": 21},
        data={"values": rows_of_data},
        encoding={
            "x": {
                "field": "column",
                "type": "nominal",
                "sort": list(columns),
                "axis": {"title": column_title, "orient": "top", "labelAngle": 0, "labelColor": INK} | slanted,
            },
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": list(rows),
                "axis": {"title": row_title, "labelColor": INK},
            },
        },
        layer=[
            {
                "mark": {"type": "rect", "stroke": PAPER, "strokeWidth": 1, "invalid": "show"},
                "encoding": {
                    "color": colour,
                    "description": {"field": "words"},
                },
            },
            {
                "transform": [{"filter": "datum.row === datum.column"}],
                "mark": {"type": "rect", "fill": None, "stroke": "#111111", "strokeWidth": 1.4, "aria": False},
            },
            {
                "mark": {"type": "text", "fontSize": 9, "aria": False},
                "encoding": {
                    "text": {"field": "figure"},
                    "color": {"condition": {"test": on_dark, "value": "#fffffe"}, "value": "#111111"},
                },
            },
        ],
    )


def colour_scale(title: str, low: float, high: float, *, signed: bool) -> Json:
    """Encoding of a value by colour with a legend; grey for missing."""
    scale: Json = {
        "range": list(DIVERGING if signed else SEQUENTIAL),
        "domain": [low, high],
        "clamp": True,
        "interpolate": "rgb",
    }
    if signed:
        scale["domain"] = [low + (high - low) * step / (len(DIVERGING) - 1) for step in range(len(DIVERGING))]
    return {
        "condition": {"test": "!isValid(datum.value)", "value": MISSING_COLOUR},
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "legend": {
            "title": title,
            "orient": "bottom",
            "direction": "horizontal",
            "gradientLength": 180,
            "gradientThickness": 9,
            "tickCount": 4,
            "titleLimit": 320,
        },
    }


def value_range(values: Sequence[float], *, signed: bool) -> tuple[float, float]:
    """Ends of a colour scale: even around zero where sign matters; outward to a round tenth or twentieth."""
    if not values:
        return (-1.0, 1.0) if signed else (0.0, 1.0)
    if signed:
        reach = max(0.05, math.ceil(max(abs(value) for value in values) * 20) / 20)
        return -reach, reach
    low, high = math.floor(min(values) * 20) / 20, math.ceil(max(values) * 20) / 20
    return (low, high) if high > low else (low, low + 0.05)


def _is_dark(value: str, low: float, high: float, signed: bool) -> str:
    if signed:
        return f"abs({value}) > {high * 0.55}"
    return f"{value} > {low + (high - low) * 0.5}"


def _short(value: object, kind: Kind) -> str:
    """Two decimals without the leading zero: `.42`, `−.07`."""
    if not isinstance(value, int | float):
        return "–"
    text = format_number(round(value, 2), "number")
    return text.replace("0.", ".", 1) if abs(value) < 0.995 and kind != "number" else text


def _points(encoding: Json, *, size: int) -> list[Json]:
    """Values as filled points where they have an interval, as hollow ones where they have none."""
    return [
        {
            "transform": [{"filter": f"isValid(datum.value) && {test}isValid(datum.low)"}],
            "mark": {"type": "point", "size": size, "filled": filled, "strokeWidth": 0 if filled else 1.4},
            "encoding": encoding,
        }
        for filled, test in ((True, ""), (False, "!"))
    ]


def _line(axis: str, at: float) -> Json:
    return {
        "data": {"values": [{"at": at}]},
        "mark": {"type": "rule", "color": QUIET, "strokeDash": [3, 3], "aria": False},
        "encoding": {axis: {"field": "at", "type": "quantitative"}},
    }


def _legend(shown: bool, names: Sequence[str]) -> Json | None:
    if not shown or len(names) < 2:
        return None
    return {"title": None, "orient": "bottom", "columns": 2, "rowPadding": 3, "columnPadding": 14, "offset": 10}


def extent(values: Sequence[float], *, log: bool = False) -> tuple[float, float]:
    """Ends of an axis with room for points and labels: 8 % on each side (by ratio on a logarithmic axis)."""
    if not values:
        return (1.0, 10.0) if log else (0.0, 1.0)
    if log:
        low, high = math.log(min(values)), math.log(max(values))
        room = (high - low) * 0.08 or 0.5
        return math.exp(low - room), math.exp(high + room)
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or max(abs(high), 1.0) * 0.1
    return low - room, high + room


def _along(value: float, domain: tuple[float, float], log: bool) -> float:
    low, high = domain
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


OFFSETS = (
    (12, 0), (-12, 0), (0, -11), (0, 11), (11, -9), (-11, -9), (11, 9), (-11, 9), (20, -14), (-20, -14), (20, 14),
    (-20, 14), (0, -20), (0, 20),
)  # fmt: skip


def place_labels(
    spots: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[tuple[float, float]]:
    """Where labels go so that they cover neither points nor each other where that can be had.

    Each label takes, in order, the first of some places around its point that overlaps least.

    Parameters
    ----------
    spots : sequence of (float, float)
        Points, pixels.

    Returns
    -------
    list of (float, float)
        Centres of the labels, pixels.
    """
    taken: list[tuple[float, float, float, float]] = [(x - 4, y - 4, x + 4, y + 4) for x, y in spots]
    placed = []
    for (x, y), label in zip(spots, labels, strict=True):
        half = 3.2 * len(label)
        best: tuple[float, tuple[float, float]] | None = None
        for dx, dy in OFFSETS:
            centre = (x + dx + math.copysign(half - 6.4, dx) * (dx != 0), y + dy)
            box = (centre[0] - half, centre[1] - 5, centre[0] + half, centre[1] + 5)
            cost = sum(overlap(box, other) for other in taken)
            cost += 200.0 * (box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height)
            if best is None or cost < best[0]:
                best = (cost, centre)
            if cost == 0:
                break
        if best is not None:
            centre = best[1]
            placed.append(centre)
            taken.append((centre[0] - half, centre[1] - 5, centre[0] + half, centre[1] + 5))
    return placed


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """Area that two boxes (left, top, right, bottom) share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
