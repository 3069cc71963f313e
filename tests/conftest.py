"""Shared by all tests: where reference data lies, and that nothing leaves this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the project (`ISOGLOSS_SHARED` names another)."""
    folder = Path(os.environ.get("ISOGLOSS_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"reference data is missing in CI: no folder {folder}")
        pytest.skip(f"reference data is not here: no folder {folder}")
    return folder


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loopback addresses can be connected to."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        return connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
