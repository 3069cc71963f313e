"""isogloss beside Inspect AI and lm-eval: the same prompts, server, connections and machine, rounds in turn.

python bench/peers.py [--quick] [--markdown]

PEERS_INSPECT and PEERS_LMEVAL name Python executables that have them (see README.md); one not named is left out.
What starting costs falls out: all figures are differences between 5,000 and 1,000 prompts, children included.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import table
from nginx import instant_server
from process import Cost, cost, isogloss
from shape import table_for
from table import Row

HERE = Path(__file__).parent
PORT = 18803
CONNECTIONS = 32
SIZES = (1_000, 5_000)
QUICK_SIZES = (200, 1_200)
ROUNDS = 3
ROUNDS_OF_SLOW = 1
SLOW = "Inspect AI"
"""Takes some minutes a round, so it gets fewer."""
PEERS = {
    "lm-eval": ("PEERS_LMEVAL", "peer_lmeval.py", 1 / 5),
    SLOW: ("PEERS_INSPECT", "peer_inspect.py", 1 / 40),
}
"""Name → variable with its Python, script, our share of its processor time at most (asking, as theirs is)."""

Command = Callable[[int, str], Cost]
"""(prompts, folder) → cost."""


def rows(quick: bool) -> Iterator[Row]:
    """The whole command and asking alone, each beside every peer that is here."""
    small, large = QUICK_SIZES if quick else SIZES
    here = _here()
    if not here:
        return
    with tempfile.TemporaryDirectory() as folder, instant_server(PORT) as base:
        data, prompts = table_for(large, Path(folder)), Path(folder, "prompts.jsonl")
        isogloss("run", "lexicon", data, "--set", "format=yes_no", "--dry-run", "--prompts-out", prompts)
        commands = {
            "whole": _whole_command(data, base),
            "asking": lambda n, out: cost([sys.executable, HERE / "ask.py", data, n, CONNECTIONS, base, out]),
            **{name: _peer(python, PEERS[name][1], prompts, base) for name, python in here.items()},
        }
        costs: dict[str, dict[int, list[Cost]]] = {name: {small: [], large: []} for name in commands}
        for k in range(1 if quick else ROUNDS):
            for n in (small, large):
                for name, command in commands.items():
                    if name == SLOW and k >= ROUNDS_OF_SLOW:
                        continue
                    out = f"{folder}/{name.replace(' ', '-')}-{n}-{k}"
                    costs[name][n].append(command(n, out))
                    shutil.rmtree(out, ignore_errors=True)
        yield from _compared({name: _marginal(by_size, small, large) for name, by_size in costs.items()})


def _whole_command(data: Path, base: str) -> Command:
    def run(n: int, out: str) -> Cost:
        return isogloss(
            "run", "lexicon", data, "--set", "format=yes_no", "--limit", n, "--model", "openai/m", "--base-url", base,
            "--max-connections", CONNECTIONS, "--out", out,
        )  # fmt: skip

    return run


def _here() -> dict[str, str]:
    """The peers that are here, with their Python; says which aren't."""
    found = {}
    for name, (variable, _, _) in PEERS.items():
        python = shutil.which(os.environ.get(variable, ""))
        if python is None:
            print(f"{name} is left out: {variable} names no Python executable", file=sys.stderr)
        else:
            found[name] = python
    return found


def _peer(python: str, script: str, prompts: Path, base: str) -> Command:
    return lambda n, out: cost([python, HERE / script, prompts, n, CONNECTIONS, base, out])


def _marginal(by_size: dict[int, list[Cost]], small: int, large: int) -> Cost:
    """Seconds for each thousand prompts more, from the medians of both sizes."""

    thousands = (large - small) / 1000
    walls, cpus = ({n: statistics.median(c[k] for c in costs) for n, costs in by_size.items()} for k in (0, 1))
    return Cost((walls[large] - walls[small]) / thousands, (cpus[large] - cpus[small]) / thousands)


def _compared(costs: dict[str, Cost]) -> Iterator[Row]:
    ours = {"whole": "asking, coding, scoring, report", "asking": "asking alone"}
    for name, (_, _, share) in PEERS.items():
        if name in costs:
            for kind, what in ours.items():
                yield Row(
                    f"CPU s per 1,000 more, {what}, beside {name}", costs[kind].cpu, costs[name].cpu, ".3f",
                    ratio_to=share if kind == "asking" else None,
                )  # fmt: skip
                rates = (1000 / costs[kind].wall, 1000 / costs[name].wall)
                yield Row(f"requests/s, {what}, beside {name}", *rates, ",.0f")


if __name__ == "__main__":
    table.main(__doc__, rows)
