"""What a rule found in a reply."""

from __future__ import annotations

from typing import NamedTuple

from isogloss.records import Status, Value


class Reading(NamedTuple):
    """Outcome of reading one reply: a value exactly when `status` is ok."""

    status: Status
    value: Value | None = None
    note: str = ""
    """Why nothing was read, or what was set aside to read it."""
