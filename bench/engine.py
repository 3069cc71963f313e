"""What the engine adds to a bare HTTP loop, and what a finished run costs. Prints a table.

python bench/engine.py [--quick]

Server and clients share this machine; rounds of ours and of the bare loop alternate, so trust the ratios.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nginx import instant_server
from shape import COUNTRIES, write_table

HERE = Path(__file__).parent
CONNECTIONS = 64
PORT = 18801
SIZES = {10_000: 5, 100_000: 3}
"""Prompts → rounds."""
LARGE = 190_000


def child(*command: object) -> dict[str, float]:
    pin = ["taskset", "-c", "1"] if shutil.which("taskset") else []
    done = subprocess.run([*pin, sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def seconds(*command: object) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "isogloss", *map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.perf_counter() - began


def median(rows: list[dict[str, float]], key: str) -> float:
    return statistics.median(row[key] for row in rows)


def row(what: str, ours: str, bar: str, ratio: str, limit: str) -> None:
    print(f"{what:<46} {ours:>12} {bar:>12} {ratio:>8}  {limit}")


def main() -> None:
    quick = "--quick" in sys.argv
    sizes = {10_000: 1} if quick else SIZES
    with tempfile.TemporaryDirectory() as folder, instant_server(PORT) as base:
        tables = {}
        for n in (*sizes, *([] if quick else [LARGE])):
            tables[n] = Path(folder, f"table-{n}.csv")
            n_variants = math.ceil(n / len(COUNTRIES))
            write_table(tables[n], n_items=max(1, n_variants // 10), n_variants=n_variants)
        prompts = Path(folder, "prompts.jsonl")
        asked = ("run", "lexicon", tables[max(sizes)], "--set", "format=yes_no")
        seconds(*asked, "--dry-run", "--prompts-out", prompts)
        row("", "isogloss", "bare loop", "ratio", "limit")
        peaks = {}
        for n, n_rounds in sizes.items():
            ours, bare = [], []
            for k in range(n_rounds):
                bare.append(child(HERE / "raw_loop.py", prompts, n, CONNECTIONS, base))
                ours.append(child(HERE / "ask.py", tables[n], n, CONNECTIONS, base, f"{folder}/run-{n}-{k}"))
            peaks[n] = median(ours, "megabytes")
            for key, what, limit, spec in (
                ("rate", "requests/s", ">= 0.6", ",.0f"),
                ("cpu_per_thousand", "CPU s per 1,000", "<= 1.6", ".3f"),
            ):
                a, b = median(ours, key), median(bare, key)
                row(f"{what}, {n:,} prompts", format(a, spec), format(b, spec), f"{a / b:.2f}", limit)
        if not quick:
            large = child(HERE / "ask.py", tables[LARGE], LARGE, CONNECTIONS, base, f"{folder}/large")
            peaks[LARGE] = large["megabytes"]
            ratio = peaks[LARGE] / peaks[10_000]
            row(f"peak memory, MB: {LARGE:,} beside 10,000 prompts", f"{peaks[LARGE]:.0f}", f"{peaks[10_000]:.0f}",
                f"{ratio:.2f}", "<= 1.3 and < 130 MB")  # fmt: skip
            again = (
                "run",
                "lexicon",
                tables[LARGE],
                "--set",
                "format=yes_no",
                "--limit",
                LARGE,
                "--model",
                "openai/m",
                "--base-url",
                base,
                "--out",
                f"{folder}/large",
            )
            row("first coding, scoring and report after it, s", f"{seconds(*again):.1f}", "", "", "")
            row("the same command again, s", f"{seconds(*again):.2f}", "", "", "< 3")
            row("its report, s", f"{seconds('report', f'{folder}/large'):.1f}", "", "", "< 15")
        helps = [seconds("--help") for _ in range(5)]
        row("isogloss --help, s", f"{statistics.median(helps):.2f}", "", "", "< 0.3")


if __name__ == "__main__":
    main()
