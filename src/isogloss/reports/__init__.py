"""Tables, figures, maps and the HTML report. Nothing here asks a model."""

from isogloss.reports.context import (
    CodedReply,
    DatasetFacts,
    Example,
    InvalidRow,
    ModelFacts,
    ReportContext,
    RunFacts,
)
from isogloss.reports.estimates import (
    GROUP_KEYS,
    estimates_frame,
    read_estimates,
    read_frame,
    to_csv,
    to_json,
    write_estimates,
)
from isogloss.reports.html import to_html, write_html
from isogloss.reports.invalid import invalid_replies
from isogloss.reports.pictures import save_pictures
from isogloss.reports.sections import Chart, Column, Pages, Panel, Prose, Section, Table
from isogloss.reports.selection import where
from isogloss.reports.tables import FORMATS, estimate_table, render, render_apart, to_latex, to_markdown, to_text

__all__ = [
    "FORMATS",
    "GROUP_KEYS",
    "Chart",
    "CodedReply",
    "Column",
    "DatasetFacts",
    "Example",
    "InvalidRow",
    "ModelFacts",
    "Pages",
    "Panel",
    "Prose",
    "ReportContext",
    "RunFacts",
    "Section",
    "Table",
    "estimate_table",
    "estimates_frame",
    "invalid_replies",
    "read_estimates",
    "read_frame",
    "render",
    "render_apart",
    "save_pictures",
    "to_csv",
    "to_html",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_text",
    "where",
    "write_estimates",
    "write_html",
]
