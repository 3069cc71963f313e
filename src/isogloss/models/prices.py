"""What tokens cost: the shipped list of prices, and what `isogloss.toml` says instead."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from isogloss.models.settings import ModelSettings
from isogloss.records import FREE, Price

LOCAL = frozenset({"gguf", "hf", "scripted"})
"""Providers whose models run on this machine."""


class Quote(NamedTuple):
    """A price and where it is from."""

    price: Price
    as_of: str | None
    """The day the provider's page said so, ISO 8601; None where it isn't from there."""
    source: str
    family: str
    """The name that dated names were found by."""


@lru_cache(maxsize=1)
def _file() -> Mapping[str, Any]:
    return tomllib.loads(files("isogloss.models").joinpath("prices.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Quote]:
    """The prices that come with isogloss: `provider/model` → quote, dated names among them."""
    quotes = {}
    for provider, table in _file().items():
        for name, row in table["models"].items():
            price = Price(
                input=row["input"],
                output=row["output"],
                cached=row.get("cached"),
                batch=row.get("batch", table["batch"]),
            )
            quote = Quote(price, str(row["as_of"]), table["source"], f"{provider}/{name}")
            for suffix in ("", *(f"-{date}" for date in row.get("dates", ()))):
                quotes[f"{provider}/{name}{suffix}"] = quote
    return quotes


def quote_of(name: str, settings: ModelSettings, environment: Mapping[str, str]) -> Quote | None:
    """The price of a model's tokens with its origin; None where it isn't known.

    Parameters
    ----------
    name : str
        `provider/model`, with or without a revision.
    settings : ModelSettings
        Its price comes first; its base URL decides whether the shipped price holds.
    environment : mapping
        Where the provider's usual variable (`OPENAI_BASE_URL`, …) is looked up.

    Returns
    -------
    Quote or None
        A shipped price holds only at the provider's own address. Models on this machine are free.
    """
    if settings.price is not None:
        return Quote(settings.price, None, "isogloss.toml", name)
    provider = name.partition("/")[0]
    if provider in LOCAL:
        return Quote(FREE, None, "runs on this machine", name)
    host = _file().get(provider, {}).get("host")
    address = settings.base_url or environment.get(f"{provider.upper()}_BASE_URL", "").strip()
    if host is None or (address and urlsplit(address).hostname != host):
        return None
    return shipped().get(name) or shipped().get(name.rpartition("@")[0])


def price_of(name: str, settings: ModelSettings, environment: Mapping[str, str]) -> Price | None:
    """The price alone; see `quote_of`."""
    quote = quote_of(name, settings, environment)
    return None if quote is None else quote.price
