"""`isogloss check`: before any run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import note, parse_set, say, say_json

if TYPE_CHECKING:
    from isogloss.records import Prompt


def check(
    study: options.Study,
    data: Annotated[str | None, typer.Argument(help="The data file to look at.")] = None,
    settings: options.Set = [],
    seed: options.Seed = 0,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an empty Excel sheet to fill in, and stop.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Say whether a data set is right, and what would be asked."""
    from isogloss import api
    from isogloss.errors import SettingError

    if template is not None:
        write = api.find_study(study).template
        if write is None:
            raise SettingError(f"study {study!r} has no template")
        write(template)
        note(f"wrote {template}: fill it in, then 'isogloss check {study} {template}'")
        return
    if data is None:
        raise SettingError("nothing to check: give a data file, or --template FILE to get an empty sheet")
    job, findings = api.check_data(study, data, settings=parse_set(settings), seed=seed)
    forecast = job.forecast()
    examples: dict[str, Prompt] = {}
    for question in job.questions():
        examples.setdefault(question.condition.format or "all", question.prompt)
    if json:
        say_json(
            {
                "data": job.spec.data,
                "items": len(job.dataset.items),
                "questions": {kind: part.n_questions for kind, part in forecast.items()},
                "notes": list(job.dataset.notes),
                "findings": [finding._asdict() for finding in findings],
                "examples": {kind: [m.model_dump() for m in prompt.messages] for kind, prompt in examples.items()},
            }
        )
        return
    say(f"{job.spec.data}: {len(job.dataset.items):,} items, can be used")
    for kind, part in forecast.items():
        say(f"  {part.n_questions:,} questions of format {kind.replace('_', ' ')}")
    for text in job.dataset.notes:
        say(f"  note: {text}")
    for finding in findings:
        say(f"  {finding.where}: {finding.message}")
    for kind, prompt in examples.items():
        say(f"  the first prompt of format {kind.replace('_', ' ')} would be:")
        for message in prompt.messages:
            say("\n".join(f"    | {line}".rstrip() for line in message.content.splitlines()))
