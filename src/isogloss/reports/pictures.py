"""Vega-Lite to SVG and PNG, by vl-convert: no browser, no network."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from isogloss.reports.sections import Chart
from isogloss.reports.theme import PAPER


def to_svg(spec: Mapping[str, object], *, prefix: str) -> str:
    """Draw a Vega-Lite specification.

    Parameters
    ----------
    prefix : str
        Put before every id inside, so that pictures in one page don't clip each other.

    Returns
    -------
    str
        An `<svg>` element. Marks with a description have it as a tooltip too.
    """
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r"url\(&quot;#([^&]+)&quot;\)", rf"url(#{prefix}-\1)", svg)
    return re.sub(r'<path aria-label="([^"]*)"([^>]*)/>', r'<path aria-label="\1"\2><title>\1</title></path>', svg)


def to_png(svg: str, *, scale: float = 2.0) -> bytes:
    """A picture of an SVG on white paper."""
    import vl_convert

    size = re.search(r'<svg [^>]*?viewBox="([^"]+)"', svg)
    x, y, width, height = size.group(1).split() if size else ("0", "0", "100%", "100%")
    paper = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{PAPER}"/>'
    opening = svg.index(">", svg.index("<svg")) + 1
    return _pack(vl_convert.svg_to_png(svg[:opening] + paper + svg[opening:], scale=scale))


def _pack(png: bytes) -> bytes:
    """The same PNG, compressed harder: vl-convert writes quickly, which makes files three times as large."""
    head, chunks, pixels = png[:8], [], b""
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            pixels += png[at + 8 : at + 8 + length]
        else:
            chunks.append((kind, png[at + 8 : at + 8 + length]))
        at += 12 + length
    chunks.insert(len(chunks) - 1, (b"IDAT", zlib.compress(zlib.decompress(pixels), 6)))
    return head + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def save_pictures(chart: Chart, folder: Path) -> list[Path]:
    """Write every picture of a chart as SVG and PNG, for a talk or a paper; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for number, panel in enumerate(chart.panels, start=1):
        name = f"{chart.id}-{number}" if len(chart.panels) > 1 else chart.id
        svg = to_svg(panel.vega_lite(), prefix=name)
        paths = folder / f"{name}.svg", folder / f"{name}.png"
        paths[0].write_text(svg, encoding="utf-8")
        paths[1].write_bytes(to_png(svg))
        written += paths
    return written
