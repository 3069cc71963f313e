"""`isogloss code`: read stored replies again."""

from __future__ import annotations

from collections import Counter

from isogloss.cli import options
from isogloss.cli.console import note, say_json


def code(run: options.RunPath, json: options.Json = False) -> None:
    """Read the stored replies of a run again with the rules of today, without asking."""
    from isogloss import api

    opened = api.Run(run)
    answers = opened.code()
    counts = Counter(zip(answers["coder"], answers["status"], strict=True))
    if json:
        say_json([{"coder": coder, "status": status, "n": n} for (coder, status), n in sorted(counts.items())])
        return
    for (coder, status), n in sorted(counts.items()):
        note(f"{coder}: {n:,} {status}")
    note(f"answers: {opened.folder.answers_file}")
