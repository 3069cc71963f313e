"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

import isogloss
from isogloss.cli import annotate, build, check, code, demo, doctor, invalid, models, report, run, runs, score, studies

app = typer.Typer(
    name="isogloss",
    help="Find where language models stop knowing a country's words and culture.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isogloss {isogloss.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


for module in (demo, check, run, build, annotate, code, score, report, invalid, studies, models, runs, doctor):
    name = module.__name__.rpartition(".")[2]
    app.command(name)(getattr(module, name))
