"""The words in which a chat model is asked to choose: data files, one per language, and files of the user's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import SettingError
from isogloss.prompts import Template
from isogloss.studies.stereotypes.wording_file import shipped, table_of

KEYS = ("name", "language", "author", "two", "neither", "pair", "pair_neither", "answers", "unknown")
FIELDS = {
    "two": {"context", "a", "b"}, "neither": {"context", "a", "b", "c"}, "pair": {"a", "b"},
    "pair_neither": {"a", "b", "c"}, "answers": {"context", "question", "a", "b", "c"},
}  # fmt: skip


class ChoiceWording(NamedTuple):
    """One phrasing of the questions of forced choice."""

    name: str
    """Versioned, e.g. "choice-es@1"."""
    language: str
    two: Template
    """Which of two sentences goes on better."""
    neither: Template
    """The same, with a third answer."""
    pair: Template
    """Which of two sentences, without a context, is likelier."""
    pair_neither: Template
    answers: Template
    """Which of three answers a text supports (BBQ)."""
    none: str
    """The third answer's words."""
    unknown: tuple[str, ...]
    """Ways to say that a text doesn't tell (EsBBQ)."""


@cache
def choice_wording(wording: str) -> ChoiceWording:
    """The wording of a language that ships, or of a TOML file.

    Raises
    ------
    UnknownNameError
        For a language without a wording.
    SettingError
        For a file that is missing, isn't TOML, or lacks a key or field.
    """
    is_file = wording.endswith(".toml") or "/" in wording
    path = Path(wording) if is_file else shipped("choice", wording, kind="wording", hint="or give wording=FILE.toml")
    table = table_of(path)
    lacking = [key for key in (*KEYS, "none") if key not in table]
    if lacking:
        raise SettingError(f"{path} has no {lacking[0]!r}; a wording has {', '.join((*KEYS, 'none'))}")
    templates = {}
    for key, fields in FIELDS.items():
        templates[key] = Template(str(table[key]).strip(), name=f"{path.name}: {key}")
        if set(templates[key].fields) != fields:
            raise SettingError(f"{path}: {key!r} must have just the fields {', '.join(sorted(fields))}")
    if not isinstance(table["unknown"], list) or not table["unknown"]:
        raise SettingError(f"{path}: 'unknown' must be a list of answers")
    return ChoiceWording(
        str(table["name"]), str(table["language"]), templates["two"], templates["neither"], templates["pair"],
        templates["pair_neither"], templates["answers"], str(table["none"]), tuple(map(str, table["unknown"])),
    )  # fmt: skip
