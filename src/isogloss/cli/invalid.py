"""`isogloss invalid`: what couldn't be read, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, say, say_json


def invalid(
    run: options.RunPath,
    limit: Annotated[int, typer.Option(min=0, help="Example replies shown of each kind, at most 3.")] = 3,
    json: options.Json = False,
) -> None:
    """Show replies that gave no value, grouped by reason. Nothing is asked again."""
    from isogloss import api
    from isogloss.reports import invalid_replies

    groups = invalid_replies(api.Run(run).answers)
    if json:
        say_json([asdict(group) for group in groups])
        return
    if not groups:
        note("every reply was read")
    for group in groups:
        what = " · ".join(filter(None, (group.model, group.format, group.reading)))
        say(f"{what}: {group.count:,} {group.status} ({group.reason or 'no reason given'})")
        for reply in group.examples[:limit]:
            say(f"    {reply!r}")
