"""Prices: of the provider's own address only, dated, and unknown rather than guessed."""

from __future__ import annotations

import datetime

import pytest

from isogloss.models.prices import price_of, quote_of, shipped
from isogloss.models.settings import ModelSettings
from isogloss.records import FREE, Price

DEFAULT = ModelSettings()


def test_every_shipped_price_is_dated_and_in_order():
    assert 40 <= len({quote.family for quote in shipped().values()}) <= 80
    for name, quote in shipped().items():
        assert name.startswith(("openai/", "anthropic/"))
        assert datetime.date(2026, 1, 1) <= datetime.date.fromisoformat(quote.as_of or "") <= datetime.date.today()
        assert 0 < quote.price.input < quote.price.output
        assert (quote.price.cached or 0) < quote.price.input
        assert quote.price.batch == 0.5
        assert quote.source


def test_a_thousand_calls_cost_what_the_page_says():
    price = price_of("openai/gpt-4o-mini", DEFAULT, {})
    assert price == Price(input=0.15, output=0.60, cached=0.075, batch=0.5)
    assert price.cost(100_000, 2_000) == pytest.approx(0.015 + 0.0012)
    assert price.in_batch.cost(100_000, 2_000) == pytest.approx((0.015 + 0.0012) / 2)


def test_a_dated_name_has_a_price_only_where_the_list_says_so():
    family = shipped()["openai/gpt-4o-mini"]
    assert shipped()["openai/gpt-4o-mini-2024-07-18"] == family
    assert price_of("openai/gpt-4o-mini-2030-01-01", DEFAULT, {}) is None
    assert price_of("openai/gpt-4o-mini-search", DEFAULT, {}) is None
    assert price_of("openai/gpt-4o-2024-05-13", DEFAULT, {}) != price_of("openai/gpt-4o", DEFAULT, {})


@pytest.mark.parametrize("name", ["openai/nothing", "inspect/openai/gpt-4o", "other/gpt-4o", "gpt-4o"])
def test_what_is_not_listed_is_unknown(name):
    assert price_of(name, DEFAULT, {}) is None


@pytest.mark.parametrize("name", ["gguf/smollm2", "hf/./dir", "scripted/random"])
def test_models_on_this_machine_are_free(name):
    assert price_of(name, DEFAULT, {}) == FREE


def test_a_shipped_price_holds_only_at_the_providers_own_address():
    local = ModelSettings(base_url="http://127.0.0.1:8000/v1")
    own = ModelSettings(base_url="https://api.openai.com/v1")
    assert price_of("openai/gpt-4o", local, {}) is None
    assert price_of("openai/gpt-4o", own, {}) is not None
    assert price_of("openai/gpt-4o", DEFAULT, {"OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}) is None
    assert price_of("openai/gpt-4o", DEFAULT, {"OPENAI_BASE_URL": " "}) is not None
    assert price_of("openai/gpt-4o", own, {"OPENAI_BASE_URL": "http://127.0.0.1/v1"}) is not None
    assert price_of("anthropic/claude-haiku-4-5", DEFAULT, {"ANTHROPIC_BASE_URL": "http://127.0.0.1"}) is None
    assert price_of("anthropic/claude-haiku-4-5-20251001", DEFAULT, {"OPENAI_BASE_URL": "http://127.0.0.1"}) is not None


def test_a_price_of_ones_own_comes_first_wherever_the_model_is():
    mine = Price(input=9, output=9)
    settings = ModelSettings(base_url="http://127.0.0.1:8000/v1", price=mine)
    quote = quote_of("openai/gpt-4o", settings, {})
    assert quote is not None
    assert (quote.price, quote.as_of, quote.source) == (mine, None, "isogloss.toml")
    assert price_of("gguf/smollm2", settings, {}) == mine


def test_a_revision_changes_no_price():
    assert price_of("openai/gpt-4o@r1", DEFAULT, {}) == price_of("openai/gpt-4o", DEFAULT, {})
