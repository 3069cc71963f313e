"""What the engine adds to a bare HTTP loop, and what a finished run costs. Prints a table.

python bench/engine.py [--quick] [--markdown]

Server and clients share this machine; rounds of ours and of the bare loop alternate, so trust the ratios.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import table
from nginx import instant_server
from process import child, isogloss, median
from shape import table_for
from table import Row

HERE = Path(__file__).parent
CONNECTIONS = 64
PORT = 18801
SIZES = {10_000: 5, 100_000: 3}
"""Prompts → rounds."""
LARGE = 190_000


def rows(quick: bool) -> Iterator[Row]:
    """Requests/s, CPU and memory beside the bare loop; then a finished run of the largest size."""
    sizes = {10_000: 1} if quick else SIZES
    with tempfile.TemporaryDirectory() as folder, instant_server(PORT) as base:
        tables = {n: table_for(n, Path(folder)) for n in (*sizes, *([] if quick else [LARGE]))}
        prompts = Path(folder, "prompts.jsonl")
        isogloss("run", "lexicon", tables[max(sizes)], "--set", "format=yes_no", "--dry-run", "--prompts-out", prompts)
        peaks = {}
        for n, n_rounds in sizes.items():
            ours, bare = [], []
            for k in range(n_rounds):
                bare.append(child(HERE / "raw_loop.py", prompts, n, CONNECTIONS, base))
                ours.append(child(HERE / "ask.py", tables[n], n, CONNECTIONS, base, f"{folder}/run-{n}-{k}"))
            peaks[n] = median(ours, "megabytes")
            yield Row(
                f"requests/s, {n:,} prompts, beside a bare aiohttp loop", median(ours, "rate"), median(bare, "rate"),
                ",.0f", ratio_from=0.6,
            )  # fmt: skip
            yield Row(
                f"CPU s per 1,000, {n:,} prompts, beside a bare aiohttp loop",
                median(ours, "cpu_per_thousand"), median(bare, "cpu_per_thousand"), ".3f", ratio_to=1.6,
            )  # fmt: skip
        if not quick:
            yield from _finished(tables[LARGE], base, f"{folder}/large", peaks)
        helps = [isogloss("--help").wall for _ in range(5)]
        yield Row("isogloss --help, s", statistics.median(helps), ours_to=0.3)


def _finished(data: Path, base: str, out: str, peaks: dict[int, float]) -> Iterator[Row]:
    """A run in the size of the reference survey: memory while asking, then coding, scoring, report."""
    large = child(HERE / "ask.py", data, LARGE, CONNECTIONS, base, out)
    yield Row(
        f"peak memory, MB: {LARGE:,} beside 10,000 prompts", large["megabytes"], peaks[10_000], ",.0f",
        ratio_to=1.3, ours_to=130,
    )  # fmt: skip
    again = (
        "run", "lexicon", data, "--set", "format=yes_no", "--limit", LARGE, "--model", "openai/m", "--base-url", base,
        "--out", out,
    )  # fmt: skip
    yield Row("first coding, scoring and report after it, s", isogloss(*again).wall, spec=",.1f")
    yield Row("the same command again, s", isogloss(*again).wall, ours_to=3)
    yield Row("its report, s", isogloss("report", out).wall, spec=",.1f", ours_to=15)


if __name__ == "__main__":
    table.main(__doc__, rows)
