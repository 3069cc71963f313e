"""Wordings of the construction's prompts: one TOML file for each language and task, or a file of the user's."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from isogloss.errors import SettingError
from isogloss.prompts import Template
from isogloss.registry import unknown_name

FOLDER = Path(__file__).parents[1] / "data" / "wordings"


class Wording(NamedTuple):
    """One text with fields, and what else its file says."""

    name: str
    prompt: Template
    table: dict[str, Any]


def wording(task: str, wanted: str, fields: frozenset[str]) -> Wording:
    """The wording of a task ("retrieve", "write") that a language or a path names.

    Raises
    ------
    UnknownNameError
        For a language without a wording.
    SettingError
        For a file that is missing, isn't TOML, or lacks a key or field.
    """
    if wanted.endswith(".toml"):
        return _read(Path(wanted), fields)
    language = wanted.split("-")[0].lower()
    known = sorted(path.stem.removeprefix(f"{task}_") for path in FOLDER.glob(f"{task}_*.toml"))
    if language not in known:
        raise unknown_name(f"wording of '{task}'", wanted, known, hint='give a file of your own: wording = "FILE.toml"')
    return _shipped(task, language, fields)


@cache
def _shipped(task: str, language: str, fields: frozenset[str]) -> Wording:
    return _read(FOLDER / f"{task}_{language}.toml", fields)


def _read(path: Path, fields: frozenset[str]) -> Wording:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path} can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is no TOML file: {error}") from error
    for key in ("name", "prompt"):
        if not isinstance(table.get(key), str):
            raise SettingError(f"{path} has no text {key!r}")
    template = Template(table["prompt"].strip(), name=f"{path.name}: prompt")
    if set(template.fields) != fields:
        raise SettingError(f"{path}: 'prompt' must have just the fields {', '.join(sorted(fields))}")
    return Wording(table["name"], template, table)
