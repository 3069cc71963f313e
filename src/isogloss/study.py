"""A study is a frozen value made of functions: no base class, no state.

The engine takes any `Study` through the whole chain. What a study must bring is small:
items, conditions, prompts, coders and estimates; `tests/test_fifth_study.py` shows one in under 60 lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from isogloss.errors import SettingError
from isogloss.records import (
    Answer,
    Condition,
    Dataset,
    Estimate,
    Item,
    Prompt,
    Record,
    Response,
    Status,
)
from isogloss.registry import unknown_name
from isogloss.text import REASONING_TAGS, Reading, Tag, part

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.construction import Construction
    from isogloss.reports import Section

Source: TypeAlias = "str | Path | pd.DataFrame"
"""Where items come from: a path or a data frame (sample names are resolved to paths before)."""


class Settings(Record):
    """Base of a study's settings: every field has a default and a description (`isogloss studies NAME` lists them)."""


def from_commas(value: object) -> object:
    """Text with commas, or a list, as a tuple; anything else as it is. For validators of settings that are lists."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


def known_names(kind: str, value: object, known: Sequence[str]) -> object:
    """Names with commas between them, or a list of them, each once. For validators of settings.

    Raises
    ------
    PydanticCustomError
        For no name, or one that isn't known; near names are offered.
    """
    names = from_commas(value)
    if not isinstance(names, tuple):
        return names
    if not names:
        raise setting_fault(f"at least one {kind} is needed, of {', '.join(known)}")
    for name in names:
        if name not in known:
            raise setting_fault(str(unknown_name(kind, str(name), known)))
    return tuple(dict.fromkeys(names))


def setting_fault(message: str) -> PydanticCustomError:
    """What a validator raises, told as it is."""
    return PydanticCustomError("setting", "{message}", {"message": message})


def setting_error(error: ValidationError) -> SettingError:
    """The first thing wrong with some settings, in one line."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["input"] is None:
        return SettingError(f"setting {name!r} needs a value")
    return SettingError(f"setting {name!r}: {first['msg'].removeprefix('Value error, ')}, got {first['input']!r}")


class Coder(NamedTuple):
    """A versioned rule that reads responses."""

    name: str
    """E.g. "lexicon.yes_no.strict@1"; a changed rule gets a new version."""
    reading: str
    """What the rule stands for in tables: "strict", "lenient", "logprob"."""
    read: Callable[[Item, Condition, Response], Reading]
    """Called for responses that are `ok`; other statuses pass to the answer as they are."""


class Question(NamedTuple):
    """One planned question: an item under a condition, and the prompt that puts it."""

    item: Item
    condition: Condition
    prompt: Prompt


class Need(NamedTuple):
    """What a model must be able to do for some settings; said before anything is asked."""

    ability: str
    """A field of `Abilities`."""
    wanted: bool
    words: str
    """What is said of a model that doesn't fit, e.g. "rule=masked needs a masked model; take rule=causal"."""


class Given(NamedTuple):
    """A result made elsewhere, for one prompt: a reply in words, or a score of each candidate."""

    where: str
    """File and line."""
    prompt_id: str
    model: str
    repeat: int
    reply: str | None
    logprobs: tuple[float, ...] | None = None
    """One a candidate of the prompt, in their order; higher is preferred."""


class Finding(NamedTuple):
    """Something `isogloss check` noticed in a data set that can still be used."""

    where: str
    message: str


@dataclass(frozen=True)
class Study:
    """What the engine needs to know of a study."""

    name: str
    version: str
    title: str
    settings: type[Settings]
    load: Callable[[Source, Any], Dataset]
    """(source, settings) → data set; raises DataError naming file, row and column."""
    conditions: Callable[[Dataset, Any, int], Iterator[tuple[Item, Condition]]]
    """(dataset, settings, seed) → every question to put, in the order of asking; equal on every machine."""
    ask: Callable[[Item, Condition, Dataset, Any], Prompt]
    """(item, condition, dataset, settings) → the prompt of one question. Pure."""
    coders: Callable[[Condition], Sequence[Coder]]
    """The rules that read the responses to such a question."""
    estimate: Callable[[pd.DataFrame, Dataset, Any, int], list[Estimate]]
    """(answers, dataset, settings, seed) → estimates. Columns of `answers`: see `ANSWER_COLUMNS`."""
    sections: Callable[[Sequence[Estimate], pd.DataFrame, Dataset, Any], Sequence[Section]] | None = None
    """The study's own part of the report, in order; None for the plain table of estimates."""
    headline: tuple[str, ...] = ()
    """The few measures that end a command on the terminal; empty for all."""
    apart: str = ""
    """Group key whose words never stand in one printed table, e.g. "format"; empty where all may."""
    scoring: tuple[str, ...] = ()
    """Settings that only change how answers are scored: they may change for a run that has been asked."""
    samples: Mapping[str, Path] = field(default_factory=dict)
    """Small own data sets by name; the first is the default of the demo."""
    default_max_tokens: int = 256
    """Token limit of a reply where the user sets none."""
    reference: Callable[[Item, Condition, Dataset, Any], str] | None = None
    """(item, condition, dataset, settings) → the reply of a perfect informant, for `scripted/perfect`; None where
    there is no right reply."""
    findings: Callable[[Dataset, Any], Sequence[Finding]] | None = None
    """What `isogloss check` has to say of a data set that could be read."""
    needs: Callable[[Dataset, Any], Sequence[Need]] | None = None
    """(dataset, settings) → what every model of the run must be able to do."""
    given: Callable[[Path, Dataset, Any], tuple[dict[str, object], list[Given]] | None] | None = None
    """(path, dataset, settings) → results made elsewhere in a format of the study's own, with the settings that go with
    them; None where the file isn't one. `prompt_id, model, repeat, response` are read for every study."""
    template: Callable[[Path], None] | None = None
    """Writes an empty sheet that shows how a data set is laid out."""
    construction: Callable[[], Construction] | None = None
    """How `isogloss build` makes a data set for it."""
    card: Path | None = None
    """The study's README."""

    def parse_settings(self, given: Mapping[str, object]) -> Settings:
        """Check settings given by name; text values are converted as their field asks.

        Raises
        ------
        UnknownNameError, SettingError
            For a setting the study doesn't have, or a value it can't take.
        """
        for name in given:
            if name not in self.settings.model_fields:
                raise unknown_name(
                    "setting", name, self.settings.model_fields, hint=f"see 'isogloss studies {self.name}'"
                )
        try:
            return self.settings.model_validate(dict(given))
        except ValidationError as error:
            raise setting_error(error) from error

    def questions(self, dataset: Dataset, settings: Settings, seed: int) -> Iterator[Question]:
        """Every question with its prompt, in the order of asking."""
        for item, condition in self.conditions(dataset, settings, seed):
            yield Question(item, condition, self.ask(item, condition, dataset, settings))

    def perfect_reply(self, question: Question, dataset: Dataset, settings: Settings) -> str | None:
        """What a perfect informant would reply; None where the study has no right reply."""
        if self.reference is None:
            return None
        return self.reference(question.item, question.condition, dataset, settings)

    def code(
        self, item: Item, condition: Condition, response: Response, tags: Sequence[Tag] = REASONING_TAGS
    ) -> list[Answer]:
        """Code one response with each of the study's rules.

        A response that isn't `ok` keeps its status. The rules see the text without what stands between marks of
        reasoning (`tags`); reasoning that never ends is `truncated`, reasoning with nothing after it `unparsed`.
        """
        response, outcome = _without_reasoning(response, tags)
        answers = []
        for coder in self.coders(condition):
            status, value, note = outcome or coder.read(item, condition, response)
            answers.append(
                Answer(
                    item_id=item.id,
                    prompt_id=response.prompt_id,
                    model=response.model,
                    repeat=response.repeat,
                    coder=coder.name,
                    reading=coder.reading,
                    status=status,
                    value=value,
                    note=note,
                )
            )
        return answers


def _without_reasoning(response: Response, tags: Sequence[Tag]) -> tuple[Response, Reading | None]:
    """A response as the rules see it, and the outcome where there is nothing for them to read."""
    if response.status is not Status.OK:
        return response, Reading(response.status, None, response.error or "")
    if not response.text or response.text.isspace():
        return response, None
    answer, outcome = part(response.text, tags)
    if outcome is not None:
        return response, outcome
    return (response if answer == response.text else response.model_copy(update={"text": answer})), None


ANSWER_COLUMNS = (
    "item_id", "country", "language", "format", "wording", "asked_by", "option", "order", "factors",
    "prompt_id", "model", "repeat", "coder", "reading", "status", "value", "note",
)  # fmt: skip
"""Columns of the answers table, one row per question × model × repeat × coder.

The first nine are the item and its condition (`asked_by` is the condition's reading, "text" or "logprob";
`order` a tuple of option ids; `factors` a mapping), the rest the answer. `value` is None unless `status` is "ok".
"""
