"""What comes of a call: a whole reply, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

FaultKind = Literal["connect", "timeout", "cut", "long"]

MOST_BYTES = 64_000_000
"""Of one reply, unpacked; a file that goes to the disk may be longer."""


class HttpReply(NamedTuple):
    """A whole reply, whatever its status code."""

    status: int
    headers: Mapping[str, str]
    """Names are in lower case, or found in any."""
    body: bytes


class HttpError(Exception):
    """No whole reply came.

    `kind` is "connect" (nothing was sent), "timeout" (no end within the time), "cut" (the connection broke,
    or what came isn't HTTP) or "long" (more came than is read). The text is one line and never holds a header.
    """

    def __init__(self, kind: FaultKind, words: str) -> None:
        super().__init__(words)
        self.kind = kind


def too_long() -> HttpError:
    """The error for more than `MOST_BYTES`."""
    return HttpError("long", f"the reply is longer than {MOST_BYTES // 1_000_000} MB")


def too_slow(seconds: float | None) -> HttpError:
    """The error for a reply that hasn't ended in time."""
    return HttpError("timeout", f"no reply within {seconds:g} s")
