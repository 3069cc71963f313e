"""A construction is a list of steps, each from tables to tables. It asks nobody itself: a step is given `ask`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from isogloss.errors import IncompleteError
from isogloss.records import Prompt, Rating, Record, Response, Sampling

if TYPE_CHECKING:
    from isogloss.annotation import Form
    from isogloss.reports import Section

Cell: TypeAlias = "str | int | float | bool | list[Any] | dict[str, Any] | None"
Row: TypeAlias = "dict[str, Cell]"
Table: TypeAlias = "list[Row]"
"""Rows under the same names; JSON values, so that it can be kept line by line."""
Tables: TypeAlias = "dict[str, Table]"


class WaitingError(IncompleteError):
    """A step waits for people. The message says for whom, and what to do."""


class Ask(Protocol):
    """Puts prompts to a model through the engine; what was answered before isn't asked again."""

    def __call__(
        self, prompts: Sequence[Prompt], model: str, *, repeat: int = 1, sampling: Sampling | None = None
    ) -> list[Response]:
        """One response a prompt, in their order; each fault is a status.

        Equal prompts are asked once. `repeat` asks the same prompts anew, and is a separate entry.

        Raises
        ------
        ModelError, AbilityError, IncompleteError
            If the model can't be asked, or asking was stopped (Ctrl-C, `--max-cost`).
        """


@dataclass(frozen=True)
class Workshop:
    """What a step works with."""

    config: Any
    """The checked configuration (a pydantic model of the study's)."""
    tables: Mapping[str, Table]
    """What the steps before have made, by name."""
    folder: Path
    """Of the construction; a step may write its own files under `folder / step name`."""
    ask: Ask
    ratings: Callable[[str], Sequence[Rating]]
    """Name of a people's step → every rating that came back, the latest of each rater, item and task."""
    tell: Callable[[str], None] = lambda line: None
    """A line on how far it has come, for whoever watches."""
    warn: Callable[[str], None] = lambda line: None
    skip_people: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Sheet:
    """What people are asked in one step: the same form over rows, some for each rater."""

    form: Form
    rows: Mapping[str, Sequence[Row]]
    """Rater → rows to fill in, each with `item_id` and the form's shown columns; order is drawn by the export."""


class Requests(NamedTuple):
    """What a step would put to a model: each of some prompts so many times, at most."""

    model: str
    prompts: Sequence[Prompt]
    """Each is a call of its own, also where two are equal."""
    times: int
    max_tokens: int | None
    """Most tokens of a reply; None where no limit is sent."""


@dataclass(frozen=True)
class Step:
    """From tables to tables."""

    name: str
    title: str
    """What it does, as a line of the plan: "Retrieve stereotypes from the models"."""
    by: Literal["rule", "model", "people"]
    reads: tuple[str, ...]
    """Tables that it needs: when one of them or its configuration changes, it is done again."""
    writes: tuple[str, ...]
    make: Callable[[Workshop], Tables]
    """Gives every table of `writes`. A people's step raises WaitingError until enough ratings are in."""
    settings: Callable[[Any], object] = lambda config: None
    """The part of the configuration that it depends on, as a JSON value."""
    sheet: Callable[[Workshop], Sheet] | None = None
    """For a people's step: what to ask, given the tables before it."""
    files: Callable[[Any], Sequence[Path]] = lambda config: ()
    """Files of the user's that it reads (a pool of sentences, a list of claims): their content counts too."""
    inputs: tuple[str, ...] = ()
    """Files that a person may lay into the construction's folder: their content counts too."""
    reviews: tuple[str, ...] = ()
    """Files in the construction's folder that it writes and a person may correct: filled-in decisions count too."""
    forecast: Callable[[Workshop], Sequence[Requests] | None] | None = None
    """For a dry run: what would be asked at most; None where the tables that there are don't tell that yet."""
    outputs: tuple[str, ...] = ()
    """Files and folders in the construction's folder that it writes beside its tables: done again when one is gone."""
    models: Callable[[Any], Mapping[str, bool]] = lambda config: {}
    """Models that it asks under a configuration → whether a grammar is to hold their replies to a form. What can't be
    opened, or has no grammar, is said before anybody is asked."""
    version: int = 1

    @property
    def who(self) -> str:
        """By whom it is done, in words."""
        if self.by == "model" and self.sheet is not None:
            return "a model or people"
        if self.by == "rule" and self.sheet is not None:
            return "rule or people"
        return {"rule": "rule", "model": "a model", "people": "people"}[self.by]


@dataclass(frozen=True)
class Construction:
    """How a study builds its data: the steps in order, and how its configuration is read."""

    study: str
    title: str
    read_config: Callable[[Path], Record]
    """Path of the user's TOML file → the checked configuration. Raises SettingError, DataError."""
    steps: tuple[Step, ...]
    check: Callable[[Any, bool], Sequence[str]] | None = None
    """(configuration, whether people are left out) → who or what is still lacking, in words. Raises SettingError,
    DataError or ModelError for what no later step could do with; called before every command does anything."""
    example: Callable[[Path], None] | None = None
    """Writes an example configuration, with a comment on every field, to a path."""
    sections: Callable[[Mapping[str, Table], Any], Sequence[Section]] | None = None
    """(tables, configuration) → the report's sections; tables of steps not yet done are absent."""
    samples: Mapping[str, Path] = field(default_factory=dict)
    """Small example configurations by name."""
