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

from isogloss.errors import DataError
from isogloss.prompts import seeded_positions
from isogloss.records import Dataset, Item, Option
from isogloss.registry import unknown_name
from isogloss.studies.stereotypes.settings import StereotypeSettings

if TYPE_CHECKING:
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
    twice = first_repeated([item.id for item in items])
    if twice is not None:
        raise DataError(f"{name}: two rows have the id {twice!r}; ids must differ")
    return Dataset(name=name, items=tuple(items), notes=tuple(notes))


def _read(source: Source, settings: StereotypeSettings) -> tuple[str, list[Item], list[str]]:
    from isogloss.studies.stereotypes import bbq_items

    if not isinstance(source, str | Path):
        rows: list[tuple[str, Row]] = [
            (f"row {k}", {str(name): cell for name, cell in row.items()})
            for k, row in enumerate(source.to_dict(orient="records"), start=1)
        ]
        return "table", *_own(iter(rows), "table")
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
    rows_of = list(_csv_rows(path, text))
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
    for split, examples in splits.items():
        if not isinstance(examples, list):
            raise DataError(f"{path}: data.{split} is no list of examples; {EXPECTED}")
        for number, example in enumerate(examples, start=1):
            where = f"{path}: data.{split} example {number}"
            if not isinstance(example, dict):
                raise DataError(f"{where} is no JSON object")
            items.append(_stereoset_item(example, where, str(split), settings))
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
        "target": _word(example, "target", where), "country": str(example.get("country") or ""),
    }  # fmt: skip
    return Item(
        id=_word(example, "id", where),
        text=_word(example, "context", where),
        options=tuple(by_role[role] for role in ROLES),
        language=str(example.get("language") or settings.language),
        fields=fields,
    )


def _crows_pairs(rows: Rows, settings: StereotypeSettings) -> tuple[list[Item], list[str]]:
    items = []
    for number, (where, row) in enumerate(rows):
        id = str(row.get("id") or row.get("") or number)
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


def _own(rows: Rows, name: str) -> tuple[list[Item], list[str]]:
    items = []
    n_lacking = 0
    for number, (where, row) in enumerate(rows, start=1):
        if number == 1:
            _check_columns(row, name)
        item = _own_item(row, where)
        n_lacking += not names_group(item.text, item.fields["target"])
        items.append(item)
    notes = [f"{n_lacking} contexts don't name their group"] if n_lacking else []
    return items, notes


def _check_columns(row: Row, name: str) -> None:
    for column in OWN_COLUMNS:
        if column not in row:
            raise DataError(f"{name} has no column {column!r}; {EXPECTED}")


def _own_item(row: Row, where: str) -> Item:
    id = _word(row, "id", where)
    columns = ("stereotype", "anti_stereotype", "unrelated")
    given = [
        (role, column) for role, column in zip(ROLES, columns, strict=True) if column != "unrelated" or row.get(column)
    ]
    options = tuple(Option(id=f"{id}.{role}", text=_word(row, column, where), role=role) for role, column in given)
    texts = [option.text for option in options]
    if first_repeated(texts) is not None:
        raise DataError(f"{where}: two of its sentences are the same, {first_repeated(texts)!r}")
    fields = {
        "layout": "own", "split": str(row.get("split") or "intersentence"), "category": _word(row, "category", where),
        "target": _word(row, "target", where), "country": str(row.get("country") or ""),
    }  # fmt: skip
    return Item(
        id=id, text=_word(row, "context", where), options=options, language=_word(row, "language", where), fields=fields
    )


def names_group(context: str, group: str) -> bool:
    """Whether a context names its group: some word of it, from its fourth letter on as free as inflection is."""
    words = [word for word in _fold(context).split() if word]
    stems = [word[: max(3, len(word) - 2)] for word in _fold(group).split() if len(word) > 2] or _fold(group).split()
    return not stems or any(word.startswith(stem) for word in words for stem in stems) or _fold(group) in _fold(context)


def _fold(text: str) -> str:
    import unicodedata

    plain = "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))
    return "".join(c if c.isalnum() else " " for c in plain)


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


def _csv_rows(path: Path, text: str) -> Rows:
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            where = f"{path} row {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{where} hasn't as many cells as the header")
            yield where, dict(row)
    except csv.Error as error:
        raise DataError(f"{path} row {reader.line_num}: {error}; is a quotation mark not closed?") from error


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


def _word(row: Row, column: str, where: str) -> str:
    value = row.get(column)
    if value is None or value != value or not str(value).strip():
        raise DataError(f"{where}: column {column!r} is empty")
    return str(value).strip()


def first_repeated(values: Sequence[str]) -> str | None:
    """The first value that comes a second time; None where all differ."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
