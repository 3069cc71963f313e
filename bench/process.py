"""Running the things to be measured, each in a process of its own on one core, and what that took."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """What a command took, its own children included."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of the processor."""


def pinned(core: int) -> list[str]:
    """What keeps a command on one core; nothing where that can't be."""
    return ["taskset", "-c", str(core)] if shutil.which("taskset") and (os.cpu_count() or 1) > core else []


def cost(command: Sequence[object], *, environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end on core 1. Ends the benchmark with its last words where it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run([*pinned(1), *map(str, command)], environment)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def child(*command: object) -> dict[str, float]:
    """Run a script of this folder on core 1; the JSON line it prints."""
    found: dict[str, float] = json.loads(_run([*pinned(1), sys.executable, *map(str, command)], None))
    return found


def isogloss(*command: object) -> Cost:
    """Run `isogloss …` on core 1."""
    return cost([sys.executable, "-m", "isogloss", *command], environment={"OPENAI_API_KEY": "x"})


def _run(command: list[str], environment: Mapping[str, str] | None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stderr or done.stdout)[-3000:]}")
    return done.stdout


def median(rows: Sequence[Mapping[str, float]], key: str) -> float:
    """Median of one figure over rounds."""
    return statistics.median(row[key] for row in rows)
