"""`isogloss run --dry-run`: what would be asked, and what it may cost. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isogloss.cli.console import money, note, say, say_json

if TYPE_CHECKING:
    from isogloss.api import Job
    from isogloss.models.config import Config
    from isogloss.models.prices import Quote
    from isogloss.run.plan import Cost, Forecast
    from isogloss.run.tokens import Range

WIDTH = 34
COLUMN = 14


class Line(NamedTuple):
    """Calls with their tokens and cost; lines add up."""

    questions: int
    calls: int
    held: int
    tokens_in: Range
    tokens_out: Range
    cost: Cost | None
    known: float
    """The lowest cost of all calls whose price is known."""

    def __add__(self, other: Line) -> Line:  # type: ignore[override]  # sums, where a tuple would join
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Line(
            self.questions, self.calls + other.calls, self.held + other.held, self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out, cost, self.known + other.known,
        )  # fmt: skip


def dry_run(
    job: Job,
    *,
    config: Config,
    environment: Mapping[str, str],
    base_url: str | None,
    out: Path | None,
    batch: bool,
    prompts_out: Path | None,
    json: bool,
) -> None:
    """Print calls, tokens and cost by model and stage, less what the run folder `out` holds already."""
    from isogloss.api import check_models

    stages = job.outlook(out)
    check_models(
        job, next(iter(stages.values())), config=config, environment=environment, base_url=base_url, batch=batch
    )
    if prompts_out is not None:
        from isogloss.run.plan import write_prompts

        n = write_prompts(job.questions(), prompts_out)
        note(f"wrote {n:,} prompts to {prompts_out}")
    quotes = {model: _quote(model, config, environment, base_url) for model in job.spec.models or ("",)}
    models = {
        model: {kind: _line(part, quotes[model], batch) for kind, part in parts.items()}
        for model, parts in stages.items()
    }
    if json:
        say_json(_as_json(job, models, quotes, batch=batch))
    else:
        _print(job, models, quotes, batch=batch)
    note("nothing was asked")


def _quote(model: str, config: Config, environment: Mapping[str, str], base_url: str | None) -> Quote | None:
    from isogloss.models import parse_name
    from isogloss.models.prices import quote_of

    if not model:
        return None
    name = parse_name(model).full
    return quote_of(name, config.settings(name, base_url=base_url), environment)


def _line(part: Forecast, quote: Quote | None, batch: bool) -> Line:
    from isogloss.run.plan import cost_of

    price = None if quote is None else quote.price.in_batch if batch else quote.price
    cost = cost_of(part, price)
    return Line(
        part.n_questions, part.n_prompts, part.n_held, part.input_tokens, part.output_tokens, cost,
        known=0.0 if cost is None else cost.low,
    )  # fmt: skip


def _sum(lines: Iterable[Line]) -> Line:
    return reduce(add, lines)


# For people


def _print(
    job: Job, models: Mapping[str, Mapping[str, Line]], quotes: Mapping[str, Quote | None], *, batch: bool
) -> None:
    n_models = _count(len(job.spec.models), "model") if job.spec.models else "no model named"
    in_batches = "; in batches" if batch else ""
    say(
        f"{job.spec.data}: {_count(len(job.dataset.items), 'item')}; {n_models} × "
        f"{_count(job.spec.repeats, 'repeat')}{in_batches}"
    )
    for number, (model, lines) in enumerate(models.items()):
        heads = ("low", "expected", "high") if number == 0 else ()
        say((f"{model or 'any model':<{WIDTH}}" + "".join(f"{head:>{COLUMN}}" for head in heads)).rstrip())
        for kind, line in lines.items():
            _print_line(kind.replace("_", " "), line, indent="  ")
        if len(lines) > 1:
            _print_line("all", _sum(lines.values()), indent="  ")
    if len(models) > 1:
        _print_line("all models", _sum(line for lines in models.values() for line in lines.values()), indent="")
    say("prices, US$ per million tokens:")
    for model, quote in quotes.items():
        for text in _price_words(model, quote, batch=batch):
            say(f"  {text}")


def _print_line(title: str, line: Line, *, indent: str) -> None:
    held = f" left, {line.held:,} held already" if line.held else ""
    questions = f"{_count(line.questions, 'question')}, " if not title.startswith("all") else ""
    say(f"{indent}{title}: {questions}{_count(line.calls, 'call')}{held}")
    for name, tokens in (("tokens in", line.tokens_in), ("tokens out", line.tokens_out)):
        say(_row(f"{indent}  {name}", (f"{n:,}" for n in tokens)))
    say(_row(f"{indent}  cost", _cost_words(line)))


def _row(name: str, cells: Iterable[str]) -> str:
    *first, last = cells
    width = COLUMN * (3 - len(first))
    return f"{name:<{WIDTH}}" + "".join(f"{cell:>{COLUMN}}" for cell in first) + f"{last:>{width}}"


def _cost_words(line: Line) -> Iterable[str]:
    if line.cost is not None:
        return map(money, line.cost)
    return [f"unknown (at least {money(line.known)})" if line.known else "unknown"]


def _price_words(model: str, quote: Quote | None, *, batch: bool) -> list[str]:
    if not model:
        return ["unknown; name a model with --model"]
    if quote is None:
        return [f"{model}: unknown; set input_price and output_price", f'  under [models."{model}"] in isogloss.toml']
    price = quote.price
    if not (price.input or price.output):
        return [f"{model}: 0 ({quote.source})"]
    words = f"{model}: {price.input:g} in, {price.output:g} out"
    if batch:
        words += f", {price.batch:g} of that in batches"
    return [words, f"  {quote.source}" + (f", {quote.as_of}" if quote.as_of else "")]


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "s")


# For machines


def _as_json(
    job: Job, models: Mapping[str, Mapping[str, Line]], quotes: Mapping[str, Quote | None], *, batch: bool
) -> dict[str, Any]:
    kinds = dict.fromkeys(kind for lines in models.values() for kind in lines)
    total = _sum(line for lines in models.values() for line in lines.values())
    return {
        "models": list(job.spec.models),
        "repeats": job.spec.repeats,
        "batch": batch,
        "parts": [_cells(_sum(lines[kind] for lines in models.values()), kind) for kind in kinds],
        **_cells(total, None),
        "by_model": [
            {
                "model": model or None,
                "price": _price_cells(quotes[model]),
                "parts": [_cells(line, kind) for kind, line in lines.items()],
                **_cells(_sum(lines.values()), None),
            }
            for model, lines in models.items()
        ],
    }


def _cells(line: Line, kind: str | None) -> dict[str, Any]:
    """One line; a total has no kind."""
    head = {} if kind is None else {"kind": kind, "questions": line.questions}
    return {
        **head,
        "calls": line.calls,
        "held": line.held,
        "input_tokens": line.tokens_in._asdict(),
        "output_tokens": line.tokens_out._asdict(),
        "cost": None if line.cost is None else {name: round(n, 9) for name, n in line.cost._asdict().items()},
        "cost_at_least": round(line.known, 9),
    }


def _price_cells(quote: Quote | None) -> dict[str, Any] | None:
    if quote is None:
        return None
    return {**quote.price.model_dump(), "as_of": quote.as_of, "source": quote.source}
