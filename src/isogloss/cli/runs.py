"""`isogloss runs`: what has been run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, say, say_json


def runs(
    folder: Annotated[Path, typer.Argument(help="Where to look; run folders lie directly below.")] = Path("runs"),
    json: options.Json = False,
) -> None:
    """List runs with their state."""
    from isogloss import api
    from isogloss.errors import IsoglossError

    found = []
    for spec_file in sorted(folder.glob("*/run.json")) + sorted(folder.glob("run.json")):
        try:
            found.append(api.state(spec_file.parent))
        except IsoglossError as error:
            note(f"left out: {error}")
    if json:
        say_json(found)
        return
    if not found:
        note(f"no runs in {folder}; start one with 'isogloss run'")
    for row in found:
        statuses = ", ".join(f"{n:,} {status}" for status, n in row["statuses"].items())
        say(f"{row['run']}  {row['study']} on {row['data']}  {', '.join(row['models'])}  {row['state']}  {statuses}")
