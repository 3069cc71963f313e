"""What the engine asks of whoever answers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from isogloss.records import Prompt, Record, Response, Sampling


class Abilities(Record):
    """What a model can do; declared by its provider, never guessed from its name."""

    chat: bool = True
    grammar: bool = False
    """Can be held to the prompt's answer form."""
    logprobs: bool = False
    """Can give the log-probability of the prompt's candidates."""
    seeds: bool = False
    """Takes a sampling seed."""
    batch: bool = False
    """Has a batch API: answers within a day, at a lower price."""
    masked: bool = False
    """Its log-probabilities are pseudo-log-likelihoods: each token given all others, from a masked model."""
    next_sentence: bool = False
    """Has a head that tells how likely one sentence follows another, and came with it."""
    nsp_trained: bool = False
    """Has such a head that isogloss trained on a user's corpus."""
    shared_tokens: bool = False
    """Can mask the tokens that two sentences share, one at a time (CrowS-Pairs)."""

    @property
    def scores(self) -> bool:
        """Whether it can score given continuations in any way."""
        return self.logprobs or self.next_sentence or self.nsp_trained


class Able(Protocol):
    """Whose abilities are known: a model, or what is told of one without making it."""

    @property
    def name(self) -> str:
        """`provider/model`."""

    @property
    def abilities(self) -> Abilities:
        """What it can do."""


class Foretold(NamedTuple):
    """What can be told of a model that isn't made: no key is needed."""

    name: str
    abilities: Abilities


class CalledOffError(Exception):
    """The asking was called off before this call sent anything, or between two of its tries."""


class Model(Protocol):
    """One model, ready to be asked. `ask` may run many times at once on one event loop."""

    name: str
    """`provider/model`, as the user wrote it (without the revision)."""
    revision: str | None
    """Exact version; known at the latest after `open`."""
    local: bool
    """Run by isogloss itself: it costs nothing, and only one such model is asked at a time."""

    @property
    def abilities(self) -> Abilities:
        """What it can do; certain at the latest after `open`."""

    @property
    def template(self) -> str | None:
        """The chat template it is asked with, where that is known (on this machine, after `open`); None otherwise."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the numbers should know of how it was asked, e.g. what the provider refused; grows."""

    async def open(self) -> None:
        """Make ready (start a server, open a session). Raises ModelError with one clear line."""

    async def close(self) -> None:
        """Let go of everything. Safe to call twice, and after a failed `open`."""

    def call_off(self) -> None:
        """Let no further request out, so that asking can end soon; calls that still wait raise CalledOffError."""

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt. Every fault of the call is a status of the response.

        Raises
        ------
        ModelError
            For a fault that every further call would meet too (bad key, unknown model, quota exhausted).
        CalledOffError
            After `call_off`, where nothing is under way for this call.
        """
