"""The command line: one file per command, each thin. Everything heavy is imported when a command runs."""

from __future__ import annotations

import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""What typer ends with on Ctrl-C."""


def main() -> None:
    """Entry point. A user's mistake is one line on stderr and exit code 1, never a traceback."""
    from isogloss.cli.app import app
    from isogloss.cli.console import complain
    from isogloss.errors import IsoglossError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else "strict")
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), _end)
    try:
        app()
    except IsoglossError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        complain("stopped; what was answered is kept, the same command goes on")
        sys.exit(3)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        complain(f"{place}{error.strerror or error}")
        sys.exit(1)


def _end(number: int, frame: FrameType | None) -> None:
    """Asked to end by another program: as by Ctrl-C."""
    raise SystemExit(INTERRUPTED)


if __name__ == "__main__":
    main()
