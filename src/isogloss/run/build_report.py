"""The report of a construction: how far it has come, what was asked, and the study's own sections."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from typing import TYPE_CHECKING

from isogloss.records import content_id
from isogloss.run.budget import total_cost
from isogloss.store import Ledger, Spending

if TYPE_CHECKING:
    from pathlib import Path

    from isogloss.construction import Tables
    from isogloss.reports import Table
    from isogloss.run.build import Bench
    from isogloss.run.build_folder import BuildFolder
    from isogloss.study import Study


def write_build_report(bench: Bench, study: Study, tables: Tables, path: Path) -> None:
    """Write one HTML report over what is made so far (`tables`). Raises DataError where it can't be written."""
    from isogloss.reports.construction import ConstructionContext, write_construction_html

    folder, construction = bench.folder, bench.construction
    facts = folder.facts()
    sections = construction.sections(tables, bench.config) if construction.sections is not None else ()
    write_construction_html(
        path,
        ConstructionContext(
            title=getattr(bench.config, "title", construction.title),
            study=f"{study.name}@{study.version}",
            steps=_steps(bench, tables),
            asked=_asked(folder),
            sections=tuple(sections),
            skip_people=bool(facts.get("skip_people")),
            folder=str(folder.path),
            command=shlex.join(
                ["isogloss", "build", study.name, str(folder.config_path()), "--out", str(folder.path)]
                + (["--skip-people"] if facts.get("skip_people") else [])
            ),
            made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        ),
    )
    if path == folder.report_file:
        folder.note(reported=report_state(folder))


def report_state(folder: BuildFolder) -> str:
    """Hash of what a report depends on: equal hash, equal report."""
    facts = folder.facts()
    return content_id([facts["steps"], facts["config"], facts["content"], facts["isogloss"]])


def is_reported(folder: BuildFolder) -> bool:
    """Whether the report in the folder is of the construction as it stands."""
    return folder.report_file.exists() and folder.facts().get("reported") == report_state(folder)


def _steps(bench: Bench, tables: Tables) -> Table:
    from isogloss.reports import Column, Table

    held = bench.folder.steps()
    rows = []
    for step in bench.construction.steps:
        facts = held.get(step.name, {})
        made = ", ".join(f"{name} {len(tables[name]):,}" for name in step.writes if name in tables)
        state, n_failed = str(facts.get("state", "to do")), facts.get("n_failed") or 0
        state += f", {n_failed:,} calls failed" if n_failed else ""
        rows.append((step.title, step.who, state, made or None))
    columns = (Column("step"), Column("done by"), Column("state"), Column("rows"))
    return Table("steps", "The steps", columns, tuple(rows), note="Rows of each table in the folder tables/.")


def _asked(folder: BuildFolder) -> Table | None:
    """Calls, tokens and cost by model; None where nothing was asked."""
    from isogloss.reports import Column, Table

    if not folder.ledger_file.exists():
        return None
    with Ledger(folder.ledger_file) as ledger:
        arms, spending, tallies = ledger.arms(), ledger.spending(), ledger.tallies()
    statuses = list(dict.fromkeys(tally.status.value for tally in tallies if tally.n))
    rows = []
    for arm in arms:
        counts: Counter[str] = Counter()
        for tally in tallies:
            if tally.arm == arm.id:
                counts[tally.status.value] += tally.n
        parts = [part for part in spending if part.arm == arm.id and part.n_calls]
        settings = ", ".join(
            f"{name}={value}" for name, value in arm.sampling.model_dump(exclude={"constrained"}).items()
            if value is not None
        )  # fmt: skip
        name = f"{arm.model} ({arm.revision})" if arm.revision else arm.model
        rows.append(
            (name, settings or None, *(counts[status] for status in statuses), sum(part.n_calls for part in parts),
             sum(part.input_tokens for part in parts), sum(part.output_tokens for part in parts), _cost(parts))
        )  # fmt: skip
    if not rows:
        return None
    columns = (
        Column("model"), Column("settings"), *(Column(status, "count") for status in statuses),
        *(Column(title, "count") for title in ("calls", "tokens in", "tokens out")), Column("US$"),
    )  # fmt: skip
    note = (
        "Replies by how the call ended; a refusal in words is counted with the step that read it. Calls hold failed "
        "ones, too. A cost that isn't known is a dash."
    )
    return Table("asked", "What was asked of whom", columns, tuple(rows), note=note)


def _cost(parts: list[Spending]) -> str | None:
    cost = total_cost(parts)
    return None if cost is None else f"{cost:.4g}"
