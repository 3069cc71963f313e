"""Figures are valid Vega-Lite, can be read without colour, and keep labels apart."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import altair
import pytest

from isogloss.reports import Chart, save_pictures
from isogloss.reports.charts import (
    Dot,
    extent,
    heat_map,
    interval_plot,
    overlap,
    place_labels,
    scatter_plot,
    value_range,
)
from isogloss.reports.maps import map_picture
from isogloss.reports.pictures import to_svg
from isogloss.reports.theme import CATEGORIES

DOTS = [
    Dot("Chile", "South", 0.4, 0.3, 0.5, x=1.0, mark=0.2, words="Chile: <0.4>"),
    Dot("Spain", "North", None, x=2.0),
    Dot("Peru", "South", 0.2, x=3.0),
]
CELLS = [
    {"row": "CL", "column": "CL", "value": 0.42, "words": "own"},
    {"row": "CL", "column": "ES", "value": None, "words": "none"},
]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "spec",
    [
        interval_plot(DOTS, title="F1", domain=(0, 1), category_names=["South", "North"], reference=0.0),
        scatter_plot(DOTS, x_title="x", y_title="F1", category_names=["South", "North"], log_x=True),
        heat_map(CELLS, rows=["CL"], columns=["CL", "ES"], row_title="a", column_title="b", value_title="F1"),
        map_picture({"CL": 0.5, "PR": 0.1, "ES": None}, title="F1").spec,
    ],
    ids=["intervals", "scatter", "heat map", "map"],
)
def test_every_figure_is_valid_vega_lite(spec):
    altair.Chart.from_dict(json.loads(json.dumps(spec)))


def test_a_picture_says_its_marks_and_its_ids_are_its_own():
    spec = interval_plot(DOTS, title="F1", domain=(0, 1), category_names=["South", "North"])
    svg = to_svg(spec, prefix="one")
    ET.fromstring(svg)
    assert "<title>Chile: &lt;0.4&gt;</title>" in svg
    assert ">–</text>" in svg
    assert 'id="clip' not in svg
    assert "undefined" not in svg


def test_an_altair_chart_is_taken_too():
    drawn = altair.Chart(altair.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    chart = Chart.of("own", "Own", drawn, alt="A point.")
    assert "<svg" in to_svg(chart.panels[0].vega_lite(), prefix="own")


def test_pictures_are_saved_as_svg_and_png(tmp_path: Path):
    spec = interval_plot(DOTS, title="F1", domain=(0, 1), category_names=["South", "North"])
    files = save_pictures(Chart.of("dots", "Dots", spec, alt="Dots."), tmp_path / "new")
    assert [file.name for file in files] == ["dots.svg", "dots.png"]
    assert files[1].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_categories_differ_in_shape_and_stand_out_on_both_papers():
    assert len({shape for _, shape in CATEGORIES}) == len(CATEGORIES)
    for colour, _ in CATEGORIES:
        assert contrast(colour, "#ffffff") >= 3
        assert contrast(colour, "#15181c") >= 3


def test_labels_of_near_points_do_not_overlap():
    spots = [(100.0, 100.0), (106.0, 102.0), (100.0, 106.0), (285.0, 5.0)]
    placed = place_labels(spots, ["AR", "UY", "PY", "CL"], 290, 250)
    boxes = [(x - 6.4, y - 5, x + 6.4, y + 5) for x, y in placed]
    for rank, box in enumerate(boxes):
        assert all(overlap(box, other) == 0 for other in boxes[rank + 1 :])
        assert box[0] >= 0
        assert box[2] <= 290


def test_scales_end_at_round_numbers_and_are_even_around_zero():
    assert value_range([0.11, 0.38], signed=False) == pytest.approx((0.1, 0.4))
    assert value_range([0.02, -0.11], signed=True) == pytest.approx((-0.15, 0.15))
    assert value_range([], signed=True) == (-1.0, 1.0)
    assert extent([1.0, 1.0])[0] < 1.0 < extent([1.0, 1.0])[1]
    assert extent([10.0, 1000.0], log=True)[0] > 0
