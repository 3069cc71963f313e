"""`isogloss code`: read stored replies again."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, say_json

ReasoningTag = Annotated[
    list[str],
    typer.Option(
        "--reasoning-tag",
        metavar="NAME|'OPEN|CLOSE'",
        help="A mark of reasoning that this run's replies hold, beside the usual ones (think, analysis, …): a name, or "
        "an opening and a closing mark; repeat for several. Kept with the run, in place of those given before; "
        "'none' for the usual ones alone.",
    ),
]


def code(run: options.RunPath, reasoning_tag: ReasoningTag = [], json: options.Json = False) -> None:
    """Read the stored replies of a run again with the rules of today, without asking."""
    from isogloss import api

    opened = api.Run(run)
    given = [] if reasoning_tag == ["none"] else reasoning_tag
    answers = opened.code(reasoning_tags=given if reasoning_tag else None)
    counts = Counter(zip(answers["coder"], answers["status"], strict=True))
    if json:
        say_json([{"coder": coder, "status": status, "n": n} for (coder, status), n in sorted(counts.items())])
        return
    for (coder, status), n in sorted(counts.items()):
        note(f"{coder}: {n:,} {status}")
    note(f"answers: {opened.folder.answers_file}")
