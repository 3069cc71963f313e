"""What the calls of a run took: tokens and US dollars, with what isn't known said and never counted as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isogloss.records import FREE, Price
from isogloss.reports.context import ReportContext
from isogloss.reports.methods import count
from isogloss.reports.sections import Cell, Column, Table
from isogloss.store.rows import Spending

LOCAL = ("gguf/", "hf/", "scripted/")
"""Beginnings of names of informants that run on this machine."""
UNKNOWN = "unknown"
NOTE = (
    "All calls of the run, failed ones among them. Tokens out include hidden reasoning. Costs are reckoned from token "
    "counts and the prices named; the provider's bill decides."
)


def spending_table(context: ReportContext) -> Table | None:
    """Calls, tokens and cost by informant, and in total; None where nothing was called."""
    taken = _by_informant(context)
    if not taken:
        return None
    rows: list[tuple[Cell, ...]] = [
        (name, _cost(parts, is_local=name.startswith(LOCAL)), *_counts(parts), _remark(name, parts) or None)
        for name, parts in taken.items()
    ]
    if len(taken) > 1:
        parts = [part for held in taken.values() for part in held]
        paid = [part for name, held in taken.items() if not name.startswith(LOCAL) for part in held]
        rows.append(("all", _cost(paid, is_local=not paid), *_counts(parts), None))
    columns = (
        Column("informant"),
        *(Column(title, "count") for title in ("US$", "calls", "tokens in", "of them cached", "tokens out")),
        Column("remark"),
    )
    return Table("spending", "Tokens and cost", columns, tuple(rows), note=NOTE)


def _by_informant(context: ReportContext) -> dict[str, list[Spending]]:
    taken: dict[str, list[Spending]] = {}
    for run in context.runs:
        held: Mapping[str, Sequence[Spending]] = {model.name: model.spending for model in run.models}
        for name, parts in (*held.items(), *run.unreported.items()):
            called = [part for part in parts if part.n_calls]
            if called:
                taken.setdefault(name, []).extend(called)
    return taken


def _counts(parts: Sequence[Spending]) -> tuple[int, int | None, int | None, int | None]:
    """Calls, tokens in, those of them cached, tokens out; None for tokens that nobody told."""
    n_calls = sum(part.n_calls for part in parts)
    if all(part.n_unmetered == part.n_calls for part in parts):
        return n_calls, None, None, None
    tokens = [sum(column) for column in zip(*(part[-3:] for part in parts), strict=True)]
    return n_calls, tokens[0], tokens[1], tokens[2]


def _cost(parts: Sequence[Spending], *, is_local: bool) -> str:
    """US dollars in words: "unknown" where no price or no token count is known, "at least" where some aren't."""
    if is_local:
        return "0 (this machine)"
    metered = [part for part in parts if part.n_unmetered < part.n_calls]
    known = [part.cost for part in metered if part.cost is not None]
    if not known:
        return UNKNOWN
    is_whole = len(known) == len(metered) and not any(_is_untold(part) for part in parts)
    if not is_whole and not any(known):
        return UNKNOWN
    return ("" if is_whole else "at least ") + format_cost(sum(known))


def _is_untold(part: Spending) -> bool:
    """Whether tokens are missing that would cost something."""
    return part.n_unmetered > 0 and part.price != FREE


def _remark(name: str, parts: Sequence[Spending]) -> str:
    """At which prices, and what isn't known."""
    said = []
    if not name.startswith(LOCAL):
        prices = [
            (f"{count(part.n_calls, 'call')} " if len(parts) > 1 else "") + f"at {_price(part.price)}"
            for part in parts
            if part.price is not None
        ]
        if prices:
            said.append(f"{', '.join(prices)} US$ per million tokens")
        unpriced = sum(part.n_calls for part in parts if part.price is None)
        if unpriced:
            said.append(f"{count(unpriced, 'call')} at an unknown price" if prices else "price unknown")
    unmetered = 0 if name.startswith(LOCAL) else sum(part.n_unmetered for part in parts)
    if unmetered:
        said.append(f"{count(unmetered, 'call')} without token counts")
    return "; ".join(said)


def _price(price: Price) -> str:
    """`0.40/1.60`, with that of cached input where it has its own."""
    cached = "" if price.cached is None else f" ({_rate(price.cached)} cached)"
    return f"{_rate(price.input)}/{_rate(price.output)}{cached}"


def _rate(dollars: float) -> str:
    text = f"{dollars:,.4f}"
    return text[:-2] if text.endswith("00") else text.rstrip("0")


def format_cost(dollars: float) -> str:
    """US dollars in print: two decimals, two digits below a cent.

    Examples
    --------
    >>> [format_cost(dollars) for dollars in (0, 1234.5, 0.00421, 0.00004)]
    ['0', '1,234.50', '0.0042', '< 0.0001']
    """
    if dollars == 0:
        return "0"
    if dollars >= 0.01:
        return f"{dollars:,.2f}"
    return f"{dollars:.2g}" if dollars >= 0.0001 else "< 0.0001"
