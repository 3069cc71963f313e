"""Countries of a data set (names, areas, dots on the map) and what else is known of them."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from isogloss.errors import DataError, UnknownNameError
from isogloss.locale import HINT, advice, country_code, country_name, language_tag
from isogloss.studies.lexicon.layouts import folded
from isogloss.studies.lexicon.tables import Sheet, read_sheet

Place: TypeAlias = dict[str, str | float | None]
"""code, name, area, latitude, longitude, and name_<language> where a language has a name of its own."""

ALIASES = {
    "code": ("code", "country", "codigo", "pais"),
    "name": ("name", "nombre", "nome"),
    "area": ("area", "zona"),
    "latitude": ("latitude", "latitud", "lat"),
    "longitude": ("longitude", "longitud", "lon", "lng"),
}
LIMITS = {"latitude": 90.0, "longitude": 180.0}
_CODE = re.compile(r"[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")


@cache
def default_places() -> Mapping[str, Place]:
    """The 21 countries of VARILEX with their eight areas, from `data/areas.csv`."""
    with (Path(__file__).parent / "data" / "areas.csv").open(encoding="utf-8", newline="") as file:
        rows: list[Place] = [dict(row) for row in csv.DictReader(file)]
    for row in rows:
        for column in LIMITS:
            row[column] = float(str(row[column]))
    return {str(row["code"]): row for row in rows}


def read_places(path: Path | None) -> dict[str, Place]:
    """Places by code, from the user's file; none without a file.

    Raises
    ------
    DataError
        Naming file, row and column.
    """
    if path is None:
        return {}
    sheet = read_sheet(path, recognise=lambda header: {"code", "name"} <= set(_roles(header)))
    roles = _roles(sheet.header)
    for role in ("code", "name"):
        if role not in roles:
            raise DataError(
                f"{sheet.name} row 1: no column {role!r}; a places file has code and name, got {_quoted(sheet)}"
            )
    places: dict[str, Place] = {}
    for number, cells in sheet.rows:
        place = _place(sheet, number, cells, roles)
        code = str(place["code"])
        if code in places:
            raise DataError(f"{sheet.name} row {number}, column 'code': {code!r} stands in an earlier row too")
        places[code] = place
    return places


def _roles(header: Sequence[str]) -> dict[str, int]:
    """What each column of a places file holds; names in a language are `name_es`."""
    roles: dict[str, int] = {}
    for position, title in enumerate(header):
        for role, names in ALIASES.items():
            if folded(title) in names:
                roles.setdefault(role, position)
        if title.lower().startswith("name_"):
            roles["name_" + language_tag(title[len("name_") :])] = position
    return roles


def _place(sheet: Sheet, number: int, cells: list[str], roles: Mapping[str, int]) -> Place:
    if len(cells) < len(sheet.header):
        raise DataError(f"{sheet.name} row {number}: {len(cells)} cells, expected {len(sheet.header)} as in the header")
    text = {role: cells[position].strip() for role, position in roles.items()}
    if not _CODE.fullmatch(text["code"]):
        raise DataError(
            f"{sheet.name} row {number}, column 'code': expected letters, digits and hyphens, got {text['code']!r}"
        )
    if not text["name"]:
        raise DataError(f"{sheet.name} row {number}, column 'name': {text['code']!r} has no name")
    code = text["code"].upper()
    known = default_places().get(code, {})
    place: Place = {"code": code, "name": text["name"]}
    place |= {role: name for role, name in text.items() if role.startswith("name_") and name}
    place["area"] = text.get("area") or known.get("area") or text["name"]
    for column, limit in LIMITS.items():
        if not text.get(column):
            place[column] = known.get(column)
            continue
        value = number_of(text[column])
        if value is None or abs(value) > limit:
            raise DataError(
                f"{sheet.name} row {number}, column {column!r}: expected degrees from {-limit:g} to {limit:g}, "
                f"got {text[column]!r}"
            )
        place[column] = value
    return place


def resolve(text: str, places: Mapping[str, Place]) -> str:
    """The code that a data file means, from the user's places or ISO 3166-1.

    Raises
    ------
    UnknownNameError
        With near codes.
    """
    code = text.strip().upper()
    if code in places:
        return code
    near = difflib.get_close_matches(code, places, n=2) if places else []
    if near and advice(code) == "":
        raise UnknownNameError(
            f"no country named {text.strip()!r}; did you mean {' or '.join(repr(name) for name in near)}?; {HINT}"
        )
    return country_code(text)


def places_table(codes: Iterable[str], places: Mapping[str, Place], *, language: str) -> tuple[Place, ...]:
    """The table "places" of a data set: one row per country, in the order of `areas.csv`, then by code.

    Parameters
    ----------
    codes : iterable of str
        Codes that `resolve` gave.
    places : mapping
        The user's own, which go before the known ones.
    language : str
        BCP 47 tag of the wording; known countries get their name in it.
    """
    known = default_places()
    rank = {code: position for position, code in enumerate(known)}
    table = []
    for code in sorted(set(codes), key=lambda code: (rank.get(code, len(rank)), code)):
        if code in places:
            table.append(dict(places[code]))
            continue
        place = dict(known.get(code) or _iso_place(code))
        if language.partition("-")[0] not in ("en", "es", "pt"):
            place["name_" + language] = country_name(code, language)
        table.append(place)
    return tuple(table)


def _iso_place(code: str) -> Place:
    """A country outside the areas file: its own area, without a place on the map."""
    name = country_name(code, "en")
    place: Place = {"code": code, "name": name, "area": name, "latitude": None, "longitude": None}
    return place | {"name_" + language: country_name(code, language) for language in ("es", "pt")}


def name_in(place: Mapping[str, str | float | None], language: str) -> str:
    """A place's name in a language; the name it has at all where it has none in that language."""
    name = place.get("name_" + language) or place.get("name_" + language.partition("-")[0]) or place["name"]
    return str(name)


def read_covariates(
    path: Path | None, codes: Sequence[str], places: Mapping[str, Place], notes: list[str]
) -> tuple[Place, ...]:
    """Numbers per country from the user's file: rows {code, <covariate>: number or None}.

    Countries that the data set doesn't have are left out; `notes` is told which it has and the file hasn't.

    Raises
    ------
    DataError, UnknownNameError
        Naming file, row and column.
    """
    if path is None:
        return ()
    sheet = read_sheet(path, recognise=lambda header: "code" in _roles(header) and len(header) > 1)
    roles = _roles(sheet.header)
    if "code" not in roles:
        raise DataError(
            f"{sheet.name} row 1: no column 'code'; a covariate file has code and numbers, got {_quoted(sheet)}"
        )
    columns = {title: at for at, title in enumerate(sheet.header) if at != roles["code"] and title}
    columns = {title: at for title, at in columns.items() if at not in (roles.get("name"), roles.get("area"))}
    if not columns:
        raise DataError(f"{sheet.name} row 1: no column of numbers beside 'code'")
    rows: dict[str, Place] = {}
    for number, cells in sheet.rows:
        where = f"{sheet.name} row {number}, column {sheet.header[roles['code']]!r}"
        try:
            code = resolve(cells[roles["code"]], places)
        except UnknownNameError as error:
            raise UnknownNameError(f"{where}: {error}") from error
        if code in rows:
            raise DataError(f"{where}: {code!r} comes twice")
        row: Place = {"code": code}
        for title, at in columns.items():
            text = cells[at].strip() if at < len(cells) else ""
            row[title] = number_of(text)
            if text and row[title] is None:
                raise DataError(f"{sheet.name} row {number}, column {title!r}: expected a number, got {text!r}")
        rows[code] = row
    absent = [code for code in codes if code not in rows]
    if absent:
        notes.append(f"{sheet.name} has no row for {', '.join(absent)}")
    return tuple(rows[code] for code in codes if code in rows)


def number_of(text: str) -> float | None:
    """A plain number, with a point or a comma before its decimals; None if it isn't one (nor `nan`, nor `inf`)."""
    text = text.replace("\u2212", "-")
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None


def _quoted(sheet: Sheet) -> str:
    return ", ".join(repr(title) for title in sheet.header[:12])
