"""`isogloss runs`: what has been run and built here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from isogloss.cli import options
from isogloss.cli.console import money, note, say, say_json
from isogloss.cli.display import short

SHOWN = 90
"""Characters of the reason why a run ended early; `--json` has all of it."""


def runs(
    folder: Annotated[Path, typer.Argument(help="Where to look; run folders lie directly below.")] = Path("runs"),
    json: options.Json = False,
) -> None:
    """List runs and constructions with their state: running, complete, incomplete (and why), waiting."""
    from isogloss import api
    from isogloss.errors import IsoglossError

    found = []
    for name, state in (("run.json", api.state), ("build.json", api.build_state)):
        for file in sorted(folder.glob(f"*/{name}")) + sorted(folder.glob(name)):
            try:
                found.append(state(file.parent))
            except IsoglossError as error:
                note(f"left out: {error}")
    if json:
        say_json(found)
        return
    if not found:
        note(f"no runs in {folder}; start one with 'isogloss run'")
    elif sys.stdout.isatty():
        _table(found)
    else:
        for row in found:
            say("  ".join(_cells(row)))


def _cells(row: dict[str, Any]) -> list[str]:
    statuses = ", ".join(f"{n:,} {status}" for status, n in row["statuses"].items())
    tokens = (
        f"{short(row['tokens']['input'])} in, {short(row['tokens']['output'])} out" if row["tokens"]["input"] else ""
    )
    cost = "" if row["cost"] == 0.0 else money(row["cost"])
    state = row["state"]
    if "build" in row:
        n_done = sum(one == "done" for one in row["steps"].values())
        state += f", {n_done} of {len(row['steps'])} steps done"
        about = f"{row['study']}, built from {row['config']}"
        return [row["build"], about, ", ".join(row["models"]), state, statuses, tokens, cost]
    if row["stopped"] and state == "incomplete":
        reason = row["stopped"][0]
        state += f" ({reason if len(reason) <= SHOWN else reason[: SHOWN - 1] + '…'})"
    return [row["run"], f"{row['study']} on {row['data']}", ", ".join(row["models"]), state, statuses, tokens, cost]


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("run", "study", "models", "state", "replies", "tokens", "cost"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*_cells(row))
    Console().print(table)
