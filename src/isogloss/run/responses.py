"""Replies made elsewhere: read from a file and laid into the ledger as if asked here."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.errors import DataError
from isogloss.files import separator_of
from isogloss.records import Response, Sampling, Status
from isogloss.store import Ledger, Plan, Row
from isogloss.study import Given

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("prompt_id", "model", "repeat", "response")
REQUIRED = ("prompt_id", "response")
EXPECTED = "expected columns prompt_id, model, repeat, response"

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def read_responses(source: str | Path | pd.DataFrame) -> list[Given]:
    """Read `prompt_id, model, repeat, response` from JSON lines, CSV or a table; model and repeat may be left out.

    A row whose response is null (JSON) or no value (a table) is left out: its prompt counts as `missing`. An empty
    text is a reply.

    Raises
    ------
    DataError
        Naming file, row and column.
    """
    rows: list[tuple[str, Mapping[str, object]]]
    if not isinstance(source, str | Path):
        records = source.astype(object).where(source.notna(), None).to_dict(orient="records")
        rows = [(f"row {k}", {str(n): v for n, v in row.items()}) for k, row in enumerate(records, start=1)]
    else:
        path = Path(source)
        text = _text(path)
        rows = list(_json_lines(path, text) if text.lstrip()[:1] in "{[" else _csv_rows(path, text))
    given = [_given(where, row) for where, row in rows if not _is_null(row.get("response", ""))]
    most = max((one.repeat for one in given), default=0)
    if most > len(given):
        [first, *_] = [one for one in given if one.repeat == most]
        raise DataError(f"{first.where}: column 'repeat' is {most}, but there are only {len(given)} responses")
    return given


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}; give JSON lines or CSV in UTF-8") from error


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    if text.lstrip().startswith("["):
        raise DataError(f"{path} is a JSON list; expected one JSON object a line, with {', '.join(COLUMNS)}")
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            row = json.loads(line, object_pairs_hook=partial(_once, where))
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{where} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise DataError(f"{where} is not a JSON object; expected {', '.join(COLUMNS)}")
        yield where, row


def _once(where: str, pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise DataError(f"{where} names one of its fields twice")
    return row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator_of(text), strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        for name in REQUIRED:
            if names.count(name) != 1:
                many = "more than one" if name in names else "no"
                raise DataError(f"{path} has {many} column {name!r}; {EXPECTED}")
        for cells in reader:
            if len(cells) != len(names) and cells:
                number = reader.line_num
                raise DataError(f"{path} row {number} has {len(cells)} cells, the header {len(names)}")
            if cells:
                yield f"{path} row {reader.line_num}", dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path} row {reader.line_num}: {error}; is a quotation mark not closed?") from error


def _is_null(reply: object) -> bool:
    return reply is None or reply != reply


def _given(where: str, row: Mapping[str, object]) -> Given:
    for name in REQUIRED:
        if name not in row:
            raise DataError(f"{where} has no {name!r}; {EXPECTED}")
    repeat = row.get("repeat")
    if repeat is None or repeat == "" or repeat != repeat:
        repeat = 1
    try:
        number = int(str(repeat).removesuffix(".0"))
    except ValueError:
        number = 0
    if number < 1:
        raise DataError(f"{where}: column 'repeat' is {repeat!r}; expected a whole number from 1")
    reply = _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", str(row["response"]))
    return Given(where, str(row["prompt_id"]).strip(), str(row.get("model") or "elsewhere"), number, reply)


def store_responses(given: Iterable[Given], ledger: Ledger, plan: Plan, sampling: Sampling) -> None:
    """Lay replies into the ledger; those already there are left as they are.

    Raises
    ------
    DataError
        For a prompt id that the plan doesn't have, or one given twice for the same model and repeat.
    """
    seqs = ledger.prompt_seqs(plan)
    arms = {}
    seen: set[tuple[str, int, str]] = set()
    rows = []
    for where, prompt_id, model, repeat, reply, logprobs in given:
        if prompt_id not in seqs:
            raise DataError(
                f"{where}: no prompt {prompt_id!r} in this data set, settings and seed; "
                "write the prompts with 'isogloss run … --dry-run --prompts-out FILE' and the same settings"
            )
        if (model, repeat, prompt_id) in seen:
            raise DataError(f"{where}: a second response of {model!r} to prompt {prompt_id!r} in repeat {repeat}")
        seen.add((model, repeat, prompt_id))
        if model not in arms:
            arms[model] = ledger.arm(model, None, sampling, {"chat": True, "logprobs": logprobs is not None})
        response = Response(
            prompt_id=prompt_id, model=model, repeat=repeat, status=Status.OK, text=reply, candidate_logprobs=logprobs
        )
        rows.append(Row(arms[model].id, seqs[prompt_id], 1, response))
    held = {
        (due.seq, arm.id, repeat)
        for arm in arms.values()
        for repeat in {row.response.repeat for row in rows}
        for due in ledger.due(plan, arm, repeat)
    }
    fresh = [row for row in rows if (row.seq, row.arm, row.response.repeat) in held]
    if fresh:
        ledger.append(fresh, is_asked=False)
