"""What the HTML report is told: plain facts of runs, filled in by the caller from the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isogloss.records import Estimate, Message, RunSpec
from isogloss.reports.sections import Section
from isogloss.store.rows import Spending

TRIAL_MODELS = ("gguf/smollm2", "scripted/")
"""Beginnings of names of informants that try the machinery and say nothing of language."""


@dataclass(frozen=True)
class ModelFacts:
    """One informant of a run, as it really was."""

    name: str
    """`provider/model`."""
    revision: str | None = None
    abilities: tuple[str, ...] = ()
    """In words, e.g. ("chat", "log-probabilities", "grammar")."""
    sampling: Mapping[str, str] = field(default_factory=dict)
    """Settings that really held, e.g. {"temperature": "0"}."""
    constrained: bool = False
    """A grammar allowed only replies of the asked form."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Responses by status."""
    note: str = ""
    """Anything a reader should know, e.g. what the provider refused."""
    template: str = ""
    """Hash of the chat template it was asked with; "" where that isn't known."""
    spending: tuple[Spending, ...] = ()
    """What its calls took, by price."""

    @property
    def is_trial(self) -> bool:
        """For trying the machinery: the embedded model, or a scripted informant."""
        return self.name.startswith(TRIAL_MODELS)

    @property
    def is_scripted(self) -> bool:
        """Known behaviour without a model behind it."""
        return self.name.startswith("scripted/")


@dataclass(frozen=True)
class RunFacts:
    """One run."""

    id: str
    spec: RunSpec
    models: tuple[ModelFacts, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    """Software → version; `isogloss` first."""
    started: str | None = None
    """ISO 8601, with time zone."""
    finished: str | None = None
    n_prompts: int = 0
    command: str = ""
    """What was typed, or would repeat it."""
    folder: str = ""
    reasoning_tags: tuple[str, ...] = ()
    """Marks of reasoning set aside beside the built-in list."""
    unreported: Mapping[str, tuple[Spending, ...]] = field(default_factory=dict)
    """What other calls in the run's ledger took, e.g. those of an earlier revision: name → by price."""


@dataclass(frozen=True)
class DatasetFacts:
    """What the items were."""

    name: str
    digest: str
    n_items: int
    n_options: int = 0
    places: Mapping[str, str] = field(default_factory=dict)
    """Code → name."""
    languages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """How the file was read."""
    about: str = ""
    """Origin and licence."""


@dataclass(frozen=True)
class CodedReply:
    """How one rule read a reply."""

    reading: str
    status: str
    value: str = ""
    """In words; empty unless the status is `ok`."""
    note: str = ""


@dataclass(frozen=True)
class Example:
    """One prompt exactly as sent, and what came back."""

    format: str
    model: str
    messages: tuple[Message, ...]
    reply: str
    coded: tuple[CodedReply, ...] = ()
    candidates: tuple[tuple[str, float], ...] = ()
    """Where continuations were scored: each with its score."""
    scored_by: str = "log-probability"
    """What these scores are; "log-odds" for a next-sentence head."""
    rendered: str = ""
    """The prompt as the model saw it, with its chat template put on; "" where that isn't known."""


@dataclass(frozen=True)
class InvalidRow:
    """Replies without a value that fail alike."""

    model: str
    format: str
    reading: str
    status: str
    reason: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportContext:
    """All that the HTML report shows."""

    title: str
    study: str
    study_version: str
    study_title: str
    runs: tuple[RunFacts, ...]
    dataset: DatasetFacts
    estimates: tuple[Estimate, ...]
    sections: tuple[Section, ...] = ()
    examples: tuple[Example, ...] = ()
    invalid: tuple[InvalidRow, ...] = ()
    made: str = ""
    """When the report was made, ISO 8601."""

    @property
    def models(self) -> tuple[ModelFacts, ...]:
        """The informants of all runs, each name once (the first run that has it)."""
        first: dict[str, ModelFacts] = {}
        for run in self.runs:
            for model in run.models:
                first.setdefault(model.name, model)
        return tuple(first.values())
