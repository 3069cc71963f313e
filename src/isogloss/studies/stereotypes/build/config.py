"""The configuration of `isogloss build stereotypes`: countries, categories, views, models, people, thresholds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from isogloss.errors import SettingError
from isogloss.files import whole_file
from isogloss.locale import by_language, language_tag
from isogloss.records import Record
from isogloss.registry import unknown_name
from isogloss.studies.stereotypes.build.wording import Wanted

VIEWS = ("inside", "outside", "media", "sayings", "elders", "young")
"""Points of view that the wordings ship, see data/wordings/retrieve_*.toml."""
CODE = re.compile(r"\w[\w-]*")


def _word(value: object) -> object:
    """A word without space around it, since a name of nothing but spaces names nothing."""
    return value.strip() if isinstance(value, str) else value


Word = Annotated[str, BeforeValidator(_word), Field(min_length=1)]


class Named(Record):
    """A category or point of view: its name in tables, and its words in the language asked in."""

    name: Word
    words: str | Mapping[str, str] = ""
    """What stands in the prompt, in one language or for each (language → words); the name itself where there are none
    (for a view: the wording's own text)."""

    def words_in(self, language: str) -> str:
        """The words for a language (its main tag does), or none."""
        if isinstance(self.words, str):
            return self.words
        return by_language(self.words, language) or ""


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


Entry = Annotated[Named, BeforeValidator(_named)]


class Country(Record):
    """A country, or any other place that has its stereotypes."""

    code: Word
    """ISO 3166-1 alpha-2, or a code of your own."""
    name: Word
    """In the language asked in."""
    language: str = Field(min_length=2)
    people: str = ""
    """What its people are called, e.g. "los aurelianos"; the country's name otherwise."""
    region: str = ""
    """Countries of one region are pooled in the overlap, too."""

    @field_validator("code")
    @classmethod
    def _is_code(cls, code: str) -> str:
        if not CODE.fullmatch(code):
            raise ValueError("a code has letters, digits, - and _ only; it names files and parts of the data set")
        return code


class Retrieval(Record):
    models: tuple[str, ...] = ()
    wording: Wanted = None
    """Language of a wording that ships, or path of a TOML file, for all countries or by language; the country's
    language otherwise."""
    claims: Path | None = None
    """Ready claims (CSV: country, category, group, claim) instead of, or beside, those of models."""
    max_rounds: int = Field(10, ge=1, le=1000)
    rows: int = Field(10, ge=1, le=100)
    temperature: float = Field(1.0, ge=0)
    max_tokens: int = Field(1500, ge=16)
    constrained: bool = False
    """Let a grammar hold replies to the form asked for; for models that have one, see 'isogloss models'."""


class Merging(Record):
    encoder: str = "use"
    """"use" (packaged, 16 languages), "letters" (any language), or `hf/…`."""
    threshold: float = Field(0.85, gt=0, le=1)
    review_from: float = Field(0.75, gt=0, le=1)


class Validation(Record):
    raters: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Country code → codes of its raters."""
    needed: int = Field(5, ge=1)
    drop_median: float = Field(2.0, ge=0, lt=5)
    keep_undecided: bool = True
    """A median between whole numbers just above `drop_median` (2.5) is kept."""
    wording: Wanted = None
    """Of all that people are asked, as for retrieval."""


class Instances(Record):
    writer: str = "people"
    """A model, or "people"."""
    writers: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    both: tuple[str, ...] = ()
    """Countries whose stereotypes get `number` triples by the model and as many by people."""
    number: int = Field(5, ge=1, le=20)
    wording: Wanted = None
    max_rounds: int = Field(3, ge=1)
    max_tokens: int = Field(1500, ge=16)
    temperature: float = Field(0.7, ge=0)
    constrained: bool = False
    """As for retrieval."""


class Review(Record):
    coordinator: str = ""
    owner: str = ""


class Comparison(Record):
    raters: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Country code of `instances.both` → codes of those who say whose triples are better."""
    needed: int = Field(3, ge=1)


class Unrelated(Record):
    pool: Mapping[str, Path] | Path | None = None
    """A file with a sentence a line, or one for each language; a small pool of ours otherwise."""
    most_similarity: float = Field(0.3, gt=-1, le=1)
    licence: str = ""


class OverlapSet(Record):
    name: str = Field(min_length=1)
    file: Path
    language: str = "en"
    """Of its texts, where the file doesn't say."""


class Overlap(Record):
    sets: tuple[OverlapSet, ...] = ()
    claims: Path | None = None
    """Documented claims: claim, group, category, region, citation."""
    threshold: float = Field(0.7, gt=0, le=1)
    group_threshold: float = Field(0.8, gt=0, le=1)
    """From which on two names are of one group; pairs from 0.6 are listed."""


PARTS: Mapping[str, type[Record]] = {
    "categories": Named, "views": Named, "countries": Country, "retrieval": Retrieval, "merging": Merging,
    "validation": Validation, "instances": Instances, "review": Review, "comparison": Comparison,
    "unrelated": Unrelated, "overlap": Overlap, "overlap.sets": OverlapSet,
}  # fmt: skip
"""Key → what the table, or each table of the list, under it may have."""
MOST = 120
"""Longest value that a message repeats."""


class BuildConfig(Record):
    """Everything that decides what is built."""

    name: Word
    title: Word
    licence: Word
    creators: tuple[Word, ...] = Field(min_length=1)
    categories: tuple[Entry, ...] = Field(min_length=1)
    views: tuple[Entry, ...] = Field(tuple(Named(name=name) for name in VIEWS), min_length=1)
    countries: tuple[Country, ...] = Field(min_length=1)
    retrieval: Retrieval = Retrieval()
    merging: Merging = Merging()
    validation: Validation = Validation()
    instances: Instances = Instances()
    review: Review = Review()
    comparison: Comparison = Comparison()
    unrelated: Unrelated = Unrelated()
    overlap: Overlap = Overlap()

    @model_validator(mode="after")
    def _fits(self) -> BuildConfig:
        _check_once("country code", (country.code for country in self.countries))
        _check_once("model", self.retrieval.models)
        _check_once("category", (category.name for category in self.categories))
        _check_once("point of view", (view.name for view in self.views))
        if not self.retrieval.models and self.retrieval.claims is None:
            raise ValueError("retrieval.models names no model, and retrieval.claims no file; give one of them")
        if self.merging.review_from > self.merging.threshold:
            raise ValueError("merging.review_from is above merging.threshold; pairs between them are shown for review")
        self._check_people()
        self._check_wordings()
        self._check_both()
        self._check_comparison()
        return self

    def _check_people(self) -> None:
        codes = {country.code for country in self.countries}
        groups = {
            "validation.raters": self.validation.raters, "instances.writers": self.instances.writers,
            "comparison.raters": self.comparison.raters, "instances.both": dict.fromkeys(self.instances.both),
        }  # fmt: skip
        for what, people in groups.items():
            for code in people:
                if code not in codes:
                    raise ValueError(f"{what} names the country {code!r}, which isn't among {', '.join(sorted(codes))}")
        for code, raters in self.validation.raters.items():
            _check_once(f"rater of {code}", raters)
            if len(raters) < self.validation.needed:
                raise ValueError(
                    f"validation.raters.{code} has {len(raters)} raters, fewer than the {self.validation.needed} "
                    "needed; name more, or lower validation.needed"
                )
        writers = {writer for people in self.instances.writers.values() for writer in people}
        raters_of_all = {rater for people in self.validation.raters.values() for rater in people}
        for name in sorted(writers & raters_of_all):
            raise ValueError(f"{name!r} is a rater and a writer; those who write aren't those who validate")
        for name in sorted(writers & {self.review.coordinator, self.review.owner} - {""}):
            raise ValueError(f"{name!r} writes and reviews; name another reviewer")
        if self.review.coordinator and self.review.coordinator == self.review.owner:
            raise ValueError("review.coordinator and review.owner are one person; each triple passes two reviews")

    def _check_wordings(self) -> None:
        tags = {country.language for country in self.countries}
        known = tags | {tag.split("-")[0] for tag in tags}
        named = {"retrieval": self.retrieval.wording, "validation": self.validation.wording,
                 "instances": self.instances.wording}  # fmt: skip
        for part, wording in named.items():
            for language in wording if isinstance(wording, Mapping) else ():
                if language not in known:
                    raise ValueError(
                        f"{part}.wording names the language {language!r}, which no country has; there are "
                        f"{', '.join(sorted(tags))}"
                    )

    def _check_both(self) -> None:
        _check_once("country of instances.both", self.instances.both)
        for code in self.instances.both:
            if self.instances.writer == "people":
                raise ValueError(f"instances.both has {code}, but no model writes; name a model as instances.writer")
            if not self.instances.writers.get(code):
                raise ValueError(f"instances.both has {code}, for which instances.writers names nobody; name writers")

    def _check_comparison(self) -> None:
        raters_of, needed = self.comparison.raters, self.comparison.needed
        for code in self.instances.both if raters_of else ():
            if code not in raters_of:
                raise ValueError(f"comparison.raters names nobody for {code}, which instances.both has; name raters")
        for code, raters in raters_of.items():
            if code not in self.instances.both:
                raise ValueError(
                    f"comparison.raters names people for {code}, which instances.both hasn't; only where a model and "
                    "people both write is there something to compare"
                )
            _check_once(f"rater of {code} in comparison", raters)
            if len(raters) < needed:
                raise ValueError(
                    f"comparison.raters.{code} has {len(raters)} raters, fewer than the {needed} needed; name more, "
                    "or lower comparison.needed"
                )
            for name in sorted({*raters} & {*self.instances.writers[code]}):
                raise ValueError(f"{name!r} writes for {code} and compares what is written; name another for one")


def _check_once(what: str, names: Iterable[str]) -> None:
    """Whether names differ in more than case."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise ValueError(f"{what} {name!r} comes twice; leave one of them out")
        seen.add(name.casefold())


def read_config(path: Path) -> BuildConfig:
    """Read and check a configuration; files that it names are taken from where it lies.

    Raises
    ------
    SettingError
        Naming file and key, one line.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path} can't be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{path} is no TOML file: {error}; words stand in quotes") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{path} is not UTF-8 text: byte {error.start}") from error
    _check_names(table, BuildConfig, str(path), "")
    try:
        config = BuildConfig.model_validate(table)
    except ValidationError as error:
        raise SettingError(f"{path}: {_fault(error.errors()[0])}") from error
    for country in config.countries:
        try:
            language_tag(country.language)
        except SettingError as error:
            raise SettingError(f"{path}: countries {country.code}: {error}") from error
    return _from_here(config, path.resolve().parent)  # one path from wherever it is read, for steps hash it


def _fault(error: ErrorDetails) -> str:
    """What is wrong, in words that one who knows no pydantic understands."""
    places = [part for part in error["loc"] if not (isinstance(part, str) and "[" in part)]
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in places)
    value = error["input"]
    if error["type"] == "missing":
        return f"the key {key!r} is missing"
    if error["type"] in ("too_short", "string_too_short"):
        return f"{key} is empty; name at least one" if isinstance(value, list | tuple) else f"{key} is empty"
    words = error["msg"].removeprefix("Value error, ")
    if error["type"] == "model_type":
        words = "expected " + ("a word in quotes, or " if places[0] in ("categories", "views") else "") + "a table"
    if not key:
        return words
    return f"{key}: {words[0].lower()}{words[1:]}" + (f", got {value!r}" if len(repr(value)) < MOST else "")


def _check_names(table: Mapping[str, Any], model: type[Record], path: str, before: str) -> None:
    """Unknown keys with near names offered, also in the parts and in lists of tables."""
    for key, value in table.items():
        if key not in model.model_fields:
            kind = f"key in {before.removesuffix('.')!r}" if before else "key"
            raise SettingError(f"{path}: {unknown_name(kind, key, model.model_fields)}")
        if before + key in PARTS:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    _check_names(one, PARTS[before + key], path, f"{before}{key}.")


def _wording(wanted: Wanted, folder: Path) -> Wanted:
    """A wording's file from where the configuration lies; a language as it is."""
    if isinstance(wanted, Mapping):
        return {language: str(_wording(one, folder)) for language, one in wanted.items()}
    return str(folder / wanted) if wanted is not None and wanted.endswith(".toml") else wanted


def _from_here(config: BuildConfig, folder: Path) -> BuildConfig:
    def here(path: Path | None) -> Path | None:
        return None if path is None else folder / path

    pool = config.unrelated.pool
    pools = {language: folder / path for language, path in pool.items()} if isinstance(pool, Mapping) else here(pool)
    sets = tuple(one.model_copy(update={"file": folder / one.file}) for one in config.overlap.sets)
    return config.model_copy(
        update={
            "retrieval": config.retrieval.model_copy(
                update={
                    "claims": here(config.retrieval.claims),
                    "wording": _wording(config.retrieval.wording, folder),
                }
            ),
            "instances": config.instances.model_copy(update={"wording": _wording(config.instances.wording, folder)}),
            "unrelated": config.unrelated.model_copy(update={"pool": pools}),
            "validation": config.validation.model_copy(update={"wording": _wording(config.validation.wording, folder)}),
            "overlap": config.overlap.model_copy(update={"sets": sets, "claims": here(config.overlap.claims)}),
        }
    )


EXAMPLE = (Path(__file__).parents[1] / "data" / "example.toml").read_text(encoding="utf-8")


def write_example(path: Path) -> None:
    """Write an example configuration with a comment on every part. Raises SettingError where that can't be done."""
    try:
        with whole_file(path) as partial:
            partial.write_text(EXAMPLE, encoding="utf-8")
    except OSError as error:
        raise SettingError(f"can't write {path}: {error.strerror}") from error
