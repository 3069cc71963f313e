"""A disk that fills up for real: the run ends with one line, and goes on when there is room."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from isogloss.run.folder import RunFolder

CHILD = """
import resource, sys
sys.path[:0] = [{tests!r}]
from test_engine import Recorder, put
from isogloss.errors import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
try:
    print("ok", put(Recorder(), {out!r}, n=3000).statuses)
except StoreError as error:
    print("full", error)
"""


def child(out: Path, size: int) -> str:
    code = CHILD.format(tests=str(Path(__file__).parent), out=str(out), size=size)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_when_no_file_may_grow_the_run_ends_in_one_line_and_later_goes_on(tmp_path: Path) -> None:
    assert child(tmp_path / "calm", resource.RLIM_INFINITY).startswith("ok")
    grown = (tmp_path / "calm" / "ledger.sqlite").stat().st_size
    out = tmp_path / "run"
    first = child(out, size=int(grown * 0.9))
    assert first.startswith("full")
    assert len(first.splitlines()) == 1
    assert "make room and run the same command again, all committed replies are kept" in first
    with RunFolder(out).ledger() as ledger:
        n_held = ledger.n_responses()
    assert n_held > 0
    assert child(out, resource.RLIM_INFINITY) == "ok {'ok': 3000}\n"
    with RunFolder(out).ledger() as ledger:
        assert ledger.n_responses() == 3000
