"""Wordings of the construction's prompts: one TOML file for each language and task, or a file of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from isogloss.errors import SettingError
from isogloss.locale import by_language
from isogloss.prompts import Template
from isogloss.studies.stereotypes.wording_file import shipped, table_of

Wanted: TypeAlias = str | Mapping[str, str] | None
"""What a configuration says of a wording: a language or a TOML file, for all countries or by their language."""


def wanted_for(wanted: Wanted, language: str) -> str:
    """The wording for a language: what is named for it or its main tag, what is named for all, or the language's."""
    if isinstance(wanted, Mapping):
        return by_language(wanted, language) or language
    return wanted or language


def own_files(wanted: Wanted) -> list[Path]:
    """Files of the user's that are named."""
    named = wanted.values() if isinstance(wanted, Mapping) else [wanted or ""]
    return [Path(one) for one in named if one.endswith(".toml")]


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
    hint = 'give a file of your own: wording = "FILE.toml"'
    return _read_once(shipped(task, wanted, kind=f"wording of '{task}'", hint=hint), fields)


@cache
def _read_once(path: Path, fields: frozenset[str]) -> Wording:
    return _read(path, fields)


def _read(path: Path, fields: frozenset[str]) -> Wording:
    table = table_of(path)
    for key in ("name", "prompt"):
        if not isinstance(table.get(key), str):
            raise SettingError(f"{path} has no text {key!r}")
    template = Template(table["prompt"].strip(), name=f"{path.name}: prompt")
    if set(template.fields) != fields:
        raise SettingError(f"{path}: 'prompt' must have just the fields {', '.join(sorted(fields))}")
    return Wording(table["name"], template, table)
