"""What the steps for people share: words of forms, sheets, agreement, the message that says who is waited for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isogloss.annotation import Form
from isogloss.construction import Sheet, WaitingError
from isogloss.construction.pipeline import Row
from isogloss.errors import SettingError, UndefinedError
from isogloss.metrics import krippendorff_alpha, pairwise_agreement
from isogloss.prompts import Template
from isogloss.studies.stereotypes.build.wording import own_files, wanted_for
from isogloss.studies.stereotypes.wording_file import shipped, table_of

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country

TEXTS = ("context", "stereotype", "anti_stereotype")
"""Of a triple, without the unrelated sentence."""
KEYS = {
    "validate": ("title", "instructions", "category", "group", "claim", "value", "labels", "abstain", "abstain_label"),
    "write": ("title", "instructions", "category", "group", "claim", "number", *TEXTS),
    "review": (
        "title", "instructions", "country", "category", "group", "claim", *TEXTS, "decision", "decisions", "reason",
        *(f"new_{name}" for name in TEXTS),
    ),
    "compare": (
        "title", "instructions", "category", "group", "claim", *(f"{side}_{name}" for side in "ab" for name in TEXTS),
        "better", "answers", "abstain", "abstain_label",
    ),
}  # fmt: skip
"""Task → what its part of a wording must have."""
LISTS = {"instructions": None, "labels": 5, "decisions": 3, "answers": 3}
"""Keys that are lists of texts, and how many each has."""
FIELDS = {
    "validate": {"country", "people"},
    "write": {"country", "people", "number"},
    "review": set[str](),
    "compare": {"country", "people"},
}


class Words(NamedTuple):
    """One task's part of a wording, in one language."""

    name: str
    """Versioned, e.g. "people-es@1"."""
    language: str
    texts: Mapping[str, Any]
    """The keys of `KEYS`: a text, or a tuple of texts for those of `LISTS`."""

    def filled(self, key: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """The text or texts under a key, each with those of the fields that it has filled in."""
        given = self.texts[key]
        texts = (given,) if isinstance(given, str) else given
        templates = [Template(text, name=f"{self.name}: {key}") for text in texts]
        return tuple(one.render({name: values[name] for name in one.fields}) for one in templates)


@cache
def words(wanted: str, task: str) -> Words:
    """A task's words in the language that ships, or from the TOML file, that is wanted.

    Raises
    ------
    UnknownNameError
        For a language without a wording.
    SettingError
        For a file that is missing, isn't TOML, or lacks a key or has a field that nothing fills in.
    """
    is_file = wanted.endswith(".toml") or "/" in wanted
    hint = 'give a file of your own: validation.wording = "FILE.toml"'
    path = Path(wanted) if is_file else shipped("people", wanted, kind="wording for people", hint=hint)
    table = table_of(path)
    for key in ("name", "language"):
        if not isinstance(table.get(key), str):
            raise SettingError(f"{path} has no text {key!r}")
    found = table.get(task)
    if not isinstance(found, dict):
        raise SettingError(f"{path} has no part [{task}]")
    texts = {key: _checked(path, task, key, found.get(key)) for key in KEYS[task]}
    return Words(table["name"], table["language"], texts)


def _checked(path: Path, task: str, key: str, value: object) -> str | tuple[str, ...]:
    """A text, or texts, of a wording."""
    texts = [str(text).strip() for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    if not texts or not all(texts):
        raise SettingError(f"{path}: [{task}] has no text {key!r}")
    n = LISTS.get(key)
    if isinstance(value, list) != (key in LISTS) or n not in (None, len(texts)):
        form = f"a list of {n or 'texts'}" if key in LISTS else "one text"
        raise SettingError(f"{path}: [{task}] {key!r} must be {form}")
    for text in texts:
        unknown = Template(text, name=f"{path.name}: {key}").fields - FIELDS[task]
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in sorted(FIELDS[task])) or "none"
            raise SettingError(f"{path}: [{task}] {key!r} has the field {{{min(unknown)}}}; there are {known}")
    return tuple(texts) if key in LISTS else texts[0]


def words_for(config: BuildConfig, country: Country, task: str) -> Words:
    """A task's words for people of a country."""
    return words(wanted_for(config.validation.wording, country.language), task)


def wording_files(config: BuildConfig) -> list[Path]:
    """Files of the user's that the words come from."""
    return own_files(config.validation.wording)


def category_words(config: BuildConfig, name: str, code: str) -> str:
    """A category as people of a country are shown it."""
    language = next((country.language for country in config.countries if country.code == code), "")
    return next((one.words_in(language) or one.name for one in config.categories if one.name == name), name)


def one_form(forms: Mapping[str, Form]) -> Form:
    """The forms of raters as one, which knows whose differ."""
    first = next(iter(forms.values()))
    return first.model_copy(update={"others": {rater: form for rater, form in forms.items() if form != first}})


WITHOUT_PEOPLE = {
    "write": "without writers: name a model as instances.writer, and leave instances.writers and instances.both out",
    "compare": "without comparing: take [comparison] out of the configuration",
}
"""Task → what helps who has no people for it; `--skip-people` for any other."""


def nobody(task: str) -> Sheet:
    """The sheet of a step in which nobody is asked; no words for it are looked up."""
    return Sheet(Form(task=task, title=task, instructions=(), language="en", shown=(), fields=()), {})


def sheet_of(
    config: BuildConfig, raters: Mapping[str, Sequence[str]], rows: Mapping[str, Sequence[Row]],
    form_of: Callable[[BuildConfig, Country], Form],
) -> Sheet:  # fmt: skip
    """Each rater is asked about all rows of their countries, in the form of the first of these.

    Parameters
    ----------
    raters, rows : mapping
        Country → who is asked, and about what.
    """
    forms: dict[str, Form] = {}
    asked: dict[str, list[Row]] = {}
    for country in config.countries:
        for rater in raters.get(country.code, ()):
            forms.setdefault(rater, form_of(config, country))
            asked.setdefault(rater, []).extend(rows.get(country.code, ()))
    return Sheet(one_form(forms), asked)


def agreement_of(
    table: Sequence[Sequence[float]], level: Literal["ordinal", "nominal"]
) -> tuple[float | None, float | None, str]:
    """Percent agreement, Krippendorff's alpha, and why there is none of them.

    Parameters
    ----------
    table : sequence of sequences, shape (n_items, n_raters)
        NaN where a rater gave none.
    """
    percent = None
    if not any(math.isfinite(value) for row in table for value in row):
        return None, None, "undefined: nobody could tell"
    try:
        percent = 100 * pairwise_agreement(table)
        return percent, krippendorff_alpha(table, level=level), ""
    except UndefinedError as error:
        return percent, None, str(error).partition(" is ")[2]


class Left(NamedTuple):
    """How much one person still has to do."""

    n_left: int
    n_rows: int


def count_left(left: dict[str, Left], raters: Sequence[str], said: Sequence[Collection[str]]) -> None:
    """Add to what each rater still has to do: those of the rows that they aren't among who answered."""
    for rater in raters:
        before = left.get(rater, Left(0, 0))
        n_left = sum(rater not in one for one in said)
        left[rater] = Left(before.n_left + n_left, before.n_rows + len(said))


def waiting(task: str, left: Mapping[str, Left], folder: Path, *, more: Sequence[str] = ()) -> WaitingError:
    """The message that names who hasn't finished, and what to run.

    Parameters
    ----------
    task : str
    left : mapping of str to Left
        Rater → what is left; those with nothing left aren't named.
    folder : Path
        Of the construction.
    more : sequence of str
        What else is to say, after the names.
    """
    without = WITHOUT_PEOPLE.get(task, "--skip-people goes on without")
    names = [f"{rater} has {one.n_left:,} of {one.n_rows:,} rows to do" for rater, one in left.items() if one.n_left]
    return WaitingError(
        f"'{task}' waits for people: {', '.join(names)}"
        + "".join(f"; {text}" for text in more)
        + f"; 'isogloss annotate export {folder}' writes the sheets, 'isogloss annotate import {folder} SHEET' takes "
        f"one back, then build again ({without})"
    )
