"""`isogloss report`: numbers and pictures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli.console import note, say


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN2 …]", help="Run folders of one study.")],
    format: Annotated[str, typer.Option(help="html, json, csv, md or latex.")] = "html",
    where: Annotated[str, typer.Option(help='Only these estimates, e.g. "measure=f1,country=CL" (not for html).')] = "",
    out: Annotated[
        Path | None, typer.Option(help="File to write; html goes to the run folder, others to stdout.")
    ] = None,
) -> None:
    """Write the report of one or more runs."""
    from isogloss import api
    from isogloss.errors import SettingError
    from isogloss.files import whole_file
    from isogloss.reports import FORMATS, render
    from isogloss.reports import where as select

    if format == "html":
        if where:
            raise SettingError("--where goes with --format json, csv, md or latex; the html report holds everything")
        path = api.write_report([str(run) for run in runs], out)
        note(f"report: {path}")
        return
    if format not in FORMATS:
        raise SettingError(f"no format {format!r}; there are html, {', '.join(FORMATS)}")
    estimates = api.estimates_of([api.Run(run) for run in runs])
    text = render(select(estimates, where) if where else estimates, format)
    if out is None:
        say(text.rstrip("\n"))
    else:
        with whole_file(out) as partial:
            partial.write_text(text, encoding="utf-8", newline="")
        note(f"wrote {out}")
