"""Load what models are measured on: StereoSet, CrowS-Pairs, BBQ, EsBBQ, and data sets of our own layout.

Which of them a file is, is seen from what is in it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from isogloss.construction.content_words import names_group
from isogloss.errors import DataError
from isogloss.files import separator_of
from isogloss.prompts import seeded_positions
from isogloss.records import Dataset, Item, Option
from isogloss.registry import unknown_name
from isogloss.studies.stereotypes.settings import StereotypeSettings

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.study import Source

STEREOTYPE, ANTI, UNRELATED = "stereotype", "anti-stereotype", "unrelated"
ROLES = (STEREOTYPE, ANTI, UNRELATED)
OWN_COLUMNS = ("id", "country", "language", "category", "target", "context", "stereotype", "anti_stereotype")
"""Columns that our own layout must have; `unrelated` may be left out, and there may be more."""
EXPECTED = (
    "expected StereoSet's JSON, CrowS-Pairs' CSV, BBQ's JSON lines, EsBBQ's CSV, or our own Parquet, JSON lines or CSV "
    f"with columns {', '.join(OWN_COLUMNS)}, unrelated"
)

Row: TypeAlias = Mapping[str, object]
Rows: TypeAlias = "Iterator[tuple[str, Row]]"
"""(where, row)."""


def load_items(source: Source, settings: StereotypeSettings) -> Dataset:
    """Read a data set; a folder is one of our own, with all its Parquet or JSON lines.

    Returns
    -------
    Dataset
        An item a context, its sentences as options with the roles "stereotype", "anti-stereotype", "unrelated"
        (of BBQ: three answers); `fields` hold layout, split, category, target, country.

    Raises
    ------
    DataError
        Naming file, row and column.
    UnknownNameError
        For a country, category or split of the settings that the data don't have.
    """
    name, items, notes = _read(source, settings)
    items = _chosen(items, settings, name)
    return Dataset(name=name, items=tuple(items), notes=tuple(notes))


def _read(source: Source, settings: StereotypeSettings) -> tuple[str, list[Item], list[str]]:
    from isogloss.studies.stereotypes import bbq_items

    if not isinstance(source, str | Path):
        return "table", *_own(_table_rows(source), "table")
    path = Path(source)
    if path.is_dir():
        return str(source), *_own(_folder_rows(path), str(path))
    if path.suffix.lower() == ".parquet":
        return str(source), *_own(_parquet_rows(path), str(path))
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        first = text.lstrip().split("\n", 1)[0]
        whole = whole_json(text)
        if isinstance(whole, dict) and "data" in whole:
            return str(source), *_stereoset(whole, path, settings)
        if '"question_polarity"' in first:
            return str(source), *bbq_items.from_bbq(json_rows(path, text), settings)
        return str(source), *_own(json_rows(path, text), str(path))
    rows_of = list(csv_rows(path, text))
    header = set(rows_of[0][1]) if rows_of else set()
    if {"sent_more", "sent_less"} <= header:
        return str(source), *_crows_pairs(iter(rows_of), settings)
    if {"question_polarity", "ans0", "template_id"} <= header:
        return str(source), *bbq_items.from_esbbq(iter(rows_of), path)
    return str(source), *_own(iter(rows_of), str(path))


def _chosen(items: list[Item], settings: StereotypeSettings, name: str) -> list[Item]:
    """Those that the settings name, drawn where they ask for a sample."""
    wanted = (
        ("country", settings.countries), ("category", settings.categories),
        ("split", (settings.split,) if settings.split is not None else ()),
    )  # fmt: skip
    for field, values in wanted:
        known = {item.fields.get(field, "") for item in items} - {""}
        for value in values:
            if value not in known:
                raise unknown_name(f"{field} in {name}", value, known)
        items = [item for item in items if not values or item.fields.get(field) in values]
    if not items:
        raise DataError(f"{name} has no row; {EXPECTED}")
    if settings.sample is not None and settings.sample < len(items):
        order = seeded_positions((item.id for item in items), seed=0, purpose="rows")
        items = [items[k] for k in sorted(order[: settings.sample].tolist())]
    return items


# --- the layouts ------------------------------------------------------------------------------------------------------


def _stereoset(whole: Mapping[str, object], path: Path, settings: StereotypeSettings) -> tuple[list[Item], list[str]]:
    splits = whole["data"]
    if not isinstance(splits, dict):
        raise DataError(f"{path}: 'data' is no mapping of splits; {EXPECTED}")
    items = []
    item_ids, sentence_ids = Ids(), Ids()
    for split, examples in splits.items():
        if not isinstance(examples, list):
            raise DataError(f"{path}: data.{split} is no list of examples; {EXPECTED}")
        for number, example in enumerate(examples, start=1):
            where = f"{path}: data.{split} example {number}"
            if not isinstance(example, dict):
                raise DataError(f"{where} is no JSON object")
            item = _stereoset_item(example, where, str(split), settings)
            item_ids.take(item.id, where)
            for option in item.options:
                sentence_ids.take(option.id, f"{where}, sentence {option.role!r}")
            items.append(item)
    return items, []


def _stereoset_item(example: Row, where: str, split: str, settings: StereotypeSettings) -> Item:
    sentences = example.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(one, dict) for one in sentences):
        raise DataError(f"{where} has no list 'sentences'")
    by_role = {}
    for sentence in sentences:
        role = str(sentence.get("gold_label"))
        if role not in ROLES:
            raise DataError(f"{where}: gold_label {role!r}; expected one of {', '.join(ROLES)}")
        if role in by_role:
            raise DataError(f"{where} has two sentences labelled {role!r}")
        by_role[role] = Option(id=_word(sentence, "id", where), text=_word(sentence, "sentence", where), role=role)
    missing = [role for role in ROLES if role not in by_role]
    if missing:
        raise DataError(f"{where} has no sentence labelled {missing[0]!r}")
    fields = {
        "layout": "stereoset", "split": split, "category": _word(example, "bias_type", where),
        "target": _word(example, "target", where), "country": said(example, "country"),
    }  # fmt: skip
    return Item(
        id=_word(example, "id", where),
        text=_word(example, "context", where),
        options=tuple(by_role[role] for role in ROLES),
        language=said(example, "language") or settings.language,
        fields=fields,
    )


def _crows_pairs(rows: Rows, settings: StereotypeSettings) -> tuple[list[Item], list[str]]:
    items = []
    ids = Ids()
    for number, (where, row) in enumerate(rows):
        id = str(row.get("id") or row.get("") or number)
        ids.take(id, where)
        direction = _word(row, "stereo_antistereo", where)
        if direction not in ("stereo", "antistereo"):
            raise DataError(f"{where}: column 'stereo_antistereo' is {direction!r}; expected stereo or antistereo")
        options = (
            Option(id=f"{id}.more", text=_word(row, "sent_more", where), role=STEREOTYPE),
            Option(id=f"{id}.less", text=_word(row, "sent_less", where), role=ANTI),
        )
        fields = {
            "layout": "crows_pairs", "split": direction, "category": _word(row, "bias_type", where), "target": id,
            "country": "",
        }  # fmt: skip
        items.append(Item(id=id, text="", options=options, language=settings.language, fields=fields))
    return items, []


def context_names_group(item: Item) -> bool:
    """Whether the context of an item names its group, in any inflected form."""
    return names_group(item.text, item.fields["target"], item.language or "")


def _own(rows: Rows, name: str) -> tuple[list[Item], list[str]]:
    items = []
    ids = Ids()
    n_lacking = 0
    for number, (where, row) in enumerate(rows, start=1):
        if number == 1:
            _check_columns(row, name)
        item = _own_item(row, where)
        ids.take(item.id, where)
        n_lacking += not context_names_group(item)
        items.append(item)
    notes = [f"contexts that don't name their group: {n_lacking:,}; 'isogloss check' lists them"] if n_lacking else []
    return items, notes


def _check_columns(row: Row, name: str) -> None:
    for column in OWN_COLUMNS:
        if column not in row:
            raise DataError(f"{name} has no column {column!r}; {EXPECTED}")


def _own_item(row: Row, where: str) -> Item:
    id = _word(row, "id", where)
    columns = ("stereotype", "anti_stereotype", "unrelated")
    given = [
        (role, column)
        for role, column in zip(ROLES, columns, strict=True)
        if column != "unrelated" or said(row, column)
    ]
    options = tuple(Option(id=f"{id}.{role}", text=_word(row, column, where), role=role) for role, column in given)
    texts = [option.text for option in options]
    if first_repeated(texts) is not None:
        raise DataError(f"{where}: two of its sentences are the same, {first_repeated(texts)!r}")
    fields = {
        "layout": "own", "split": said(row, "split") or "intersentence", "category": _word(row, "category", where),
        "target": _word(row, "target", where), "country": said(row, "country"),
    }  # fmt: skip
    return Item(
        id=id, text=_word(row, "context", where), options=options, language=_word(row, "language", where), fields=fields
    )


# --- files ------------------------------------------------------------------------------------------------------------


def read_text(path: Path) -> str:
    """A file as text. Raises DataError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}; {EXPECTED}") from error


def whole_json(text: str) -> object:
    """A file that is one JSON value; None where it isn't."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def json_rows(path: Path, text: str) -> Rows:
    """Objects of JSON lines, with file and line. Raises DataError."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path} line {number} is not JSON: {error}; {EXPECTED}") from error
        if not isinstance(row, dict):
            raise DataError(f"{path} line {number} is no JSON object; {EXPECTED}")
        yield f"{path} line {number}", row


def csv_rows(path: Path, text: str) -> Rows:
    """Rows of CSV by column name, with file and line; commas, semicolons or tabs, told from the header.

    Spaces round a name, and after a separator, don't count. Raises DataError.
    """
    delimiter = separator_of(text)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        twice = first_repeated([name for name in names if name])
        if twice is not None:
            raise DataError(f"{path} has two columns {twice!r}")
        for cells in reader:
            where = f"{path} row {reader.line_num}"
            if cells and len(cells) != len(names):
                raise DataError(
                    f"{where} has {len(cells)} cells, the header {len(names)}; put text with {_SIGNS[delimiter]} in it "
                    "into quotation marks, and leave no cell out"
                )
            if cells:
                yield where, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path} row {reader.line_num}: {error}; is a quotation mark not closed?") from error


_SIGNS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}


def _table_rows(table: pd.DataFrame) -> Rows:
    """Rows of a data frame; a cell without a value (NaN, NA, NaT) is None."""
    plain = table.astype(object).where(table.notna(), None)
    for number, row in enumerate(plain.to_dict(orient="records"), start=1):
        yield f"row {number}", {str(name): cell for name, cell in row.items()}


def _parquet_rows(path: Path) -> Rows:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}") from error
    except ArrowException as error:
        raise DataError(f"{path} is no Parquet file: {error}") from error
    for number, row in enumerate(table.to_pylist(), start=1):
        yield f"{path} row {number}", row


def _folder_rows(path: Path) -> Rows:
    """All Parquet files of a folder, its JSON lines where it has none; raters' own rows are kept out."""
    for suffix, read in ((".parquet", _parquet_rows), (".jsonl", lambda file: json_rows(file, read_text(file)))):
        files = [file for file in sorted(path.rglob(f"*{suffix}")) if "ratings" not in file.relative_to(path).parts]
        for file in files:
            yield from read(file)
        if files:
            return
    raise DataError(f"{path} holds neither Parquet nor JSON lines; {EXPECTED}")


class Ids:
    """Ids of a file, each with the place where it stands."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def take(self, id: str, where: str) -> None:
        """Remember one. Raises DataError naming both places where it is there already."""
        first = self._places.setdefault(id, where)
        if first is not where:
            raise DataError(f"{where} has the id {id!r}, which stands at {first}, too; ids must differ")


def said(row: Row, column: str) -> str:
    """A cell as text without spaces round it; empty for one that is missing or has no value."""
    value = row.get(column)
    return "" if value is None or value != value else str(value).strip()


def _word(row: Row, column: str, where: str) -> str:
    text = said(row, column)
    if not text:
        raise DataError(f"{where}: column {column!r} is empty")
    return text


def first_repeated(values: Sequence[str]) -> str | None:
    """The first value that comes a second time; None where all differ."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
