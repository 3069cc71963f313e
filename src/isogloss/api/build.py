"""Building data sets, step by step; the same call goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isogloss.api.asking import DEFAULT_CONNECTIONS, check_prices, foretold, informant_of, patience_of
from isogloss.api.built import Build, construction_of
from isogloss.api.job import find_study
from isogloss.construction import Construction
from isogloss.errors import DataError, SettingError
from isogloss.models import parse_name
from isogloss.models.config import Config, read_config
from isogloss.models.prices import price_of
from isogloss.records import Price
from isogloss.registry import unknown_name
from isogloss.run.ask_for_build import EngineAsk
from isogloss.run.asking import Informant
from isogloss.run.breaker import Patience
from isogloss.run.budget import Budget, spent
from isogloss.run.build import Bench, Prospect, build, check_models, prospects
from isogloss.run.build_folder import BuildFolder
from isogloss.run.progress import Observer
from isogloss.store import Ledger
from isogloss.study import Study

if TYPE_CHECKING:
    from isogloss.models.model import Model

EXAMPLE = "config.toml"
"""What an example configuration is called in a folder."""


def write_example(study: str | Study, out: str | Path) -> Path:
    """Write an example configuration into a folder; returns where it is.

    Raises
    ------
    SettingError
        If there is a configuration already, or the study ships no example.
    """
    study = find_study(study)
    construction = construction_of(study)
    folder, path = BuildFolder(out), Path(out) / EXAMPLE
    there = folder.config_path() if folder.exists else path
    if there.exists():
        raise SettingError(
            f"{there} is there already and isn't written over; to build with it: "
            f"isogloss build {study.name} {there} --out {out}"
        )
    if construction.example is None:
        raise SettingError(f"study {study.name!r} ships no example of a configuration; give one")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} can't be made: {error.strerror}") from error
    construction.example(path)
    return path


def _config_path(study: Study, construction: Construction, configuration: str | Path) -> Path:
    """The path of a configuration: a file, or the name of a sample."""
    if isinstance(configuration, str) and configuration in construction.samples:
        return construction.samples[configuration]
    path = Path(configuration)
    if not path.exists():
        if construction.samples and not path.suffix:
            raise unknown_name("file or sample", str(configuration), construction.samples)
        raise DataError(f"there is no {path}; 'isogloss build {study.name} --out DIR' writes an example")
    return path


def build_dataset(
    study: str | Study,
    configuration: str | Path,
    *,
    out: str | Path,
    models: Mapping[str, Model] | None = None,
    skip_people: bool = False,
    seed: int = 0,
    base_url: str | None = None,
    max_connections: int | None = None,
    max_cost: float | None = None,
    config: Config | str | Path | None = None,
    observe: Observer = lambda progress: None,
    tell: Callable[[str], None] = lambda line: None,
    warn: Callable[[str], None] = lambda line: None,
    environment: Mapping[str, str] | None = None,
    patience: Patience | None = None,
) -> Build:
    """Build a study's data set as far as it goes: until all is done, or people are waited for.

    What is done and unchanged isn't done again, what was answered isn't asked again. Works inside a running event loop.

    Parameters
    ----------
    study : str or Study
    configuration : path
        The study's TOML file, or the name of a sample: countries, languages, models, raters, thresholds.
    out : path
        Folder of the construction.
    models : mapping, optional
        Name in the configuration → model made by hand; others are opened by their name.
    skip_people : bool
        Go on without people where the study allows it; the data card says so.
    max_cost : float, optional
        US dollars that the construction may cost, earlier commands included.
    config : Config or path, optional
        Limits, prices, addresses; `isogloss.toml` in the current folder otherwise, where there is one.
    tell : callable, optional
        Is given a line on how far it has come.

    Returns
    -------
    Build
        With `table(name)`, `report()` and `summary`, which says what was done and what is waited for.

    Raises
    ------
    DataError, SettingError, AbilityError, ModelError, StoreError
        What the steps before have made stays, and so do all replies.
    """
    study = find_study(study)
    construction = construction_of(study)
    variables = os.environ if environment is None else environment
    terms = config if isinstance(config, Config) else read_config(config, environment=variables)
    path = _config_path(study, construction, configuration)
    folder = BuildFolder(out)
    bench = Bench(construction, _checked(construction, path, warn, skip_people=skip_people), folder, skip_people, seed)
    open_informant = _opener(
        models or {}, terms, variables, seed=seed, base_url=base_url, max_connections=max_connections,
        with_prices=max_cost is not None,
    )  # fmt: skip
    with folder.locked():
        folder.begin(study.name, path, seed=seed, skip_people=skip_people)
        with folder.ledger() as ledger:
            budget = None if max_cost is None else Budget(max_cost, spent=_spent(ledger, terms, variables))
            with EngineAsk(
                ledger, open_informant, observe=observe, warn=warn, budget=budget,
                patience=patience or patience_of(terms),
            ) as ask:  # fmt: skip
                summary = build(bench, ask, tell=tell, warn=warn)
            if ask.remarks:
                folder.note(remarks={**folder.facts().get("remarks", {}), **ask.remarks})
    opened = Build(out, study=study)
    opened.summary = summary
    return opened


def _checked(construction: Construction, path: Path, warn: Callable[[str], None], *, skip_people: bool) -> Any:
    """The configuration, after a look at all that later steps need."""
    config = construction.read_config(path)
    for line in construction.check(config, skip_people) if construction.check is not None else ():
        warn(f"still lacking: {line}")
    return config


def _opener(
    models: Mapping[str, Model], terms: Config, environment: Mapping[str, str], *, seed: int, base_url: str | None,
    max_connections: int | None, with_prices: bool,
) -> Callable[[str], Informant]:  # fmt: skip
    """Name → the model with its terms, made on first use."""
    known = {name: Informant(model, max_connections or DEFAULT_CONNECTIONS, None) for name, model in models.items()}

    def informant(name: str) -> Informant:
        if name not in known:
            known[name] = informant_of(
                name, terms, environment, seed=seed, base_url=base_url, max_connections=max_connections
            )
        if with_prices:
            check_prices([known[name]])
        return known[name]

    return informant


def _spent(ledger: Ledger, terms: Config, environment: Mapping[str, str]) -> float:
    """What the construction has cost so far; calls made before their price was known, at today's."""
    prices: dict[int, Price] = {}
    for arm in ledger.arms():
        price = _price(arm.model, terms, environment)
        if price is not None:
            prices[arm.id] = price
    return spent(ledger, prices)


def _price(name: str, terms: Config, environment: Mapping[str, str], *, base_url: str | None = None) -> Price | None:
    try:
        full = parse_name(name).full
        return price_of(full, terms.settings(full, base_url=base_url), environment)
    except SettingError:  # a model made by hand, whose name names no provider
        return None


def preview(
    study: str | Study,
    configuration: str | Path,
    *,
    out: str | Path,
    skip_people: bool = False,
    seed: int = 0,
    base_url: str | None = None,
    config: Config | str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> list[Prospect]:
    """What `build_dataset` would do with each step, and what that may take. Nothing is written or asked.

    Parameters are those of `build_dataset`; prices are those of models opened by name.
    """
    study = find_study(study)
    construction = construction_of(study)
    variables = os.environ if environment is None else environment
    terms = config if isinstance(config, Config) else read_config(config, environment=variables)
    path = _config_path(study, construction, configuration)
    bench = Bench(
        construction, _checked(construction, path, warn, skip_people=skip_people), BuildFolder(out), skip_people, seed
    )
    # A name without a provider is of a model made by hand, of which nothing is known here.
    check_models(bench, lambda name: foretold(name, terms, variables, base_url=base_url) if "/" in name else None)
    return prospects(bench, lambda name: _price(name, terms, variables, base_url=base_url))
