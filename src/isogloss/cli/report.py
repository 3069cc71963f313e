"""`isogloss report`: numbers and pictures of runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli.console import note, say


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN [RUN2 …]", help="Run folders of one study, or the folder of a construction."),
    ],
    format: Annotated[str, typer.Option(help="html, json, csv, md or latex.")] = "html",
    where: Annotated[str, typer.Option(help='Only these estimates, e.g. "measure=f1,country=CL" (not for html).')] = "",
    out: Annotated[
        Path | None, typer.Option(help="File to write; html goes to the run folder, others to stdout.")
    ] = None,
) -> None:
    """Write the report of one or more runs, or of a construction."""
    from isogloss import api
    from isogloss.errors import SettingError
    from isogloss.files import whole_file
    from isogloss.reports import FORMATS, render_apart
    from isogloss.reports import where as select

    builds = [run for run in runs if (run / "build.json").exists()]
    if builds and (len(runs) > 1 or format != "html"):
        raise SettingError(f"{builds[0]} is a construction: it has a report of its own, in html")
    if format == "html":
        if where:
            raise SettingError("--where goes with --format json, csv, md or latex; the html report holds everything")
        path = api.Build(builds[0]).report(out) if builds else api.write_report([str(run) for run in runs], out)
        note(f"report: {path}")
        return
    if format not in FORMATS:
        raise SettingError(f"no format {format!r}; there are html, {', '.join(FORMATS)}")
    opened = [api.Run(run) for run in runs]
    estimates = api.estimates_of(opened)
    text = render_apart(select(estimates, where) if where else estimates, opened[0].study.apart, format)
    if out is None:
        say(text.rstrip("\n"))
    else:
        with whole_file(out) as partial:
            partial.write_text(text, encoding="utf-8", newline="")
        note(f"wrote {out}")


def draw_in_child(folder: Path) -> None:
    """Make what a report needs and draw it in a process of its own: what that takes of memory is gone when it ends.

    It has a session of its own, so Ctrl-C reaches only this process, which then ends it.
    """
    command = [sys.executable, "-P", "-m", "isogloss", "report", str(folder)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode:
        note(done.stderr.rstrip() or f"the report ended with {done.returncode}; try 'isogloss report {folder}'")
        raise typer.Exit(done.returncode if done.returncode > 0 else 1)
