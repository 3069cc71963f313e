"""`isogloss studies`: what can be studied."""

from __future__ import annotations

from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import say, say_json


def studies(
    name: Annotated[str | None, typer.Argument(help="Show this study's settings and samples.")] = None,
    json: options.Json = False,
) -> None:
    """List the studies, or one study's settings."""
    from isogloss import api, studies
    from isogloss.records import Sampling

    if name is None:
        found = [{"name": each, "title": studies.get(each).title} for each in studies.names()]
        if json:
            say_json(found)
        else:
            for each in found:
                say(f"{each['name']}  {each['title']}")
        return
    study = api.find_study(name)
    settings: list[dict[str, object]] = [
        {"name": key, "default": field.get_default(call_default_factory=True), "meaning": field.description or ""}
        for fields in (study.settings.model_fields, Sampling.model_fields)
        for key, field in fields.items()
    ]
    for row in settings:
        if row["name"] == "max_tokens":
            row["default"] = study.default_max_tokens
    if json:
        say_json({"name": study.name, "title": study.title, "samples": list(study.samples), "settings": settings})
        return
    say(f"{study.name}@{study.version}: {study.title}")
    say(f"samples: {', '.join(study.samples) or 'none'}")
    say("settings (--set NAME=VALUE):")
    width = max(len(str(row["name"])) for row in settings)
    for row in settings:
        value = row["default"]
        shown = ",".join(map(str, value)) if isinstance(value, tuple | list) else value
        say(f"  {row['name']!s:<{width}}  {row['meaning']}  [{'none' if shown in (None, '') else shown}]")
