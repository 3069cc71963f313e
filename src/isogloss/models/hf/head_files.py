"""A next-sentence head that was trained here: the two files of its folder, and what they say of it."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from isogloss.errors import ModelError
from isogloss.files import whole_file
from isogloss.models.weights import sha256_of
from isogloss.records import Record

if TYPE_CHECKING:
    import torch

FACTS_FILE = "next_sentence_head.json"
WEIGHTS_FILE = "next_sentence_head.safetensors"
CHANCE = 0.5
WEAK = 0.7
"""A head that is right less often is said to be weak."""


class HeadFacts(Record):
    """What a trained head is, and how good."""

    version: Literal[1] = 1
    """Of this file and of how a pair is represented."""
    base: str
    """`hf/OWNER/NAME`, or `hf/` and the path of the base model's folder from the head's folder."""
    base_revision: str
    weights_sha256: str
    corpus: str
    """Name of the file."""
    corpus_sha256: str
    sentences: int = Field(ge=1)
    documents: int = Field(ge=1)
    language: str | None = None
    """A BCP 47 tag, as the user gave it."""
    wished_pairs: int = Field(ge=1)
    training_pairs: int = Field(ge=1)
    held_out_pairs: int = Field(ge=1)
    """Pairs that were kept apart; half of them are consecutive, so chance is right on a half."""
    accuracy: float = Field(ge=0, le=1)
    """Share of the held-out pairs that the head is right on."""
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    """Wilson's interval of it, 95 %."""
    epochs: int = Field(ge=0)
    seed: int
    isogloss: str
    trained_at: str
    """UTC, ISO 8601."""

    @property
    def sentence(self) -> str:
        """In words, for who reads numbers made with it."""
        of = f"{self.corpus} ({self.sentences:,} sentences{f', {self.language}' if self.language else ''})"
        return (
            f"next-sentence head trained by isogloss on {of} over {self.base}@{self.base_revision}: right on "
            f"{self.accuracy:.2f} ({self.low:.2f} to {self.high:.2f}) of {self.held_out_pairs:,} held-out pairs, "
            f"where chance has {CHANCE:.2f}"
        )

    @property
    def caution(self) -> str | None:
        """What must be said of a head that isn't good; None for others."""
        if self.low <= CHANCE:
            return "the head isn't clearly better than chance on held-out pairs: don't use its scores"
        if self.accuracy < WEAK:
            return f"the head is weak (right on less than {WEAK} of held-out pairs): read its scores with care"
        return None


def is_head(path: Path) -> bool:
    """Whether a folder holds a trained head."""
    return (path / FACTS_FILE).is_file()


def read_facts(path: Path) -> HeadFacts:
    """What the folder of a head says of it. Raises ModelError where it can't be read."""
    file = path / FACTS_FILE
    try:
        return HeadFacts.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as fault:
        first = str(fault.errors()[0]["loc"]) if isinstance(fault, ValidationError) else type(fault).__name__
        raise ModelError(
            f"{file} can't be read as the description of a trained head ({first}); "
            "train it anew with 'isogloss models train-head'"
        ) from None


def head_revision(path: Path) -> str:
    """16 hex digits that stand for the head's weights and its base model: all that can change a score."""
    facts = read_facts(path)
    return hashlib.sha256(f"{facts.weights_sha256} {facts.base_revision}".encode()).hexdigest()[:16]


def read_weights(path: Path, facts: HeadFacts) -> dict[str, torch.Tensor]:
    """The head's weights, by name. Raises ModelError where they aren't the ones that the facts are of."""
    file = path / WEIGHTS_FILE
    if not file.is_file() or sha256_of(file) != facts.weights_sha256:
        raise ModelError(
            f"{file} is missing, or isn't the one that {FACTS_FILE} describes; "
            "train it anew with 'isogloss models train-head'"
        )
    safetensors: Any = importlib.import_module("safetensors.torch")
    weights: dict[str, torch.Tensor] = safetensors.load_file(file)
    return weights


def weights_bytes(weights: Mapping[str, torch.Tensor]) -> bytes:
    """Weights as they are saved; equal weights give equal bytes."""
    safetensors: Any = importlib.import_module("safetensors.torch")
    packed: bytes = safetensors.save(dict(weights))
    return packed


def write_head(path: Path, facts: HeadFacts, weights: bytes) -> None:
    """Write both files, the description last: without it there is no head. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    with whole_file(path / WEIGHTS_FILE) as partial:
        partial.write_bytes(weights)
    with whole_file(path / FACTS_FILE) as partial:
        partial.write_text(facts.model_dump_json(indent=1) + "\n", encoding="utf-8")
