"""Files: written whole or not at all, and what parts the cells of a table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name of `path` when the block ends well.

    Whatever goes wrong, an older file stays as it is and no half-written one is left behind. Raises OSError.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())  # else a power cut could leave an empty file under the new name
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def separator_of(text: str) -> str:
    """What parts the cells of a CSV text: comma, semicolon or tab, whichever its first line has most of."""
    return max(",;\t", key=text.partition("\n")[0].count)
