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

from isogloss.annotation.cells import unguarded
from isogloss.construction import Table
from isogloss.errors import DataError, StoreError
from isogloss.files import separator_of, whole_file
from isogloss.records import Rating, content_id
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
        self.ledger_file = self.path / "ledger.sqlite"
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

    def begin(self, study: str, config: Path, **facts: object) -> None:
        """Make the folder, or take up what is in it.

        Raises
        ------
        StoreError
            If it holds a run, another study's construction, or can't be written.
        DataError
            If the configuration can't be read.
        """
        held: dict[str, Any] = {"steps": {}, "created": _now()}
        if self.exists:
            held = self.facts()
            if held["study"] != study:
                raise StoreError(f"{self.path} holds a construction of {held['study']!r}; choose another --out")
        elif (self.path / "run.json").exists():
            raise StoreError(f"{self.path} holds a run; choose another --out")
        path, folder = config.resolve(), self.path.resolve()
        try:
            content = path.read_text(encoding="utf-8-sig", errors="replace")
        except OSError as error:
            raise DataError(f"{config} can't be read: {error.strerror}") from error
        inside = path.is_relative_to(folder)
        shown = path.relative_to(folder) if inside else path
        own = {"study": study, "config": shown.as_posix() if inside else str(shown), "content": content}
        self._write({**held, **own, "isogloss": __version__, **facts})

    def config_path(self) -> Path:
        """Where the configuration lies: in this folder, or wherever it was when it was given last."""
        return self.path / str(self.facts()["config"])

    def note(self, **facts: object) -> None:
        """Add facts to build.json."""
        self._write({**self.facts(), **facts})

    def steps(self) -> dict[str, dict[str, Any]]:
        """Step → its `state`, the `digest` of all it read, `n_failed` calls, `at`; empty where nothing is built yet."""
        steps: dict[str, dict[str, Any]] = self.facts()["steps"] if self.exists else {}
        return steps

    def note_step(self, name: str, **facts: object) -> None:
        """Say how a step stands now."""
        self.note(steps={**self.steps(), name: {**facts, "at": _now()}})

    def note_states(self, states: Mapping[str, str]) -> None:
        """Say how the steps stand after a command; what they once read is left as it is."""
        held = self.steps()
        steps = {name: {**held.get(name, {}), "state": state} for name, state in states.items()}
        if steps != held:
            self.note(steps=steps)

    def _write(self, facts: Mapping[str, object]) -> None:
        self._whole(self.facts_file, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")

    def is_busy(self) -> bool:
        """Whether a process is at work here now."""
        return self._run.is_busy()

    def _whole(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as partial:
                partial.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise StoreError(f"{path} can't be written: {error.strerror or error}") from error

    def ledger(self) -> Ledger:
        """What was asked and answered, as in a run."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} can't be made: {error.strerror}; choose another --out") from error
        return Ledger(self.ledger_file, create=True)

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
            with path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}") from error

    def decisions_digest(self, name: str) -> str:
        """Hash of what a person decided in a review file, however it is written there; other rows don't count."""
        path = self.path / name
        try:
            text = path.read_text(encoding="utf-8-sig", errors="replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}") from error
        try:
            rows = list(csv.DictReader(StringIO(text, newline=""), delimiter=separator_of(text)))
        except csv.Error as error:
            raise DataError(f"{path} is no CSV file any more: {error}") from error
        decided = {
            (decision, *sorted(unguarded(cell or "") for key, cell in row.items() if key and key.endswith("_id")))
            for row in rows
            if (decision := str(row.get("decision") or "").strip().lower())
        }
        return content_id(sorted(decided)) if decided else ""

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
        """The latest rating of each rater and row of a task.

        A line that a cut left half is passed over. Raises StoreError for one that is whole and no rating.
        """
        latest: dict[tuple[str, str], Rating] = {}
        try:
            text = self.ratings_file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self.ratings_file} can't be read: {error.strerror}") from error
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                content = json.loads(line)
            except json.JSONDecodeError:
                continue
            try:
                rating = Rating.model_validate(content)
            except ValidationError as error:
                raise StoreError(f"{self.ratings_file} line {number} is no rating; mend it or take it out") from error
            if rating.task == task:
                latest[rating.rater, rating.item_id] = rating
        return list(latest.values())


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
