"""A construction with the embedded model: one server for all its rounds, and none when it has ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isogloss import api
from isogloss.errors import StoreError
from isogloss.models.llama_process import LlamaProcess
from isogloss.store import Ledger

sys.path.append(str(Path(__file__).parent.parent))

from sayings import STUDY, registered

pytestmark = pytest.mark.gguf


def config(folder: Path, model: str, **settings: object) -> Path:
    path = folder / "config.toml"
    known = {"name": "x", "models": [model], "prompts": 1, "rounds": 3, **settings}
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in known.items()))
    return path


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_all_rounds_are_answered_by_one_server_that_is_gone_afterwards(
    embedded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int | None] = []
    start = LlamaProcess.start

    async def counted(process: LlamaProcess) -> None:
        await start(process)
        pids.append(process.pid)

    monkeypatch.setattr(LlamaProcess, "start", counted)
    built = api.build_dataset(STUDY, config(tmp_path, embedded), out=tmp_path / "b", skip_people=True).summary
    assert built is not None
    assert (built.asked, built.stopped) == (3, "")
    [pid] = pids
    assert pid is not None
    assert not is_alive(pid)


def test_ctrl_c_in_a_later_round_leaves_no_server(embedded: str, tmp_path: Path) -> None:
    environment = {**os.environ, **registered(tmp_path / "place")}
    path = config(tmp_path, embedded, rounds=400)
    process = subprocess.Popen(
        [sys.executable, "-m", "isogloss", "build", "sayings", str(path), "--out", str(tmp_path / "b")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        servers: set[int] = set()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and n_held(tmp_path / "b") < 2:
            servers |= children(process.pid)
            time.sleep(0.1)
        assert len(servers) == 1
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3, said
    assert "stopped by Ctrl-C" in said
    assert not any(map(is_alive, servers))


def n_held(folder: Path) -> int:
    file = folder / "ledger.sqlite"
    if not file.exists() or not file.stat().st_size:
        return 0
    try:
        with Ledger(file) as ledger:
            return ledger.n_responses()
    except StoreError:  # just being made
        return 0


def children(pid: int) -> set[int]:
    """Servers of llama.cpp that a process has started."""
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            if b"isogloss.models.gguf_server" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found
