"""What every command prints with: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping


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


def duration(seconds: float) -> str:
    """Seconds in words a person says: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def money(dollars: float | None) -> str:
    """US dollars in words: "12.30 US$", "0.0197 US$", "unknown cost"."""
    if dollars is None:
        return "unknown cost"
    if dollars == 0 or dollars >= 0.1:
        return f"{dollars:,.2f} US$"
    return f"{dollars:.3g} US$" if dollars >= 1e-4 else f"{dollars:.6f} US$"


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
