"""A folder in which a data set is built: which steps are done, their tables, the ratings that came back."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from isogloss.construction import Table
from isogloss.errors import DataError, StoreError
from isogloss.files import whole_file
from isogloss.records import Rating
from isogloss.run.folder import RunFolder
from isogloss.store import Ledger
from isogloss.version import __version__


class BuildFolder:
    """Files of one construction, by name."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.facts_file = self.path / "build.json"
        self.ratings_file = self.path / "ratings.jsonl"
        self.report_file = self.path / "report.html"
        self.sheets = self.path / "sheets"
        self._run = RunFolder(path)

    @property
    def exists(self) -> bool:
        return self.facts_file.exists()

    def facts(self) -> dict[str, Any]:
        """The whole of build.json.

        Raises
        ------
        StoreError
            If this is no construction, or its build.json is damaged.
        """
        try:
            facts = json.loads(self.facts_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(f"{self.path} is no construction: it has no build.json; see 'isogloss build'") from None
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.facts_file} can't be read: {error}; delete it and build again: the replies are in the ledger"
            ) from error
        if not isinstance(facts, dict) or "study" not in facts or not isinstance(facts.get("steps"), dict):
            raise StoreError(f"{self.facts_file} is not of a construction: it has no 'study' and 'steps'")
        return facts

    def begin(self, study: str, config: Path) -> None:
        """Make the folder, or take up what is in it. Raises StoreError for another study's."""
        facts: dict[str, Any] = {"steps": {}, "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        if self.exists:
            facts = self.facts()
            if facts["study"] != study:
                raise StoreError(f"{self.path} holds a construction of {facts['study']!r}; choose another --out")
        elif (self.path / "run.json").exists():
            raise StoreError(f"{self.path} holds a run; choose another --out")
        self._write({**facts, "study": study, "config": str(config.resolve()), "isogloss": __version__})

    def note(self, **facts: object) -> None:
        """Add facts to build.json."""
        self._write({**self.facts(), **facts})

    def note_step(self, name: str, **facts: object) -> None:
        """Say how a step stands."""
        held = self.facts()
        held["steps"][name] = {**facts, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self._write(held)

    def _write(self, facts: Mapping[str, object]) -> None:
        self._whole(self.facts_file, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")

    def _whole(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as partial:
                partial.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise StoreError(f"{path} can't be written: {error.strerror or error}") from error

    def ledger(self) -> Ledger:
        """What was asked and answered, as in a run."""
        return self._run.ledger(create=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out. Raises StoreError if one is at work here."""
        with self._run.locked():
            yield

    # --- tables -------------------------------------------------------------------------------------------------------

    def table_file(self, name: str) -> Path:
        """Where a table lies, one JSON object a line."""
        return self.path / "tables" / f"{name}.jsonl"

    def write_table(self, name: str, rows: Table) -> None:
        """Write a table whole."""
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        self._whole(self.table_file(name), "".join(lines))

    def read_table(self, name: str) -> Table:
        """A table that was made. Raises StoreError where it is damaged."""
        path = self.table_file(name)
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} can't be read: {error}; delete it, and the build makes it again") from error

    def digest(self, path: Path) -> str:
        """Hash of a file's content; "" where it isn't there."""
        try:
            return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}") from error

    def decisions_digest(self, name: str) -> str:
        """Hash of what a person decided in a review file; rows without a decision don't count."""
        path = self.path / name
        if not path.exists():
            return ""
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        first = text.partition("\n")[0]
        rows = csv.DictReader(StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
        decided = sorted(
            json.dumps({k: v for k, v in row.items() if k and (k.endswith("_id") or k == "decision")}, sort_keys=True)
            for row in rows
            if (row.get("decision") or "").strip()
        )
        return hashlib.blake2b("\n".join(decided).encode(), digest_size=16).hexdigest() if decided else ""

    # --- ratings ------------------------------------------------------------------------------------------------------

    def add_ratings(self, ratings: Sequence[Rating]) -> None:
        """Keep ratings for good: appended and on disk when this returns. Raises StoreError."""
        lines = "".join(rating.model_dump_json() + "\n" for rating in ratings)
        try:
            with self.ratings_file.open("ab+") as file:
                if file.tell() and not _ends_line(self.ratings_file):
                    file.write(b"\n")  # after a cut the last line is half; the next begins anew
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self.ratings_file} can't be written: {error.strerror or error}") from error

    def ratings(self, task: str) -> list[Rating]:
        """The latest rating of each rater and row of a task."""
        latest: dict[tuple[str, str], Rating] = {}
        if not self.ratings_file.exists():
            return []
        for line in self.ratings_file.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                rating = Rating.model_validate_json(line)
            except ValidationError:  # an empty line, or one that a cut left half
                continue
            if rating.task == task:
                latest[rating.rater, rating.item_id] = rating
        return list(latest.values())


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
