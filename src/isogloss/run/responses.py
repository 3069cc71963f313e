"""Replies made elsewhere: read from a file and laid into the ledger as if asked here."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isogloss.errors import DataError
from isogloss.records import Response, Sampling, Status
from isogloss.store import Ledger, Plan, Row

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("prompt_id", "response")


class Given(NamedTuple):
    """One reply of such a file."""

    where: str
    prompt_id: str
    model: str
    repeat: int
    reply: str


def read_responses(source: str | Path | pd.DataFrame) -> list[Given]:
    """Read `prompt_id, model, repeat, response` from JSONL, CSV or a table; model and repeat may be left out.

    Raises
    ------
    DataError
        Naming file, row and column.
    """
    if not isinstance(source, str | Path):
        records = source.to_dict(orient="records")
        return [_given(f"row {k}", {str(n): v for n, v in row.items()}) for k, row in enumerate(records, start=1)]
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}; save it as UTF-8") from error
    lines = _json_lines(path, text) if text.lstrip().startswith("{") else _csv_rows(path, text)
    return [_given(where, row) for where, row in lines]


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path} line {number} is not JSON: {error.msg}") from error
        if not isinstance(row, dict):
            raise DataError(f"{path} line {number} is not a JSON object; expected prompt_id, model, repeat, response")
        yield f"{path} line {number}", row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    reader = csv.DictReader(text.splitlines(keepends=True))
    for number, row in enumerate(reader, start=2):
        if None in row:
            raise DataError(f"{path} row {number} has more cells than the header")
        yield f"{path} row {number}", row


def _given(where: str, row: Mapping[str, object]) -> Given:
    for name in REQUIRED:
        if name not in row:
            raise DataError(f"{where} has no {name!r}; expected columns prompt_id, model, repeat, response")
    try:
        repeat = int(str(row.get("repeat") or 1))
    except ValueError:
        repeat = 0
    if repeat < 1:
        raise DataError(f"{where}: column 'repeat' is {row['repeat']!r}; expected a whole number from 1")
    reply = row["response"]
    return Given(
        where,
        str(row["prompt_id"]),
        str(row.get("model") or "elsewhere"),
        repeat,
        reply if isinstance(reply, str) else "" if reply is None or reply != reply else str(reply),
    )


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
    for where, prompt_id, model, repeat, reply in given:
        if prompt_id not in seqs:
            raise DataError(
                f"{where}: no prompt {prompt_id!r} in this data set, settings and seed; "
                "write the prompts with 'isogloss run … --dry-run --prompts-out FILE' and the same settings"
            )
        if (model, repeat, prompt_id) in seen:
            raise DataError(f"{where}: a second response of {model!r} to prompt {prompt_id!r} in repeat {repeat}")
        seen.add((model, repeat, prompt_id))
        if model not in arms:
            arms[model] = ledger.arm(model, None, sampling, {"chat": True, "logprobs": False})
        response = Response(prompt_id=prompt_id, model=model, repeat=repeat, status=Status.OK, text=reply)
        rows.append(Row(arms[model].id, seqs[prompt_id], 1, response))
    held = {
        (due.seq, arm.id, repeat)
        for arm in arms.values()
        for repeat in {row.response.repeat for row in rows}
        for due in ledger.due(plan, arm, repeat)
    }
    fresh = [row for row in rows if (row.seq, row.arm, row.response.repeat) in held]
    if fresh:
        ledger.append(fresh)
