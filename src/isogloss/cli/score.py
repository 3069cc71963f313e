"""`isogloss score`: estimates again, or for replies made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, parse_set, say
from isogloss.cli.tables import overview


def score(
    what: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="A run folder; with --responses, a study.")],
    data: Annotated[str | None, typer.Option(help="The data set that the replies belong to.")] = None,
    responses: Annotated[
        list[Path],
        typer.Option(
            help="Results made elsewhere: JSONL or CSV with prompt_id, model, repeat, response, or a format of the "
            "study's own; repeat for several files, whose models are compared."
        ),
    ] = [],
    settings: options.Set = [],
    seed: options.Seed = 0,
    limit: options.Limit = None,
    out: Annotated[Path | None, typer.Option(help="Keep the run here; a temporary folder otherwise.")] = None,
    json: options.Json = False,
) -> None:
    """Score a run again without asking, or score replies that were made elsewhere.

    For a run, --set takes the settings that only change how answers are scored; they hold for it from then on.
    """
    from isogloss import api
    from isogloss.errors import SettingError
    from isogloss.reports import to_json

    if not responses:
        if data is not None:
            raise SettingError("--data goes with --responses; to score a run again give its folder alone")
        if seed or limit or out:
            raise SettingError("a run keeps its seed and its rows; --seed, --limit and --out go with --responses")
        run = api.Run(what)
        estimates = run.score(settings=parse_set(settings))
    else:
        if data is None:
            raise SettingError("--responses needs --data: the data set that the prompts were made of")
        run = api.score_responses(what, data, responses, settings=parse_set(settings), seed=seed, limit=limit, out=out)
        estimates = run.records
    n_missing = api.state(run.folder.path)["statuses"].get("missing", 0)
    if responses and n_missing:
        note(f"{n_missing:,} prompts have no response: they count as missing")
    say(to_json(estimates) if json else overview(estimates, run.study))
    note(f"run: {run.folder.path}")
