"""One run of the engine, everything stored: reading the table, planning, asking, committing. Prints one JSON line.

python bench/ask.py TABLE.csv N CONNECTIONS BASE_URL OUT
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial

from isogloss import api
from isogloss.run.folder import RunFolder


def main(table: str, n: int, n_connections: int, base_url: str, out: str) -> dict[str, float]:
    ask = partial(api.ask, base_url=base_url, max_connections=n_connections, environment={"OPENAI_API_KEY": "x"})
    warm = api.prepare("lexicon", "sample", models=["openai/m"], settings={"format": "yes_no"}, limit=n_connections)
    ask(warm, f"{out}-warm")  # imports done, as for the bare loop
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    job = api.prepare("lexicon", table, models=["openai/m"], settings={"format": "yes_no"}, limit=n)
    summary = ask(job, out)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert summary.statuses == {"ok": n}, summary
    with RunFolder(out).ledger() as ledger:
        first, last = ledger.span()
    assert first is not None
    assert last is not None
    return {
        "rate": n / wall,
        "cpu_per_thousand": 1000 * cpu / n,
        "megabytes": after.ru_maxrss / 1024,
        "seconds_answering": last - first,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])))
