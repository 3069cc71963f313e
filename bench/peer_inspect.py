"""Inspect AI over our prompts, as its users run it: dataset, generate, match, log. Needs inspect-ai and openai only.

python bench/peer_inspect.py PROMPTS.jsonl N CONNECTIONS BASE_URL OUT
"""

from __future__ import annotations

import json
import os
import sys
from itertools import islice

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import match
from inspect_ai.solver import generate


def main(path: str, n: int, n_connections: int, base_url: str, out: str) -> None:
    os.environ.update(BENCH_BASE_URL=base_url, BENCH_API_KEY="x")
    with open(path, encoding="utf-8") as file:
        found = [json.loads(line) for line in islice(file, n)]
    samples = [
        Sample(id=row["prompt_id"], target="No", input=[ChatMessageUser(content=m["content"]) for m in row["messages"]])
        for row in found
    ]
    [log] = eval(
        Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match()),
        model="openai-api/bench/m", temperature=0.0, max_tokens=64, max_connections=n_connections,
        log_dir=out, display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.results.completed_samples == n, log.results
    assert log.results.scores[0].metrics["accuracy"].value == 1.0, log.results


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
