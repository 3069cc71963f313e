"""The plug is pulled at thirty moments, and a hundred thousand calls meet faults: nothing is lost, nothing doubled."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isogloss.records import Status
from isogloss.run.folder import RunFolder

SERVER = Path(__file__).parent.parent / "models" / "faulty_server.py"
KEY = "sk-proj-not-to-be-found-0123456789abcdef"
N_KILLS = 30
N_PROMPTS = 3000
CONNECTIONS = 8
COUNTRIES = "AR,BO,CL,CO,CR,CU,DO,EC,ES,GQ,GT,HN,MX,NI,PA,PE,PR,PY,SV,UY,VE"


@contextmanager
def server(*options: object) -> Iterator[str]:
    """The faulty server as a process of its own; its base URL."""
    command = [sys.executable, str(SERVER), *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def hits(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/hits", timeout=30) as reply:
        return json.loads(reply.read())


def command(out: Path, url: str, *more: object) -> list[str]:
    return [
        sys.executable, "-m", "isogloss", "run", "lexicon", *map(str, more), "--model", "openai/m", "--base-url", url,
        "--out", str(out),
    ]  # fmt: skip


def finish(line: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OPENAI_API_KEY": KEY}
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, env=env)


def moment(k: int) -> float:
    """Seconds after its start at which run k is killed: between 0.2 and 4.2, so in every stage of it."""
    digest = hashlib.blake2b(f"kill {k}".encode(), digest_size=8).digest()
    return 0.2 + 4.0 * int.from_bytes(digest, "big") / 2**64


def held(out: Path) -> tuple[Counter[str], int, int]:
    """Replies by status, rows, and distinct prompts with a reply that isn't a failed call."""
    with RunFolder(out).ledger() as ledger:
        tallies = Counter({tally.status.value: tally.n for tally in ledger.tallies() if tally.n})
        [arm] = ledger.arms()
        rows = ledger._connection.execute(
            "SELECT COUNT(*), COUNT(DISTINCT prompt), SUM(status <> 'failed') FROM responses WHERE arm = ?", (arm.id,)
        ).fetchone()
        assert rows[2] == sum(n for status, n in tallies.items() if status != Status.FAILED)
        return tallies, rows[0], rows[1]


@pytest.mark.slow
def test_killed_at_thirty_moments_each_prompt_is_answered_once_and_no_number_changes(tmp_path: Path) -> None:
    asked = ("sample", "--set", "format=yes_no", "--limit", N_PROMPTS, "--max-connections", CONNECTIONS)
    calm, out = tmp_path / "calm", tmp_path / "killed"
    with server("--replies", "Sí,No,No lo sé") as url:
        assert finish(command(calm, url, *asked), tmp_path).returncode == 0
        assert hits(url)["hits"] == N_PROMPTS
    with server("--latency", 0.12, "--replies", "Sí,No,No lo sé") as url:  # the same text to the same prompt
        n_killed = 0
        for k in range(N_KILLS):
            process = subprocess.Popen(
                command(out, url, *asked), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
                env={**os.environ, "OPENAI_API_KEY": KEY},
            )  # fmt: skip
            time.sleep(moment(k))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                n_killed += 1
            process.wait()
        last = finish(command(out, url, *asked), tmp_path)
        assert last.returncode == 0, last.stderr
        n_hits = int(hits(url)["hits"])
    assert n_killed >= N_KILLS * 2 // 3  # the others had come to their end before
    tallies, n_rows, n_prompts = held(out)
    assert tallies == {"ok": N_PROMPTS}
    assert (n_rows, n_prompts) == (N_PROMPTS, N_PROMPTS)
    assert N_PROMPTS <= n_hits <= N_PROMPTS + n_killed * CONNECTIONS
    assert (out / "estimates.csv").read_bytes() == (calm / "estimates.csv").read_bytes()


@pytest.mark.slow
def test_a_soak_with_faults_in_five_of_a_hundred_requests_loses_no_call(tmp_path: Path) -> None:
    n = 100_000 if os.environ.get("CI") or os.environ.get("ISOGLOSS_SOAK") else 5_000
    n_countries = COUNTRIES.count(",") + 1
    n_variants = -(-n // n_countries)
    table = tmp_path / "table.csv"
    with table.open("w", encoding="utf-8") as file:
        file.write(f"item,description,variant,{COUNTRIES}\n")
        for v in range(n_variants):
            cells = ("+" if (v + c) % 3 else "-" for c in range(n_countries))
            file.write(f"i{v // 8},cosa número {v // 8},palabra{v}," + ",".join(cells) + "\n")
    (tmp_path / "isogloss.toml").write_text('[models."openai/m"]\nfirst_wait = 0.05\ntimeout = 20\n', encoding="utf-8")
    out = tmp_path / "soak"
    with server("--chance", 0.05, "--replies", "Sí,No") as url:
        done = finish(
            command(out, url, table, "--set", "format=yes_no", "--limit", n, "--max-connections", 64), tmp_path
        )
        counts = hits(url)
    assert done.returncode == 0, done.stderr
    tallies, n_rows, n_prompts = held(out)
    assert tallies == {"ok": n}
    assert n_prompts == n
    faults = int(counts["hits"]) - n
    assert 0.04 * n < faults < 0.07 * n  # 5 in 95 good ones, and faults of second tries
    assert n_rows - n < 0.001 * n  # failed four times over, and asked again at the end
    assert max(counts["answered"].values()) == 1  # no good reply was asked for twice


def test_no_key_is_left_behind_whatever_goes_wrong(tmp_path: Path) -> None:
    toml = '[models."openai/m"]\nfirst_wait = 0.01\ntries = 2\n[run]\npause_minutes = 0.02\n'
    (tmp_path / "isogloss.toml").write_text(toml, encoding="utf-8")
    said = ""
    faults = ("echo key", "bad key", "html", "quota")
    for k, fault in enumerate(faults):
        with server("--chance", 0.3 if fault == "echo key" else 1.0, "--faults", fault) as url:
            done = finish(
                command(
                    tmp_path / f"run{k}", url, "sample", "--limit", 30, "--set", "format=yes_no",
                    "--config", tmp_path / "isogloss.toml", "--max-connections", 4, "--json",
                ),
                tmp_path,
            )  # fmt: skip
            said += done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.name == "ledger.sqlite" for path in files) == len(faults)
    assert sum(path.name == "report.html" for path in files) >= 2
    for secret in (KEY, KEY[8:]):
        assert secret not in said
        assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert "Traceback" not in said
