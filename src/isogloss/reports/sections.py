"""What a report is made of. A study returns these; the report lays them out, escapes and prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from isogloss.errors import DataError
from isogloss.records import Estimate

Cell: TypeAlias = str | int | float | Estimate | None
"""One cell of a table; None is printed as a dash, an estimate as its value with its interval."""

Kind: TypeAlias = Literal["text", "code", "count", "share", "number", "signed", "p", "estimate"]
"""How a column is printed: words, a code or term, whole numbers, three decimals, two decimals, three with a sign,
a p-value, an estimate."""

Spec: TypeAlias = Mapping[str, object]
"""A Vega-Lite specification."""


@runtime_checkable
class VegaLite(Protocol):
    """Anything that gives a Vega-Lite specification, such as an Altair chart."""

    def to_dict(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class Column:
    """Heading of a table's column and how its cells are printed."""

    title: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Prose:
    """Paragraphs.

    Three ids have a fixed place in the HTML report: `summary` opens it (with the table `overview`, if there is one),
    `methods` joins the paragraph to copy, `limits` joins "What the numbers don't tell".
    """

    id: str
    title: str
    paragraphs: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns; `note` says how the numbers were made."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    caption: str = ""
    folded: bool = False
    """Shown closed in the HTML report (long tables)."""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise DataError(f"table {self.id!r} row {number}: {len(row)} cells under {len(self.columns)} columns")


@dataclass(frozen=True)
class Panel:
    """One picture of a chart; panels stand side by side where there is room."""

    title: str
    spec: Spec | VegaLite
    alt: str
    """What the picture shows, in a sentence, for those who can't see it."""

    def vega_lite(self) -> Spec:
        """The specification as plain JSON values."""
        return self.spec.to_dict() if isinstance(self.spec, VegaLite) else self.spec


@dataclass(frozen=True)
class Chart:
    """One or more pictures with the data behind them (offered as CSV)."""

    id: str
    title: str
    panels: tuple[Panel, ...]
    data: tuple[Mapping[str, Cell], ...] = ()
    note: str = ""
    caption: str = ""
    below: tuple[str, ...] = ()
    """Lines printed under the picture, e.g. places that could not be drawn."""
    wide: bool = False
    """Panels need the full width (heat maps); they scroll in their own box on a phone."""

    @classmethod
    def of(cls, id: str, title: str, spec: Spec | VegaLite, *, alt: str, note: str = "", caption: str = "") -> Chart:
        """A chart of one picture, from a Vega-Lite dict or an Altair chart."""
        return cls(id=id, title=title, panels=(Panel("", spec, alt),), note=note, caption=caption)


@dataclass(frozen=True)
class Pages:
    """One page per item, found by a search box and drawn on demand from compact data.

    A page is a mapping of JSON values:

    - `id`, `title`, `text`: what the item is; `facts`: mapping of further words;
    - `rows`: labels down the side (variants); `columns`: labels across (places);
    - `reference`: one string per column, one character per row: `+`, `-` or `?` (unlabelled);
    - `layers`: list of `{"title": …, "cells": [one string per column]}`, one character per row:
      `1` chosen, `0` asked and not chosen, `.` not asked, `x` reply without a value.
    """

    id: str
    title: str
    pages: tuple[Mapping[str, object], ...]
    note: str = ""
    caption: str = ""
    column_names: Mapping[str, str] | None = None
    """Column label → its name in words."""

    def __post_init__(self) -> None:
        for page in self.pages:
            for key in ("id", "title", "rows", "columns", "reference", "layers"):
                if key not in page:
                    raise DataError(f"pages {self.id!r}: page {page.get('id', '?')!r} has no {key!r}")


Section: TypeAlias = Prose | Table | Chart | Pages


def check_sections(sections: Sequence[Section]) -> None:
    """Ids are links in the report, so each may stand once.

    Raises
    ------
    DataError
        For an id used twice.
    """
    seen: set[str] = set()
    for section in sections:
        if section.id in seen:
            raise DataError(f"two sections of the report have the id {section.id!r}")
        seen.add(section.id)
