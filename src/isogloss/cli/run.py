"""`isogloss run`: ask, code, score, report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import Display, environment, note, parse_set, say, say_json
from isogloss.cli.tables import overview

if TYPE_CHECKING:
    from isogloss.api import Job, Summary


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
    max_connections: Annotated[int, typer.Option(min=1, help="Calls under way at once.")] = 16,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")] = None,
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
    if dry_run:
        _dry_run(job, prompts_out, json)
        return
    folder = out if out is not None else api.default_out(job.spec)
    display = Display()
    try:
        summary = api.ask(
            job, folder, base_url=base_url, max_connections=max_connections,
            observe=display, warn=lambda text: note(f"warning: {text}"), environment=environment(),
        )  # fmt: skip
    finally:
        display.close()
    finish(summary, folder, json=json)


def finish(summary: Summary, folder: Path, *, json: bool) -> None:
    """Code, score and report where there is anything new, then say how the run stands."""
    from isogloss import api

    opened = api.Run(folder)
    if not opened.is_reported():
        _in_child(folder)
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
    statuses = ", ".join(f"{n:,} {status}" for status, n in summary.statuses.items())
    note(f"{summary.asked:,} asked now, {summary.cached:,} held already; {statuses}")
    for reason in summary.stopped:
        note(f"stopped early: {reason}")
    note(f"report: {Path(folder) / 'report.html'}")
    if not summary.complete:
        note("not complete: the same command asks only what is missing")
        raise typer.Exit(3)


def _in_child(folder: Path) -> None:
    """Code, score and draw in a process of its own: what that takes of memory is gone when it ends.

    It has a session of its own, so Ctrl-C reaches only this process, which then ends it.
    """
    note("coding, scoring and writing the report …")
    command = [sys.executable, "-P", "-m", "isogloss", "report", str(folder)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode:
        note(done.stderr.rstrip() or f"the report ended with {done.returncode}; try 'isogloss report {folder}'")
        raise typer.Exit(done.returncode if done.returncode > 0 else 1)


def _dry_run(job: Job, prompts_out: Path | None, json: bool) -> None:
    if prompts_out is not None:
        from isogloss.run.plan import write_prompts

        n = write_prompts(job.questions(), prompts_out)
        note(f"wrote {n:,} prompts to {prompts_out}")
    forecast = job.forecast()
    n_models = len(job.spec.models) or 1
    n_times = n_models * job.spec.repeats
    rows = [
        {
            "kind": kind,
            "questions": part.n_questions,
            "calls": part.n_prompts * n_times,
            "input_tokens": part.input_tokens.times(n_times)._asdict(),
            "output_tokens": part.output_tokens.times(n_times)._asdict(),
        }
        for kind, part in forecast.items()
    ]
    if json:
        say_json({"models": list(job.spec.models), "repeats": job.spec.repeats, "parts": rows, "cost": None})
        return
    say(f"{job.spec.data}: {len(job.dataset.items):,} items; {n_models} model(s) × {job.spec.repeats} repeat(s)")
    for kind, part in forecast.items():
        tokens_in, tokens_out = part.input_tokens.times(n_times), part.output_tokens.times(n_times)
        say(
            f"  {kind.replace('_', ' ')}: {part.n_questions:,} questions, {part.n_prompts * n_times:,} calls, "
            f"about {tokens_in.expected:,} tokens in ({tokens_in.low:,} to {tokens_in.high:,}), "
            f"{tokens_out.expected:,} out ({tokens_out.low:,} to {tokens_out.high:,})"
        )
    say("  cost: unknown (isogloss has no prices yet); nothing was asked")
