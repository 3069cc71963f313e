"""Maps of values by country: shapes shipped as data, small places as dots, far ones in frames of their own.

Shapes: `data/shapes.json`, made by `tools/make_map_shapes.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from isogloss.errors import DataError
from isogloss.reports.charts import Json, colour_scale, overlap, top, value_range
from isogloss.reports.theme import INK, LAND, PAPER, QUIET

Polygon: TypeAlias = list[list[float]]
"""Rings, each [lon, lat, lon, lat, …]."""

NEAR = 34.0
"""Degrees: places whose centres are linked by steps no longer than this share one frame."""
MOST_FRAMES = 6
DOT_BELOW = 60.0
"""Square pixels of a shape's box, below which the place is a dot."""
LABEL_OUTSIDE_BELOW = 330.0
"""Square pixels of a shape's box, below which its code stands beside it."""
HALO = "#fffffe"
"""Around codes; not the paper's colour, which pages change in the dark."""
MAIN_WIDTH = 330
SIDE_WIDTH = 96


class Atlas(NamedTuple):
    """What is shipped: shapes and points by ISO 3166-1 alpha-2, and land without a code."""

    shapes: Mapping[str, list[Polygon]]
    points: Mapping[str, tuple[float, float]]
    land: list[Polygon]


class Place(NamedTuple):
    """One place to draw. `spot` is (longitude, latitude); it is where a dot or label goes."""

    code: str
    name: str
    value: float | None
    words: str
    spot: tuple[float, float]
    polygons: list[Polygon]


class MapPicture(NamedTuple):
    """A map, and who isn't on it."""

    spec: Json
    undrawn: tuple[str, ...]
    """Places without shape or coordinates, as "name (code)"."""


class Frame(NamedTuple):
    """Part of a map: a window of width × height pixels centred on a point."""

    centre: tuple[float, float]
    scale: float
    """Pixels per radian."""
    width: float
    height: float


@cache
def atlas() -> Atlas:
    """The shapes shipped with isogloss."""
    content = json.loads((files("isogloss.reports") / "data" / "shapes.json").read_text(encoding="utf-8"))
    points = {code: (float(lon), float(lat)) for code, (lon, lat) in content["points"].items()}
    return Atlas(content["shapes"], points, content["land"])


def check_codes(codes: Iterable[str], places: Mapping[str, Mapping[str, object]]) -> None:
    """Every code must be that of a country or stand in the data set's own table of places.

    Raises
    ------
    DataError
        For a code that is neither, e.g. `UK` (the United Kingdom is `GB`).
    """
    known = atlas()
    for code in codes:
        if code in places or code in known.shapes or code in known.points:
            continue
        advice = f"; write {code.upper()!r}" if code.upper() in known.points else ""
        if code.upper() == "UK":
            advice = "; the United Kingdom is 'GB'"
        raise DataError(f"map: {code!r} is neither an ISO 3166-1 alpha-2 code nor in the table of places{advice}")


def map_picture(
    values: Mapping[str, float | None],
    *,
    title: str,
    places: Mapping[str, Mapping[str, object]] | None = None,
    words: Mapping[str, str] | None = None,
    signed: bool = False,
    domain: tuple[float, float] | None = None,
) -> MapPicture:
    """Draw values by place.

    Parameters
    ----------
    values : mapping
        Code → value; None where nothing was scored (grey).
    title : str
        Of the legend: what the value is.
    places : mapping, optional
        Code → row with `name`, `latitude`, `longitude`; needed for places that aren't countries.
    words : mapping, optional
        Code → what the tooltip and screen readers say of it.
    signed : bool
        One hue on each side of zero.
    domain : (float, float), optional
        Ends of the colour scale, where several maps are to be compared.

    Raises
    ------
    DataError
        For a code that is neither a country's nor in `places`, or no code at all.
    """
    table = places or {}
    if not values:
        raise DataError("a map needs at least one place, got none")
    check_codes(values, table)
    drawn, undrawn = [], []
    for code, value in values.items():
        place = _place(code, value, table.get(code, {}), (words or {}).get(code, ""))
        if place is None:
            undrawn.append(f"{table.get(code, {}).get('name') or code} ({code})")
        else:
            drawn.append(place)
    low, high = domain or value_range([value for value in values.values() if value is not None], signed=signed)
    colour = colour_scale(title, low, high, signed=signed)
    groups = frames_of(drawn)
    if len(groups) > MOST_FRAMES:
        groups = [drawn]
    main, *sides = [_frame(group, MAIN_WIDTH if rank == 0 else SIDE_WIDTH, main=rank == 0)
                    for rank, group in enumerate(groups)] or [Frame((0, 0), 50, MAIN_WIDTH, 200)]  # fmt: skip
    views = [_view(frame, group, colour) for frame, group in zip((main, *sides), groups or [[]], strict=True)]
    spec = top(
        hconcat=[views[0], *([{"vconcat": views[1:], "spacing": 10}] if len(views) > 1 else [])],
        spacing=10,
        resolve={"scale": {"color": "shared"}, "legend": {"color": "shared"}},
    )
    return MapPicture(spec, tuple(undrawn))


def _place(code: str, value: float | None, row: Mapping[str, object], words: str) -> Place | None:
    shipped = atlas()
    polygons = shipped.shapes.get(code, [])
    latitude, longitude = row.get("latitude"), row.get("longitude")
    if polygons and code in shipped.points:
        spot = shipped.points[code]
    elif isinstance(latitude, int | float) and isinstance(longitude, int | float):
        spot = (float(longitude), float(latitude))
    elif code in shipped.points:
        spot = shipped.points[code]
    else:
        return None
    name = str(row.get("name") or code)
    return Place(
        code, name, value, words or f"{name}: {'nothing scored' if value is None else f'{value:.3f}'}", spot, polygons
    )


def frames_of(places: Sequence[Place]) -> list[list[Place]]:
    """Groups of places that lie together, the largest first (single linkage on great-circle distance)."""
    groups: list[list[Place]] = []
    for place in places:
        near = [group for group in groups if any(distance(place.spot, other.spot) <= NEAR for other in group)]
        merged = [place, *(other for group in near for other in group)]
        groups = [group for group in groups if not any(group is other for other in near)] + [merged]
    return sorted(groups, key=lambda group: -len(group))


def distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Great-circle distance of two (longitude, latitude), degrees."""
    lon1, lat1, lon2, lat2 = (math.radians(value) for value in (*a, *b))
    cosine = math.sin(lat1) * math.sin(lat2) + math.cos(lat1) * math.cos(lat2) * math.cos(lon1 - lon2)
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine))))


def project(point: tuple[float, float], frame: Frame) -> tuple[float, float]:
    """Lambert's azimuthal equal-area projection about the frame's centre, pixels from its top left."""
    lon, lat = math.radians(point[0] - frame.centre[0]), math.radians(point[1])
    lat0 = math.radians(frame.centre[1])
    cosine = math.sin(lat0) * math.sin(lat) + math.cos(lat0) * math.cos(lat) * math.cos(lon)
    k = math.sqrt(2 / max(1e-6, 1 + cosine)) * frame.scale
    x = k * math.cos(lat) * math.sin(lon)
    y = k * (math.cos(lat0) * math.sin(lat) - math.sin(lat0) * math.cos(lat) * math.cos(lon))
    return frame.width / 2 + x, frame.height / 2 - y


def _box(points: Iterable[tuple[float, float]], frame: Frame) -> tuple[float, float, float, float]:
    spots = [project(point, frame) for point in points]
    xs, ys = [x for x, _ in spots], [y for _, y in spots]
    return min(xs), min(ys), max(xs), max(ys)


def _outline(place: Place) -> list[tuple[float, float]]:
    """The largest ring of a place, or its spot; outlying islands don't widen a frame."""
    if not place.polygons:
        return [place.spot]
    return _corners(place.polygons[0])


def _corners(polygon: Polygon) -> list[tuple[float, float]]:
    """Some 60 corners of a polygon's outer ring: enough for its box."""
    ring = polygon[0]
    step = 2 * max(1, len(ring) // 120)
    return list(zip(ring[::step], ring[1::step], strict=True))


def _frame(group: Sequence[Place], width: float, *, main: bool) -> Frame:
    """The window that holds a group with some room: centred by its box, so large that it fits the width."""
    points = [point for place in group for point in _outline(place)]
    lats = [lat for _, lat in points]
    # Longitudes relative to one member, so that groups across the 180th meridian stay whole.
    base = group[0].spot[0]
    lons = [(lon - base + 180) % 360 - 180 for lon, _ in points]
    frame = Frame(((min(lons) + max(lons)) / 2 + base, (min(lats) + max(lats)) / 2), 100.0, 0.0, 0.0)
    for _ in range(3):
        left, upper, right, lower = _box(points, frame)
        span_x, span_y = max(right - left, 1e-3), max(lower - upper, 1e-3)
        room = 12
        scale = frame.scale * min((width - 2 * room) / span_x, ((520 if main else 110) - 2 * room) / span_y)
        scale = min(scale, 1400.0 if main else 700.0)
        ratio = scale / frame.scale
        height = max(span_y * ratio + 2 * room, 70)
        centre = ((left + right) / 2 * ratio, (upper + lower) / 2 * ratio)
        frame = Frame(_unproject(centre, frame._replace(scale=scale)), scale, width, round(height))
        frame = frame._replace(width=0.0, height=0.0)
    return frame._replace(width=width, height=round(height))


def _unproject(spot: tuple[float, float], frame: Frame) -> tuple[float, float]:
    """Longitude and latitude of a spot given in pixels from the frame's centre (y down)."""
    x, y = spot[0] / frame.scale, -spot[1] / frame.scale
    rho = math.hypot(x, y)
    if rho < 1e-9:
        return frame.centre
    c = 2 * math.asin(min(1.0, rho / 2))
    lat0 = math.radians(frame.centre[1])
    lat = math.asin(math.cos(c) * math.sin(lat0) + y * math.sin(c) * math.cos(lat0) / rho)
    lon = math.atan2(x * math.sin(c), rho * math.cos(lat0) * math.cos(c) - y * math.sin(lat0) * math.sin(c))
    return frame.centre[0] + math.degrees(lon), math.degrees(lat)


def _view(frame: Frame, group: Sequence[Place], colour: Json) -> Json:
    """One frame: land, the group's shapes, dots for what is small, codes."""
    shapes: list[Json] = []
    dots: list[Json] = []
    for place in group:
        box = _box(_outline(place), frame)
        record: Json = {"value": place.value, "words": place.words}
        if (box[2] - box[0]) * (box[3] - box[1]) < DOT_BELOW:
            x, y = project(place.spot, frame)
            dots.append({**record, "x": x, "y": y})
        else:
            shapes.append(_feature(place.polygons, record))
    labels = [{"x": x, "y": y, "code": code} for code, (x, y) in label_spots(group, frame).items()]
    land = [_feature(_land(frame, frozenset(place.code for place in group)), {})]
    at: Json = {axis: {"field": axis, "type": "quantitative", "scale": None} for axis in ("x", "y")}
    layers: list[Json] = [
        {
            "data": {"values": land, "format": {"type": "json"}},
            "mark": {"type": "geoshape", "fill": LAND, "stroke": PAPER, "strokeWidth": 0.5, "aria": False},
        },
        {
            "data": {"values": shapes},
            "mark": {"type": "geoshape", "stroke": PAPER, "strokeWidth": 0.8, "invalid": "show"},
            "encoding": {"color": colour, "description": {"field": "words"}},
        },
        {
            "data": {"values": dots},
            "mark": {"type": "circle", "size": 85, "stroke": INK, "strokeWidth": 0.9, "opacity": 1, "invalid": "show"},
            "encoding": {**at, "color": colour, "description": {"field": "words"}},
        },
    ]
    for halo in (True, False):
        mark: Json = {"type": "text", "fontSize": 9, "fontWeight": 600, "aria": False, "color": "#111111"}
        if halo:
            mark |= {"stroke": HALO, "strokeWidth": 2.6, "strokeOpacity": 0.8, "color": HALO, "strokeJoin": "round"}
        encoding = {**at, "text": {"field": "code"}}
        layers.append({"data": {"values": labels}, "mark": mark, "encoding": encoding})
    return {
        "width": frame.width,
        "height": frame.height,
        "view": {"stroke": QUIET, "strokeWidth": 0.4, "fill": None},
        "projection": {
            "type": "azimuthalEqualArea",
            "rotate": [-round(frame.centre[0], 3), -round(frame.centre[1], 3)],
            "scale": round(frame.scale, 2),
            "translate": [frame.width / 2, frame.height / 2],
            "clipExtent": [[0, 0], [frame.width, frame.height]],
            "precision": 0.5,
        },
        "layer": layers,
    }


Box: TypeAlias = tuple[float, float, float, float]

WAYS = ((-0.9, 0.7), (0, -1), (0.9, -0.7), (0, 1), (1, 0), (-1, 0), (0.9, 0.7), (-0.9, -0.7), (0, 1.9), (0, -1.9))
"""Where a code may stand beside its place (right, down), the best first."""


def label_spots(group: Sequence[Place], frame: Frame) -> dict[str, tuple[float, float]]:
    """Where codes stand, pixels: on large shapes; beside small ones, where they cover least of the rest."""
    boxes = {place.code: _box(_outline(place), frame) for place in group}
    small = {code for code, box in boxes.items() if (box[2] - box[0]) * (box[3] - box[1]) < LABEL_OUTSIDE_BELOW}
    spots = {place.code: project(place.spot, frame) for place in group if place.code not in small}
    taken = [_letters(spot) for spot in spots.values()]
    for place in sorted(
        (place for place in group if place.code in small), key=lambda place: (boxes[place.code][0], place.code)
    ):
        x, y = project(place.spot, frame)
        box = boxes[place.code]
        dx, dy = max((box[2] - box[0]) / 2, 5) + 8, max((box[3] - box[1]) / 2, 5) + 6
        others = [other for code, other in boxes.items() if code != place.code and (other[2] - other[0]) < 60]
        costs = []
        for rank, (right, down) in enumerate(WAYS):
            spot = (x + right * dx, y + down * dy)
            letters = _letters(spot)
            inside = letters[0] > 0 and letters[1] > 0 and letters[2] < frame.width and letters[3] < frame.height
            cost = 3 * sum(overlap(letters, other) for other in taken) + sum(
                overlap(letters, other) for other in others
            )
            costs.append((cost + rank + (0 if inside else 500), spot))
        spots[place.code] = min(costs)[1]
        taken.append(_letters(spots[place.code]))
    return spots


def _letters(spot: tuple[float, float]) -> Box:
    return spot[0] - 8, spot[1] - 5, spot[0] + 8, spot[1] + 5


@lru_cache(maxsize=64)
def _land(frame: Frame, own: frozenset[str]) -> list[Polygon]:
    """Land in a frame that isn't one of the places drawn there."""
    shipped = atlas()
    others = (polygon for code, shape in shipped.shapes.items() if code not in own for polygon in shape)
    return [polygon for polygon in (*shipped.land, *others) if _touches(polygon, frame)]


def _touches(polygon: Polygon, frame: Frame) -> bool:
    """Whether any corner of a polygon lies in or near the frame."""
    corners = _corners(polygon)
    reach = math.degrees(max(frame.width, frame.height) / frame.scale) * 0.9 + 4
    if all(distance(corner, frame.centre) > reach for corner in corners[::4]):
        return False
    left, upper, right, lower = _box(corners, frame)
    return right > 0 and left < frame.width and lower > 0 and upper < frame.height


def _feature(polygons: Sequence[Polygon], record: Json) -> Json:
    coordinates = [
        [list(map(list, zip(ring[::2], ring[1::2], strict=True))) for ring in polygon] for polygon in polygons
    ]
    geometry: Json = {"type": "MultiPolygon", "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, **record}
