"""`isogloss demo`: the main job, on own sample data, with the embedded model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, note, say, say_json
from isogloss.cli.display import Display
from isogloss.cli.tables import overview

STUDY = "lexicon"
MODEL = "gguf/smollm2"
INFORMANTS = ("scripted/random", "scripted/always-yes")
QUESTIONS = 100
"""Asked of the real model in each format; the scripted informants get all."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the runs and the report go.")] = Path("demo"),
    seed: options.Seed = 7,
    json: options.Json = False,
) -> None:
    """Survey a small embedded model on the sample data, beside informants that only guess.

    It brings the model's weights on first use. The same command again asks nothing.
    """
    from isogloss import api
    from isogloss.models.weights import pull

    pull(MODEL.partition("/")[2], environment(), progress=note)
    display = Display()
    parts: tuple[tuple[str, tuple[str, ...], dict[str, object]], ...] = (
        ("smollm2", (MODEL,), {"sample": QUESTIONS, "reading": "both", "constrained": True}),
        ("informants", INFORMANTS, {}),
    )
    folders = []
    try:
        for name, names, settings in parts:
            job = api.prepare(STUDY, "sample", models=names, settings=settings, seed=seed)
            api.ask(job, out / name, observe=display, warn=display.warn, environment=environment())
            folders.append(str(out / name))
    finally:
        display.close()
    report = api.write_report(folders, out / "report.html")
    estimates = api.estimates_of([api.Run(folder) for folder in folders])
    if json:
        say_json({"runs": folders, "report": str(report)})
    else:
        say(overview(estimates, api.find_study(STUDY)))
    note("The embedded model is for trying the machine: its numbers say nothing about what language models know.")
    note(f"report: {report}")
