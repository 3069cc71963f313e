"""`isogloss models`: who can be asked, on what terms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, note, say, say_json
from isogloss.cli.train_head import train_head

if TYPE_CHECKING:
    from isogloss.models.config import Config, Value
    from isogloss.models.prices import Quote

ACTIONS = ("pull", "prices", "train-head")


def models(
    action: Annotated[
        str | None,
        typer.Argument(
            help="'pull' brings the weights of a small embedded model; 'prices' lists what tokens cost; 'train-head' "
            "trains a next-sentence head for a model of hf/ that has none."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Which weights, e.g. smollm2; whose prices, e.g. openai or gpt-4o; or which model gets a head, e.g. "
            "hf/FacebookAI/xlm-roberta-base."
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="train-head: UTF-8 text, a sentence a line, a blank line between documents."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="train-head: a new folder for the head, then asked as hf/./DIR.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="train-head: language of the corpus (BCP 47), noted with the head."),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=400,
            metavar="N",
            help="train-head: pairs of sentences in all, at most; half are consecutive. [default: 10000]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="train-head: decides which pairs are drawn, and the first weights.")] = 0,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """List providers, embedded models and what isogloss.toml sets; bring weights; list prices; train a head."""
    from isogloss.errors import SettingError
    from isogloss.models.config import read_config
    from isogloss.registry import unknown_name

    if action is not None and action not in ACTIONS:
        raise unknown_name("action of 'isogloss models'", action, ACTIONS)
    if action == "train-head":
        train_head(name, corpus, out, language=language, pairs=pairs, seed=seed, config=config, json=json)
        return
    if any(option is not None for option in (corpus, out, language, pairs)):
        raise SettingError("--corpus, --out, --language and --pairs are for 'isogloss models train-head'")
    if action == "pull":
        if name is None:
            raise SettingError("'isogloss models pull' needs a name, e.g. 'isogloss models pull smollm2'")
        from isogloss.models.weights import pull

        note(f"weights: {pull(name, environment(), progress=note)}")
        return
    variables = environment()
    terms = read_config(config, environment=variables)
    if action == "prices":
        _prices(name, terms, json=json)
    else:
        _overview(terms, variables, json=json)


def _overview(config: Config, variables: Mapping[str, str], *, json: bool) -> None:
    from isogloss.models import providers
    from isogloss.models.weights import available

    weights = available(variables)
    terms = _terms(config, variables)
    if json:
        say_json(
            {
                "providers": [provider._asdict() for provider in providers()],
                "weights": [one._asdict() for one in weights],
                "config": terms,
            }
        )
        return
    for provider in providers():
        say(f"{provider.form:<24}  {provider.meaning}")
    say("weights that 'isogloss models pull NAME' brings:")
    for one in weights:
        say(f"  {one.name}  {one.megabytes:.0f} MB  {one.licence}  {'here' if one.present else 'not here yet'}")
    if config.path is None:
        return
    say(f"{config.path} sets:")
    for kind in ("providers", "models"):
        for name, cells in terms[kind].items():
            say(f"  {name}")
            for key, value in cells.items():
                if key != "key_set":
                    say(f"    {key}: {value}")
            if "key_set" in cells:
                say(f"    key: {cells['key_variable']} is {'set' if cells['key_set'] else 'not set'}")


def _terms(config: Config, variables: Mapping[str, str]) -> dict[str, Any]:
    """What the file sets, and for each section whether the variable with its key is set; never a key."""
    return {
        "file": None if config.path is None else str(config.path),
        "providers": {name: _with_key(name, section, variables) for name, section in config.providers.items()},
        "models": {name: _with_key(name, config.values(name), variables) for name in config.models},
        "run": {
            "pause_minutes": config.pause_minutes,
            "reasoning_tags": [list(tag) if isinstance(tag, tuple) else tag for tag in config.reasoning_tags],
        },
    }


def _with_key(name: str, section: Mapping[str, Value], variables: Mapping[str, str]) -> dict[str, Any]:
    provider = name.partition("/")[0]
    usual = f"{provider.upper()}_API_KEY" if provider in ("openai", "anthropic") else None
    variable = section.get("key_variable", usual)
    if variable is None:
        return dict(section)
    return {**section, "key_variable": variable, "key_set": bool(variables.get(str(variable), "").strip())}


def _prices(name: str | None, config: Config, *, json: bool) -> None:
    """Prices by model, those of isogloss.toml before the shipped ones."""
    quotes = _chosen(name, config)
    if json:
        say_json(
            [
                {"model": model, **quote.price.model_dump(), "as_of": quote.as_of, "source": quote.source}
                for model, quote in quotes.items()
            ]
        )
        return
    say("US$ per million tokens, at the provider's own address:")
    say(f"{'model':<32}{'in':>8}{'cached':>8}{'out':>8}{'batch':>7}  as of")
    for model, quote in quotes.items():
        price = quote.price
        cached = "–" if price.cached is None else f"{price.cached:g}"
        say(
            f"{model:<32}{price.input:>8g}{cached:>8}{price.output:>8g}{price.batch:>7g}  {quote.as_of or quote.source}"
        )
    sources = dict.fromkeys(quote.source for quote in quotes.values() if quote.as_of)
    note(f"from {' and '.join(sources)}" if sources else "as isogloss.toml says")
    note('another price? isogloss.toml: [models."provider/name"], input_price = …, output_price = …')


def _chosen(name: str | None, config: Config) -> dict[str, Quote]:
    """All quotes, or those of names that hold `name`; dated names only where just they were asked for."""
    from isogloss.models.prices import quote_of, shipped
    from isogloss.registry import unknown_name

    own = {}
    for model in config.models:
        settings = config.settings(model)
        quote = quote_of(model, settings, {}) if settings.price is not None else None
        if quote is not None:
            own[model] = quote
    every = {**shipped(), **own}
    families = {model: quote for model, quote in every.items() if model == quote.family}
    if name is None:
        return families
    found = {model: quote for model, quote in families.items() if name.lower() in model.lower()}
    found = found or {model: quote for model, quote in every.items() if name.lower() in model.lower()}
    if not found:
        hint = 'a price that isn\'t listed is unknown; say it in isogloss.toml: [models."provider/name"]'
        raise unknown_name("price", name, families, hint=hint)
    return found
