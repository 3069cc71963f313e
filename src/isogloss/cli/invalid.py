"""`isogloss invalid`: what couldn't be read, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, say, say_json


def invalid(
    run: options.RunPath,
    limit: Annotated[int, typer.Option(min=1, help="Example replies shown of each kind.")] = 3,
    json: options.Json = False,
) -> None:
    """Show replies that gave no value, grouped by reason. Nothing is asked again."""
    from isogloss import api
    from isogloss.reports import invalid_replies

    groups = invalid_replies(api.Run(run).answers, limit=limit)
    if json:
        say_json([group._asdict() for group in groups])
        return
    if not groups:
        note("every reply was read")
    for group in groups:
        say(f"{group.model} · {group.format} · {group.reading}: {group.n:,} {group.status} ({group.reason or 'no reason given'})")
        for reply in group.examples:
            say(f"    {reply!r}")
