"""Make `src/isogloss/reports/data/shapes.json` from the npm package `world-atlas` (Natural Earth, public domain).

    npm install --prefix /some/folder world-atlas@2.0.2
    python tools/make_map_shapes.py /some/folder/node_modules/world-atlas

All countries come from the 1:110m file, the Spanish-speaking ones from the 1:50m file, and a point inside every country
of the 1:50m file, so that a place too small for a shape can be drawn as a dot. Keys are ISO 3166-1 alpha-2; `land`
holds shapes without a code, for the background.
"""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from babel.core import get_global

DETAILED = [
    "AR",
    "BO",
    "CL",
    "CO",
    "CR",
    "CU",
    "DO",
    "EC",
    "ES",
    "GQ",
    "GT",
    "HN",
    "MX",
    "NI",
    "PA",
    "PE",
    "PR",
    "PY",
    "SV",
    "UY",
    "VE",
]
WITHOUT_ISO_NUMBER = {"Kosovo": "XK"}
SMALLEST_ISLAND = 0.05
"""Square degrees; smaller rings are left out unless they are all a country has."""

Ring = list[tuple[float, float]]


def alpha2_of_numeric() -> dict[str, str]:
    """ISO 3166-1 numeric (three digits, leading zeros kept) → alpha-2, from CLDR."""
    aliases: dict[str, list[str]] = get_global("territory_aliases")  # type: ignore[assignment]
    return {old: new[0] for old, new in aliases.items() if old.isdigit() and len(old) == 3 and len(new) == 1}


def decode_arcs(topology: dict[str, Any]) -> list[Ring]:
    """Delta-coded, quantised arcs → degrees."""
    (scale_x, scale_y), (move_x, move_y) = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = []
    for coded in topology["arcs"]:
        x = y = 0
        arc = []
        for dx, dy in coded:
            x, y = x + dx, y + dy
            arc.append((x * scale_x + move_x, y * scale_y + move_y))
        arcs.append(arc)
    return arcs


def ring_of(indices: list[int], arcs: list[Ring]) -> Ring:
    """Join arcs to one closed ring, rounded to 0.01 degree (about 1 km); ~i is arc i backwards."""
    ring: Ring = []
    for index in indices:
        points = arcs[index] if index >= 0 else arcs[~index][::-1]
        for point in points:
            rounded = (round(point[0], 2), round(point[1], 2))
            if not ring or ring[-1] != rounded:
                ring.append(rounded)
    if ring[0] != ring[-1]:
        ring.append(ring[0])
    return ring


def area_of(ring: Ring) -> float:
    """Unsigned area in square degrees."""
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairwise(ring))) / 2


def centre_of(ring: Ring) -> tuple[float, float]:
    """Centroid of a ring, degrees."""
    signed = x = y = 0.0
    for (x1, y1), (x2, y2) in pairwise(ring):
        cross = x1 * y2 - x2 * y1
        signed, x, y = signed + cross, x + (x1 + x2) * cross, y + (y1 + y2) * cross
    return (round(x / (3 * signed), 2), round(y / (3 * signed), 2)) if signed else ring[0]


def polygons_of(geometry: dict[str, Any], arcs: list[Ring]) -> list[list[Ring]]:
    """Polygons (outer ring, then holes), largest first; slivers and tiny islands dropped."""
    shapes = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
    polygons = [[ring for part in shape if len(ring := ring_of(part, arcs)) >= 4] for shape in shapes]
    polygons = sorted((polygon for polygon in polygons if polygon), key=lambda polygon: -area_of(polygon[0]))
    return [polygon for rank, polygon in enumerate(polygons) if rank == 0 or area_of(polygon[0]) >= SMALLEST_ISLAND]


def flat(polygons: list[list[Ring]]) -> list[list[list[float]]]:
    """Rings as [lon, lat, lon, lat, …]: half the brackets."""
    return [[[value for point in ring for value in point] for ring in polygon] for polygon in polygons]


def make(folder: Path) -> dict[str, Any]:
    """The content of shapes.json."""
    codes = alpha2_of_numeric()
    shapes: dict[str, Any] = {}
    largest: dict[str, Ring] = {}
    land: list[Any] = []
    for scale in ("110m", "50m"):
        topology = json.loads((folder / f"countries-{scale}.json").read_text(encoding="utf-8"))
        arcs = decode_arcs(topology)
        for geometry in topology["objects"]["countries"]["geometries"]:
            if not geometry.get("arcs"):
                continue
            code = codes.get(geometry.get("id", "")) or WITHOUT_ISO_NUMBER.get(geometry["properties"]["name"])
            polygons = polygons_of(geometry, arcs)
            if scale == "110m" and code is None:
                land.extend(flat(polygons))
            elif code is not None and (scale == "110m" or code in DETAILED):
                shapes[code] = flat(polygons)
            if scale == "50m" and code is not None and area_of(polygons[0][0]) >= area_of(largest.get(code, [])):
                largest[code] = polygons[0][0]  # Australia's small territories bear its number too
    missing = [code for code in DETAILED if code not in shapes]
    if missing:
        raise SystemExit(f"world-atlas has no shape for {', '.join(missing)}")
    return {
        "source": "Natural Earth 4.1 (public domain), by npm world-atlas 2.0.2; reduced by tools/make_map_shapes.py",
        "shapes": dict(sorted(shapes.items())),
        "points": {code: centre_of(ring) for code, ring in sorted(largest.items())},
        "land": land,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("atlas", type=Path, help="folder of the npm package world-atlas 2.0.2")
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--out", type=Path, default=here / "src/isogloss/reports/data/shapes.json")
    given = parser.parse_args()
    content = make(given.atlas)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
