"""`isogloss run`: ask, code, score, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, money, note, parse_set, say, say_json
from isogloss.cli.display import CALLS, Display
from isogloss.cli.report import draw_in_child
from isogloss.cli.tables import overview

if TYPE_CHECKING:
    from isogloss.api import Summary


def run(
    study: options.Study,
    data: options.Data,
    model: Annotated[
        list[str], typer.Option("--model", "-m", help="provider/model[@revision]; repeat for several.")
    ] = [],
    out: Annotated[
        Path | None, typer.Option(help="Run folder; what it holds isn't asked again. [default: one below runs/]")
    ] = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each prompt is asked.")] = 1,
    max_connections: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Calls under way at once, for each model. [default: 16]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of a server that speaks the provider's format.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="What the run may cost in all; a higher cap later goes on."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Through the provider's batch API: within a day, at about half the price.")
    ] = False,
    config: options.Config = None,
    settings: options.Set = [],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count prompts and tokens, and ask nothing.")] = False,
    prompts_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --dry-run: write the prompts as JSONL.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Put a study's questions to one or more models, then code, score and report.

    What the run folder holds already is kept; only what is missing is asked.
    """
    from isogloss import api
    from isogloss.errors import SettingError

    if prompts_out is not None and not dry_run:
        raise SettingError("--prompts-out goes with --dry-run")
    job = api.prepare(study, data, models=model, settings=parse_set(settings), seed=seed, limit=limit, repeats=repeats)
    folder = out if out is not None else api.default_out(job.spec)
    if dry_run:
        from isogloss.cli.dry_run import dry_run as show
        from isogloss.models.config import read_config

        variables = environment()
        show(
            job, config=read_config(config, environment=variables), environment=variables, base_url=base_url,
            out=folder, batch=batch, prompts_out=prompts_out, json=json,
        )  # fmt: skip
        return
    if not (folder / "run.json").exists():
        for text in job.dataset.notes:
            note(f"note: {text}")
    display = Display()
    try:
        summary = api.ask(
            job, folder, base_url=base_url, max_connections=max_connections, max_cost=max_cost, batch=batch,
            config=config, observe=display, warn=display.warn, environment=environment(),
        )  # fmt: skip
    finally:
        display.close()
    finish(summary, folder, json=json)


def finish(summary: Summary, folder: Path, *, json: bool) -> None:
    """Code, score and report where there is anything new, then say how the run stands."""
    from isogloss import api

    opened = api.Run(folder)
    if not opened.is_reported():
        note("coding, scoring and writing the report …")
        draw_in_child(folder)
    if json:
        say_json(
            {
                "run": summary.run,
                "prompts": summary.prompts,
                "asked": summary.asked,
                "cached": summary.cached,
                "statuses": summary.statuses,
                "tokens": summary.tokens,
                "cost": summary.cost,
            }
        )
    else:
        say(overview(opened.records, opened.study))
    statuses = ", ".join(f"{n:,} {CALLS.get(status, status)}" for status, n in summary.statuses.items())
    note(f"{summary.asked:,} asked now, {summary.cached:,} held already; {statuses}")
    if summary.asked and (summary.cost != 0.0 or summary.n_unmetered):
        note(_money(summary))
    for reason in summary.final:
        note(reason)
    for reason in summary.stopped:
        note(f"stopped early: {reason}")
    if summary.stopped and summary.missing_cost:
        more = "; a higher --max-cost goes on" if summary.is_capped else ""
        note(f"what is missing may cost about {money(summary.missing_cost)} more{more}")
    elif summary.is_capped:
        note("a higher --max-cost goes on")
    note(f"report: {Path(folder) / 'report.html'}")
    if not summary.complete:
        note("not complete: the same command asks only what is missing")
        raise typer.Exit(3)
    if summary.is_hopeless:
        note("nothing could be answered: take another model or other settings")
        raise typer.Exit(1)


def _money(summary: Summary) -> str:
    """What this command and the run have taken."""
    tokens = f"{summary.tokens['input']:,} tokens in, {summary.tokens['output']:,} out; {money(summary.cost)}"
    if summary.spent is not None and summary.cost is not None and summary.spent != summary.cost:
        tokens += f", {money(summary.spent)} over the whole run"
    if summary.n_unmetered:
        tokens += (
            f"; {summary.n_unmetered:,} replies came without token counts and are in no sum "
            "(--max-cost counts each at its most)"
        )
    return tokens
