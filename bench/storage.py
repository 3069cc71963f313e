"""A ledger of 400,000 replies of 600 bytes, 21 countries × 4 models: writing, opening, summing up, grouping.

python bench/storage.py [--quick] [--markdown]

Each step runs in a process of its own and is timed within it, so the start of Python and its imports don't count;
peak memory is that of the whole process.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import table
from process import child
from shape import table_for
from table import Row

MODELS = tuple(f"openai/m{k}" for k in range(1, 5))
N, N_SMALL = 400_000, 40_000
N_BYTES = 600
COMMIT = 64
"""Replies in one transaction: what the engine's group commit takes at most."""


def rows(quick: bool) -> Iterator[Row]:
    """The large ledger beside one of a tenth of it."""
    large, small = (N // 20, N_SMALL // 20) if quick else (N, N_SMALL)
    with tempfile.TemporaryDirectory() as folder:
        written, opened, grouped = {}, {}, {}
        for n in (small, large):
            data, out = table_for(n // len(MODELS), Path(folder)), Path(folder, f"run-{n}")
            written[n] = _step("write", data, n, out)
            opened[n] = _step("open", out)
            grouped[n] = _step("group", out)
        coded = _step("code", Path(folder, f"run-{large}"))
        answers = _step("answers", Path(folder, f"run-{large}"))
    what = f"{large:,} replies of {N_BYTES} bytes beside {small:,}"
    yield Row(f"writing them, s: {what}", written[large]["seconds"], written[small]["seconds"])
    yield Row(f"opening the run and summing it up, s: {what}", opened[large]["seconds"], opened[small]["seconds"],
              ".3f", ours_to=1)  # fmt: skip
    yield Row(f"group by country and model in the ledger, s: {what}", grouped[large]["seconds"],
              grouped[small]["seconds"], ours_to=5)  # fmt: skip
    size = f"{answers['rows']:,.0f} answers"
    yield Row(f"group by country and model from answers.parquet, s: {size}", answers["seconds"], ours_to=5)
    yield Row(f"the same after reading all columns, as the report does, s: {size}", answers["seconds_all"], ours_to=5)
    yield Row(f"making answers.parquet, s: {large:,} replies, two rules", coded["seconds"], spec=",.1f")
    for verb, found in (("writing", written), ("opening", opened)):
        yield Row(f"peak memory of {verb}, MB: {what}", found[large]["megabytes"], found[small]["megabytes"], ",.0f",
                  ratio_to=1.3)  # fmt: skip


def _step(name: str, *arguments: object) -> dict[str, float]:
    return child(__file__, name, *arguments)


# --- what the processes do --------------------------------------------------------------------------------------------


def write(data: str, n: int, out: str) -> dict[str, float]:
    """Plan a run of four models and store a reply to every prompt of each."""
    from isogloss import api
    from isogloss.records import FREE, Response, Sampling, Status
    from isogloss.run.folder import RunFolder
    from isogloss.run.plan import plan_digest, rows
    from isogloss.store import Row as Stored

    api.prepare("lexicon", "sample")  # imports done
    began = time.perf_counter()
    n_prompts = n // len(MODELS)
    job = api.prepare("lexicon", data, models=MODELS, settings={"format": "yes_no"}, limit=n_prompts)
    folder = RunFolder(out)
    spec = folder.begin(job.spec)
    price = FREE.model_dump_json()
    with folder.ledger(create=True) as ledger:
        ledger.add_dataset(job.dataset, spec.data_digest)
        plan = ledger.add_plan(plan_digest(spec), rows(job.questions()))
        assert isinstance(spec.sampling, Sampling)
        for model in MODELS:
            arm = ledger.arm(model, "1", spec.sampling, {"chat": True, "logprobs": False})
            group = []
            for due in ledger.due(plan, arm, 1):
                word = ("Sí", "No")[due.seq % 2]
                text = f"{word}. {due.prompt.id} ".ljust(N_BYTES - word.count("í"), "x")
                reply = Response(
                    prompt_id=due.prompt.id, model=model, revision="1", status=Status.OK, text=text,
                    finish_reason="stop", input_tokens=60, output_tokens=150, seconds=0.5, received_at=time.time(),
                )  # fmt: skip
                group.append(Stored(arm.id, due.seq, due.attempt, reply, price))
                if len(group) == COMMIT:
                    ledger.append(group)
                    group = []
            ledger.append(group)
    return {"seconds": time.perf_counter() - began}


def open_(out: str) -> dict[str, float]:
    """What `isogloss runs` does for one run."""
    from isogloss import api, studies

    studies.get("lexicon")  # imports done
    began = time.perf_counter()
    standing = api.state(out)
    seconds = time.perf_counter() - began
    assert standing["state"] == "complete", standing
    return {"seconds": seconds}


def group(out: str) -> dict[str, float]:
    """Share of "yes" by country and model, in SQL over the tables of the ledger."""
    connection = sqlite3.connect(f"file:{out}/ledger.sqlite?mode=ro", uri=True)
    began = time.perf_counter()
    found = connection.execute(
        "SELECT q.condition ->> '$.country' AS country, r.arm, COUNT(*), AVG(r.text LIKE 'Sí%') "
        "FROM responses AS r JOIN questions AS q ON q.prompt = r.prompt GROUP BY country, r.arm"
    ).fetchall()
    seconds = time.perf_counter() - began
    assert len(found) == 21 * len(MODELS), len(found)
    return {"seconds": seconds}


def code(out: str) -> dict[str, float]:
    """Read every reply and keep the answers; two rules that cost nothing stand for the study's own."""
    from dataclasses import replace

    from isogloss import studies
    from isogloss.records import Status
    from isogloss.run import analyse
    from isogloss.run.answers import write_answers
    from isogloss.run.folder import RunFolder
    from isogloss.study import Coder
    from isogloss.text import Reading

    rules = [
        Coder(
            f"bench.first_word.{name}@1",
            name,
            lambda item, condition, r: Reading(Status.OK, (r.text or "").startswith("Sí")),
        )
        for name in ("strict", "lenient")
    ]
    folder = RunFolder(out)
    spec = folder.spec()
    study = replace(studies.get(spec.study), coders=lambda condition: rules)
    began = time.perf_counter()
    with folder.ledger() as ledger:
        answers = analyse.code(study, ledger, spec, ledger.dataset(spec.data_digest))
    write_answers(answers, folder.answers_file)
    folder.note(coders=sorted(set(answers["coder"])))
    return {"seconds": time.perf_counter() - began}


def answers(out: str) -> dict[str, float]:
    """Share of "yes" by country, model and rule: from the columns it takes, and from all, as the report reads them."""
    import pandas as pd
    import pyarrow.parquet  # noqa: F401 - imports done

    from isogloss.run.answers import read_answers
    from isogloss.run.folder import RunFolder

    def shares(frame: pd.DataFrame, yes: object) -> int:
        scored = frame[frame["status"] == "ok"]
        said = (scored["value"] == yes).groupby([scored["country"], scored["model"], scored["coder"]])
        return len(said.agg(["size", "mean"]))

    folder = RunFolder(out)
    coders = folder.facts()["coders"]
    began = time.perf_counter()
    n_groups = shares(pd.read_parquet(folder.answers_file, columns=["country", "model", "coder", "status", "value"]),
                      "true")  # fmt: skip
    few = time.perf_counter() - began
    frame = read_answers(folder.answers_file, coders, all_replies=False)
    assert frame is not None
    assert n_groups == shares(frame, True) == 21 * len(MODELS) * len(coders)
    return {"seconds": few, "seconds_all": time.perf_counter() - began - few, "rows": len(frame)}


def _peak() -> float:
    """Most memory this process ever held, MB; unlike `getrusage`, without what its parent held when it started it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]) / 1024


STEPS: dict[str, Callable[..., dict[str, float]]] = {
    "write": write,
    "open": open_,
    "group": group,
    "code": code,
    "answers": answers,
}


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in STEPS:
        given = [int(a) if a.isdigit() else a for a in sys.argv[2:]]
        print(json.dumps({**STEPS[sys.argv[1]](*given), "megabytes": _peak()}))
    else:
        table.main(__doc__, rows)
