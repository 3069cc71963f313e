"""The import contracts hold, and nothing heavy comes along with a bare import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEAVY = (
    "pandas",
    "numpy",
    "scipy",
    "pyarrow",
    "altair",
    "vl_convert",
    "aiohttp",
    "openpyxl",
    "pydantic",
    "rich.progress",
)


def test_the_house_keeps_its_import_rules():
    done = subprocess.run(["lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False,
                          env={"PATH": f"{sys.prefix}/bin"})  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_importing_isogloss_or_asking_for_help_loads_nothing_heavy():
    for code in ("import isogloss", "from isogloss.cli.app import app"):
        loaded = subprocess.run([sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
                                capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
        assert not set(loaded).intersection(HEAVY), code
