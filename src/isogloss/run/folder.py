"""A run folder: what is in it, whose it is, and how it may grow."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from isogloss.errors import SettingError, StoreError
from isogloss.files import whole_file
from isogloss.records import RunSpec
from isogloss.store import Ledger
from isogloss.text import REASONING_TAGS, Tag, read_tag
from isogloss.version import __version__

GROWING = {"models", "repeats", "limit", "data"}
"""What may differ when a run is taken up again; everything else would change what is asked."""

KEPT = ("remarks", "reasoning_tags", "scoring")
"""Facts of run.json that outlive its growing."""


class RunFolder:
    """Files of one run, by name."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.spec_file = self.path / "run.json"
        self.ledger_file = self.path / "ledger.sqlite"
        self.answers_file = self.path / "answers.parquet"
        self.estimates_file = self.path / "estimates.csv"
        self.report_file = self.path / "report.html"

    @property
    def exists(self) -> bool:
        return self.spec_file.exists()

    def facts(self) -> dict[str, Any]:
        """The whole of run.json.

        Raises
        ------
        StoreError
            If this is no run folder, or its run.json is damaged.
        """
        try:
            facts = json.loads(self.spec_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(f"{self.path} is no run folder: it has no run.json; see 'isogloss runs'") from None
        except OSError as error:
            raise StoreError(f"{self.spec_file} can't be read: {error.strerror or error}") from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.spec_file} can't be read: {error}; if it is damaged, delete it and give the run's command "
                "again: the replies are in the ledger"
            ) from error
        if not isinstance(facts, dict) or "spec" not in facts:
            raise StoreError(f"{self.spec_file} is not a run of isogloss: it has no 'spec'")
        return facts

    def spec(self) -> RunSpec:
        """What the run asks."""
        try:
            return RunSpec.model_validate(self.facts()["spec"])
        except ValidationError as error:
            first = error.errors()[0]
            raise StoreError(f"{self.spec_file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

    def scoring(self) -> dict[str, object]:
        """Settings that the run is scored with instead of those it was begun with, as run.json has them."""
        return dict(self.facts().get("scoring", {}))

    def scored_spec(self) -> RunSpec:
        """What the run asks, with the settings that it is scored with."""
        spec = self.spec()
        return spec.model_copy(update={"settings": {**spec.settings, **self.scoring()}})

    def note_scoring(self, given: Mapping[str, object]) -> None:
        """Let these settings (`Study.scoring`, as JSON values) hold for the run from now on; nothing is asked again."""
        begun = self.spec().settings
        scoring = {**self.scoring(), **given}
        scoring = {name: value for name, value in scoring.items() if name not in begun or begun[name] != value}
        if scoring != self.scoring():
            self.note(scoring=scoring)

    def ledger(self, *, create: bool = False) -> Ledger:
        return Ledger(self.ledger_file, create=create)

    def begin(self, spec: RunSpec, *, scoring: Collection[str] = ()) -> RunSpec:
        """Make the folder for a run, or take up the run that is in it; returns the spec that holds.

        `scoring` are the names of settings that may differ from those of the run: it is scored with them from now on.

        Raises
        ------
        SettingError
            If the folder holds a run that asks something else.
        StoreError
            If the folder can't be made or written.
        """
        wanted = {name: spec.settings[name] for name in scoring} if self.exists else {}
        if self.exists:
            held = self.spec()
            spec = self._grown(held, with_scoring_of(held, spec, scoring))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            facts = self.facts() if self.exists else {}
            if not facts or self.spec() != spec:
                kept = {name: facts[name] for name in KEPT if name in facts}
                self._write({"spec": spec.model_dump(mode="json"), **_environment(), **kept})
            if wanted:
                self.note_scoring(wanted)
        except OSError as error:
            raise StoreError(
                f"{self.path} can't be written: {error.strerror or error}; choose another --out"
            ) from error
        return spec

    def _grown(self, held: RunSpec, wanted: RunSpec) -> RunSpec:
        for name in RunSpec.model_fields:
            old, new = getattr(held, name), getattr(wanted, name)
            if name not in GROWING and old != new:
                if name in ("settings", "sampling"):
                    name, old, new = _first_difference(held, wanted, name)
                raise SettingError(
                    f"{self.path} holds a run with another {name.replace('_', ' ')} ({old!r}, not {new!r}); "
                    "choose another --out, or give the same"
                )
        models = held.models + tuple(model for model in wanted.models if model not in held.models)
        return wanted.model_copy(
            update={"models": models, "data": held.data, "repeats": max(held.repeats, wanted.repeats)}
        )

    def note(self, **facts: object) -> None:
        """Add facts to run.json."""
        self._write({**self.facts(), **facts})

    def note_remarks(self, model: str, remarks: Sequence[str]) -> None:
        """Add to what run.json says of how a model was asked; each remark once."""
        held: dict[str, list[str]] = self.facts().get("remarks", {})
        fresh = [remark for remark in remarks if remark not in held.get(model, [])]
        if fresh:
            self.note(remarks={**held, model: [*held.get(model, []), *fresh]})

    def own_reasoning_tags(self) -> list[str | list[str]]:
        """The marks of reasoning that this run knows beside the built-in list, as run.json has them."""
        return list(self.facts().get("reasoning_tags", []))

    def reasoning_tags(self) -> tuple[Tag, ...]:
        """All marks by which the replies of this run are parted: the built-in list, then the user's own."""
        try:
            own = [read_tag(tag) for tag in self.own_reasoning_tags()]
        except SettingError as error:
            raise StoreError(f"{self.spec_file}: {error}") from error
        return REASONING_TAGS if not own else (*REASONING_TAGS, *own)

    def note_reasoning_tags(self, given: Sequence[object]) -> None:
        """Let these marks, as a user writes them, hold for the run beside the built-in list; earlier ones are dropped.

        Nothing is asked again: what was read with other marks is read anew when it is next wanted.

        Raises
        ------
        SettingError
            For a tag that is neither a name nor a pair of marks.
        """
        tags = [tag for tag in dict.fromkeys(map(read_tag, given)) if tag not in REASONING_TAGS]
        own = [tag if isinstance(tag, str) else list(tag) for tag in tags]
        if own != self.own_reasoning_tags():
            self.note(reasoning_tags=own)

    def _write(self, facts: Mapping[str, object]) -> None:
        text = json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
        with whole_file(self.spec_file) as partial:
            partial.write_text(text, encoding="utf-8")

    def is_busy(self) -> bool:
        """Whether a process is asking in this folder now."""
        if not (self.path / ".lock").exists():
            return False
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return True
        except OSError:  # not ours to lock
            return False
        lock.release()
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from asking in this folder; released even if this one is killed.

        Raises
        ------
        StoreError
            If another process is asking here now.
        """
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{self.path} is in use by another isogloss process; wait for it, stop it, or choose another --out"
            ) from None
        except OSError as error:
            raise StoreError(
                f"{self.path} can't be written: {error.strerror or error}; choose another --out"
            ) from error
        try:
            yield
        finally:
            lock.release()


def with_scoring_of(held: RunSpec, spec: RunSpec, scoring: Collection[str]) -> RunSpec:
    """A spec with the settings of scoring that another one has."""
    settings = {name: value for name, value in spec.settings.items() if name not in scoring}
    settings |= {name: held.settings[name] for name in scoring if name in held.settings}
    return spec.model_copy(update={"settings": settings})


def _first_difference(held: RunSpec, wanted: RunSpec, name: str) -> tuple[str, object, object]:
    """Name and values of the first setting that differs."""
    old, new = (spec.model_dump(mode="json")[name] for spec in (held, wanted))
    key = next(key for key in {**new, **old} if old.get(key) != new.get(key))
    return f"setting {key}", old.get(key), new.get(key)


def _environment() -> dict[str, object]:
    """Versions that could matter to a number."""
    versions = {"isogloss": __version__, "python": platform.python_version()}
    for name in ("aiohttp", "numpy", "pandas", "scipy", "xllamacpp"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions,
        "environment": {"system": platform.system(), "machine": platform.machine()},
    }
