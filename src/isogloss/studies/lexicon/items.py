"""Load a lexical table: concept × variant × country; `+` predominant, `-` marginal or absent, else unlabelled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.errors import DataError, UnknownNameError
from isogloss.records import Dataset, Item, Option
from isogloss.registry import unknown_name
from isogloss.studies.lexicon.layouts import Columns, Row, columns_of, layout_of, rows_of
from isogloss.studies.lexicon.places import Place, places_table, read_covariates, read_places, resolve
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.studies.lexicon.tables import Sheet, read_sheet
from isogloss.studies.lexicon.wording import is_file, load_wording

if TYPE_CHECKING:
    from isogloss.study import Source

PLUS = ("+", "1", "yes", "sí", "si", "sim", "true", "\uff0b")
MINUS = ("-", "0", "no", "não", "nao", "false", "\u2212", "\u2013", "\u2010", "\uff0d")
LABELS = {**dict.fromkeys(PLUS, 1.0), **dict.fromkeys(MINUS, 0.0)}
"""What a cell may say, in any case; the minus also as the signs that spreadsheets put in its place."""

_NUMBER = re.compile(r"[+-]?\d*[.,]?\d+")


@dataclass
class _Option:
    variant: str
    labels: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Row of each label, in a long table only: there a label can be contradicted."""


@dataclass
class _Concept:
    description: str
    row: int
    fields: dict[str, str]
    options: list[_Option] = field(default_factory=list)
    by_key: dict[tuple[str, str], _Option] = field(default_factory=dict)


def load_items(source: Source, settings: LexiconSettings) -> Dataset:
    """Read a table in the VARILEX, long or wide layout.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, Excel or Parquet.
    settings : LexiconSettings
        `layout`, `delimiter`, `places`, `covariates` say how to read; `countries` must be in the data; a wording
        from a file is kept with the data.

    Returns
    -------
    Dataset
        One item per concept, one option per variant row (a repeated row is an option of its own), labels 1 and 0;
        tables "places", "covariates" and, for a wording from a file, "wording".

    Raises
    ------
    DataError, UnknownNameError, SettingError
        One line: file, row, column, what was expected, what was got.
    """
    places = read_places(settings.places)
    wording = load_wording(settings.wording)
    wanted = settings.layout
    sheet = read_sheet(
        source,
        recognise=lambda header: layout_of(header) is not None if wanted == "auto" else layout_of(header) == wanted,
        delimiter=settings.delimiter,
    )
    columns = columns_of(sheet, settings.layout)
    reader = _Reader(sheet, columns, places)
    for row in rows_of(sheet, columns):
        reader.take(row)
    items = reader.items()
    notes = sheet.notes + reader.notes()
    for code in settings.countries:
        if code not in reader.codes():
            raise unknown_name("country of the data", code, reader.codes())
    table = places_table(reader.codes(), places, language=wording.language)
    tables: dict[str, tuple[Mapping[str, str | float | None], ...]] = {"places": table}
    covariates = read_covariates(settings.covariates, [str(place["code"]) for place in table], places, notes)
    if covariates:
        tables["covariates"] = covariates
    if is_file(settings.wording):
        tables["wording"] = (wording.row(),)
    name = str(source) if isinstance(source, str | Path) else sheet.name
    return Dataset(name=name, items=items, tables=tables, notes=tuple(notes))


class _Reader:
    """Gathers rows to concepts."""

    def __init__(self, sheet: Sheet, columns: Columns, places: Mapping[str, Place]) -> None:
        self.sheet = sheet
        self.columns = columns
        self.places = places
        self._concepts: dict[str, _Concept] = {}
        self._codes: dict[str, str] = {}
        self._unlabelled: Counter[str] = Counter()
        self._n_repeated = 0
        self._other_texts: dict[str, set[str]] = {}
        for title in columns.countries.values():
            self._country(title, "row 1")
        if len(set(self._codes.values())) < len(columns.countries):
            twice = [code for code, n in Counter(self._code_of(t) for t in columns.countries.values()).items() if n > 1]
            raise DataError(f"{sheet.name} row 1: country {twice[0]!r} has two columns; keep one")

    def codes(self) -> set[str]:
        """Codes of all countries of the table."""
        return set(self._codes.values())

    def take(self, row: Row) -> None:
        concept = self._concept(row)
        if self.columns.layout == "long":
            self._take_long(concept, row)
            return
        option = _Option(row.variant)
        concept.options.append(option)
        codes, labels = self._codes, option.labels
        for title, _, text in row.cells:
            value = LABELS.get(text)
            if value is None:
                value = self._other_label(text, row.number, title)
                if value is None:
                    continue
            labels[codes[title]] = value

    def _take_long(self, concept: _Concept, row: Row) -> None:
        key = (row.option, row.variant)
        option = concept.by_key.get(key)
        if option is None:
            option = concept.by_key[key] = _Option(row.variant)
            concept.options.append(option)
        [(title, country, text)] = row.cells
        code = self._codes.get(country) or self._country(
            country, f"row {row.number}, column {self._title('country')!r}"
        )
        value = LABELS.get(text)
        if value is None:
            value = self._other_label(text, row.number, title)
        if value is None:
            return
        if code not in option.labels:
            option.labels[code] = value
            option.rows[code] = row.number
        elif option.labels[code] == value:
            self._n_repeated += 1
        else:
            raise DataError(
                f"{self.sheet.name} row {row.number}, column {title!r}: {row.variant!r} of item {row.item!r} "
                f"is {text.strip()!r} in {code} here and {'+' if option.labels[code] else '-'!r} "
                f"in row {option.rows[code]}; keep one"
            )

    def _concept(self, row: Row) -> _Concept:
        concept = self._concepts.get(row.item)
        if concept is None:
            if not row.description:
                raise DataError(
                    f"{self.sheet.name} row {row.number}, column {self._title('description')!r}: "
                    f"empty; item {row.item!r} has no description"
                )
            concept = self._concepts[row.item] = _Concept(row.description, row.number, row.fields)
            return concept
        if row.description and row.description != concept.description:
            if self.columns.layout != "varilex":
                raise DataError(
                    f"{self.sheet.name} row {row.number}, column {self._title('description')!r}: item {row.item!r} is "
                    f"{row.description[:60]!r} here and {concept.description[:60]!r} in row {concept.row}; "
                    "expected one description per item"
                )
            self._other_texts.setdefault("description", set()).add(row.item)
        if row.fields != concept.fields:
            for name, text in row.fields.items():
                if concept.fields.setdefault(name, text) != text:
                    self._other_texts.setdefault(name, set()).add(row.item)
        return concept

    def _country(self, text: str, where: str) -> str:
        try:
            code = self._codes[text] = resolve(text, self.places)
        except UnknownNameError as error:
            what = "; a column that is no country is called 'notes' or left out" if where == "row 1" else ""
            raise UnknownNameError(f"{self.sheet.name} {where}: {error}{what}") from error
        return code

    def _code_of(self, title: str) -> str:
        return self._codes[title]

    def _title(self, role: str) -> str:
        position = self.columns.roles[role] - (self.columns.width - len(self.sheet.header))
        return self.sheet.header[position]

    def _other_label(self, text: str, row: int, title: str) -> float | None:
        """A label in another case or with space, or None for an unlabelled cell, which is counted."""
        plain = text.strip().casefold()
        value = LABELS.get(plain)
        if value is None and _NUMBER.fullmatch(plain):
            number = float(plain.replace(",", "."))
            if number not in (0.0, 1.0):
                graded = "; graded labels (shares from 0 to 1) aren't read yet" if 0 < number < 1 else ""
                raise DataError(
                    f"{self.sheet.name} row {row}, column {title!r}: "
                    f"expected + or -, 1 or 0, got {text.strip()!r}{graded}"
                )
            value = number
        if value is None:
            self._unlabelled[text.strip()] += 1
        return value

    def items(self) -> tuple[Item, ...]:
        if not any(option.labels for concept in self._concepts.values() for option in concept.options):
            raise DataError(f"{self.sheet.name}: no cell is + or -, so there is nothing to ask")
        return tuple(
            Item(
                id=item_id,
                text=concept.description,
                options=tuple(
                    Option(id=f"{item_id}.{k}", text=option.variant, labels=option.labels)
                    for k, option in enumerate(concept.options, start=1)
                ),
                fields=concept.fields,
            )
            for item_id, concept in self._concepts.items()
        )

    def notes(self) -> list[str]:
        """What a reader should know of how the table was read."""
        notes = []
        if self._unlabelled:
            kinds = ", ".join(
                f"{text[:20]!r} {n}" if text else f"blank {n}" for text, n in self._unlabelled.most_common(8)
            )
            notes.append(f"cells that are neither + nor -, counted as unlabelled: {self._unlabelled.total()} ({kinds})")
        if self._n_repeated:
            notes.append(f"rows that repeat an earlier row, set aside: {self._n_repeated}")
        for name, items in self._other_texts.items():
            notes.append(
                f"items with more than one {name}, the first kept: {len(items)} ({', '.join(sorted(items)[:5])})"
            )
        twice, at_odds = [], []
        for item_id, concept in self._concepts.items():
            by_variant: dict[str, list[Mapping[str, float]]] = {}
            for option in concept.options:
                by_variant.setdefault(option.variant, []).append(option.labels)
            for variant, rows in by_variant.items():
                if len(rows) > 1:
                    twice.append(f"{item_id} {variant!r}")
                    if any(one[code] != rows[0][code] for one in rows for code in one.keys() & rows[0]):
                        at_odds.append(f"{item_id} {variant!r}")
        if twice:
            notes.append(
                "variants in more than one row of their item, each row kept as an option: "
                f"{len(twice)} ({', '.join(twice[:5])})"
            )
        if at_odds:
            notes.append(f"of these, with + in one row and - in another for one country: {', '.join(at_odds[:5])}")
        return notes
