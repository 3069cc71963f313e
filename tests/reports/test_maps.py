"""Maps: codes are checked, nobody is left out silently, far places get frames, small ones dots."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from isogloss.errors import DataError
from isogloss.reports.maps import DOT_BELOW, Frame, _place, atlas, distance, frames_of, map_picture, project

SPANISH = (
    "ES", "GQ", "CU", "DO", "PR", "MX", "GT", "HN", "SV", "NI", "CR", "PA", "VE", "CO", "EC", "PE", "BO", "CL", "PY",
    "UY", "AR",
)  # fmt: skip


def place(code, **row):
    found = _place(code, 0.5, row, "")
    assert found is not None
    return found


def test_the_shapes_are_small_and_keyed_by_alpha_2():
    path = files("isogloss.reports") / "data" / "shapes.json"
    assert len(path.read_bytes()) < 400_000
    shipped = atlas()
    assert set(SPANISH) <= set(shipped.shapes) <= set(shipped.points)
    assert {"FR", "NO", "AR", "BO", "XK", "NA"} <= set(shipped.shapes)
    assert all(len(code) == 2 and code.isupper() for code in shipped.points)
    assert "SG" in shipped.points
    assert json.loads(path.read_text())["source"].startswith("Natural Earth")


def test_every_ring_is_closed_and_lies_on_earth():
    for polygons in atlas().shapes.values():
        for ring in (ring for polygon in polygons for ring in polygon):
            assert ring[:2] == ring[-2:]
            assert len(ring) >= 8
            assert all(-180 <= lon <= 180 for lon in ring[::2])
            assert all(-90 <= lat <= 90 for lat in ring[1::2])


@pytest.mark.parametrize(("code", "advice"), [("UK", "'GB'"), ("cl", "write 'CL'"), ("XX", "neither an ISO 3166-1")])
def test_a_code_that_names_no_place_is_an_error(code, advice):
    with pytest.raises(DataError, match=advice):
        map_picture({code: 0.5}, title="F1")


def test_no_place_at_all_is_an_error():
    with pytest.raises(DataError, match="at least one place"):
        map_picture({}, title="F1")


def test_a_place_without_shape_or_coordinates_is_named_below():
    places = {"X1": {"name": "Ruritania"}, "X2": {"name": "Syldavia", "latitude": 1.0, "longitude": -70.0}}
    picture = map_picture({"CL": 0.5, "X1": 0.2, "X2": 0.1}, title="F1", places=places)
    assert picture.undrawn == ("Ruritania (X1)",)
    assert "Syldavia" in json.dumps(picture.spec)


def test_spain_and_equatorial_guinea_stand_in_frames_of_their_own():
    groups = frames_of([place(code) for code in SPANISH])
    assert [len(group) for group in groups] == [19, 1, 1]
    assert {group[0].code for group in groups[1:]} == {"ES", "GQ"}


def test_puerto_rico_is_a_dot_and_chile_a_shape():
    spec = map_picture(dict.fromkeys(SPANISH, 0.5), title="F1").spec
    main = spec["hconcat"][0]
    dots, shapes = main["layer"][2]["data"]["values"], main["layer"][1]["data"]["values"]
    assert len(dots) == 1
    assert len(shapes) == 18
    assert DOT_BELOW > 0


def test_places_spread_over_the_world_share_one_frame():
    codes = ["US", "BR", "ZA", "IN", "AU", "JP", "NO", "NZ", "AR"]
    spec = map_picture(dict.fromkeys(codes, 0.1), title="F1").spec
    assert len(spec["hconcat"]) == 1


def test_missing_is_grey_and_words_go_to_screen_readers():
    text = json.dumps(map_picture({"CL": None}, title="F1", words={"CL": "Chile: nothing scored"}).spec)
    assert "!isValid(datum.value)" in text
    assert "Chile: nothing scored" in text


def test_distance_and_projection_are_those_of_a_sphere():
    assert distance((0, 0), (90, 0)) == pytest.approx(90)
    assert distance((-3.7, 40.4), (-3.7, 40.4)) == pytest.approx(0)
    frame = Frame((-70.0, -20.0), 100.0, 300.0, 400.0)
    assert project((-70.0, -20.0), frame) == pytest.approx((150.0, 200.0))
    assert project((-70.0, -10.0), frame)[1] < 200
