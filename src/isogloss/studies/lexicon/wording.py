"""The words in which questions are put: data files, one per language, and files of the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import SettingError
from isogloss.locale import language_tag
from isogloss.prompts import Template
from isogloss.records import AnswerForm, Status
from isogloss.registry import unknown_name

FOLDER = Path(__file__).parent / "data" / "wordings"
KEYS = ("name", "language", "author", "yes", "no", "yes_no", "multiple_choice")
OPTIONAL_KEYS = ("checked_by",)
FIELDS = {
    "yes_no": frozenset({"country", "description", "variant"}),
    "multiple_choice": frozenset({"country", "description", "options"}),
}
"""Fields that each template must have; both may have `gloss` too."""


class Wording(NamedTuple):
    """One phrasing of both questions."""

    name: str
    """Versioned, e.g. "es@1"."""
    language: str
    """BCP 47 tag."""
    author: str
    yes: str
    no: str
    yes_no: Template
    multiple_choice: Template
    yes_no_form: AnswerForm

    def row(self) -> dict[str, str | float | None]:
        """As a row of a data set's table, from which `of_row` makes it again."""
        return {
            "name": self.name,
            "language": self.language,
            "author": self.author,
            "yes": self.yes,
            "no": self.no,
            "yes_no": self.yes_no.text,
            "multiple_choice": self.multiple_choice.text,
        }


def names() -> list[str]:
    """Languages of the wordings that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def is_file(wording: str) -> bool:
    """Whether a setting names a file rather than a language."""
    return wording.endswith(".toml") or "/" in wording or "\\" in wording


def load_wording(wording: str) -> Wording:
    """The wording that a setting names.

    Parameters
    ----------
    wording : str
        Language of a wording that ships, or path of a TOML file.

    Raises
    ------
    UnknownNameError
        For a language without a wording.
    SettingError
        For a file that is missing, isn't TOML, or lacks or adds a key or field; all of them are named.
    """
    if not is_file(wording):
        return _shipped(wording)
    path = Path(wording)
    made = _checked(_toml(path), str(path))
    if made.name in (_shipped(name).name for name in names()):
        raise SettingError(f"{path}: 'name' {made.name!r} is that of a wording that ships; give yours another")
    _check_words(made, str(path))
    return made


@cache
def _shipped(language: str) -> Wording:
    if language not in names():
        raise unknown_name("wording", language, names(), hint="or give the path of a TOML file, e.g. wording=./my.toml")
    path = FOLDER / f"{language}.toml"
    return _checked(_toml(path), path.name)


@cache
def of_row(row: tuple[tuple[str, str | float | None], ...]) -> Wording:
    """A wording kept in a data set's table (its items as a tuple)."""
    return _checked({key: text for key, text in row if text}, "wording of the data set")


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise SettingError(f"no wording file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"can't read wording file {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{path} isn't TOML: {error}") from error


def _checked(given: Mapping[str, object], where: str) -> Wording:
    faults = [f"no {key!r}" for key in KEYS if key not in given]
    faults += [f"unknown {key!r}" for key in given if key not in KEYS + OPTIONAL_KEYS]
    faults += [f"{key!r} is not a text" for key in KEYS if key in given and not isinstance(given[key], str)]
    faults += [f"{key!r} is empty" for key in KEYS if isinstance(given.get(key), str) and not str(given[key]).strip()]
    if faults:
        raise SettingError(f"{where}: {'; '.join(faults)}; a wording has {', '.join(KEYS)}")
    text = {key: str(given[key]).strip() for key in KEYS}
    templates = {key: Template(text[key], name=f"{where}, {key}") for key in FIELDS}
    for key, template in templates.items():
        faults += [f"{key!r} has no field {{{name}}}" for name in sorted(FIELDS[key] - template.fields)]
        unknown = sorted(template.fields - FIELDS[key] - {"gloss"})
        faults += [f"{key!r} has an unknown field {{{name}}}" for name in unknown]
    if text["yes"].casefold() == text["no"].casefold():
        faults.append("'yes' and 'no' are the same")
    if faults:
        raise SettingError(f"{where}: {'; '.join(faults)}")
    return Wording(
        name=text["name"],
        language=language_tag(text["language"]),
        author=text["author"],
        yes=text["yes"],
        no=text["no"],
        yes_no=templates["yes_no"],
        multiple_choice=templates["multiple_choice"],
        yes_no_form=AnswerForm(kind="one_of", choices=(text["yes"], text["no"])),
    )


def _check_words(wording: Wording, where: str) -> None:
    """The replies that a wording asks for must be ones that can be read in its language."""
    from isogloss.text import read_yes_no

    for key, word, value in (("yes", wording.yes, True), ("no", wording.no, False)):
        status, read, _ = read_yes_no(word, wording.language, strict=True)
        if status is not Status.OK or read is not value:
            raise SettingError(
                f"{where}: {key!r} is {word!r}, which isn't read as {key} in language {wording.language!r}; "
                "take the language's plain word"
            )
