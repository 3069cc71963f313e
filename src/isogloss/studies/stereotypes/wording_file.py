"""Where a wording lies, and what its file holds: one for each task and language that ships, or a user's own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from isogloss.errors import SettingError
from isogloss.registry import unknown_name

FOLDER = Path(__file__).parent / "data" / "wordings"


def languages(task: str) -> list[str]:
    """Of the wordings that ship for a task ("choice", "people", "retrieve", "write")."""
    return sorted(path.stem.removeprefix(f"{task}_") for path in FOLDER.glob(f"{task}_*.toml"))


def shipped(task: str, language: str, *, kind: str, hint: str) -> Path:
    """The file of a task in a language; its main tag decides.

    Raises
    ------
    UnknownNameError
        For a language without one: `no KIND named …`, with the hint.
    """
    main = language.split("-")[0].lower()
    known = languages(task)
    if main not in known:
        raise unknown_name(kind, language, known, hint=hint)
    return FOLDER / f"{task}_{main}.toml"


def table_of(path: Path) -> dict[str, Any]:
    """What a wording's file holds. Raises SettingError for one that is missing or isn't TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path} can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is no TOML file: {error}") from error
