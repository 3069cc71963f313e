"""The HTML report of a construction: the page of a run, without what only a run has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isogloss.errors import DataError
from isogloss.reports.html import placed, printed_section, printed_table, render_page, write_page
from isogloss.reports.sections import Prose, Section, Table, check_sections
from isogloss.reports.words import Banner

OWN_IDS = ("steps", "again")
TOP_IDS = ("summary", "overview")
"""Sections with these ids open the page."""


@dataclass(frozen=True)
class ConstructionContext:
    """All that the report of a construction shows."""

    title: str
    study: str
    steps: Table
    """Each step with its state and what it made."""
    asked: Table | None = None
    """Models with their calls, tokens and cost."""
    sections: tuple[Section, ...] = ()
    skip_people: bool = False
    folder: str = ""
    command: str = ""
    made: str = ""
    """When the report was made, ISO 8601."""

    @property
    def n_done(self) -> int:
        """Steps that are done."""
        return sum(str(row[2]).startswith("done") for row in self.steps.rows)


def write_construction_html(path: Path, context: ConstructionContext) -> None:
    """Write the report, whole or not at all.

    Raises
    ------
    DataError
        If the file can't be written, or two sections have one id.
    """
    write_page(path, construction_html(context))


def construction_html(context: ConstructionContext) -> str:
    """The report as text of one HTML file."""
    check_sections(context.sections)
    for section in context.sections:
        if section.id in OWN_IDS:
            raise DataError(f"section id {section.id!r} is taken by the report itself; choose another")
    free = [section for section in context.sections if section.id not in TOP_IDS]
    n_steps = len(context.steps.rows)
    overview = next((one for one in context.sections if isinstance(one, Table) and one.id == "overview"), None)
    nothing = Prose("summary", "In short", (f"{context.n_done} of {n_steps} steps are done.",))
    return render_page(
        "construction.html.j2",
        c=context,
        lead=f"{context.n_done} of {n_steps} steps are done" + (f", {context.made[:10]}." if context.made else "."),
        banners=_banners(context),
        contents=[
            ("summary", "In short"),
            ("steps", context.steps.title),
            *((section.id, section.title) for section in free),
            ("again", "How to go on, or do it again"),
        ],
        summary=placed(context.sections, "summary") or nothing,
        overview=None if overview is None else printed_table(overview),
        steps=printed_table(context.steps),
        asked=None if context.asked is None else printed_table(context.asked),
        sections=[printed_section(section) for section in free],
    )


def _banners(context: ConstructionContext) -> list[Banner]:
    banners = []
    if context.n_done < len(context.steps.rows):
        banners.append(Banner("This construction isn't finished.", "The command at the end of the page goes on."))
    if context.skip_people:
        banners.append(
            Banner("Built without people.", "The steps that people do were skipped: nobody confirmed what is in it.")
        )
    return banners
