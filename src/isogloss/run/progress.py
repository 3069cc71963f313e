"""Where asking stands, for whoever watches it, and how it is told to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isogloss.records import Response, Status

EARLY = 20
"""So many first replies of a model are looked at for a warning."""
EARLY_SHARE = 0.05

HINTS = {
    Status.TRUNCATED: "; the token limit may be too small, above all for a model that reasons: --set max_tokens=…",
    Status.FAILED: "; they are asked again by the same command",
    Status.UNPARSED: "; see why with 'isogloss invalid RUN', or stop here and change the wording",
}
"""Status → what to do about it in a run."""


@dataclass
class Progress:
    """Where one model's asking stands; handed to the observer after every reply."""

    model: str
    n_prompts: int
    """All calls of this model: prompts × repeats."""
    n_cached: int = 0
    """Answered before this command."""
    n_asked: int = 0
    """Answered by this command."""
    n_settled: int = 0
    """Of those, answered for good: a failed call is asked again."""
    statuses: Counter[Status] = field(default_factory=Counter)
    """Of this command's replies."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars spent by this command; None where the price isn't known."""
    n_unmetered: int = 0
    """Replies of this command for which the provider told no token counts."""
    waiting: str = ""
    """Why nothing is being asked just now; empty while all is well."""
    remarks: tuple[str, ...] = ()
    """What the model says of how it was asked."""
    stopped: str = ""
    """Why asking ended early; empty while all is well."""


Observer = Callable[[Progress], None]
Coding = Callable[[str, Sequence[Response]], Sequence[Status]]
"""(model, its first replies) → what the study's coders make of them."""


class Stop:
    """Asked to end: calls in flight finish and are kept, no new one starts."""

    def __init__(self) -> None:
        self.reason = ""
        self.hooks: list[Callable[[], None]] = []
        """Called once, when asking is to end."""

    def __call__(self, reason: str) -> None:
        if not self.reason:
            self.reason = reason
            for hook in self.hooks:
                hook()


Early = Callable[[Progress, Sequence[Status]], Sequence[str]]
"""(progress, statuses of the first replies) → what to warn of."""


def early_warnings(progress: Progress, statuses: Sequence[Status], *, hints: Mapping[Status, str] = HINTS) -> list[str]:
    """What is wrong with too many of a model's first replies, one line a status."""
    counts = Counter(statuses)
    return [
        f"{counts[status]} of the first {len(statuses)} replies of {progress.model} are {status.value}"
        + hints.get(status, "")
        for status in (Status.TRUNCATED, Status.FAILED, Status.UNPARSED, Status.BLOCKED, Status.REFUSED)
        if counts[status] > EARLY_SHARE * len(statuses)
    ]
