"""Tables of estimates for terminals, Markdown and papers: one column order in every study, no number alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from isogloss.records import Estimate
from isogloss.registry import unknown_name
from isogloss.reports.estimates import MISSING, group_keys, to_csv, to_json
from isogloss.reports.numbers import (
    DASH,
    MINUS,
    display_width,
    format_interval,
    format_number,
    format_value,
    interval_heading,
)
from isogloss.reports.sections import Column, Table

MOST_NOTES = 15
"""Lines under a table on a terminal."""
LONG_TABLE = 40
"""Rows above which the LaTeX table may break over pages."""


class Grid(NamedTuple):
    """Cells in print, with which columns are numbers and what stands below."""

    heading: list[str]
    rows: list[list[str]]
    is_number: list[bool]
    notes: list[str]


def render(estimates: Sequence[Estimate], format: str) -> str:
    """Estimates as text in a named format: json, csv, md, latex or text.

    Raises
    ------
    UnknownNameError
        For any other format.
    """
    writer = FORMATS.get(format)
    if writer is None:
        raise unknown_name("report format", format, FORMATS)
    return writer(estimates)


def render_apart(estimates: Sequence[Estimate], key: str, format: str) -> str:
    """As `render`, with a table for each word of a group key (`Study.apart`); json and csv stay whole."""
    words = dict.fromkeys(one.group.get(key, "") for one in estimates)
    if format in ("json", "csv") or not key or len(words) < 2:
        return render(estimates, format)
    return "\n".join(render([one for one in estimates if one.group.get(key, "") == word], format) for word in words)


def grid(estimates: Sequence[Estimate]) -> Grid:
    """Cells in print: measure, group keys, value, interval, items, answers, scored, missing by status if any."""
    keys = group_keys(estimates)
    statuses = [status for status in MISSING if any(estimate.missing.get(status) for estimate in estimates)]
    studies = list(dict.fromkeys(estimate.study for estimate in estimates))
    several = len(studies) > 1
    heading = [
        *(["study"] if several else []),
        "measure",
        *keys,
        "value",
        interval_heading(estimates),
        "items",
        "answers",
        "scored",
        *(status.value for status in statuses),
    ]
    rows = [
        [
            *([estimate.study] if several else []),
            estimate.measure,
            *(estimate.group.get(key, "") for key in keys),
            format_value(estimate),
            format_interval(estimate),
            *(format_number(n, "count") for n in (estimate.n_items, estimate.n_answers, estimate.n_scored)),
            *(format_number(estimate.missing.get(status, 0), "count") for status in statuses),
        ]
        for estimate in estimates
    ]
    n_words = len(heading) - 5 - len(statuses)
    is_number = [position >= n_words for position in range(len(heading))]
    notes = [*([] if several else [f"study: {name}" for name in studies]), *methods(estimates)]
    return Grid(heading, rows, is_number, notes)


def methods(estimates: Sequence[Estimate]) -> list[str]:
    """How the numbers were made: first what several measures share, then what belongs to one, each once.

    A method is a list of remarks parted by `; `. A measure and its `_pooled` twin count as one.
    """
    measures = {estimate.measure.removesuffix("_pooled") for estimate in estimates}
    holders: dict[str, dict[str, None]] = {}
    for measure, method in dict.fromkeys((one.measure.removesuffix("_pooled"), one.method) for one in estimates):
        for remark in method.split("; "):
            holders.setdefault(remark, {})[measure] = None
    shared = [remark for remark, of in holders.items() if len(of) > 1 or len(measures) == 1]
    own = [f"{next(iter(of))}: {remark}" for remark, of in holders.items() if remark not in shared]
    return ([" · ".join(shared)] if shared else []) + own


def to_text(estimates: Sequence[Estimate]) -> str:
    """A plain table for a terminal. A dash, not a zero, where nothing was scored."""
    if not estimates:
        return "no estimates\n"
    heading, rows, is_number, notes = grid(estimates)
    widths = [max(display_width(row[column]) for row in [heading, *rows]) for column in range(len(heading))]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for cell, width, number in zip(cells, widths, is_number, strict=True):
            space = " " * (width - display_width(cell))
            padded.append(space + cell if number else cell + space)
        return "  ".join(padded).rstrip()

    if len(notes) > MOST_NOTES:
        rest = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], f"and {rest} more remarks: see 'method' in the formats csv and json"]
    return "\n".join([line(heading), *(line(row) for row in rows), *notes]) + "\n"


def to_markdown(estimates: Sequence[Estimate]) -> str:
    """A Markdown table with its notes as a list."""
    heading, rows, is_number, notes = grid(estimates)

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = "| " + " | ".join("---:" if number else "---" for number in is_number) + " |"
    body = [line([_markdown(cell) for cell in row]) for row in rows]
    return "\n".join([line(heading), rule, *body, "", *(f"- {_markdown(note)}" for note in notes)]) + "\n"


def _markdown(text: str) -> str:
    for char in "\\`*|<[":
        text = text.replace(char, "\\" + char)
    return " ".join(text.split())


def to_latex(estimates: Sequence[Estimate]) -> str:
    """A booktabs table for a paper; one that may break over pages when it is long."""
    heading, rows, is_number, notes = grid(estimates)
    long = len(rows) > LONG_TABLE
    columns = "".join("r" if number else "l" for number in is_number)
    studies = ", ".join(dict.fromkeys(estimate.study for estimate in estimates))
    caption = rf"\caption{{Estimates of isogloss ({latex_escape(studies)}).}}\label{{tab:isogloss}}"
    head = [r"\toprule", " & ".join(latex_escape(cell) for cell in heading) + r" \\", r"\midrule"]
    body = [" & ".join(latex_escape(cell) for cell in row) + r" \\" for row in rows]
    remarks = r" \\ ".join(latex_escape(note) for note in notes)
    if long:
        lines = [
            r"% \usepackage{booktabs,longtable}",
            rf"\begin{{longtable}}{{{columns}}}",
            caption + r" \\",
            *head,
            r"\endhead",
            *body,
            r"\bottomrule",
            rf"\multicolumn{{{len(heading)}}}{{p{{0.9\linewidth}}}}{{\footnotesize {remarks}}} \\",
            r"\end{longtable}",
        ]
    else:
        lines = [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering\small",
            caption,
            rf"\begin{{tabular}}{{{columns}}}",
            *head,
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
            rf"\smallskip\parbox{{0.95\linewidth}}{{\footnotesize {remarks}}}",
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    MINUS: r"$-$",
    DASH: "--",
    "…": r"\dots{}",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "Δ": r"$\Delta$",
    "ρ": r"$\rho$",
}


def latex_escape(text: str) -> str:
    """Text that LaTeX prints as it stands (with UTF-8 input, T1 fonts)."""
    return "".join(LATEX.get(char, char) for char in " ".join(text.split()))


FORMATS: dict[str, Callable[[Sequence[Estimate]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "md": to_markdown,
    "latex": to_latex,
    "text": to_text,
}


def estimate_table(
    id: str,
    title: str,
    estimates: Sequence[Estimate],
    measures: Mapping[str, tuple[str, str | None]],
    by: Mapping[str, str],
    *,
    names: Mapping[str, Mapping[str, str]] | None = None,
    note: str = "",
    caption: str = "",
    folded: bool = False,
    absent: str = DASH,
) -> Table:
    """One row per group, one column per measure (value with interval), then n and coverage by status.

    Parameters
    ----------
    estimates : sequence of Estimate
        Those of the measures wanted; others are left out.
    measures : mapping
        Heading → (measure, baseline or None): the columns.
    by : mapping
        Group key → heading: what makes a row.
    names : mapping, optional
        Group key → code → its name in words, printed before the code.
    absent : str
        Printed where an estimate lacks one of the keys of `by`, e.g. "all countries".

    Returns
    -------
    Table
        Rows in the order of first appearance. Counts are those of the first measure that a row has.
    """
    wanted = {pair: heading for heading, pair in measures.items()}
    rows: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for estimate in estimates:
        heading = wanted.get((estimate.measure, estimate.group.get("baseline")))
        if heading is not None:
            rows.setdefault(tuple(estimate.group.get(key, "") for key in by), {}).setdefault(heading, estimate)
    firsts = [next(iter(cells.values())) for cells in rows.values()]
    statuses = [status for status in MISSING if any(first.missing.get(status) for first in firsts)]
    used = [heading for heading in measures if any(heading in cells for cells in rows.values())]
    columns = (
        *(Column(heading) for heading in by.values()),
        *(Column(heading, "estimate") for heading in used),
        *(Column(heading, "count") for heading in ("items", "answers", "scored")),
        *(Column(status.value, "count") for status in statuses),
    )
    body = []
    for (words, cells), first in zip(rows.items(), firsts, strict=True):
        labels = []
        for key, word in zip(by, words, strict=True):
            name = (names or {}).get(key, {}).get(word)
            labels.append(f"{name} ({word})" if name and name != word else word or absent)
        counts = (
            first.n_items,
            first.n_answers,
            first.n_scored,
            *(first.missing.get(status, 0) for status in statuses),
        )
        body.append((*labels, *(cells.get(heading) for heading in used), *counts))
    return Table(id, title, columns, tuple(body), note=note, caption=caption, folded=folded)
