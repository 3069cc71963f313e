"""The one look of all figures: colours that read on white and on near-black, shapes that say the same, quiet axes."""

from __future__ import annotations

INK = "#1f2328"
"""Text. report.css puts the page's own colour in its place, so one picture serves light and dark."""
QUIET = "#6e7781"
"""Axis labels, intervals."""
LINE = "#d8dee4"
"""Grid."""
MISSING_COLOUR = "#b3b9c1"
"""Nothing scored."""
LAND = "#e9e7e1"
"""Land on maps that isn't part of the survey."""
PAPER = "#ffffff"

CATEGORIES = (
    ("#0b72b5", "circle"),
    ("#c2500a", "square"),
    ("#0f8a63", "triangle-up"),
    ("#b4508f", "diamond"),
    ("#8a6d00", "triangle-down"),
    ("#6a5acd", "cross"),
    ("#b8332e", "triangle-right"),
    ("#5b7083", "triangle-left"),
)
"""Colour and shape of the first, second, … category; each has a contrast of 3 or more on white and on the dark page."""

SEQUENTIAL = ("#e6eef6", "#b9d3e9", "#7fb0d8", "#4187bf", "#175e9c", "#083a6b")
"""One hue from low to high."""
DIVERGING = ("#8f3b00", "#cf7a35", "#f0c9a0", "#f4f2ee", "#a9cbe6", "#4187bf", "#083a6b")
"""Below zero, zero, above zero."""

FONT = "Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif"
"""Fonts of one width everywhere, so that what fits where a picture is made fits where it is read."""

CONFIG: dict[str, object] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET,
        "labelFontSize": 11,
        "titleColor": INK,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": LINE,
        "gridWidth": 0.7,
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "labelFlush": False,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 11,
        "labelLimit": 220,
        "titleColor": INK,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "symbolSize": 60,
        "symbolStrokeWidth": 0,
    },
    "text": {"color": INK, "fontSize": 10.5, "font": FONT},
    "point": {"filled": True, "opacity": 1},
    "title": {"color": INK, "fontSize": 12.5, "anchor": "start", "fontWeight": "bold"},
    "range": {"ramp": list(SEQUENTIAL), "heatmap": list(SEQUENTIAL), "category": [colour for colour, _ in CATEGORIES]},
}


def categories(names: list[str]) -> dict[str, object]:
    """Scales of colour and shape for named categories, in a fixed order; after eight the colours start again."""
    pairs = [CATEGORIES[position % len(CATEGORIES)] for position in range(len(names))]
    return {
        "color": {"domain": names, "range": [colour for colour, _ in pairs]},
        "shape": {"domain": names, "range": [shape for _, shape in pairs]},
    }
