"""The ledger: what was asked and answered, kept for ever, in one SQLite file.

Write-ahead logging lets others read while a run writes. Only this package opens the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from isogloss.errors import StoreError
from isogloss.models.model import Abilities
from isogloss.records import Condition, Dataset, Price, Prompt, Response, Sampling, Status, content_id
from isogloss.store.planning import add_questions, chunks, merge_twins
from isogloss.store.rows import OPEN_BATCH, RESPONSE_COLUMNS, Arm, Asked, Due, Plan, Row, Spending, Tally, response_of
from isogloss.store.schema import migrate

CHUNK = 1000


@contextmanager
def _plain_errors(where: str) -> Iterator[None]:
    """Turn SQLite's faults into one clear line."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "disk is full" in message or "disk I/O" in message:
            advice = (
                "the disk is full or failing; make room and run the same command again, all committed replies are kept"
            )
        elif "locked" in message:
            advice = "another process is writing to it; wait for it or stop it"
        elif "not a database" in message or "malformed" in message:
            advice = "it is damaged or no ledger"
        elif "readonly" in message or "unable to open" in message:
            advice = "it can't be opened for writing; check the folder and its rights"
        else:
            advice = "see the message"
        raise StoreError(f"{where}: {message}; {advice}") from error


class Ledger:
    """One ledger file. Use as a context manager, from one thread at a time."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a ledger, or make it with `create`.

        Raises
        ------
        StoreError
            If there is none (without `create`), or it can't be read.
        """
        self.path = path
        if not create and not path.exists():
            raise StoreError(f"no ledger at {path}; is that a run folder?")
        with _plain_errors(str(path)):
            read_only = not create and not os.access(path.parent, os.W_OK)
            address = f"{path.absolute().as_uri()}{'?immutable=1' if read_only else ''}"
            self._connection = sqlite3.connect(
                address, uri=True, timeout=10, isolation_level=None, check_same_thread=False
            )
            try:
                if not read_only:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA wal_autocheckpoint = 8000")
                self._connection.execute("PRAGMA cache_size = -4000")
                migrate(self._connection, where=str(path), create=create)
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _plain_errors(str(self.path)):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # What is to be asked

    def add_dataset(self, dataset: Dataset, digest: str) -> None:
        """Keep a data set whole; a second time is no fault."""
        content = zlib.compress(dataset.model_dump_json(exclude_defaults=True).encode())
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO datasets VALUES (?, ?, ?)", (digest, dataset.name, content))

    def dataset(self, digest: str) -> Dataset:
        row = self._connection.execute("SELECT content FROM datasets WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            raise StoreError(f"{self.path} doesn't hold the data set {digest}; was the run stopped before it began?")
        return Dataset.model_validate_json(zlib.decompress(row[0]))

    def plan(self, digest: str) -> Plan | None:
        """The plan with this digest, once all of its questions are in."""
        row = self._connection.execute(
            "SELECT id, n_questions, n_chat, n_scored FROM plans WHERE digest = ?", (digest,)
        ).fetchone()
        return None if row is None else Plan(*row)

    def add_plan(self, digest: str, questions: Iterable[tuple[str, Condition, Prompt]]) -> Plan:
        """Write a plan's questions and their prompts: all of them or none. Prompts with the same id become one."""
        with self._transaction() as connection:
            (plan_id,) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM plans").fetchone()
            (first,) = connection.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM prompts").fetchone()
            # Ids are random, so keeping their index while writing would cost more than all the rest.
            connection.execute("DROP INDEX IF EXISTS prompts_by_id")
            seq = first
            for chunk in chunks(questions, CHUNK):
                add_questions(connection, plan_id, seq, chunk)
                seq += len(chunk)
            connection.execute("CREATE INDEX prompts_by_id ON prompts (id)")
            merge_twins(connection, plan_id, first)
            n_by_kind = dict(
                connection.execute(
                    "SELECT scored, COUNT(*) FROM prompts WHERE seq IN (SELECT prompt FROM questions WHERE plan = ?) "
                    "GROUP BY scored",
                    (plan_id,),
                )
            )
            plan = Plan(plan_id, seq - first, n_by_kind.get(0, 0), n_by_kind.get(1, 0))
            connection.execute("INSERT INTO plans VALUES (?, ?, ?, ?, ?)", (plan_id, digest, *plan[1:]))
        return plan

    def arm(self, model: str, revision: str | None, sampling: Sampling, abilities: Mapping[str, bool]) -> Arm:
        """The arm of a model under a sampling; made on first use."""
        key = (model, revision or "", sampling.model_dump_json())
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO arms (model, revision, sampling, abilities) VALUES (?, ?, ?, ?)",
                (*key, json.dumps(dict(abilities))),
            )
        return next(arm for arm in self.arms() if (arm.model, arm.revision or "", arm.sampling) == (*key[:2], sampling))

    def arms(self) -> list[Arm]:
        """All arms, in the order they first appeared."""
        arms = []
        for id_, model, revision, sampling, abilities in self._connection.execute("SELECT * FROM arms ORDER BY id"):
            can = Abilities.model_validate_json(abilities)
            held = Sampling.model_validate_json(sampling)
            arms.append(Arm(id_, model, revision or None, held, can.chat, can.scores))
        return arms

    def due(self, plan: Plan, arm: Arm, repeat: int) -> Generator[Due, None, None]:
        """The prompts of a plan that still want a response from an arm, in the order of the plan.

        One that a provider works on in a batch isn't among them.
        Read in short steps, so that it may be consumed slowly while others write.
        """
        kinds = [int(scored) for scored, able in ((False, arm.chats), (True, arm.scores)) if able]
        last = 0
        while True:
            with _plain_errors(str(self.path)):
                rows = self._connection.execute(
                    f"""
                    SELECT p.seq, p.content, p.scored,
                           (SELECT MAX(attempt) FROM responses AS r
                            WHERE r.arm = :arm AND r.repeat = :repeat AND r.prompt = p.seq) AS attempt,
                           EXISTS (SELECT 1 FROM responses AS r
                            WHERE r.arm = :arm AND r.repeat = :repeat AND r.prompt = p.seq
                              AND (r.status <> '{Status.FAILED}' OR r.final))
                           OR EXISTS (SELECT 1 FROM batch_items AS i JOIN batches AS b ON b.id = i.batch
                            WHERE i.prompt = p.seq AND i.repeat = :repeat AND b.arm = :arm
                              AND b.state IN {OPEN_BATCH}) AS settled
                    FROM (SELECT DISTINCT prompt FROM questions
                          WHERE plan = :plan AND prompt > :last ORDER BY prompt LIMIT {CHUNK // 2}) AS q
                    JOIN prompts AS p ON p.seq = q.prompt ORDER BY p.seq
                    """,
                    {"arm": arm.id, "repeat": repeat, "plan": plan.id, "last": last},
                ).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            for seq, content, scored, attempt, settled in rows:
                if not settled and scored in kinds:
                    yield Due(seq, (attempt or 0) + 1, Prompt.model_validate_json(content))

    def prompts(self, plan: Plan) -> Iterator[tuple[str, Condition, Prompt]]:
        """Every question of a plan with its prompt."""
        rows = self._connection.execute(
            "SELECT q.item_id, q.condition, p.content FROM questions AS q JOIN prompts AS p ON p.seq = q.prompt "
            "WHERE q.plan = ? ORDER BY q.seq",
            (plan.id,),
        )
        for item_id, condition, content in rows:
            yield item_id, Condition.model_validate_json(condition), Prompt.model_validate_json(content)

    def questions_of(self, plan: Plan, prompt_ids: Iterable[str]) -> dict[str, tuple[str, Condition]]:
        """Prompt id → item id and condition of the first question of a plan that it puts."""
        found = {}
        for prompt_id in prompt_ids:
            row = self._connection.execute(
                "SELECT item_id, condition FROM questions WHERE plan = ? AND prompt = "
                "(SELECT seq FROM prompts WHERE id = ?) ORDER BY seq LIMIT 1",
                (plan.id, prompt_id),
            ).fetchone()
            if row is not None:
                found[prompt_id] = (row[0], Condition.model_validate_json(row[1]))
        return found

    def prompt_seqs(self, plan: Plan) -> dict[str, int]:
        """Prompt id → row number, for the prompts of a plan."""
        return dict(
            self._connection.execute(
                "SELECT id, seq FROM prompts WHERE seq IN (SELECT prompt FROM questions WHERE plan = ?)", (plan.id,)
            )
        )

    # What came back

    def append(self, rows: Sequence[Row], *, is_asked: bool = True) -> None:
        """Commit responses: when this returns they outlive a crash of process or machine.

        Those that nobody was asked for here (`is_asked=False`) are no calls that took anything.
        """
        tallies: Counter[tuple[int, int, str]] = Counter()
        tokens: Counter[tuple[int, int, str, int]] = Counter()
        values = []
        spending: dict[tuple[int, str], list[int]] = {}
        for arm, seq, attempt, r, price in rows:
            values.append((
                arm, r.repeat, seq, attempt, r.status.value, r.text, r.reasoning, _json(r.candidate_logprobs),
                r.finish_reason, r.error, r.input_tokens, r.output_tokens, r.n_tries, r.seconds, r.received_at,
                r.cached_tokens, _json(r.candidate_tokens), r.rendered, r.final or None,
            ))  # fmt: skip
            if is_asked:
                spent = spending.get((arm, price))
                if spent is None:
                    spent = spending[arm, price] = [0, 0, 0, 0, 0]
                spent[0] += 1
                spent[1] += r.is_unmetered
                spent[2] += r.input_tokens or 0
                spent[3] += r.cached_tokens or 0
                spent[4] += r.output_tokens or 0
            key = (arm, r.repeat, r.status.value)
            tallies[key] += 1
            if attempt > 1:
                tallies[arm, r.repeat, Status.FAILED.value] -= 1
            tokens[*key, 0] += r.input_tokens or 0
            tokens[*key, 1] += r.output_tokens or 0
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values
            )
            connection.executemany(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (arm, repeat, status) DO UPDATE SET "
                "n = n + excluded.n, input_tokens = input_tokens + excluded.input_tokens, "
                "output_tokens = output_tokens + excluded.output_tokens",
                [(*key, n, tokens[*key, 0], tokens[*key, 1]) for key, n in tallies.items()],
            )
            connection.executemany(
                "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (arm, price) DO UPDATE SET "
                "n_calls = n_calls + excluded.n_calls, n_unmetered = n_unmetered + excluded.n_unmetered, "
                "input_tokens = input_tokens + excluded.input_tokens, "
                "cached_tokens = cached_tokens + excluded.cached_tokens, "
                "output_tokens = output_tokens + excluded.output_tokens",
                [(*key, *spent) for key, spent in spending.items()],
            )

    def spending(self) -> list[Spending]:
        """Calls and tokens by arm and price; as quick for a long run as for a short one."""
        rows = self._connection.execute("SELECT * FROM spending ORDER BY arm, price")
        return [Spending(arm, Price.model_validate_json(price) if price else None, *rest) for arm, price, *rest in rows]

    def unmetered(self, arm: int) -> Iterator[Prompt]:
        """The prompts of an arm's replies, not failed, for which the provider told no (or not all) token counts."""
        rows = self._connection.execute(
            "SELECT p.content FROM responses AS r JOIN prompts AS p ON p.seq = r.prompt WHERE r.arm = ? "
            "AND r.status <> ? AND (r.input_tokens IS NULL OR r.output_tokens IS NULL)",
            (arm, Status.FAILED.value),
        )
        return (Prompt.model_validate_json(content) for (content,) in rows)

    def add_template(self, arm: Arm, content: str) -> None:
        """Keep the chat template that an arm is asked with."""
        id_ = content_id(content)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO templates VALUES (?, ?)", (id_, content))
            connection.execute("INSERT OR REPLACE INTO arm_templates VALUES (?, ?)", (arm.id, id_))

    def template(self, arm: Arm) -> tuple[str, str] | None:
        """Hash and content of the chat template that an arm was asked with, where it is known."""
        row: tuple[str, str] | None = self._connection.execute(
            "SELECT id, content FROM templates WHERE id = (SELECT template FROM arm_templates WHERE arm = ?)", (arm.id,)
        ).fetchone()
        return row

    def tallies(self) -> list[Tally]:
        """Counts by arm, repeat and status; as quick for a long run as for a short one."""
        rows = self._connection.execute("SELECT * FROM tallies ORDER BY arm, repeat, status")
        return [Tally(arm, repeat, Status(status), *rest) for arm, repeat, status, *rest in rows]

    def standing(self, plan: Plan, arm: Arm, repeat: int) -> dict[Status, int]:
        """How a plan's prompts stand with one arm: counts by status, `missing` included; they add up."""
        (n_plans,) = self._connection.execute("SELECT COUNT(*) FROM plans").fetchone()
        if n_plans == 1:
            counts = {t.status: t.n for t in self.tallies() if (t.arm, t.repeat) == (arm.id, repeat) and t.n}
        else:
            rows = self._connection.execute(
                "SELECT status, COUNT(*) FROM responses AS r WHERE arm = :arm AND repeat = :repeat "
                "AND prompt IN (SELECT prompt FROM questions WHERE plan = :plan) "
                "AND attempt = (SELECT MAX(attempt) FROM responses AS s "
                "WHERE s.arm = :arm AND s.repeat = :repeat AND s.prompt = r.prompt) GROUP BY status",
                {"arm": arm.id, "repeat": repeat, "plan": plan.id},
            )
            counts = {Status(status): n for status, n in rows}
        n_missing = arm.n_prompts(plan) - sum(counts.values())
        return {**counts, Status.MISSING: n_missing} if n_missing else counts

    def final_faults(self, plan: Plan, arm: Arm, repeat: int) -> Counter[str]:
        """Why prompts of a plan failed for good, and how many: no other try can mend them."""
        rows = self._connection.execute(
            "SELECT error, COUNT(*) FROM responses WHERE arm = ? AND repeat = ? AND final "
            "AND prompt IN (SELECT prompt FROM questions WHERE plan = ?) GROUP BY error ORDER BY MIN(rowid)",
            (arm.id, repeat, plan.id),
        )
        return Counter({error or "no words": n for error, n in rows})

    def n_open_batches(self) -> int:
        """How many batches a provider still works on, as far as this ledger knows."""
        (n,) = self._connection.execute(f"SELECT COUNT(*) FROM batches WHERE state IN {OPEN_BATCH}").fetchone()
        return int(n)

    def n_responses(self) -> int:
        """How many rows the ledger holds, failed ones included: changes whenever anything came in."""
        (n,) = self._connection.execute("SELECT COALESCE(MAX(rowid), 0) FROM responses").fetchone()
        return int(n)

    def span(self) -> tuple[float | None, float | None]:
        """When the first and the last reply came in, Unix time in seconds; None where none did."""
        first, last = self._connection.execute(
            "SELECT (SELECT received_at FROM responses ORDER BY rowid LIMIT 1), "
            "(SELECT received_at FROM responses ORDER BY rowid DESC LIMIT 1)"
        ).fetchone()
        return first, last

    def exchanges(self, plan: Plan, wanted: Mapping[str, str]) -> Iterator[tuple[Prompt, Response]]:
        """Some prompts with the newest first-repeat response of one model each (`wanted`: prompt id → model)."""
        for arm in self.arms():
            ids = [prompt_id for prompt_id, model in wanted.items() if model == arm.model]
            for prompt_id in ids:
                row = self._connection.execute(
                    f"SELECT p.content, {RESPONSE_COLUMNS} FROM prompts AS p JOIN responses AS r ON r.prompt = p.seq "
                    "WHERE p.id = ? AND r.arm = ? AND r.repeat = 1 ORDER BY r.attempt DESC LIMIT 1",
                    (prompt_id, arm.id),
                ).fetchone()
                if row is not None:
                    yield Prompt.model_validate_json(row[0]), response_of(prompt_id, arm, 1, row[1:])

    def asked(self, plan: Plan, arm: Arm, repeat: int) -> Iterator[Asked]:
        """Every question of a plan that this arm can be asked, with its newest response.

        Questions never asked come with a response whose status is `missing`.
        """
        rows = self._connection.execute(
            f"""
            SELECT q.item_id, q.condition, p.id, {RESPONSE_COLUMNS}
            FROM questions AS q JOIN prompts AS p ON p.seq = q.prompt
            LEFT JOIN responses AS r ON r.arm = :arm AND r.repeat = :repeat AND r.prompt = q.prompt
                AND r.attempt = (SELECT MAX(attempt) FROM responses AS s
                                 WHERE s.arm = :arm AND s.repeat = :repeat AND s.prompt = q.prompt)
            WHERE q.plan = :plan AND ((p.scored AND :scores) OR (NOT p.scored AND :chats))
            ORDER BY q.seq
            """,
            {"arm": arm.id, "repeat": repeat, "plan": plan.id, "scores": arm.scores, "chats": arm.chats},
        )
        for item_id, condition, prompt_id, *rest in rows:
            yield Asked(item_id, Condition.model_validate_json(condition), response_of(prompt_id, arm, repeat, rest))


def _json(values: Sequence[float] | None) -> str | None:
    return None if values is None else msgspec.json.encode(values).decode()
