"""Names to things, with near names offered when one isn't found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from isogloss.errors import UnknownNameError


def unknown_name(kind: str, name: str, known: Iterable[str], *, hint: str = "") -> UnknownNameError:
    """The error for a name that isn't registered: `no study named 'x'; did you mean 'y'?`."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.6)
    if near:
        advice = "did you mean " + " or ".join(repr(word) for word in near) + "?"
    elif names and len(names) <= 30:
        advice = "there are " + ", ".join(names)
    else:
        advice = ""
    parts = [part for part in (advice, hint) if part]
    text = "; ".join(parts).replace("?;", "?")
    return UnknownNameError(f"no {kind} named {name!r}" + (f"; {text}" if text else ""))
