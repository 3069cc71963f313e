"""Runs, opened for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isogloss import studies
from isogloss.api.job import scoring_settings
from isogloss.records import Estimate, Status
from isogloss.run.analyse import analyse, current_arms, held_estimates, held_plan, is_current, standing, state_of
from isogloss.run.asking import final_faults
from isogloss.run.budget import total_cost
from isogloss.run.folder import RunFolder
from isogloss.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.api.asking import Summary


class Run:
    """A run folder, opened for reading."""

    def __init__(self, path: str | Path, *, study: Study | None = None) -> None:
        self.folder = RunFolder(path)
        self.spec = self.folder.spec()
        self.study = study or studies.get(self.spec.study)
        self.summary: Summary | None = None

    def __repr__(self) -> str:
        return f"Run({str(self.folder.path)!r})"

    @property
    def records(self) -> list[Estimate]:
        """Estimates as records; scored first where the ledger holds newer replies."""
        known = held_estimates(self.folder) if self.is_analysed() else None
        return self.score() if known is None else known

    @property
    def estimates(self) -> pd.DataFrame:
        """Estimates as a table, one row each, with the columns of estimates.csv."""
        from isogloss.reports import estimates_frame

        return estimates_frame(self.records)

    @property
    def answers(self) -> pd.DataFrame:
        """Coded answers, one row per question × model × repeat × coder."""
        return analyse(self.study, self.folder, again=False)[1]

    def is_analysed(self) -> bool:
        """Whether the stored answers and estimates belong to all that the ledger holds."""
        return self._is_current("analysed")

    def is_reported(self) -> bool:
        """Whether the report in the folder does, too."""
        return self.is_analysed() and self._is_current("reported")

    def _is_current(self, what: str) -> bool:
        with self.folder.ledger() as ledger:
            return is_current(self.folder, what, state_of(ledger, self.study, self.folder))

    def code(self, *, reasoning_tags: Sequence[str | Sequence[str]] | None = None) -> pd.DataFrame:
        """Read every stored reply again with the rules of today; returns the answers.

        Parameters
        ----------
        reasoning_tags : sequence of str or pair of str, optional
            Marks of reasoning to set aside beside the built-in list, from now on: names (`"cavil"` for
            `<cavil>…</cavil>`), or pairs of opening and closing mark. None leaves those of the run.

        Raises
        ------
        SettingError
            For a tag that is neither.
        """
        if reasoning_tags is not None:
            self.folder.note_reasoning_tags(reasoning_tags)
        return analyse(self.study, self.folder, again=True)[1]

    def score(self, *, settings: Mapping[str, object] | None = None) -> list[Estimate]:
        """Code and score again, without asking.

        Parameters
        ----------
        settings : mapping, optional
            Settings to score with from now on, of those that don't change what is asked (`Study.scoring`).

        Raises
        ------
        UnknownNameError, SettingError
            For another setting, or a value that can't be.
        """
        if settings:
            self.folder.note_scoring(scoring_settings(self.study, self.spec, settings))
        return analyse(self.study, self.folder, again=True)[0]

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report; returns where it is."""
        return write_report([self], path)


def estimates_of(runs: Sequence[Run]) -> list[Estimate]:
    """Estimates of several runs in one list; a model that several runs asked carries its run's name, too."""
    from isogloss.run.report import distinct_names, merged

    names = distinct_names([run.folder for run in runs], [run.spec for run in runs])
    return merged([run.records for run in runs], names)


def write_report(runs: Sequence[str | Path | Run], out: str | Path | None = None) -> Path:
    """Write one HTML report over runs of one study on one data set."""
    from isogloss.run import report

    opened = [run if isinstance(run, Run) else Run(run) for run in runs]
    path = Path(out) if out is not None else opened[0].folder.report_file
    report.write_report([run.folder for run in opened], opened[0].study, path)
    return path


def state(folder: str | Path) -> dict[str, Any]:
    """How a run stands, from its summary: quick for runs of any size.

    `state` is "running" (a process is asking), "waiting for a batch", "complete" or "incomplete"; `stopped` says
    why the last command ended early. `cost` is in US dollars, None where a price or token
    counts aren't known.
    """
    opened = Run(folder)
    spec, facts = opened.spec, opened.folder.facts()
    with opened.folder.ledger() as ledger:
        arms = current_arms(ledger, spec)
        plan = held_plan(ledger, spec)
        counts = standing(ledger, plan, arms, spec.repeats)
        n_final = sum(final_faults(ledger, plan, arm, spec.repeats).total() for arm in arms) if plan else 0
        spending = [part for part in ledger.spending() if part.n_calls]
        n_batches = ledger.n_open_batches()
    unfinished = len(arms) < len(spec.models) or counts.get(Status.MISSING)
    unfinished = unfinished or counts.get(Status.FAILED, 0) > n_final
    if opened.folder.is_busy():
        words = "running"
    elif n_batches:
        words = "waiting for a batch"
    else:
        words = "incomplete" if unfinished else "complete"
    return {
        "run": str(opened.folder.path),
        "study": spec.study,
        "data": spec.data,
        "models": list(spec.models),
        "state": words,
        "stopped": facts.get("stopped", []) if unfinished else [],
        "statuses": counts,
        "tokens": {
            "input": sum(part.input_tokens for part in spending),
            "output": sum(part.output_tokens for part in spending),
        },
        "cost": total_cost(spending),
        "created": facts.get("created"),
    }
