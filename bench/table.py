"""The table that every benchmark here prints: ours beside something else, the limit, and whether it is held."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

HEAD = ("", "isogloss", "the other", "ratio", "limit", "held")


class Row(NamedTuple):
    """One figure of ours beside another one, measured in the same run."""

    what: str
    """What is measured, its unit, and what the other figure is of."""
    ours: float
    other: float | None = None
    spec: str = ",.2f"
    ratio_from: float | None = None
    """Limits: on ours divided by the other, and on ours alone."""
    ratio_to: float | None = None
    ours_to: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours divided by the other; None where noise was larger than what a difference should show."""
        return self.ours / self.other if self.other and self.other > 0 and self.ours > 0 else None

    @property
    def limit(self) -> str:
        """The limit in words; empty where there is none."""
        parts = []
        if self.ratio_from is not None:
            parts.append(f"ratio ≥ {self.ratio_from:g}")
        if self.ratio_to is not None:
            parts.append(f"ratio ≤ {self.ratio_to:g}")
        if self.ours_to is not None:
            parts.append(f"< {self.ours_to:g}")
        return ", ".join(parts)

    @property
    def held(self) -> bool | None:
        """Whether the limit is held; None where there is none."""
        checks = []
        if self.ratio_from is not None:
            checks.append(self.ratio is not None and self.ratio >= self.ratio_from)
        if self.ratio_to is not None:
            checks.append(self.ratio is not None and self.ratio <= self.ratio_to)
        if self.ours_to is not None:
            checks.append(self.ours < self.ours_to)
        return all(checks) if checks else None

    @property
    def cells(self) -> tuple[str, ...]:
        """As text, in the order of `HEAD`."""
        other = "" if self.other is None else format(self.other, self.spec)
        ratio = "" if self.ratio is None else f"{self.ratio:.3f}" if self.ratio < 0.1 else f"{self.ratio:.2f}"
        held = {True: "yes", False: "NO", None: ""}[self.held]
        return (self.what, format(self.ours, self.spec), other, ratio, self.limit, held)


Part = Callable[[bool], Iterator[Row]]
"""(quick) → rows, each as soon as it is measured."""


def main(description: str | None, *parts: Part) -> None:
    """Measure and print the rows as they come; ends with 1 where a limit isn't held."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: shows only that all of it runs")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    options = parser.parse_args()
    write = _markdown if options.markdown else _plain
    write(HEAD)
    if options.markdown:
        print("| --- | ---: | ---: | ---: | --- | --- |")
    missed = 0
    for part in parts:
        for row in part(options.quick):
            write(row.cells)
            missed += row.held is False
    raise SystemExit(1 if missed and not options.quick else 0)


def _plain(cells: tuple[str, ...]) -> None:
    what, ours, other, ratio, limit, held = cells
    print(f"{what:<76} {ours:>10} {other:>10} {ratio:>7}  {limit:<24} {held}", flush=True)


def _markdown(cells: tuple[str, ...]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)
