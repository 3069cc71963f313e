"""What every command prints with: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from isogloss.run.execute import Progress

PLAIN_LINE_EVERY = 5.0
"""Seconds between progress lines where there is no terminal."""
REDRAW_EVERY = 0.1


def say(text: str = "") -> None:
    """A line of data. Where nobody reads on (`| head`), there is no more to do."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def say_json(value: object) -> None:
    """Data for machines."""
    say(json.dumps(value, ensure_ascii=False, indent=1))


def note(text: str) -> None:
    """A line for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Why a command ended with an error: one line."""
    note("isogloss: " + " ".join(text.split()))


def environment() -> Mapping[str, str]:
    """Environment variables, with those of a `.env` file here as the weaker source."""
    from dotenv import dotenv_values

    held = {name: value for name, value in dotenv_values(".env").items() if value is not None}
    return {**held, **os.environ}


class Display:
    """Progress of asking: a bar on a terminal, a line now and then otherwise."""

    def __init__(self) -> None:
        self._next = 0.0
        self._began = time.monotonic()
        self._lines: set[str] = set()
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._fancy = sys.stderr.isatty() and not os.environ.get("NO_COLOR")

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        n_done = progress.n_cached + progress.n_asked
        if now < self._next and n_done < progress.n_prompts:
            return
        self._next = now + (REDRAW_EVERY if self._fancy else PLAIN_LINE_EVERY)
        if self._fancy:
            self._draw(progress, n_done)
        elif n_done < progress.n_prompts or progress.model not in self._lines:
            if n_done >= progress.n_prompts:
                self._lines.add(progress.model)
            note(self._line(progress, n_done, now))

    def _line(self, progress: Progress, n_done: int, now: float) -> str:
        rate = progress.n_asked / max(now - self._began, 1e-9)
        left = (progress.n_prompts - n_done) / rate if rate and progress.n_asked else None
        parts = [f"{progress.model}: {n_done:,} of {progress.n_prompts:,}"]
        if progress.n_cached:
            parts.append(f"{progress.n_cached:,} held already")
        parts += [f"{n:,} {status.value}" for status, n in sorted(progress.statuses.items()) if status != "ok"]
        if left is not None and n_done < progress.n_prompts:
            parts.append(f"{rate:,.1f}/s, about {duration(left)} left")
        return " · ".join(parts)

    def _draw(self, progress: Progress, n_done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        if self._bar is None:
            self._bar = Bar(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                TextColumn("{task.fields[faults]}"), console=Console(stderr=True),
            )  # fmt: skip
            self._bar.start()
        if progress.model not in self._tasks:
            self._tasks[progress.model] = self._bar.add_task(progress.model, total=progress.n_prompts, faults="")
        faults = ", ".join(f"{n} {status.value}" for status, n in progress.statuses.items() if status != "ok")
        self._bar.update(self._tasks[progress.model], completed=n_done, total=progress.n_prompts, faults=faults)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()


def duration(seconds: float) -> str:
    """Seconds in words a person says: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def parse_set(pairs: list[str]) -> dict[str, object]:
    """`--set KEY=VALUE` options → a mapping; values stay words until their setting reads them."""
    from isogloss.errors import SettingError

    settings: dict[str, object] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise SettingError(f"--set takes KEY=VALUE, got {pair!r}")
        settings[key.strip()] = value.strip()
    return settings
