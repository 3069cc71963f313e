"""Layout of the ledger, as numbered migrations. A migration that was released is never edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from isogloss.errors import StoreError

APPLICATION_ID = 0x69736F67  # "isog"

MIGRATIONS = (
    """
    CREATE TABLE datasets (
        digest TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        content BLOB NOT NULL              -- zlib of the Dataset record as JSON
    );
    CREATE TABLE plans (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,       -- hash over study, data set, settings, seed, limit
        n_questions INTEGER NOT NULL,
        n_chat INTEGER NOT NULL,           -- distinct prompts that ask for a reply
        n_scored INTEGER NOT NULL          -- distinct prompts whose candidates are to be scored
    );
    CREATE TABLE prompts (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL,                  -- made unique by the ledger when a plan is written
        scored INTEGER NOT NULL,
        content TEXT NOT NULL              -- the Prompt record as JSON, defaults left out
    );
    CREATE INDEX prompts_by_id ON prompts (id);
    CREATE TABLE questions (
        seq INTEGER PRIMARY KEY,
        plan INTEGER NOT NULL REFERENCES plans (id),
        item_id TEXT NOT NULL,
        condition TEXT NOT NULL,           -- the Condition record as JSON, defaults left out
        prompt INTEGER NOT NULL REFERENCES prompts (seq)
    );
    CREATE INDEX questions_by_prompt ON questions (plan, prompt);
    CREATE TABLE arms (
        id INTEGER PRIMARY KEY,
        model TEXT NOT NULL,
        revision TEXT NOT NULL,            -- "" where the provider tells none
        sampling TEXT NOT NULL,            -- the Sampling record as JSON
        abilities TEXT NOT NULL,           -- the Abilities record as JSON
        UNIQUE (model, revision, sampling)
    );
    CREATE TABLE responses (
        arm INTEGER NOT NULL REFERENCES arms (id),
        repeat INTEGER NOT NULL,
        prompt INTEGER NOT NULL REFERENCES prompts (seq),
        attempt INTEGER NOT NULL,          -- a failed call is followed by a new row
        status TEXT NOT NULL,
        text TEXT,
        reasoning TEXT,
        candidate_logprobs TEXT,           -- JSON list, natural logarithms
        finish_reason TEXT,
        error TEXT,
        input_tokens INTEGER,
        output_tokens INTEGER,
        n_tries INTEGER NOT NULL,
        seconds REAL,
        received_at REAL,
        PRIMARY KEY (arm, repeat, prompt, attempt)
    );
    CREATE TABLE tallies (
        arm INTEGER NOT NULL,
        repeat INTEGER NOT NULL,
        status TEXT NOT NULL,
        n INTEGER NOT NULL,                -- prompts whose newest response has this status
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        PRIMARY KEY (arm, repeat, status)
    ) WITHOUT ROWID;
    CREATE TRIGGER responses_are_kept BEFORE DELETE ON responses
        BEGIN SELECT RAISE (ABORT, 'the ledger only grows: responses are never deleted'); END;
    CREATE TRIGGER responses_stay_as_they_are BEFORE UPDATE ON responses
        BEGIN SELECT RAISE (ABORT, 'the ledger only grows: responses are never changed'); END;
    """,
    """
    ALTER TABLE responses ADD COLUMN cached_tokens INTEGER;
    ALTER TABLE responses ADD COLUMN candidate_tokens TEXT;   -- JSON list
    ALTER TABLE responses ADD COLUMN rendered TEXT;
    CREATE TABLE templates (
        id TEXT PRIMARY KEY,               -- hash of the content
        content TEXT NOT NULL
    );
    CREATE TABLE arm_templates (
        arm INTEGER PRIMARY KEY REFERENCES arms (id),
        template TEXT NOT NULL REFERENCES templates (id)
    );
    CREATE TABLE spending (
        arm INTEGER NOT NULL,
        price TEXT NOT NULL,               -- the Price record as JSON, "" where it isn't known
        n_calls INTEGER NOT NULL,          -- responses that came from a call, failed ones included
        n_unmetered INTEGER NOT NULL,      -- of them, not failed: the provider told no token counts
        input_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,    -- among the input tokens
        output_tokens INTEGER NOT NULL,
        PRIMARY KEY (arm, price)
    ) WITHOUT ROWID;
    INSERT INTO spending SELECT arm, '', SUM(n), 0, SUM(input_tokens), 0, SUM(output_tokens) FROM tallies GROUP BY arm;
    CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        arm INTEGER NOT NULL REFERENCES arms (id),
        label TEXT NOT NULL UNIQUE,        -- ours; sent along where the provider takes one, to find a lost batch again
        provider_id TEXT,                  -- NULL until the provider has told it
        state TEXT NOT NULL,               -- 'submitting', 'running', 'ended', 'given up'
        n INTEGER NOT NULL,
        price TEXT NOT NULL,
        created_at REAL NOT NULL,
        words TEXT                         -- the provider's own, where something went wrong
    );
    CREATE TABLE batch_items (
        batch INTEGER NOT NULL REFERENCES batches (id),
        custom_id TEXT NOT NULL,           -- short, by hash
        repeat INTEGER NOT NULL,
        prompt INTEGER NOT NULL REFERENCES prompts (seq),
        attempt INTEGER NOT NULL,
        PRIMARY KEY (batch, custom_id)
    ) WITHOUT ROWID;
    CREATE INDEX batch_items_by_prompt ON batch_items (prompt, repeat);
    """,
    """
    ALTER TABLE responses ADD COLUMN final INTEGER;    -- 1 for a failed call that no other try can mend
    CREATE INDEX final_responses ON responses (arm, repeat, prompt) WHERE final;
    """,
)


def migrate(connection: sqlite3.Connection, *, where: str, create: bool) -> None:
    """Bring a ledger to the newest layout. Two processes may do so at once: the second finds it done.

    Raises
    ------
    StoreError
        If the file is another program's, from a newer isogloss, or empty (without `create`).
    """
    connection.execute("BEGIN")  # one view of the file for all that is read of it
    version = _version(connection, where, create)
    connection.execute("COMMIT")
    if version == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection, where, create), len(MIGRATIONS)):
            for statement in _statements(MIGRATIONS[number]):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, where: str, create: bool) -> int:
    """Layout of a file, 0 for an empty one."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (n_tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if application_id != APPLICATION_ID and (application_id != 0 or n_tables > 0):
        raise StoreError(f"{where} is a database of another program, not a ledger of isogloss; choose another folder")
    if n_tables == 0 and not create:
        raise StoreError(f"{where} is empty: the run ended before it began; give its command again")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{where} was written by a newer isogloss (layout {version}, this one knows {len(MIGRATIONS)}); "
            "update isogloss to read it"
        )
    return int(version)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; a trigger holds semicolons of its own."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
