"""`isogloss models`: who can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, note, say, say_json


def models(
    action: Annotated[str | None, typer.Argument(help="'pull' brings the weights of a small embedded model.")] = None,
    name: Annotated[str | None, typer.Argument(help="Which weights, e.g. smollm2.")] = None,
    json: options.Json = False,
) -> None:
    """List providers and embedded models, or bring the weights of one."""
    from isogloss.errors import SettingError
    from isogloss.models import providers
    from isogloss.models.weights import available, pull

    if action is None:
        if json:
            say_json(
                {
                    "providers": [provider._asdict() for provider in providers()],
                    "weights": [weights._asdict() for weights in available(environment())],
                }
            )
            return
        for provider in providers():
            say(f"{provider.form:<24}  {provider.meaning}")
        say("weights that 'isogloss models pull NAME' brings:")
        for weights in available(environment()):
            state = "here" if weights.present else "not here yet"
            say(f"  {weights.name}  {weights.megabytes:.0f} MB  {weights.licence}  {state}")
        return
    if action != "pull" or name is None:
        raise SettingError(f"'isogloss models' knows 'pull NAME', got {' '.join(filter(None, (action, name)))!r}")
    path = pull(name, environment(), progress=note)
    note(f"weights: {path}")
