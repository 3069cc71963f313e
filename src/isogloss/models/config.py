"""`isogloss.toml`: addresses, limits and prices of models, written down once. It never holds a key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from pydantic import ValidationError

from isogloss.errors import SettingError, UnknownNameError
from isogloss.models.opening import check_characters, checked_url, parse_name, providers
from isogloss.models.secrets import looks_like_key, names_a_key, shown
from isogloss.models.settings import DTYPES, ModelSettings
from isogloss.records import Price
from isogloss.registry import unknown_name

if TYPE_CHECKING:
    from isogloss.models.pace import Throttle

FILE_NAME = "isogloss.toml"
VARIABLE = "ISOGLOSS_CONFIG"
NO_KEYS = "keys come only from the environment or .env; name the variable by key_variable"

Value: TypeAlias = "str | int | float"
Section: TypeAlias = Mapping[str, Value]
Tag: TypeAlias = "str | tuple[str, str]"


class _Kind(NamedTuple):
    """What a setting may be."""

    words: str
    holds: Callable[[object], bool]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(words: str, holds: Callable[[float], bool]) -> _Kind:
    return _Kind(words, lambda value: _is_number(value) and holds(value))


def _count(most: int) -> _Kind:
    words = f"a whole number from 1 to {most:,}".replace(",", "_")
    return _Kind(words, lambda value: isinstance(value, int) and _is_number(value) and 1 <= value <= most)


def _above_0(most: float) -> _Kind:
    return _number(f"a number above 0 and up to {most:,.0f}".replace(",", "_"), lambda value: 0 < value <= most)


def _between(least: float, most: float) -> _Kind:
    words = f"a number from {least:g} to {most:,.0f}".replace(",", "_")
    return _number(words, lambda value: least <= value <= most)


def _one_of(values: Collection[str]) -> _Kind:
    return _Kind("one of " + ", ".join(values), lambda value: isinstance(value, str) and value in values)


_TEXT = _Kind("some text", lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable())
_VARIABLE = _Kind(
    'the name of an environment variable, e.g. "MY_SERVER_KEY"',
    lambda value: isinstance(value, str) and value.isidentifier() and value.isascii(),
)
_MOST_MINUTES = 525_600

RATES = ("requests_per_minute", "tokens_per_minute")
"""Of a provider they are shared by all its models."""
PRICES = {"input_price": "input", "output_price": "output", "cached_price": "cached", "batch_price_share": "batch"}
"""Settings of a price → fields of `Price`."""
KEYS: Mapping[str, _Kind] = {
    "base_url": _TEXT,
    "key_variable": _VARIABLE,
    "max_connections": _count(10_000),
    "requests_per_minute": _between(0.01, 1e9),
    "tokens_per_minute": _between(0.01, 1e12),
    "timeout": _above_0(86_400),
    "tries": _count(100),
    "retry_seconds": _between(0, 604_800),
    "first_wait": _between(0, 3600),
    "input_price": _between(0, 1e6),
    "output_price": _between(0, 1e6),
    "cached_price": _between(0, 1e6),
    "batch_price_share": _between(0, 1),
    "batch_requests": _count(1_000_000),
    "batch_megabytes": _between(0.001, 10_000),
    "device": _TEXT,
    "dtype": _one_of(DTYPES),
    "batch_size": _count(10_000),
}
"""What may be set for a provider or a model; the bounds are those of `ModelSettings`."""
_OF_HF = frozenset({"device", "dtype", "batch_size"})
_OF_BATCHES = frozenset({"batch_requests", "batch_megabytes", "batch_price_share"})
_ONLY: Mapping[str, Collection[str]] = {
    "openai": KEYS.keys() - _OF_HF,
    "anthropic": KEYS.keys() - _OF_HF,
    "inspect": KEYS.keys() - _OF_HF - _OF_BATCHES,
    "gguf": frozenset({"max_connections", "timeout"}),
    "hf": frozenset({"max_connections"}) | _OF_HF,
    "scripted": frozenset({"max_connections"}),
}
"""What has a meaning for a provider's models."""
SECTIONS = ("providers", "models", "run")
RUN_KEYS = ("pause_minutes", "reasoning_tags")


@dataclass(frozen=True)
class Config:
    """What an `isogloss.toml` says; empty where there is none."""

    path: Path | None = None
    """The file that was read."""
    providers: Mapping[str, Section] = field(default_factory=dict)
    models: Mapping[str, Section] = field(default_factory=dict)
    """By `provider/model`."""
    reasoning_tags: tuple[Tag, ...] = ()
    """Marks of reasoning that are looked for besides the known ones: names, or pairs of opening and closing mark."""
    pause_minutes: float | None = None
    """How long an outage is waited out; None leaves the default."""
    _throttles: dict[str, Throttle | None] = field(default_factory=dict, compare=False, repr=False)

    def settings(self, name: str, *, base_url: str | None = None, max_connections: int | None = None) -> ModelSettings:
        """What holds for one model: arguments beat its own section, that beats its provider's, that the defaults.

        Parameters
        ----------
        name : str
            `provider/model`, with or without a revision.
        base_url, max_connections : optional
            Given on the command line.

        Returns
        -------
        ModelSettings
            Its rates are the model's own; those of a provider are in `throttle`. Its price is set only where the
            file says one: see `isogloss.models.prices.price_of`.

        Raises
        ------
        SettingError
            For an argument out of range.
        """
        values = self.values(name)
        if base_url is not None:
            values["base_url"] = base_url
        if max_connections is not None:
            values["max_connections"] = max_connections
        prices = {PRICES[key]: values.pop(key) for key in PRICES if key in values}
        price = Price.model_validate(prices) if prices else None
        try:
            return ModelSettings.model_validate({**values, "price": price})
        except ValidationError as error:  # only of the arguments: the file was checked when it was read
            first = error.errors()[0]
            raise SettingError(f"{first['loc'][0]}: {_lower(first['msg'])}, got {shown(first['input'])}") from None

    def values(self, name: str) -> dict[str, Value]:
        """What the file sets for a model, its provider's settings among them (but not their rates)."""
        parsed = parse_name(name)
        shared = {k: v for k, v in self.providers.get(parsed.provider, {}).items() if k not in RATES}
        return {**shared, **self.models.get(parsed.full, {})}

    def throttle(self, provider: str) -> Throttle | None:
        """The limit that all models of a provider share: one object a provider; None where there is no limit."""
        if provider not in self._throttles:
            rates = {k: float(v) for k, v in self.providers.get(provider, {}).items() if k in RATES}
            if rates:
                from isogloss.models.pace import Throttle

            self._throttles[provider] = Throttle(**rates) if rates else None
        return self._throttles[provider]


def read_config(path: str | Path | None, *, environment: Mapping[str, str], folder: Path = Path()) -> Config:
    """Read the file given; without one that which ISOGLOSS_CONFIG names, or `isogloss.toml` in the folder, if any.

    Raises
    ------
    SettingError, UnknownNameError
        For a file that can't be read or isn't TOML, an unknown section or key, a value that can't be, or a value that
        looks like a key: one line with file, section and key.
    """
    named = environment.get(VARIABLE, "").strip()
    if path is None and not named and not (folder / FILE_NAME).exists():
        return Config()
    file = Path(path) if path is not None else Path(named).expanduser() if named else folder / FILE_NAME
    origin = f" (named by {VARIABLE})" if path is None and named else ""
    document = _document(file, origin)
    for key, value in document.items():
        if key not in SECTIONS:
            raise _unknown(str(file), "section", key, SECTIONS, value=value)
    run = _table(document, "run", str(file))
    return Config(
        path=file,
        providers=dict(_sections(document, "providers", str(file))),
        models=dict(_sections(document, "models", str(file))),
        reasoning_tags=_tags(run, f"{file}: [run]"),
        pause_minutes=_pause(run, f"{file}: [run]"),
    )


def _document(file: Path, origin: str) -> Mapping[str, object]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise SettingError(f"no file {file}{origin}") from None
    except OSError as error:
        raise SettingError(f"{file}{origin} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{file}{origin} isn't UTF-8 (byte {error.start + 1}); save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{file} isn't TOML: {_lower(str(error))}{_advice(text, str(error))}") from None


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _advice(text: str, message: str) -> str:
    """What most often stands behind a syntax error at that place."""
    _, found, rest = message.partition("(at line ")
    number = rest.split(",")[0]
    lines = text.splitlines()
    line = lines[int(number) - 1].strip() if found and number.isdigit() and int(number) <= len(lines) else ""
    if line.startswith("[") and "/" in line and '"' not in line:
        return '; a name with "/" stands in quotes: [models."openai/gpt-4.1-mini"]'
    if "=" in line and not line.startswith("[") and not line.partition("=")[2].strip().startswith(("'", '"', "[", "{")):
        return "; text stands in quotes, and numbers have no thousands separator"
    return ""


def _table(document: Mapping[str, object], name: str, where: str) -> Mapping[str, object]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise SettingError(f"{where}: {name}: expected a section [{name}], got {shown(table)}")
    return table


def _sections(document: Mapping[str, object], kind: str, file: str) -> Iterator[tuple[str, Section]]:
    """The sections below [providers] or [models], checked."""
    for name, section in _table(document, kind, file).items():
        is_model = kind == "models"
        if looks_like_key(name) or (names_a_key(name) and not isinstance(section, dict)):
            raise SettingError(f"{file}: [{kind}]: {NO_KEYS}")
        try:
            check_characters(name)
        except SettingError as error:
            raise SettingError(f"{file}: [{kind}]: {error}") from None
        where = f'{file}: [{kind}."{name}"]' if is_model else f"{file}: [{kind}.{name}]"
        _check_name(name, where, is_model=is_model)
        if not isinstance(section, dict):
            raise SettingError(f"{where}: expected a section, got {shown(section)}")
        yield name, _checked(section, where, provider=name.partition("/")[0])


def _check_name(name: str, where: str, *, is_model: bool) -> None:
    known = [provider.name for provider in providers()]
    if is_model and ("/" not in name.strip("/")):
        raise SettingError(f'{where}: a model is named as provider/name in quotes, e.g. [models."openai/gpt-4.1-mini"]')
    provider = name.partition("/")[0]
    if not is_model and provider != name:
        raise SettingError(f'{where}: {name!r} names a model; its section is [models."{name}"]')
    if provider not in known:
        raise _unknown(where, "provider", provider, known)
    if is_model and parse_name(name).revision is not None:
        raise SettingError(f"{where}: leave out the revision; what is set holds for every revision of a model")


def _checked(section: Mapping[str, object], where: str, *, provider: str) -> Section:
    """A section of settings, all of them known and possible."""
    values: dict[str, Value] = {}
    for key, value in section.items():
        if key not in KEYS:
            raise _unknown(where, "setting", key, KEYS, value=value)
        if looks_like_key(value):
            raise SettingError(f"{where}: {key}: {NO_KEYS}")
        if key not in _ONLY[provider]:
            meant = ", ".join(name for name, keys in _ONLY.items() if key in keys)
            raise SettingError(f"{where}: {key}: means nothing for models of {provider}; only for those of {meant}")
        if not KEYS[key].holds(value):
            raise SettingError(f"{where}: {key}: expected {KEYS[key].words}, got {shown(value)}")
        assert isinstance(value, str | int | float)
        values[key] = _url(value, where) if key == "base_url" else value
    given = [key for key in PRICES if key in values]
    missing = [key for key in ("input_price", "output_price") if key not in values]
    if given and missing:
        raise SettingError(f"{where}: {given[0]} without {missing[0]}; a price has both input_price and output_price")
    return values


def _url(value: Value, where: str) -> str:
    try:
        return checked_url(str(value))
    except SettingError as error:
        raise SettingError(f"{where}: base_url: {error}") from error


def _pause(run: Mapping[str, object], where: str) -> float | None:
    for key, value in run.items():
        if key not in RUN_KEYS:
            raise _unknown(where, "setting", key, RUN_KEYS, value=value)
    value = run.get("pause_minutes")
    kind = _between(0, _MOST_MINUTES)
    if value is not None and not kind.holds(value):
        raise SettingError(f"{where}: pause_minutes: expected {kind.words}, got {shown(value)}")
    return float(value) if isinstance(value, int | float) else None


def _tags(run: Mapping[str, object], where: str) -> tuple[Tag, ...]:
    value = run.get("reasoning_tags", [])
    expected = 'expected a list of names or pairs, e.g. ["think", ["<|think|>", "<|answer|>"]]'
    if not isinstance(value, list):
        raise SettingError(f"{where}: reasoning_tags: {expected}, got {shown(value)}")
    tags: list[Tag] = []
    for tag in value:
        if isinstance(tag, str) and tag.strip():
            tags.append(tag)
        elif isinstance(tag, list) and len(tag) == 2 and all(isinstance(mark, str) and mark for mark in tag):
            tags.append((tag[0], tag[1]))
        else:
            raise SettingError(f"{where}: reasoning_tags: {expected}, got {shown(tag)} in it")
    return tuple(tags)


def _unknown(where: str, kind: str, name: str, known: Collection[str], *, value: object = None) -> SettingError:
    """The error for a name that isn't known: near names, unless someone tried to put a key there."""
    if looks_like_key(name):
        return SettingError(f"{where}: {NO_KEYS}")
    if names_a_key(name) or looks_like_key(value):
        return SettingError(f"{where}: {name}: {NO_KEYS}")
    return UnknownNameError(f"{where}: {unknown_name(kind, name, known)}")
