"""Constructions, opened for reading and for the people who take part."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isogloss import studies
from isogloss.annotation import Fault, read_sheet, sheet_task, write_sheets
from isogloss.api.job import find_study
from isogloss.construction import Construction, Sheet, Step
from isogloss.errors import DataError, SettingError
from isogloss.records import Rating
from isogloss.registry import unknown_name
from isogloss.run.budget import total_cost
from isogloss.run.build import Bench, Built, Return, done_tables, returns, sheets
from isogloss.run.build_folder import BuildFolder
from isogloss.store import Ledger
from isogloss.study import Study

if TYPE_CHECKING:
    import pandas as pd


class Build:
    """A folder in which a data set is built, opened for reading and for the people who take part."""

    def __init__(self, path: str | Path, *, study: str | Study | None = None) -> None:
        self.folder = BuildFolder(path)
        facts = self.folder.facts()
        self.study = find_study(facts["study"] if study is None else study)
        self.construction = construction_of(self.study)
        self.summary: Built | None = None

    def __repr__(self) -> str:
        return f"Build({str(self.folder.path)!r})"

    def bench(self, *, skip_people: bool = False) -> Bench:
        """The construction with its configuration as it is now. Raises DataError where that is gone."""
        path = self.folder.config_path()
        if not path.exists():
            raise DataError(
                f"the configuration {path} of {self.folder.path} is gone; give it again: "
                f"isogloss build {self.study.name} CONFIG --out {self.folder.path}"
            )
        config = self.construction.read_config(path)
        return Bench(self.construction, config, self.folder, skip_people, int(self.folder.facts().get("seed", 0)))

    @property
    def steps(self) -> dict[str, str]:
        """Step → how it stood when the last command ended."""
        held = self.folder.steps()
        return {step.name: held.get(step.name, {}).get("state", "to do") for step in self.construction.steps}

    def table(self, name: str) -> pd.DataFrame:
        """A table that was made, by its name in `tables/`."""
        import pandas as pd

        known = [table for step in self.construction.steps for table in step.writes]
        if name not in known:
            raise unknown_name("table", name, known)
        return pd.DataFrame(self.folder.read_table(name))

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report of how far it has come; returns where it is."""
        from isogloss.run.build_report import write_build_report

        bench = self.bench()
        path = Path(path) if path is not None else self.folder.report_file
        write_build_report(bench, self.study, done_tables(bench), path)
        return path

    # --- people ---

    def export_sheets(
        self,
        task: str | None = None,
        *,
        formats: Sequence[Literal["csv", "xlsx"]] = ("csv", "xlsx"),
        tell: Callable[[str], None] = lambda line: None,
    ) -> list[Path]:
        """Write a sheet for each person who is asked something now, with the rows that aren't answered yet.

        Parameters
        ----------
        task : str, optional
            A step: only its sheets are written, with all their rows, also those that have an answer.
        formats : sequence of "csv" and "xlsx"
        tell : callable
            Given a line for each sheet that somebody has begun and that stays beside a new one.

        Raises
        ------
        DataError
            If nobody is asked anything now.
        """
        bench = self.bench()
        chosen = self._sheets(bench, task)
        if task is None:
            chosen = [(step, sheet) for step, sheet in chosen if not bench.is_done(step)]
        paths: list[Path] = []
        with self.folder.locked():
            for step, sheet in chosen:
                answered = self._answered(step) if task is None else {}
                paths += write_sheets(
                    sheet.form, sheet.rows, self.folder.sheets, seed=bench.seed, formats=formats, answered=answered,
                    tell=tell,
                )  # fmt: skip
        if not paths:
            raise DataError(
                f"nobody is asked anything in {self.folder.path} now; 'isogloss build' goes on with it, and "
                "--task NAME writes all rows of a step, also those that have an answer"
            )
        return paths

    def import_sheets(self, files: Sequence[str | Path]) -> list[Imported]:
        """Take sheets back: what is right in them is kept, what isn't is named by row and left out.

        Raises
        ------
        DataError
            If a file can't be read, or belongs to no task or person of this construction; nothing is kept then.
        """
        found = self._sheets(self.bench(), None)
        by_task = {sheet.form.task: (step, sheet) for step, sheet in found}
        answered: dict[str, defaultdict[str, set[str]]] = {}
        paths = [*map(Path, files)]
        if len(paths) > 1:
            self._read_sheets(paths, by_task, answered)  # what one sheet lacks may stand in another
        read = self._read_sheets(paths, by_task, answered)
        with self.folder.locked():
            self.folder.add_ratings([rating for _, ratings in read for rating in ratings])
        return [imported for imported, _ in read]

    def _read_sheets(
        self, files: Sequence[Path], by_task: Mapping[str, tuple[Step, Sheet]],
        answered: dict[str, defaultdict[str, set[str]]],
    ) -> list[tuple[Imported, list[Rating]]]:  # fmt: skip
        """What each sheet gives; `answered` (task → rater → rows) grows by it."""
        read = []
        for file in files:
            task = sheet_task(file)
            if task not in by_task:
                raise DataError(
                    f"{file} is a sheet of task {task!r}, which nobody is asked in {self.folder.path} now; "
                    + (f"asked are {', '.join(by_task)}" if by_task else "run 'isogloss build' first")
                )
            step, sheet = by_task[task]
            before = answered.setdefault(task, self._answered(step))
            reading = read_sheet(file, sheet.form, sheet.rows, answered=before, received_at=time.time())
            before[reading.rater] |= {rating.item_id for rating in reading.ratings}
            ratings = [rating.model_copy(update={"task": step.name}) for rating in reading.ratings]
            read.append((Imported(file, step.name, reading.rater, len(ratings), tuple(reading.faults),
                                  len(reading.unfilled), tuple(reading.notes), tuple(reading.warnings)),
                         ratings))  # fmt: skip
        return read

    def people(self) -> list[Return]:
        """How much has come back from whom, in the steps that are ready for people."""
        bench = self.bench()
        return [one for step, sheet in self._sheets(bench, None) for one in returns(bench, step, sheet)]

    def _answered(self, step: Step) -> defaultdict[str, set[str]]:
        """Rater → rows of a step that came back already."""
        found = defaultdict(set)
        for rating in self.folder.ratings(step.name):
            found[rating.rater].add(rating.item_id)
        return found

    def _sheets(self, bench: Bench, task: str | None) -> list[tuple[Step, Sheet]]:
        found = sheets(bench)
        if task is None:
            return found
        known = [step.name for step in self.construction.steps if step.sheet is not None]
        if task not in known:
            raise unknown_name("task", task, known)
        chosen = [(step, sheet) for step, sheet in found if step.name == task]
        if not chosen:
            raise DataError(f"task {task!r} isn't ready in {self.folder.path}: run 'isogloss build' first")
        return chosen


class Imported(NamedTuple):
    """What came of one sheet."""

    file: Path
    task: str
    rater: str
    n_ratings: int
    """Rows kept."""
    faults: tuple[Fault, ...]
    n_unfilled: int
    """Rows without an answer, here or before."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """What makes it doubtful that the answers are the rater's own; they are kept all the same."""


def construction_of(study: Study) -> Construction:
    """How a study builds its data. Raises SettingError for one that doesn't."""
    if study.construction is None:
        builders = [name for name in studies.names() if name != study.name and studies.get(name).construction]
        words = f"; there are {', '.join(builders)}" if builders else ""
        raise SettingError(f"study {study.name!r} builds no data set{words}")
    return study.construction()


def build_state(folder: str | Path) -> dict[str, Any]:
    """How a construction stands, from its build.json and ledger; in the form of `state` for a run."""
    held = BuildFolder(folder)
    facts = held.facts()
    steps = {name: str(step.get("state", "to do")) for name, step in facts["steps"].items()}
    waiting = [name for name, state in steps.items() if state == "waiting"]
    n_failed = sum(int(step.get("n_failed") or 0) for step in facts["steps"].values())
    if held.is_busy():
        words = "running"
    elif waiting:
        words = f"waiting for people ({waiting[0]})"
    else:
        is_complete = steps and not n_failed and all(state == "done" for state in steps.values())
        words = "complete" if is_complete else "incomplete"
    counts: dict[str, int] = {}
    spending = []
    models: list[str] = []
    if held.ledger_file.exists():
        with Ledger(held.ledger_file) as ledger:
            models = list(dict.fromkeys(arm.model for arm in ledger.arms()))
            for tally in ledger.tallies():
                if tally.n:
                    counts[tally.status.value] = counts.get(tally.status.value, 0) + tally.n
            spending = [part for part in ledger.spending() if part.n_calls]
    return {
        "build": str(held.path),
        "study": facts["study"],
        "config": str(held.config_path()),
        "models": models,
        "state": words,
        "steps": steps,
        "statuses": dict(sorted(counts.items())),
        "tokens": {
            "input": sum(part.input_tokens for part in spending),
            "output": sum(part.output_tokens for part in spending),
        },
        "cost": total_cost(spending),
        "created": facts.get("created"),
    }
