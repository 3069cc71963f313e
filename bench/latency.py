"""Whether a server that takes 50 ms is kept busy: requests/s beside connections / 50 ms and beside a bare loop.

python bench/latency.py [--quick] [--markdown]
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import table
from delayed import delayed_server
from process import child, isogloss, median
from shape import table_for
from table import Row

HERE = Path(__file__).parent
PORT = 18802
SECONDS = 0.05
PROMPTS = {32: 10_000, 256: 40_000}
"""Connections → prompts: some ten seconds each."""
ROUNDS = 3


def rows(quick: bool) -> Iterator[Row]:
    """For both numbers of connections; the limits are on the time between the first and the last reply."""
    sizes = {connections: n // 10 if quick else n for connections, n in PROMPTS.items()}
    with tempfile.TemporaryDirectory() as folder, delayed_server(PORT, SECONDS) as base:
        data, prompts = table_for(max(sizes.values()), Path(folder)), Path(folder, "prompts.jsonl")
        isogloss("run", "lexicon", data, "--set", "format=yes_no", "--dry-run", "--prompts-out", prompts)
        for connections, n in sizes.items():
            ours, bare = [], []
            for k in range(1 if quick else ROUNDS):
                bare.append(child(HERE / "raw_loop.py", prompts, n, connections, base))
                ours.append(child(HERE / "ask.py", data, n, connections, base, f"{folder}/{connections}-{k}"))
            # The first reply comes one delay after the first request.
            rate, ideal = n / (median(ours, "seconds_answering") + SECONDS), connections / SECONDS
            is_few = connections == min(sizes)
            what = f"requests/s while asking, 50 ms server, {connections} connections, beside"
            yield Row(f"{what} {connections} / 50 ms", rate, ideal, ",.0f", ratio_from=0.9 if is_few else None)
            yield Row(
                f"{what} a bare aiohttp loop", rate, median(bare, "rate"), ",.0f", ratio_from=None if is_few else 0.8
            )
            yield Row(
                f"the same with reading the table and planning, {connections} connections",
                median(ours, "rate"), median(bare, "rate"), ",.0f",
            )  # fmt: skip


if __name__ == "__main__":
    table.main(__doc__, rows)
