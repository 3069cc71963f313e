"""What a user can set of the lexicon study."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, field_validator

from isogloss.study import Settings, from_commas, known_names, setting_fault

Format: TypeAlias = Literal["yes_no", "multiple_choice"]
FORMATS: tuple[Format, ...] = ("yes_no", "multiple_choice")

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}


class LexiconSettings(Settings):
    """Which questions are put, in which words, and how the data file is read."""

    format: tuple[Format, ...] = Field(
        FORMATS,
        description="Question formats, separated by commas: yes_no (one question per labelled cell), multiple_choice "
        "(one per item and country).",
    )
    sample: int | None = Field(
        None, ge=1, description="Questions of each format, drawn at random by the seed; all where it isn't set."
    )
    reading: Literal["text", "logprob", "both"] = Field(
        "text",
        description="What is read: the reply (text), the probabilities of the possible replies (logprob), or both.",
    )
    wording: str = Field(
        "es", description="Language of the questions (es, pt, en), or the path of a TOML file with your own wording."
    )
    layout: Literal["auto", "varilex", "long", "wide"] = Field(
        "auto", description="How the table is laid out; auto goes by its header."
    )
    delimiter: str | None = Field(
        None, description="What separates the columns of a text file: one character, or comma, semicolon, tab, pipe."
    )
    countries: tuple[str, ...] = Field(
        (), description="Ask only about these countries (codes separated by commas); about all where it isn't set."
    )
    places: Path | None = Field(
        None,
        description="File that names places: columns code, name, and if you like name_es (any language), area, "
        "latitude, longitude. Makes up countries, or renames and regroups known ones.",
    )
    covariates: Path | None = Field(
        None, description="File with a column code and columns of numbers, correlated with the countries' measures."
    )
    resamples: int = Field(2000, ge=1, description="Bootstrap draws over items for the intervals.")
    confidence: float = Field(0.95, gt=0, lt=1, description="Coverage of the intervals.")

    @field_validator("format", mode="before")
    @classmethod
    def _known_formats(cls, value: object) -> object:
        return known_names("format", value, FORMATS)

    @field_validator("countries", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return from_commas(value)

    @field_validator("countries")
    @classmethod
    def _upper(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(code.upper() for code in value))

    @field_validator("sample", "delimiter", "places", "covariates", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        return None if value in ("", "all", "none") else value

    @field_validator("delimiter")
    @classmethod
    def _one_character(cls, value: str | None) -> str | None:
        if value is None:
            return None
        value = DELIMITERS.get(value, value)
        if len(value) != 1 or value in '"\r\n':
            raise setting_fault("expected one character, or comma, semicolon, tab, pipe")
        return value
