"""`isogloss build`: a data set, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, money, note, say, say_json
from isogloss.cli.display import Display
from isogloss.cli.report import draw_in_child

if TYPE_CHECKING:
    from isogloss.api import Build
    from isogloss.run.build import Prospect


def build(
    study: options.Study,
    out: Annotated[Path, typer.Option(help="Folder of the construction; what it holds isn't done or asked again.")],
    configuration: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="The study's TOML file. Left out: an example is written into --out."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which steps are done, due or waiting, and do nothing.")
    ] = False,
    skip_people: Annotated[
        bool, typer.Option("--skip-people", help="Go on without people's part; the data card says so.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="What the construction may cost in all; a higher cap later goes on."),
    ] = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Calls under way at once, for each model. [default: 16]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of a server that speaks the provider's format.")] = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Build a study's data set, step by step, until all is done or people are waited for.

    The same command goes on: a step is done again only where something that it depends on has changed.
    """
    from isogloss import api

    if configuration is None:
        path = api.write_example(study, out)
        note(f"wrote {path}: change it to your needs, then 'isogloss build {study} {path} --out {out}'")
        if json:
            say_json({"config": str(path)})
        return
    if dry_run:
        _preview(api.preview(study, configuration, out=out, skip_people=skip_people), json=json)
        return
    display = Display()
    try:
        opened = api.build_dataset(
            study, configuration, out=out, skip_people=skip_people, max_cost=max_cost,
            max_connections=max_connections, base_url=base_url, config=config, observe=display, tell=display.tell,
            warn=display.warn, environment=environment(),
        )  # fmt: skip
    finally:
        display.close()
    _finish(opened, json=json)


def _finish(opened: Build, *, json: bool) -> None:
    """Draw the report where there is anything new, and say how the construction stands."""
    from isogloss.run.build_report import is_reported

    built, folder = opened.summary, opened.folder
    assert built is not None
    if not is_reported(folder):
        draw_in_child(folder.path)
    if json:
        say_json(
            {
                "build": built.build,
                "steps": built.steps,
                "tables": built.tables,
                "waiting": built.waiting or None,
                "stopped": built.stopped or None,
                "failed": built.failed,
                "asked": built.asked,
                "cost": built.cost,
            }
        )
    else:
        for step in opened.construction.steps:
            rows = ", ".join(f"{name} {built.tables[name]:,}" for name in step.writes if name in built.tables)
            state = str(built.steps[step.name])
            if state == "done" and step.name not in built.made:
                state = "unchanged"
            say(_line(step.name, state, rows, width=_width(built.steps)))
    if built.asked:
        note(f"{built.asked:,} calls now" + (f"; {money(built.cost)}" if built.cost != 0.0 else ""))
    note(f"report: {folder.report_file}")
    for name, n_failed in built.failed.items():
        note(f"{name}: {n_failed:,} calls failed; the same command asks them again")
    if built.stopped:
        note(f"stopped early: {built.stopped}; what was made and answered is kept, the same command goes on")
    if built.waiting:
        note(f"waiting: {built.waiting}")
    if not built.complete:
        raise typer.Exit(3)


def _preview(found: Sequence[Prospect], *, json: bool) -> None:
    """Which steps are done, due or waiting, and the calls at most."""
    calls: dict[str, int] = {}
    for prospect in found:
        for model, n in (prospect.calls or {}).items():
            calls[model] = calls.get(model, 0) + n
    unknown = [prospect.step.name for prospect in found if prospect.calls is None]
    if json:
        say_json(
            {
                "steps": {prospect.step.name: prospect.state for prospect in found},
                "calls": {one.step.name: None if one.calls is None else dict(one.calls) for one in found},
                "calls_at_most": calls,
                "not_yet_known": unknown,
            }
        )
    else:
        width = _width([prospect.step.name for prospect in found])
        for step, state, of_step in found:
            say(_line(step.name, state, f"{step.title} ({_by(step.by)}){_calls(of_step)}", width=width))
        for model, n in calls.items():
            say(f"{model}: {n:,} calls at most" + (", and those not known yet" if unknown else ""))
    note("nothing was done or asked")


def _calls(calls: Mapping[str, int] | None) -> str:
    if calls is None:
        return "; calls are known once the steps before are done"
    return "".join(f"; {n:,} calls to {model} at most" for model, n in calls.items())


def _by(who: str) -> str:
    return {"rule": "by rule", "model": "by a model", "people": "by people"}[who]


def _width(names: Iterable[str]) -> int:
    return max(map(len, names), default=0)


def _line(name: str, state: str, words: str, *, width: int) -> str:
    return f"{name:<{width}}  {state:<9}  {words}".rstrip()
