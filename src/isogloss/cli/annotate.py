"""`isogloss annotate`: sheets for the people who take part in a construction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isogloss.cli import options
from isogloss.cli.console import note, say, say_json

if TYPE_CHECKING:
    from isogloss.api import Build

ACTIONS = ("export", "import", "status")
FORMATS: dict[str, tuple[Literal["csv", "xlsx"], ...]] = {"csv": ("csv",), "xlsx": ("xlsx",), "both": ("csv", "xlsx")}


def annotate(
    action: Annotated[
        str,
        typer.Argument(
            help="'export' writes a sheet for each person, with the rows that aren't answered yet; 'import' takes "
            "sheets back; 'status' says who has returned how much."
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a construction, see 'isogloss build'.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILES", help="Sheets to take back (import): CSV or xlsx.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only the sheets of this step; export writes all rows, also those that have an answer. "
            "[default: what is waited for]",
        ),
    ] = None,
    format: Annotated[str | None, typer.Option(help="csv, xlsx or both. [default: both]")] = None,
    json: options.Json = False,
) -> None:
    """Hand out sheets to the people who take part in a construction, and take them back."""
    from isogloss import api
    from isogloss.errors import SettingError
    from isogloss.registry import unknown_name

    if action not in ACTIONS:
        raise unknown_name("action of 'isogloss annotate'", action, ACTIONS)
    if action != "export" and format is not None:
        raise SettingError("--format goes with 'isogloss annotate export'")
    if action == "import" and task is not None:
        raise SettingError("--task goes with export and status; a sheet says itself which task it is of")
    if bool(files) != (action == "import"):
        raise SettingError(
            "'isogloss annotate import' needs the sheets to take back" if action == "import"
            else f"'isogloss annotate {action}' takes no files"
        )  # fmt: skip
    if format is not None and format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    opened = api.Build(folder)
    if action == "export":
        _export(opened, task, FORMATS[format or "both"], json=json)
    elif action == "import":
        _import(opened, files or [], json=json)
    else:
        _status(opened, task, json=json)


def _export(opened: Build, task: str | None, formats: tuple[Literal["csv", "xlsx"], ...], *, json: bool) -> None:
    paths = [str(path) for path in opened.export_sheets(task, formats=formats, tell=note)]
    if json:
        say_json(paths)
    else:
        for path in paths:
            say(path)
    note(f"when they come back: isogloss annotate import {opened.folder.path} FILE …")


def _import(opened: Build, files: list[Path], *, json: bool) -> None:
    found = opened.import_sheets(files)
    n_faults = sum(len(one.faults) for one in found)
    if json:
        say_json(
            [
                {
                    "file": str(one.file), "task": one.task, "rater": one.rater, "kept": one.n_ratings,
                    "unfilled": one.n_unfilled, "notes": list(one.notes),
                    "warnings": list(one.warnings),
                    "faults": [{"row": fault.row or None, "message": fault.message} for fault in one.faults],
                }
                for one in found
            ]
        )  # fmt: skip
    for one in found:
        unfilled = f", {one.n_unfilled:,} not filled in yet" if one.n_unfilled else ""
        if not json:
            say(f"{one.file}: {one.n_ratings:,} rows of {one.rater} kept for {one.task}{unfilled}")
        for line in one.notes:
            note(f"{one.file}: {line}")
        for line in one.warnings:
            note(f"warning: {one.file}: {line}")
        for fault in one.faults:
            note(f"{one.file}{f' row {fault.row}' if fault.row else ''}: {fault.message}")
    if n_faults:
        n_kept = sum(one.n_ratings for one in found)
        note(
            f"faults: {n_faults:,}. Nothing of such rows is kept, and an earlier answer to one stays; rows without "
            f"fault are ({n_kept:,}). Mend the sheet and import it again; rows that it lacks go out with "
            f"'isogloss annotate export {opened.folder.path}'"
        )
        raise typer.Exit(1)
    _tell_what_is_left(opened)


def _tell_what_is_left(opened: Build) -> None:
    """Who hasn't returned all rows, or that it can go on."""
    left = [f"{one.rater} {one.n_rows - one.n_back:,}" for one in opened.people() if one.n_back < one.n_rows]
    if left:
        note(f"rows still to come: {', '.join(left)}")
    else:
        note("all rows are back: run the same 'isogloss build' again to go on")


def _status(opened: Build, task: str | None, *, json: bool) -> None:
    from isogloss.registry import unknown_name

    found = opened.people()
    if task is not None:
        known = [step.name for step in opened.construction.steps if step.sheet is not None]
        if task not in known:
            raise unknown_name("task", task, known)
        found = [one for one in found if one.task == task]
    if json:
        say_json([{"task": one.task, "rater": one.rater, "rows": one.n_rows, "back": one.n_back} for one in found])
        return
    if not found:
        note(f"nobody is asked anything in {opened.folder.path} yet; 'isogloss build' goes on with it")
    for one in found:
        say(f"{one.task}  {one.rater}  {one.n_back:,} of {one.n_rows:,} rows back")
