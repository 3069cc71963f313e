"""Writing a plan: its questions, and each prompt once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from isogloss.records import Condition, Prompt

Planned: TypeAlias = tuple[str, Condition, Prompt]
"""A question as the ledger keeps it: item id, condition, prompt."""


def chunks(questions: Iterable[Planned], size: int) -> Iterator[list[Planned]]:
    """Questions in lists of at most `size`."""
    rest = iter(questions)
    while chunk := list(islice(rest, size)):
        yield chunk


def add_questions(connection: sqlite3.Connection, plan_id: int, first: int, chunk: Sequence[Planned]) -> None:
    """Write questions and a prompt for each, numbered from `first`."""
    connection.executemany(
        "INSERT INTO prompts VALUES (?, ?, ?, ?)",
        [
            (seq, prompt.id, bool(prompt.candidates), prompt.model_dump_json(exclude_defaults=True))
            for seq, (_, _, prompt) in enumerate(chunk, start=first)
        ],
    )
    connection.executemany(
        "INSERT INTO questions (plan, item_id, condition, prompt) VALUES (?, ?, ?, ?)",
        [
            (plan_id, item_id, condition.model_dump_json(exclude_defaults=True), seq)
            for seq, (item_id, condition, _) in enumerate(chunk, start=first)
        ],
    )


def merge_twins(connection: sqlite3.Connection, plan_id: int, first: int) -> None:
    """Let questions of a new plan point to the first prompt with their words, and drop the later ones."""
    connection.execute(
        "CREATE TEMP TABLE twins AS SELECT p.seq, t.kept FROM prompts AS p JOIN "
        "(SELECT id, MIN(seq) AS kept FROM prompts GROUP BY id HAVING COUNT(*) > 1) AS t ON t.id = p.id "
        "WHERE p.seq > t.kept AND p.seq >= ?",
        (first,),
    )
    connection.execute("CREATE INDEX temp.twins_by_seq ON twins (seq)")
    connection.execute(
        "UPDATE questions SET prompt = (SELECT kept FROM twins WHERE twins.seq = questions.prompt) "
        "WHERE plan = ? AND prompt IN (SELECT seq FROM twins)",
        (plan_id,),
    )
    connection.execute("DELETE FROM prompts WHERE seq IN (SELECT seq FROM twins)")
    connection.execute("DROP TABLE twins")
