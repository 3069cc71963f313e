"""What a user can set of the stereotypes study."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pydantic import Field, field_validator

from isogloss.study import Settings, from_commas, known_names

Rule: TypeAlias = Literal[
    "causal", "causal_per_token", "total", "per_token", "masked", "next_sentence", "nsp_trained", "crows_pairs",
    "forced_choice", "given",
]  # fmt: skip
RULES: tuple[Rule, ...] = get_args(Rule)
Lms: TypeAlias = Literal["each", "either"]
ANY: Literal["auto"] = "auto"


class StereotypeSettings(Settings):
    """How sentences are scored, in which words models are asked, which rows count."""

    rule: tuple[Rule | Literal["auto"], ...] = Field(
        (ANY,),
        description="How sentences are scored; several, separated by commas, are never mixed in one table. auto: "
        "causal, and forced_choice for BBQ and EsBBQ; causal: "
        "log p(sentence | context); causal_per_token: its mean per token; total, per_token: the whole text's; masked: "
        "pseudo-log-likelihood given the context; next_sentence: the head for that which the model came with; "
        "nsp_trained: such a head that 'isogloss models train-head' made; crows_pairs: tokens that both sentences "
        "share, masked one at a time; forced_choice: a chat model chooses; given: made elsewhere.",
    )
    wording: str = Field(
        ANY,
        description="Language of the questions of forced_choice (es, pt, en), or the path of a TOML file; auto: the "
        "language of each row.",
    )
    neither: bool = Field(False, description="Let forced_choice answer 'neither', in the second wording.")
    language: str = Field("en", description="Language of data that doesn't say (StereoSet, CrowS-Pairs), a BCP 47 tag.")
    countries: tuple[str, ...] = Field((), description="Only rows of these countries (codes separated by commas).")
    categories: tuple[str, ...] = Field((), description="Only rows of these categories, separated by commas.")
    split: str | None = Field(None, description="Only this split, e.g. intersentence.")
    sample: int | None = Field(
        None, ge=1,
        description="Rows drawn at random, the same ones every time and with every --seed; all where it isn't set.",
    )  # fmt: skip
    rounding: int | None = Field(
        None, ge=0, le=12,
        description="Round scores to so many decimals before comparing (the original CrowS-Pairs script: 3, which "
        "makes ties); not at all where it isn't set.",
    )  # fmt: skip
    lms: Lms = Field(
        "each",
        description="How lms is counted. each: the stereotype and the anti-stereotype are each compared with the "
        "unrelated sentence, two comparisons an example, as in StereoSet's published scores; either: an example counts "
        "when one of the two is preferred to the unrelated sentence.",
    )
    model: str | None = Field(
        None, description="What scores made elsewhere are called; the name of their file where it isn't set."
    )
    orders: int = Field(
        3, ge=3, le=6, multiple_of=3,
        description="BBQ and EsBBQ: orders of the three answers that each question is asked in, 3 or 6; each answer "
        "stands in each place equally often.",
    )  # fmt: skip
    resamples: int = Field(2000, ge=1, description="Bootstrap draws over target terms for the intervals.")
    confidence: float = Field(0.95, gt=0, lt=1, description="Coverage of the intervals.")

    @field_validator("rule", mode="before")
    @classmethod
    def _known_rules(cls, value: object) -> object:
        return known_names("rule", value, (ANY, *RULES))

    @field_validator("countries", "categories", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return from_commas(value)

    @field_validator("split", "sample", "rounding", "model", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        return None if value in ("", "all", "none") else value
