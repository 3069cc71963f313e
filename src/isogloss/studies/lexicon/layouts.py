"""The three layouts of a lexical table, told by their header: VARILEX, long, wide."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from isogloss.errors import DataError
from isogloss.studies.lexicon.tables import Sheet

Layout: TypeAlias = Literal["varilex", "long", "wide"]

ALIASES = {
    "item": ("item", "item_id", "concept", "concepto", "conceito"),
    "description": ("description", "descripcion", "descricao", "definition", "definicion", "definicao"),
    "variant": ("variant", "variante", "term", "termino", "termo"),
    "country": ("country", "pais"),
    "label": ("label", "etiqueta", "rotulo"),
    "option": ("option", "opcion", "opcao"),
    "gloss": ("gloss", "glosa"),
    "category": ("category", "categoria"),
    "source": ("source", "fuente", "fonte"),
    "licence": ("licence", "license", "licencia", "licenca"),
    "remark": ("remark", "remarks", "note", "notes", "comment", "nota", "notas", "comentario", "observaciones"),
}
"""Names that a column may have, folded (no case, no accents)."""

FIELDS = ("gloss", "category", "source", "licence")
"""Columns kept as fields of the item."""

REQUIRED: dict[Layout, tuple[str, ...]] = {
    "long": ("item", "description", "variant", "country", "label"),
    "wide": ("item", "description", "variant"),
    "varilex": ("vCPT", "EXPL", "Ingles", "Forma"),
}

_ROLE_OF = {name: role for role, names in ALIASES.items() for name in names}
_VARILEX = ("expl", "ingles", "forma")
_FIRST_TWO = ("e/rvcpt", "e/r", "vcpt")


class Columns(NamedTuple):
    """Where a table holds what."""

    layout: Layout
    width: int
    """Cells that each row has."""
    roles: Mapping[str, int]
    """Position of each named column."""
    countries: Mapping[int, str]
    """Title of each country column by its position; none in a long table."""


class Row(NamedTuple):
    """One row of a table, cut up."""

    number: int
    item: str
    description: str
    variant: str
    fields: dict[str, str]
    option: str
    """What tells two options of the same words apart in a long table; empty otherwise."""
    cells: tuple[tuple[str, str, str], ...]
    """(title of the column, country as written, label as written)."""


def folded(text: str) -> str:
    """Without case, accents and outer space."""
    parts = unicodedata.normalize("NFD", text.strip().casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def layout_of(header: Sequence[str]) -> Layout | None:
    """The layout that a header tells, or None."""
    names = [folded(title) for title in header]
    if all(name in names for name in _VARILEX) and names[0] in _FIRST_TWO:
        return "varilex"
    roles = {_ROLE_OF[name] for name in names if name in _ROLE_OF}
    if set(REQUIRED["long"]) <= roles:
        return "long"
    if set(REQUIRED["wide"]) <= roles and not {"country", "label"} & roles and len(names) > len(roles):
        return "wide"
    return None


def columns_of(sheet: Sheet, layout: Literal["auto", "varilex", "long", "wide"]) -> Columns:
    """Where the columns of a sheet are.

    Raises
    ------
    DataError
        If a column is missing, comes twice, or has no title.
    """
    found = layout_of(sheet.header)
    if layout != "auto" and found != layout:
        raise _missing(sheet, layout)
    if found is None:
        names = {_ROLE_OF.get(folded(title)) for title in sheet.header}
        raise _missing(sheet, "long" if {"country", "label"} & names else "wide")
    return _varilex_columns(sheet) if found == "varilex" else _named_columns(sheet, found)


def _varilex_columns(sheet: Sheet) -> Columns:
    """Columns by position: in the public file the first title, E/RvCPT, stands for two columns."""
    names = [folded(title) for title in sheet.header]
    shift = 1 if names[0] == "e/rvcpt" else 0
    roles = {
        "item": shift if shift else names.index("vcpt"),
        "description": names.index("expl") + shift,
        "gloss": names.index("ingles") + shift,
        "variant": names.index("forma") + shift,
    }
    if shift or names[0] == "e/r":
        roles["category"] = 0
    first = names.index("forma") + 1
    countries = {position + shift: sheet.header[position] for position in range(first, len(names)) if names[position]}
    return Columns("varilex", len(names) + shift, roles, countries)


def _named_columns(sheet: Sheet, layout: Layout) -> Columns:
    roles: dict[str, int] = {}
    countries: dict[int, str] = {}
    for position, title in enumerate(sheet.header):
        role = _ROLE_OF.get(folded(title))
        if role is not None:
            if role in roles:
                raise DataError(
                    f"{sheet.name} row 1: columns {sheet.header[roles[role]]!r} and {title!r} "
                    f"are both the {role}; keep one"
                )
            roles[role] = position
        elif title and layout == "wide":
            countries[position] = title
        elif not title and any(len(cells) > position and cells[position].strip() for _, cells in sheet.rows):
            raise DataError(f"{sheet.name} row 1, column {position + 1}: no title, but cells below; expected a country")
    return Columns(layout, len(sheet.header), roles, countries)


def _missing(sheet: Sheet, layout: Layout) -> DataError:
    """The header doesn't hold what the layout needs: say which column is missing."""
    names = [folded(title) for title in sheet.header]
    if layout == "varilex":
        absent = [title for title in REQUIRED["varilex"][1:] if folded(title) not in names] or ["E/RvCPT"]
    else:
        roles = {_ROLE_OF.get(name) for name in names}
        absent = [role for role in REQUIRED[layout] if role not in roles]
    got = ", ".join(repr(title) for title in sheet.header[:12]) + (", …" if len(sheet.header) > 12 else "")
    if absent:
        what = "no column " + ", ".join(repr(title) for title in absent)
    else:
        what = "no column for a country" if layout == "wide" else f"not the {layout} layout"
    needs = "; ".join(
        f"a {name} table has {', '.join(REQUIRED[name])}" + (" and one column per country" if name != "long" else "")
        for name in (("wide", "long") if layout != "varilex" else ("varilex",))
    )
    return DataError(f"{sheet.name} row 1: {what}; {needs}; got {got}")


def rows_of(sheet: Sheet, columns: Columns) -> Iterator[Row]:
    """Each row, cut up by the layout; rows without any content are passed over.

    Raises
    ------
    DataError
        If a row has too few or too many cells, or its item, variant or country is empty.
    """
    roles = columns.roles
    item_at, text_at, variant_at = roles["item"], roles["description"], roles["variant"]
    fields_at = [(name, roles[name]) for name in FIELDS if name in roles]
    country_at, label_at, option_at = roles.get("country"), roles.get("label"), roles.get("option")
    for number, cells in sheet.rows:
        if len(cells) != columns.width:
            _check_width(sheet, number, cells, columns.width)
        if country_at is not None and label_at is not None:
            pairs: tuple[tuple[str, str, str], ...] = (
                (sheet.header[label_at], cells[country_at].strip(), cells[label_at]),
            )
        else:
            pairs = tuple((title, title, cells[at]) for at, title in columns.countries.items())
        item, variant = cells[item_at].strip(), cells[variant_at].strip()
        if not (item and variant):
            if not any(cell.strip() for cell in cells):
                continue
            absent = "variant" if item else "item"
            raise DataError(f"{_cell(sheet, columns, number, absent)}: empty; each row names an item and a variant")
        if country_at is not None and not pairs[0][1]:
            raise DataError(
                f"{_cell(sheet, columns, number, 'country')}: empty; expected a country's code "
                "(pandas takes 'NA', Namibia, for missing: read with keep_default_na=False)"
            )
        yield Row(
            number,
            item,
            " ".join(cells[text_at].split()),
            variant,
            {name: cells[at].strip() for name, at in fields_at if cells[at].strip()},
            cells[option_at].strip() if option_at is not None else "",
            pairs,
        )


def _cell(sheet: Sheet, columns: Columns, number: int, role: str) -> str:
    """Where a cell is, for messages; the VARILEX header is short, so its titles stand one place before their column."""
    position = columns.roles[role]
    if columns.width > len(sheet.header):
        return f"{sheet.name} row {number}, column {position + 1}"
    return f"{sheet.name} row {number}, column {sheet.header[position]!r}"


def _check_width(sheet: Sheet, number: int, cells: list[str], width: int) -> None:
    if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
        return
    quote = "; is a quotation mark not closed?" if any("\n" in cell for cell in cells) else ""
    raise DataError(f"{sheet.name} row {number}: {len(cells)} cells, expected {width} as the header says{quote}")
