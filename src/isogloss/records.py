"""The records that flow through isogloss: frozen, closed, and unable to lie about themselves.

item → condition → prompt → response → answer → score → estimate
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Self, TypeAlias

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

_canonical = msgspec.json.Encoder(order="sorted").encode


def content_id(content: object, *, prefix: str = "b2") -> str:
    """Hash of a JSON value, equal on every machine: `b2:` and 32 hex digits of BLAKE2b-128.

    The canonical form is JSON with sorted keys, no spaces, characters as they are (UTF-8).
    """
    return f"{prefix}:{hashlib.blake2b(_canonical(content), digest_size=16).hexdigest()}"


class Record(BaseModel):
    """Frozen, no unknown fields, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Status(StrEnum):
    """What became of a call or of the reading of its reply. A value exists exactly when `ok`."""

    OK = "ok"
    REFUSED = "refused"
    """The model declined, in words or by its stop reason."""
    BLOCKED = "blocked"
    """The provider's filter withheld prompt or reply."""
    UNPARSED = "unparsed"
    """There is a reply, but no rule reads a value from it."""
    TRUNCATED = "truncated"
    """The reply stops at the token limit, or its reasoning never ends."""
    FAILED = "failed"
    """No reply came (network, server, malformed body); asked again by the same command, unless the fault is final."""
    MISSING = "missing"
    """Never asked."""


class Option(Record):
    """One of the things an item offers: a variant, an answer, a sentence."""

    id: str
    text: str
    role: str | None = None
    """What choosing it means in the study, e.g. "stereotype"; None where it has no role."""
    labels: Mapping[str, float] = Field(default_factory=dict)
    """Place code → 1 (predominant), 0 (marginal or absent), or a share between. No entry: unlabelled."""


class Item(Record):
    """One row of a data set or questionnaire."""

    id: str
    text: str
    """What is asked about: a description, a context, a question."""
    options: tuple[Option, ...] = ()
    language: str | None = None
    """BCP 47 tag of `text`."""
    fields: Mapping[str, str] = Field(default_factory=dict)
    """Anything else the data set says of the item (gloss, category, source, licence)."""


class Dataset(Record):
    """Items with the tables that belong to them. Kept whole in the run folder, so scoring needs no other file."""

    name: str
    items: tuple[Item, ...]
    tables: Mapping[str, tuple[Mapping[str, str | float | None], ...]] = Field(default_factory=dict)
    """Named small tables of the data set: places, covariates."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how the file was read, e.g. "39 cells are neither + nor -"."""

    @property
    def digest(self) -> str:
        """Content hash of items and tables (not of the name or the notes)."""
        parts = [content_id(item.model_dump(mode="json")) for item in self.items]
        return content_id([parts, {name: [dict(row) for row in table] for name, table in self.tables.items()}])


class Condition(Record):
    """All that is varied on purpose for one prompt."""

    country: str | None = None
    """ISO 3166-1 alpha-2, upper case, or a code of the data set's own places table."""
    language: str | None = None
    """BCP 47 tag of the wording."""
    format: str | None = None
    """E.g. "yes_no", "multiple_choice"."""
    wording: str | None = None
    reading: Literal["text", "logprob"] = "text"
    """Whether a reply is written or given continuations are scored."""
    option: str | None = None
    """Id of the one option asked about."""
    order: tuple[str, ...] = ()
    """Ids of the options in the order shown."""
    factors: Mapping[str, str] = Field(default_factory=dict)
    """Any other factor of the study, by name."""


class Message(Record):
    role: Literal["system", "user", "assistant", "text"]
    """`text` stands alone in a prompt: given to the model as it is, without a chat template, to be continued."""
    content: str


class AnswerForm(Record):
    """The replies that a prompt allows: what a grammar may enforce and a scripted informant keeps to."""

    kind: Literal["one_of", "number_list", "letter", "rows", "text", "next_sentence", "shared_tokens"]
    """`rows`: a JSON list of objects with the same keys. The last two ask for a way of scoring candidates: by the
    next-sentence head (score of "follows", a log-odds), or, for the two of a pair, each with its tokens that both share
    masked one at a time (CrowS-Pairs)."""
    choices: tuple[str, ...] = ()
    """For `one_of`: the allowed replies. By convention the affirmative comes first. For `rows`: the keys, in order."""
    n_options: int = 0
    """For `number_list` and `letter`: how many options are listed. For `rows`: how many rows there are at most."""
    max_chosen: int | None = None
    """For `number_list`: how many may be named at most."""


class Prompt(Record):
    """The exact messages sent. `id` is a hash of everything else in it."""

    id: str
    messages: tuple[Message, ...]
    candidates: tuple[str, ...] = ()
    """Continuations to be scored by log-probability; empty for an ordinary chat turn."""
    form: AnswerForm | None = None

    @classmethod
    def make(
        cls,
        messages: Sequence[Message],
        *,
        candidates: Sequence[str] = (),
        form: AnswerForm | None = None,
    ) -> Self:
        """Build a prompt and its id."""
        content = (
            [(message.role, message.content) for message in messages],
            candidates,
            None if form is None else (form.kind, form.choices, form.n_options, form.max_chosen),
        )
        return cls(
            id=content_id(content),
            messages=tuple(messages),
            candidates=tuple(candidates),
            form=form,
        )


class Sampling(Record):
    """How a model is asked to answer; part of the resume key. None leaves the provider's default."""

    temperature: float | None = Field(0.0, ge=0, description="Sampling temperature; 0 is greedy.")
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus share.")
    max_tokens: int | None = Field(None, ge=1, description="Most tokens of a reply; the study's default otherwise.")
    seed: int | None = Field(None, description="Seed sent to providers that take one.")
    constrained: bool = Field(False, description="Let a grammar allow only replies of the asked form.")

    @property
    def id(self) -> str:
        return content_id(self.model_dump(mode="json"))


class Price(Record):
    """What a model's tokens cost, in US dollars per million."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)
    """Input read from the provider's cache; the full price where it isn't told."""
    batch: float = Field(0.5, ge=0, le=1)
    """Share of the price that a batch costs."""

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for some tokens; `cached_tokens` are among `input_tokens`."""
        cached = self.input if self.cached is None else self.cached
        return (
            (input_tokens - cached_tokens) * self.input + cached_tokens * cached + output_tokens * self.output
        ) / 1e6

    @property
    def in_batch(self) -> Price:
        """The price of the same tokens in a batch."""
        return Price(
            input=self.input * self.batch,
            output=self.output * self.batch,
            cached=None if self.cached is None else self.cached * self.batch,
            batch=1.0,
        )


FREE = Price(input=0, output=0)
"""For models that isogloss runs itself."""


class Response(Record):
    """What came back for one prompt, raw, with the outcome of the call."""

    prompt_id: str
    model: str
    """`provider/model`, as named in the run."""
    revision: str | None = None
    """Exact version where the provider tells one (weights' hash, dated name, fingerprint)."""
    repeat: int = Field(1, ge=1)
    status: Status
    text: str | None = None
    """The reply without reasoning. Kept also when truncated or refused in words."""
    reasoning: str | None = None
    candidate_logprobs: tuple[float, ...] | None = None
    """Natural-log probability of each of the prompt's candidates, in their order."""
    finish_reason: str | None = None
    error: str | None = None
    """The provider's own words where there is a fault; never holds a key."""
    candidate_tokens: tuple[int, ...] | None = None
    """How many tokens each of those sums is over, where the model tells."""
    rendered: str | None = None
    """The prompt as the model saw it, where its chat template was put on here; None where a server does it unseen."""
    input_tokens: int | None = Field(None, ge=0)
    """All tokens of the prompt, those read from a cache among them; None where the provider tells none."""
    cached_tokens: int | None = Field(None, ge=0)
    """Those of them that the provider read from its cache, and bills as such."""
    output_tokens: int | None = Field(None, ge=0)
    """All tokens written, hidden reasoning among them."""
    n_tries: int = Field(1, ge=1)
    seconds: float | None = Field(None, ge=0)
    """From the first try to the end of the last."""
    received_at: float | None = None
    """Unix time, seconds."""
    passing: bool = Field(False, exclude=True)
    """A failed call whose fault another try may mend. Of this call only: not kept in the ledger."""
    final: bool = False
    """A failed call that no other try can mend, as the prompt isn't one for this model (longer than its context): it
    isn't asked again."""

    @property
    def is_due_again(self) -> bool:
        """Whether the same command asks it again."""
        return self.status is Status.FAILED and not self.final

    @property
    def is_unmetered(self) -> bool:
        """A reply, not a failed call, for which the provider told no (or not all) token counts."""
        return (self.input_tokens is None or self.output_tokens is None) and self.status is not Status.FAILED

    @model_validator(mode="after")
    def _content_if_ok(self) -> Self:
        if self.status is Status.OK and self.text is None and self.candidate_logprobs is None:
            raise ValueError("a response that is 'ok' has a text or candidate log-probabilities")
        if self.final and (self.passing or self.status is not Status.FAILED):
            raise ValueError(f"only a failed call can be final, and none that may pass, got {self.status.value!r}")
        return self


Value: TypeAlias = str | bool | float | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Mapping[str, str | None]


class Answer(Record):
    """A response as coded by one rule. It has a value exactly when its status is `ok`."""

    item_id: str
    prompt_id: str
    model: str
    repeat: int
    coder: str
    """Rule and version that read the response, e.g. "lexicon.yes_no.strict@1"."""
    reading: str
    """Name of the reading that the rule stands for: "strict", "lenient", "logprob"."""
    status: Status
    value: Value | None = None
    note: str = ""
    """Why there is no value, or what was set aside to find it."""

    @model_validator(mode="after")
    def _value_iff_ok(self) -> Self:
        if (self.value is not None) != (self.status is Status.OK):
            raise ValueError(
                f"an answer has a value exactly when its status is 'ok', got {self.value!r} with {self.status.value!r}"
            )
        return self


class Rating(Record):
    """What one person said of one row. Append-only: a later one of the same task, row and rater takes its place."""

    task: str
    """Name of the step that asked, e.g. "validate"."""
    item_id: str
    rater: str
    """A code, never a name or an address."""
    values: Mapping[str, str | int | float | None]
    """The form's fields by name; None where one that may be empty is."""
    source: str = ""
    """File or page that it came by."""
    received_at: float | None = None
    """Unix time, seconds."""


class Estimate(Record):
    """A number that never stands alone: with its interval, its n, and what is missing."""

    study: str
    measure: str
    group: Mapping[str, str] = Field(default_factory=dict)
    value: float | None
    """None when nothing was scored."""
    low: float | None = None
    high: float | None = None
    n_items: int = Field(ge=0)
    n_answers: int = Field(ge=0)
    n_scored: int = Field(ge=0)
    missing: Mapping[Status, int] = Field(default_factory=dict)
    """Answers without a value, by status; with `n_scored` they add up to `n_answers`."""
    method: str
    """Rule, interval and versions in words."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.n_scored + sum(self.missing.values()) != self.n_answers:
            raise ValueError(
                f"{self.measure}: {self.n_scored} scored and {sum(self.missing.values())} missing "
                f"don't add up to {self.n_answers} answers"
            )
        if self.n_scored == 0 and self.value is not None:
            raise ValueError(f"{self.measure}: a value over no scored answer")
        return self


class RunSpec(Record):
    """Everything that decides what is asked. Stored in `run.json`."""

    study: str
    study_version: str
    data: str
    """Name or path the data set was given by."""
    data_digest: str
    settings: Mapping[str, Any] = Field(default_factory=dict)
    """The study's settings, all of them, defaults included."""
    sampling: Sampling = Sampling()
    seed: int = 0
    limit: int | None = Field(None, ge=1)
    """Only the first N questions of each format."""
    repeats: int = Field(1, ge=1)
    models: tuple[str, ...] = ()
