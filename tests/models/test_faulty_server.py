"""The faulty server itself: what it does by chance is repeatable, and calls come through it whole."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isogloss.models import open_model
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Response, Sampling, Status

GREEDY = Sampling(max_tokens=5)
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
PROMPTS = [Prompt.make([Message(role="user", content=f"¿Cómo se dice {k}?")]) for k in range(200)]


async def ask_all(name: str, url: str, **settings: Any) -> list[Response]:
    """Every prompt, 16 at once, by the model as the user opens it."""
    model = open_model(
        name, environment=KEYS, settings=ModelSettings(base_url=url, tries=20, first_wait=0.001, **settings)
    )
    await model.open()
    try:
        return list(await asyncio.gather(*(model.ask(prompt, GREEDY, 1) for prompt in PROMPTS)))
    finally:
        await model.close()


async def test_a_third_of_faults_loses_no_call_and_is_the_same_the_next_time(server: Any, wire: str) -> None:
    counts = []
    for _ in range(2):
        faulty = type(server)(chance=0.3, seed=7, replies=("Sí", "No"), keeps=False)
        await faulty.start()
        responses = await ask_all(f"{wire}/m", faulty.url)
        assert {response.status for response in responses} == {Status.OK}
        assert sum(response.n_tries for response in responses) == faulty.hits
        assert {response.text for response in responses} == {"Sí", "No"}
        assert sorted(faulty.answered.values()) == [1] * 200
        counts.append((faulty.seen, [response.text for response in responses], [r.n_tries for r in responses]))
        await faulty.stop()
    assert counts[0] == counts[1]
    assert 240 < counts[0][0].total() < 340  # 200 / 0.7 is 286


async def test_another_seed_brings_other_faults(server: Any) -> None:
    server.chance = 0.5
    digests = [bytes([k]) * 16 for k in range(100)]
    drawn = []
    for server.seed in (1, 2):
        drawn.append([server._by_chance(digest) for digest in digests])
    assert drawn[0] != drawn[1]
    assert 30 <= drawn[0].count("ok") <= 70


async def test_its_own_limits_turn_away_with_429(server: Any, connect: Any, prompt: Prompt) -> None:
    server.per_minute, server.under_way, server.latency = 3, 1, 0.05
    model = await connect(tries=1)
    responses = await asyncio.gather(*(model.ask(prompt, GREEDY, k) for k in (1, 2)))
    assert sorted(response.status for response in responses) == [Status.FAILED, Status.OK]
    server.under_way = None
    later = [(await model.ask(prompt, GREEDY, k)).status for k in (3, 4, 5)]
    assert later == [Status.OK, Status.OK, Status.FAILED]
    assert server.n_over == 2


@pytest.mark.skipif(sys.platform == "win32", reason="ended by SIGTERM")
async def test_as_a_process_it_says_where_it_is_and_what_it_was_asked(tmp_path: Path) -> None:
    script = Path(__file__).with_name("faulty_server.py")
    hits = tmp_path / "hits.json"
    command = [sys.executable, str(script), "--chance", "0.1", "--seed", "3", "--hits", str(hits)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        responses = await ask_all("anthropic/m", url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    told = json.loads(hits.read_text(encoding="utf-8"))
    assert told["hits"] == sum(response.n_tries for response in responses) > 200
    assert set(told["answered"].values()) == {1}
    assert set(told["seen"]) == set(told["answered"])
