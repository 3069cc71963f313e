"""The whole construction of a stereotype set by the embedded model: its output is poor, and the steps cope."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import isogloss
from isogloss.api import Build
from isogloss.errors import DataError
from isogloss.studies.stereotypes.build.instance_rules import About, fault_of
from isogloss.studies.stereotypes.build.people import TEXTS

pytestmark = pytest.mark.gguf

CONFIG = """
name = "real-chain"
title = "A set written by a very small model"
licence = "CC0-1.0"
creators = ["The tests"]
categories = [{name = "profession", words = "bakers, tailors and other professions"}]
views = ["inside", "sayings"]

[[countries]]
code = "XA"
name = "Ireland"
language = "en"
people = "Irish people"

[retrieval]
models = ["gguf/smollm2"]
max_rounds = 1
rows = 3
max_tokens = 300
constrained = true

[instances]
writer = "gguf/smollm2"
number = 1
max_rounds = 3
max_tokens = 200
constrained = true
"""


def test_every_reply_is_accounted_for_and_what_is_kept_keeps_the_rules(embedded: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG, encoding="utf-8")
    warned: list[str] = []
    try:
        isogloss.build_dataset("stereotypes", tmp_path / "c.toml", out=tmp_path / "b", skip_people=True,
                               warn=warned.append)  # fmt: skip
    except DataError as error:  # on another processor it may write still worse
        assert "there is no triple to review" in str(error)  # noqa: PT017
    build = Build(tmp_path / "b")
    log, retrieved = build.table("retrieval_log"), build.table("retrieved")
    assert len(log) == 2
    assert set(log["status"]) <= {"ok", "truncated", "unparsed"}  # held to the form, it can't refuse
    assert log["n_rows"].sum() == len(retrieved) > 0
    stereotypes, merges = build.table("stereotypes"), build.table("merges")
    assert sum(map(len, stereotypes["sources"])) == len(retrieved) == len(stereotypes) + len(merges)
    with build.folder.ledger() as ledger:
        assert ledger.n_responses() == 2 + n_written_for(build)
    instances = build.table("instances").to_dict("records")
    claims = dict(zip(stereotypes["id"], stereotypes["claim"], strict=True))
    for row in instances:
        about = About(row["group"], claims[row["stereotype_id"]], "en", frozenset({"en"}))
        assert fault_of({name: row[name] for name in TEXTS}, about, []) is None
    if build.steps["assemble"] == "done":
        lines = (tmp_path / "b" / "dataset" / "data" / "XA" / "test.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in instances]
        assert "No people took part" in (tmp_path / "b" / "dataset" / "README.md").read_text(encoding="utf-8")
    if len(instances) < len(stereotypes):
        assert any("have fewer than 1 triples; turned down:" in line for line in warned)


def n_written_for(build: Build) -> int:
    """Replies of the writing step: one triple is asked for, so each gave one, or one line of what was turned down."""
    rejects = Counter(build.table("rejects")["stereotype_id"]) if len(build.table("rejects")) else Counter()
    written = Counter(build.table("instances")["stereotype_id"]) if len(build.table("instances")) else Counter()
    return sum((rejects + written).values())
