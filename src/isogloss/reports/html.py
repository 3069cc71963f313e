"""The HTML report: one file that needs nothing else, for a linguist to read, print and cite.

Everything that comes from data or models is escaped: the template engine escapes text, and data for the scripts stand
in JSON blocks in which `<`, `>` and `&` are written as escapes, so that no reply can end a block.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isogloss.errors import DataError
from isogloss.files import whole_file
from isogloss.records import Estimate
from isogloss.reports import words
from isogloss.reports.context import ReportContext
from isogloss.reports.estimates import to_csv
from isogloss.reports.methods import methods_paragraph
from isogloss.reports.numbers import format_interval, format_number, format_value
from isogloss.reports.pictures import to_svg
from isogloss.reports.sections import Cell, Chart, Column, Kind, Pages, Prose, Section, Table, check_sections
from isogloss.reports.spending import spending_table
from isogloss.reports.tables import grid
from isogloss.version import __version__

if TYPE_CHECKING:
    from markupsafe import Markup

PLACED = ("summary", "overview", "methods", "limits")
"""Sections with these ids have their own place in the page."""
OWN_IDS = ("summary", "asked", "examples", "invalid", "limits", "methods", "numbers", "again")
MOST_INVALID = 60


class PrintedCell(NamedTuple):
    """A cell as the page shows it."""

    text: str
    css: str = ""
    sub: str = ""
    hint: str = ""
    is_text: bool = False


class PrintedColumn(NamedTuple):
    title: str
    css: str


def write_html(path: Path, context: ReportContext) -> None:
    """Write the report, whole or not at all.

    Raises
    ------
    DataError
        If the file can't be written, or two sections have one id.
    """
    write_page(path, to_html(context))


def write_page(path: Path, text: str) -> None:
    """Write a page whole or not at all. Raises DataError where it can't be written."""
    try:
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"can't write {path}: {error.strerror}") from error


def to_html(context: ReportContext) -> str:
    """The report as text of one HTML file."""
    check_sections(context.sections)
    free = [section for section in context.sections if section.id not in PLACED]
    for section in free:
        if section.id in OWN_IDS:
            raise DataError(f"section id {section.id!r} is taken by the report itself; choose another")
    if not context.sections and context.estimates:
        free = [words.plain_table(context)]
    return render_page(
        "report.html.j2",
        c=context,
        lead=words.lead(context),
        banners=words.banners(context),
        contents=_contents(context, free),
        summary=placed(context.sections, "summary") or words.summary(context),
        overview=printed_table(overview) if (overview := words.overview(context)) else None,
        facts=words.facts(context),
        informants=printed_table(words.informants(context)),
        statuses=printed_table(words.statuses(context)),
        spending=printed_table(spent) if (spent := spending_table(context)) else None,
        examples=[words.printed_example(example) for example in context.examples],
        sections=[printed_section(section) for section in free],
        invalid=[words.shortened(row) for row in context.invalid[:MOST_INVALID]],
        more_invalid=_more_invalid(context),
        limits=[*(prose.paragraphs if (prose := placed(context.sections, "limits")) else ()), *words.limits(context)],
        methods=methods_paragraph(context),
        numbers=_numbers(context.estimates),
    )


def render_page(name: str, **parts: object) -> str:
    """A page of the folder `page`, with its style and script inside; all that it is given is escaped."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=jinja2.FunctionLoader(_page)
    )
    css, js = (_raw(_page(f"report.{kind}")) for kind in ("css", "js"))
    return environment.get_template(name).render(version=__version__, css=css, js=js, **parts)


def placed(sections: Sequence[Section], id: str) -> Prose | None:
    """The paragraphs with an id that has its own place in the page."""
    return next((part for part in sections if isinstance(part, Prose) and part.id == id), None)


def _contents(context: ReportContext, sections: Sequence[Section]) -> list[tuple[str, str]]:
    return [
        ("summary", "In short"),
        ("asked", "What was asked of whom"),
        *([("examples", "What a question looks like")] if context.examples else []),
        *((section.id, section.title) for section in sections),
        ("invalid", "Replies that could not be read"),
        ("limits", "What the numbers don’t tell"),
        ("methods", "For the methods section"),
        ("numbers", "All numbers"),
        ("again", "How to get these numbers again"),
    ]


def _more_invalid(context: ReportContext) -> str:
    rest = context.invalid[MOST_INVALID:]
    if not rest:
        return ""
    answers = sum(row.count for row in rest)
    return f"{len(rest)} rarer reasons with {answers:,} answers are left out here; 'isogloss invalid RUN' lists all."


def _page(name: str) -> str:
    return (files("isogloss.reports") / "page" / name).read_text(encoding="utf-8")


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)


def json_block(content: object) -> Markup:
    """JSON that can stand in a `<script>` element: nothing in it can end the element or begin another."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for char, escape in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(char, escape)
    return _raw(text)


def printed_section(section: Section) -> dict[str, object]:
    """A section as the template wants it."""
    head: dict[str, object] = {
        "id": section.id,
        "title": section.title,
        "note": section.note,
        "caption": "" if isinstance(section, Prose) else section.caption,
    }
    match section:
        case Prose():
            return {**head, "what": "prose", "paragraphs": section.paragraphs}
        case Table():
            return {**head, **printed_table(section), "what": "table", "folded": section.folded}
        case Chart():
            return {**head, "what": "chart", **_printed_chart(section)}
        case Pages():
            return {
                **head,
                "what": "pages",
                "count": f"{len(section.pages):,} items",
                "data": json_block(compact(section)),
            }


def compact(section: Pages) -> dict[str, object]:
    """Pages with the titles of their layers stored once."""
    titles: dict[str, int] = {}
    pages = []
    for page in section.pages:
        layers = page["layers"]
        assert isinstance(layers, Sequence)
        numbered = [
            {"title": titles.setdefault(str(layer["title"]), len(titles)), "cells": layer["cells"]} for layer in layers
        ]
        pages.append({**page, "layers": numbered})
    return {"pages": pages, "names": dict(section.column_names or {}), "layers": list(titles)}


def _printed_chart(chart: Chart) -> dict[str, object]:
    panels = []
    for number, panel in enumerate(chart.panels, start=1):
        name = f"{chart.id}-{number}" if len(chart.panels) > 1 else chart.id
        svg = to_svg(panel.vega_lite(), prefix=name)
        panels.append(
            {
                "title": panel.title,
                "alt": panel.alt,
                "svg": _raw(svg),
                "file": name,
            }
        )
    return {
        "panels": panels,
        "below": chart.below,
        "wide": chart.wide,
        "csv": json_block(rows_as_csv(chart.data)) if chart.data else None,
    }


def rows_as_csv(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Mappings as CSV; columns in order of first appearance, numbers in full."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = [row.get(column) for column in columns]
        writer.writerow(["" if cell is None else cell.value if isinstance(cell, Estimate) else cell for cell in cells])
    return out.getvalue()


def printed_table(table: Table) -> dict[str, object]:
    """A table as the template wants it."""
    return {
        "id": table.id,
        "title": table.title,
        "note": table.note,
        "columns": [PrintedColumn(column.title, _css(column)) for column in table.columns],
        "rows": [
            [print_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows
        ],
    }


def _css(column: Column) -> str:
    return {"text": "", "code": "", "estimate": "est"}.get(column.kind, "num")


def print_cell(cell: Cell, column: Column) -> PrintedCell:
    """A cell as the page shows it: estimates with their interval and, as a hint, their counts."""
    css = _css(column)
    if isinstance(cell, Estimate):
        interval = "" if cell.low is None else f"{format_interval(cell)}"
        missing = ", ".join(f"{count:,} {status.value}" for status, count in cell.missing.items() if count)
        hint = f"{cell.n_items:,} items, {cell.n_scored:,} of {cell.n_answers:,} answers scored" + (
            f", {missing}" if missing else ""
        )
        return PrintedCell(format_value(cell), css, interval, hint)
    if isinstance(cell, str):
        return PrintedCell(cell, css, is_text=True)
    kind: Kind = "share" if column.kind in ("text", "code", "estimate") else column.kind
    if isinstance(cell, int) and column.kind in ("text", "code"):
        kind = "count"
    return PrintedCell(format_number(cell, kind), css)


def _numbers(estimates: Sequence[Estimate]) -> dict[str, object]:
    printed = grid(estimates)
    shown = {"heading": printed.heading, "rows": printed.rows, "words": printed.is_number.count(False)}
    return {
        "count": f"{len(estimates):,}",
        "csv": json_block(to_csv(estimates)),
        "grid": json_block(shown),
        "notes": printed.notes,
    }
