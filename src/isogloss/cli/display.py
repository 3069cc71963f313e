"""Progress of asking, for the person who waits: a live table on a terminal, a line now and then otherwise."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from isogloss.cli.console import duration, money, note

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from isogloss.run.progress import Progress

PLAIN_SECONDS = (5.0, 60.0)
"""Between lines where there is no terminal: at first, and at most; it grows with the time gone."""
RATE_SECONDS = 60.0
"""The rate shown is that of the last minute."""
CALLS = {"ok": "answered"}
"""What a status means of a call: what the reply says, a refusal perhaps, is read later."""
SAMPLE_SECONDS = 1.0


class _Sample(NamedTuple):
    at: float
    n_asked: int


class Row:
    """One model's progress, with a memory of how fast it went."""

    def __init__(self, progress: Progress, now: float) -> None:
        self.progress = progress
        self.samples = deque([_Sample(now, progress.n_asked)])

    @property
    def n_done(self) -> int:
        return self.progress.n_cached + self.progress.n_settled

    @property
    def is_finished(self) -> bool:
        return bool(self.progress.stopped) or self.n_done >= self.progress.n_prompts

    def sample(self, now: float) -> None:
        """Remember how far it is; forget what is too old."""
        if now - self.samples[-1].at >= SAMPLE_SECONDS:
            self.samples.append(_Sample(now, self.progress.n_asked))
            while len(self.samples) > 2 and now - self.samples[1].at > RATE_SECONDS:
                self.samples.popleft()

    def rate(self, now: float) -> float:
        """Replies a second."""
        first = self.samples[0]
        return (self.progress.n_asked - first.n_asked) / max(now - first.at, 1e-9)

    def seconds_left(self, now: float) -> float | None:
        """Until all is asked at this rate; None while nobody can say."""
        rate = self.rate(now)
        return (self.progress.n_prompts - self.n_done) / rate if rate > 0 else None

    def pace(self, now: float) -> str:
        """Rate and time left, or why nothing is asked."""
        if self.progress.waiting:
            return self.progress.waiting
        left = None if self.is_finished else self.seconds_left(now)
        if left is None:
            return self.progress.stopped
        return f"{self.rate(now):,.1f}/s, about {duration(left)} left"

    def coverage(self) -> str:
        """Replies of this command by status, in per cent."""
        p = self.progress
        counts = sorted(p.statuses.items(), key=_good_first)
        return ", ".join(f"{100 * n / p.n_asked:.1f} % {CALLS.get(status.value, status.value)}" for status, n in counts)

    def tokens(self) -> str:
        """Tokens used by this command."""
        p = self.progress
        return f"{short(p.input_tokens)} tokens in, {short(p.output_tokens)} out" if p.input_tokens else ""

    def cost(self) -> str:
        """US dollars spent by this command, and what the whole of it may come to; nothing where it is free."""
        p = self.progress
        if p.cost == 0.0 or not p.n_asked:
            return ""
        if p.cost is None or self.is_finished:
            return money(p.cost)
        return f"{money(p.cost)} of about {money(p.cost / p.n_asked * (p.n_asked + p.n_prompts - self.n_done))}"


def _good_first(item: tuple[object, int]) -> tuple[bool, str]:
    return str(item[0]) != "ok", str(item[0])


def short(n: int) -> str:
    """A count in few characters: 950, 12.3k, 4.56M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if n >= size:
            return f"{n / size:.3g}{unit}"
    return str(n)


class Display:
    """Watches asking: call it with a Progress after every reply."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._began = time.monotonic()
        self._next = 0.0
        self._said: dict[str, str] = {}
        """Model → the last line on it."""
        self._live: Live | None = None
        self._fancy = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        row = self._rows.get(progress.model)
        if row is None or row.progress is not progress:
            self._rows[progress.model] = Row(progress, now)
            self._said.pop(progress.model, None)
        elif now < self._next and progress.n_cached + progress.n_settled < progress.n_prompts:
            return
        for each in self._rows.values():
            each.sample(now)
        if self._fancy:
            self._next = now + SAMPLE_SECONDS / 4 if len(self._rows) > 1 else now + SAMPLE_SECONDS
            self._show()
        else:
            self._next = now + min(max(PLAIN_SECONDS[0], (now - self._began) / 20), PLAIN_SECONDS[1])
            self._print(now)

    def warn(self, text: str) -> None:
        """A warning that stays, above the live table."""
        self.tell(f"warning: {text}")

    def tell(self, text: str) -> None:
        """A line that stays, above the live table."""
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            note(text)

    def close(self) -> None:
        """Leave the terminal as it was; the last state of the table stays."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    # Without a terminal

    def _print(self, now: float) -> None:
        for name, row in self._rows.items():
            held = f"{row.progress.n_cached:,} held already" if row.progress.n_cached else ""
            far = f"{name}: {row.n_done:,} of {row.progress.n_prompts:,}"
            line = _joined(far, held, row.coverage(), row.tokens(), row.cost(), row.pace(now))
            if line != self._said.get(name):
                self._said[name] = line
                note(line)

    # On a terminal

    def _show(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                get_renderable=self.render, console=Console(stderr=True), refresh_per_second=4, transient=False
            )
            self._live.start()

    def render(self) -> RenderableType:
        """Three lines a model: its name; how far and how fast; what came back and what it took."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        now = time.monotonic()
        lines: list[RenderableType] = []
        for name, row in list(self._rows.items()):
            p = row.progress
            held = f"{p.n_cached:,} held already" if p.n_cached else ""
            bar = Table.grid(padding=(0, 1))
            bar.add_row(
                ProgressBar(total=max(1, p.n_prompts), completed=row.n_done, width=20),
                Text(_joined(f"{row.n_done:,} of {p.n_prompts:,}", held)),
                Text(row.pace(now), style="yellow" if p.waiting or p.stopped else ""),
            )
            took = _joined(row.coverage(), row.tokens(), row.cost())
            lines += [Text(name, style="bold"), bar, *([Text(took, style="dim")] if took else [])]
        return Group(*lines)


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
