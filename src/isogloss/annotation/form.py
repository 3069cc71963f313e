"""What a person is asked of each row: the same whether it goes out as a sheet or stands on a web page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field as Default

from isogloss.records import Record


class Field(Record):
    """One cell that a person fills in."""

    name: str
    """E.g. "value"; what the answer is called in a Rating."""
    title: str
    """Heading, in the raters' language."""
    kind: Literal["scale", "choice", "text"]
    choices: tuple[str, ...] = ()
    """What may be written: of a scale its numbers as text ("1" to "5"), of a choice its words."""
    labels: tuple[str, ...] = ()
    """What each of `choices` means, in the raters' language; shown beside it, and understood in its place."""
    abstain: str = ""
    """What may be written by who can't tell ("?"): read as None, which is an answer. An empty cell is none yet."""
    abstain_label: str = ""
    """What that means, in the raters' language."""
    required: bool = True
    required_if: tuple[str, tuple[str, ...]] | None = None
    """(name of another field, values of it): needed only then, e.g. a reason for ("decision", ("reject",))."""

    def shown(self, choice: object) -> str:
        """A choice as it stands on a sheet: its label, or, of a scale or without labels, the choice itself."""
        text = str(choice)
        if self.kind != "choice" or not self.labels or text not in self.choices:
            return text
        return self.labels[self.choices.index(text)]


class Together(Record):
    """Fields of which at least one is filled in when another field has certain values, and none otherwise."""

    field: str
    values: tuple[str, ...]
    fields: tuple[str, ...]


class Form(Record):
    """A task for people."""

    task: str
    """Name of the step: "validate"."""
    title: str
    instructions: tuple[str, ...]
    """Paragraphs, in the raters' language; a content warning among them where there is need."""
    language: str
    """BCP 47 tag of title, instructions and shown texts; decides the direction of writing."""
    shown: tuple[tuple[str, str], ...]
    """Columns that a rater reads and doesn't change: (name in the row, heading)."""
    fields: tuple[Field, ...]
    together: Together | None = None
    """E.g. a new text exactly when the decision is "edit"."""
    others: Mapping[str, Form] = Default(default_factory=dict)
    """Rater → the form of the same task in that rater's own language or for that rater's country."""

    def of(self, rater: str) -> Form:
        """The form that a rater is shown."""
        return self.others.get(rater, self)
