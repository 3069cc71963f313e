"""Marks of reasoning hold for a run, are kept with it, and may change without asking again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss import api
from isogloss.cli.app import app
from isogloss.errors import SettingError, StoreError
from isogloss.models import ScriptedModel
from isogloss.records import Status
from isogloss.run.folder import RunFolder

REPLY = "<cavil>Sí. No, espera.</cavil>\nNo"


@pytest.fixture
def informant() -> ScriptedModel:
    """Thinks aloud between marks that nobody has met before."""
    return ScriptedModel("scripted/caviller", lambda prompt: REPLY)


@pytest.fixture
def run(tmp_path: Path, informant: ScriptedModel) -> api.Run:
    return api.run_study("lexicon", "sample", models=[informant], settings={"format": "yes_no"}, limit=3, out=tmp_path)


def strict(run: api.Run) -> set[tuple[str, object]]:
    """(status, value) of the strict readings."""
    answers = run.answers
    answers = answers[answers["reading"] == "strict"]
    return set(zip(answers["status"], answers["value"], strict=True))


def n_asked(run: api.Run) -> int:
    with run.folder.ledger() as ledger:
        return ledger.n_responses()


def test_other_tags_read_the_same_replies_otherwise(run: api.Run) -> None:
    before = n_asked(run)
    assert strict(run) == {("unparsed", None)}
    run.code(reasoning_tags=["cavil"])
    assert strict(run) == {("ok", False)}
    assert n_asked(run) == before == 3
    assert set(run.answers["reply"]) == {REPLY}  # the raw text
    assert {record.n_scored for record in run.records if record.n_answers} >= {3}
    run.code(reasoning_tags=[])
    assert strict(run) == {("unparsed", None)}


def test_a_run_keeps_its_tags(run: api.Run, informant: ScriptedModel) -> None:
    run.code(reasoning_tags=["cavil", ("<a>", "</a>"), "think"])
    assert json.loads(run.folder.spec_file.read_text())["reasoning_tags"] == ["cavil", ["<a>", "</a>"]]
    run.code()
    assert strict(run) == {("ok", False)}
    grown = api.run_study(
        "lexicon", "sample", models=[informant], settings={"format": "yes_no"}, limit=5, out=run.folder.path
    )
    assert strict(grown) == {("ok", False)}
    assert len(grown.answers) == 10  # 5 questions, strict and lenient
    assert grown.is_analysed()


def test_tags_that_change_make_the_stored_answers_and_the_report_old(run: api.Run) -> None:
    run.report()
    assert run.is_reported()
    run.folder.note_reasoning_tags(["cavil"])
    assert not run.is_analysed()
    assert not run.is_reported()
    assert strict(run) == {("ok", False)}
    assert run.is_analysed()
    assert not run.is_reported()
    assert "the usual ones and cavil" in run.report().read_text()
    run.folder.note_reasoning_tags(["cavil"])
    assert run.is_reported()


def test_reasoning_without_end_counts_as_truncated(tmp_path: Path) -> None:
    cut = ScriptedModel("scripted/cut", lambda prompt: "<cavil>Sí. No, espera")
    run = api.run_study("lexicon", "sample", models=[cut], settings={"format": "yes_no"}, limit=2, out=tmp_path)
    answers = run.code(reasoning_tags=["cavil"])
    assert set(answers["status"]) == {Status.TRUNCATED}
    assert set(answers["note"]) == {"reasoning never ends"}
    assert {Status.TRUNCATED: 2} in [record.missing for record in run.records]


def test_the_command_takes_tags_and_names_a_malformed_one(run: api.Run) -> None:
    folder = str(run.folder.path)
    shell = CliRunner()
    done = shell.invoke(app, ["code", folder, "--reasoning-tag", "cavil", "--reasoning-tag", "<a>|</a>", "--json"])
    assert done.exit_code == 0
    assert {(row["status"], row["n"]) for row in json.loads(done.stdout)} == {("ok", 3)}
    assert run.folder.own_reasoning_tags() == ["cavil", ["<a>", "</a>"]]
    with pytest.raises(SettingError, match="reasoning tag '<b>' is neither a name nor a pair of marks"):
        shell.invoke(app, ["code", folder, "--reasoning-tag", "<b>"], catch_exceptions=False)
    assert run.folder.own_reasoning_tags() == ["cavil", ["<a>", "</a>"]]
    assert shell.invoke(app, ["code", folder]).exit_code == 0
    assert run.folder.own_reasoning_tags() == ["cavil", ["<a>", "</a>"]]
    assert shell.invoke(app, ["code", folder, "--reasoning-tag", "none"]).exit_code == 0
    assert run.folder.own_reasoning_tags() == []


def test_a_damaged_tag_in_run_json_is_one_line(run: api.Run) -> None:
    run.folder.note(reasoning_tags=["<x>"])
    with pytest.raises(StoreError, match=r"run.json: reasoning tag '<x>' is neither"):
        RunFolder(run.folder.path).reasoning_tags()
