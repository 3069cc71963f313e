"""`isogloss build`: a data set, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, money, note, say, say_json
from isogloss.cli.display import Display
from isogloss.cli.report import draw_in_child
from isogloss.errors import IsoglossError

if TYPE_CHECKING:
    from isogloss.api import Build
    from isogloss.run.build import Load, Prospect


def build(
    study: options.Study,
    out: Annotated[Path, typer.Option(help="Folder of the construction; what it holds isn't done or asked again.")],
    configuration: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="The study's TOML file. Left out: an example is written into --out."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say which steps are done, due or waiting, and what they may cost; do nothing."),
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
        found = api.preview(
            study, configuration, out=out, skip_people=skip_people, base_url=base_url, config=config,
            environment=environment(), warn=note,
        )  # fmt: skip
        _preview(found, json=json, skip_people=skip_people)
        return
    display = Display()
    try:
        opened = api.build_dataset(
            study, configuration, out=out, skip_people=skip_people, max_cost=max_cost,
            max_connections=max_connections, base_url=base_url, config=config, observe=display, tell=display.tell,
            warn=display.warn, environment=environment(),
        )  # fmt: skip
    except IsoglossError:
        display.close()
        _report_so_far(out)
        raise
    finally:
        display.close()
    _finish(opened, json=json)


def _report_so_far(out: Path) -> None:
    """Draw the report over what was made before a fault, where there is anything new."""
    from isogloss.run.build_folder import BuildFolder
    from isogloss.run.build_report import is_reported

    folder = BuildFolder(out)
    if folder.exists and any(step.get("state") == "done" for step in folder.steps().values()):
        if not is_reported(folder):
            draw_in_child(folder.path)
        note(f"report of what was made before: {folder.report_file}")


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


def _preview(found: Sequence[Prospect], *, json: bool, skip_people: bool) -> None:
    """Which steps are done, due or waiting, and what they would ask at most."""
    from isogloss.run.build import by_model

    loads = by_model(load for prospect in found for load in prospect.loads or ())
    unknown = [prospect.step.name for prospect in found if prospect.loads is None]
    if json:
        say_json(
            {
                "steps": {one.step.name: one.state for one in found},
                "at_most": {
                    one.step.name: None if one.loads is None else [_named(load) for load in one.loads] for one in found
                },
                "by_model": [_named(load) for load in loads],
                "in_all": _cells(reduce(add, loads)) if loads else None,
                "not_yet_known": unknown,
            }
        )
    else:
        _print(found, loads, unknown, skip_people=skip_people)
    for load in loads:
        if load.cost is None:
            note(
                f"the price of {load.model} isn't known; put input_price and output_price under "
                f'[models."{load.model}"] in isogloss.toml'
            )
    note("nothing was done or asked")


def _print(found: Sequence[Prospect], by_model: Sequence[Load], unknown: Sequence[str], *, skip_people: bool) -> None:
    width = _width([prospect.step.name for prospect in found])
    for step, state, loads in found:
        who = "without people" if step.by == "people" and skip_people else f"by {step.who}"
        more = "; what it asks is known once the steps before are done" if loads is None else ""
        say(_line(step.name, state, f"{step.title} ({who}){more}", width=width))
        for load in loads or ():
            say(_line("", "", _words(load), width=width))
    if not by_model:
        return
    for load in by_model if len(by_model) > 1 else ():
        say(_words(load))
    say(_words(reduce(add, by_model)._replace(model="in all")))
    if unknown:
        say(f"not in it, for it isn't known yet: {', '.join(unknown)}")


def _words(load: Load) -> str:
    calls = f"{load.n_calls:,} call{'' if load.n_calls == 1 else 's'}"
    tokens = f"{load.input_tokens.high:,} tokens in, {load.output_tokens:,} out"
    return f"{load.model}: at most {calls}, {tokens}, {money(load.cost)}"


def _named(load: Load) -> dict[str, object]:
    return {"model": load.model, **_cells(load)}


def _cells(load: Load) -> dict[str, object]:
    return {
        "calls": load.n_calls,
        "input_tokens": load.input_tokens._asdict(),
        "output_tokens": load.output_tokens,
        "cost": None if load.cost is None else round(load.cost, 9),
    }


def _width(names: Iterable[str]) -> int:
    return max(map(len, names), default=0)


def _line(name: str, state: str, words: str, *, width: int) -> str:
    return f"{name:<{width}}  {state:<9}  {words}".rstrip()
