"""Any table (text, Excel, Parquet, data frame) as rows of text. `NA`, `no` and `None` stay words."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from isogloss.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.study import Source

Recognise: TypeAlias = Callable[[Sequence[str]], bool]
"""Whether a row is the header that is looked for."""

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
PARQUET_SUFFIXES = (".parquet", ".pq")
DELIMITERS = (";", "\t", ",", "|")
NAMES = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "pipes"}

_MISREAD_UTF8 = re.compile("[ÂÃ][\u0080-\u00bf\u0152-\u2122]")
"""What UTF-8 looks like when it is read as Windows-1252."""


class Sheet(NamedTuple):
    """A table as read: its header, and each further row with its number."""

    name: str
    """How messages call it: the file's name, and the worksheet where there are several."""
    header: list[str]
    rows: list[tuple[int, list[str]]]
    """(number, cells); numbered as a spreadsheet does, from 1 with the header, or from 1 without one (data frames,
    Parquet). Rows may be wider than the header."""
    notes: list[str]


def read_sheet(source: Source, *, recognise: Recognise, delimiter: str | None = None) -> Sheet:
    """Read a table as text.

    Parameters
    ----------
    source : path or data frame
    recognise : callable
        Tells the header that is looked for; by it the delimiter and the worksheet are found.
    delimiter : str, optional
        Of a text file; found by the header where it isn't given.

    Raises
    ------
    DataError
        If the file is missing, empty, damaged, of another kind, or in an encoding that can't be told.
    """
    if not isinstance(source, str | Path):
        return _of_frame(source)
    path = Path(source)
    suffix = path.suffix.lower()
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a file")
    if suffix not in TEXT_SUFFIXES + EXCEL_SUFFIXES + PARQUET_SUFFIXES:
        kinds = ", ".join(TEXT_SUFFIXES + EXCEL_SUFFIXES + PARQUET_SUFFIXES)
        more = "; save it as .xlsx or .csv" if suffix in (".xls", ".ods", ".numbers") else ""
        raise DataError(f"{path}: can't read {suffix or 'a file without ending'!r}; expected one of {kinds}{more}")
    content = _content(path)
    if suffix in EXCEL_SUFFIXES:
        return _of_excel(path, content, recognise)
    if suffix in PARQUET_SUFFIXES:
        return _of_parquet(path, content)
    return _of_text(path, content, recognise, delimiter)


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"no file {path}") from error
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror or error}") from error
    if not content.strip():
        raise DataError(f"{path} is empty; expected a table with a header")
    return content


def _of_text(path: Path, content: bytes, recognise: Recognise, delimiter: str | None) -> Sheet:
    notes: list[str] = []
    text = _decoded(path, content, notes)
    chosen = delimiter or _delimiter(path, text, recognise)
    rows = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=chosen)
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cells):
                rows.append((number, cells))
    except csv.Error as error:
        raise DataError(f"{path.name} row {number + 1}: {error}; is a quotation mark not closed?") from error
    return Sheet(path.name, [cell.strip() for cell in rows[0][1]], rows[1:], notes)


def _decoded(path: Path, content: bytes, notes: list[str]) -> str:
    """UTF-8 (with or without mark) or UTF-16 with its mark; Windows-1252 as a last resort, with a note."""
    if content.startswith((b"PK\x03\x04", b"PAR1")):
        kind = "an Excel or other zipped" if content.startswith(b"PK") else "a Parquet"
        raise DataError(f"{path} is {kind} file by its content; rename it after its kind")
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return content.decode("utf-16")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            raise DataError(f"{path} is damaged: it begins as UTF-16 and doesn't go on so") from error
        row = content.count(b"\n", 0, error.start) + 1
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            text = ""
        if not text or _MISREAD_UTF8.search(text):
            raise DataError(
                f"{path.name} row {row}: byte {content[error.start]:#04x} isn't UTF-8; save the file as UTF-8"
            ) from error
        notes.append(
            f"not UTF-8 (row {row}), so read as Windows-1252 (Latin-1): look at the accents, or save the file as UTF-8"
        )
    if "\0" in text:
        raise DataError(f"{path} isn't a text file, or is UTF-16 without its mark; save it as UTF-8")
    return text


def _delimiter(path: Path, text: str, recognise: Recognise) -> str:
    headers = {mark: _first_row(text, mark) for mark in DELIMITERS}
    found = [mark for mark, header in headers.items() if recognise(header)]
    if len(found) == 1:
        return found[0]
    widest = max(DELIMITERS, key=lambda mark: len(headers[mark]))
    if found or len(headers[widest]) == 1:
        raise DataError(
            f"{path.name} row 1: can't tell what separates the columns; expected {', '.join(NAMES.values())}, "
            f"got {headers[widest][0][:60]!r}; set delimiter, e.g. delimiter=semicolon"
        )
    return widest


def _first_row(text: str, delimiter: str) -> list[str]:
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(cells):
                return [cell.strip() for cell in cells]
    except csv.Error:
        pass
    return [text[:60]]


def _of_excel(path: Path, content: bytes, recognise: Recognise) -> Sheet:
    import zipfile
    from xml.etree.ElementTree import ParseError

    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl tells of styles and validations that it leaves out
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            sheets = [
                (sheet.title, [[_text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)])
                for sheet in book.worksheets
            ]
            book.close()
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, EOFError, ParseError, OSError) as error:
        raise DataError(f"{path} isn't an Excel file that can be read, or is damaged: {error}") from error
    filled = [
        (title, [(number, cells) for number, cells in enumerate(rows, start=1) if any(cells)]) for title, rows in sheets
    ]
    filled = [(title, rows) for title, rows in filled if rows]
    if not filled:
        raise DataError(f"{path} is empty; expected a table with a header")
    fitting = [(title, rows) for title, rows in filled if recognise([cell.strip() for cell in rows[0][1]])]
    if len(fitting) > 1:
        names = ", ".join(repr(title) for title, _ in fitting)
        raise DataError(f"{path} has more than one such table: worksheets {names}; keep one")
    title, rows = (fitting or filled)[0]
    name = path.name if len(filled) == 1 else f"{path.name} worksheet {title!r}"
    return Sheet(name, [cell.strip() for cell in rows[0][1]], _padded(rows[1:], len(rows[0][1])), [])


def _padded(rows: list[tuple[int, list[str]]], width: int) -> list[tuple[int, list[str]]]:
    """Excel leaves out empty cells at the end of a row."""
    return [(number, cells + [""] * (width - len(cells))) for number, cells in rows]


def _of_parquet(path: Path, content: bytes) -> Sheet:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        message = str(error).splitlines()[0]
        raise DataError(f"{path} isn't a Parquet file that can be read, or is damaged: {message}") from error
    columns = [[_text(cell) for cell in column.to_pylist()] for column in table.columns]
    return _of_columns(path.name, [str(name) for name in table.column_names], columns)


def _of_frame(frame: pd.DataFrame) -> Sheet:
    if not hasattr(frame, "isna") or not hasattr(frame, "columns"):
        raise DataError(f"expected a path or a data frame, got {type(frame).__name__}")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    columns = []
    for position in range(len(names)):
        column = frame.iloc[:, position]
        cells = zip(column.tolist(), column.isna().tolist(), strict=True)
        columns.append(["" if missing else _text(cell) for cell, missing in cells])
    return _of_columns("data frame", names, columns)


def _of_columns(name: str, header: list[str], columns: Iterable[list[str]]) -> Sheet:
    rows = [(number, list(cells)) for number, cells in enumerate(zip(*columns, strict=True), start=1)]
    if not rows:
        raise DataError(f"{name} is empty; expected rows")
    return Sheet(name, [cell.strip() for cell in header], rows, [])


def _text(cell: object) -> str:
    """A typed cell as one would have written it: 1.0 → "1", True → "true", nothing → ""."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
