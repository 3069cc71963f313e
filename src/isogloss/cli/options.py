"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Study = Annotated[str, typer.Argument(help="Name of a study; see 'isogloss studies'.")]
Data = Annotated[str, typer.Argument(help="A data file, or the name of a sample such as 'sample'.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Set = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the study or of sampling; repeat for several."),
]
Seed = Annotated[int, typer.Option(help="Decides samples and orders; equal on every machine.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Ask only the first N questions of each format.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Limits, prices, addresses of models. [default: isogloss.toml here, if any]"),
]
