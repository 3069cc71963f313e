"""What differs between the wire formats of chat: where a request goes, how it is written, how its reply is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from isogloss.models.dialect import Dialect
from isogloss.models.outcome import Outcome
from isogloss.models.usage import Usage


class Wire(NamedTuple):
    """One wire format."""

    name: Literal["openai", "anthropic"]
    path: str
    """What follows the base URL."""
    headers: Callable[[str | None], Mapping[str, str]]
    """Key → headers of each request, the key among them."""
    dialect: Callable[[str], Dialect]
    """The model's name at the server → what writes its requests."""
    read: Callable[[bytes], Outcome]
    """A body that came with 200 → what it comes to. Raises InnerError, PassingError."""
    usage: Callable[[object], Usage]
    """What stands under "usage" in a body → the tokens it tells."""
