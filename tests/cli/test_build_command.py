"""`isogloss build` as a user meets it: real processes, exit codes, and nothing lost when they are ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isogloss.errors import StoreError
from isogloss.run.build_folder import BuildFolder
from isogloss.store import Ledger

sys.path.append(str(Path(__file__).parent.parent))

from sayings import EXAMPLE, registered

SERVER = Path(__file__).parent.parent / "models" / "faulty_server.py"
Command = Callable[..., subprocess.CompletedProcess[str]]
BUILD = ("build", "sayings", "c.toml", "--out", "b")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Where the toy study is found; the working folder is empty."""
    place = tmp_path / "place"
    found = registered(place)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    known = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**known, **found}


@pytest.fixture
def isogloss(environment: dict[str, str]) -> Command:
    def command(*args: object, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "isogloss", *map(str, args)],
            capture_output=True, text=True, encoding="utf-8", check=False, timeout=120, env={**environment, **more},
        )  # fmt: skip
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    return command


def config(**settings: object) -> None:
    known = {"name": "x", "models": ["scripted/random"], "prompts": 30, "raters": ["a1", "a2"], **settings}
    Path("c.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in known.items()))


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.splitlines()[-1]


# --- the usual way ----------------------------------------------------------------------------------------------------


def test_without_a_configuration_an_example_is_written_and_never_over_one(isogloss):
    done = isogloss("build", "sayings", "--out", "b")
    assert "wrote b/config.toml: change it to your needs, then 'isogloss build sayings b/config.toml --out b'" in (
        done.stderr
    )
    assert Path("b/config.toml").read_text() == EXAMPLE
    Path("b/config.toml").write_text(EXAMPLE + "# mine\n")
    done = isogloss("build", "sayings", "--out", "b", code=1)
    assert "b/config.toml is there already and isn't written over" in done.stderr
    assert Path("b/config.toml").read_text().endswith("# mine\n")
    isogloss("build", "sayings", "b/config.toml", "--out", "b", code=3)
    os.rename("b", "elsewhere")  # the configuration goes with the folder
    assert json.loads(isogloss("annotate", "status", "elsewhere", "--json").stdout)[0]["rater"] == "a1"


def test_it_stops_for_people_with_3_says_what_is_done_and_goes_on(isogloss):
    config()
    done = isogloss(*BUILD, code=3)
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["collect", "done"], ["fold", "done"], ["judge", "waiting"], ["count", "to"],
    ]  # fmt: skip
    assert last_line(done) == "waiting: 'judge' waits for a1, a2; see 'isogloss annotate status'"
    assert "scripted/random: 30 of 30" in done.stderr
    assert "4 sayings of x." in Path("b/report.html").read_text(encoding="utf-8")
    again = isogloss(*BUILD, code=3)
    assert again.stdout.splitlines()[0].split() == ["collect", "unchanged", "collected", "30"]
    done = isogloss(*BUILD, "--skip-people", "--json")
    assert json.loads(done.stdout) == {
        "build": "b", "steps": dict.fromkeys(("collect", "fold", "judge", "count"), "done"),
        "tables": {"collected": 30, "sayings": 4, "folds": 1, "judged": 4, "counts": 1},
        "waiting": None, "stopped": None, "failed": {}, "asked": 0, "cost": 0.0,
    }  # fmt: skip
    assert "nobody was asked" in Path("b/dataset/sayings.txt").read_text()


def test_json_says_for_whom_it_waits(isogloss):
    config()
    shown = json.loads(isogloss(*BUILD, "--json", code=3).stdout)
    assert shown["steps"]["judge"] == "waiting"
    assert shown["waiting"].startswith("'judge' waits for a1, a2")


def test_a_dry_run_counts_calls_tokens_and_cost_and_writes_nothing(isogloss):
    Path("isogloss.toml").write_text('[models."openai/m"]\ninput_price = 2\noutput_price = 10\n')
    config(prompts=2, rounds=3, models=["scripted/random", "openai/m"])
    done = isogloss(*BUILD, "--dry-run")
    # A prompt ("saying 0?") is 10 tokens at most, a reply 50.
    assert done.stdout.splitlines() == [
        "collect  to do      Collect sayings (by a model)",
        "                    scripted/random: at most 6 calls, 60 tokens in, 300 out, 0.00 US$",
        "                    openai/m: at most 6 calls, 60 tokens in, 300 out, 0.00312 US$",
        "fold     to do      Fold equal ones (by rule)",
        "judge    waiting    Let people judge (by people)",
        "count    to do      Count what is kept (by rule)",
        "scripted/random: at most 6 calls, 60 tokens in, 300 out, 0.00 US$",
        "openai/m: at most 6 calls, 60 tokens in, 300 out, 0.00312 US$",
        "in all: at most 12 calls, 120 tokens in, 600 out, 0.00312 US$",
    ]
    assert done.stderr.splitlines() == ["nothing was done or asked"]
    assert not Path("b").exists()


def test_a_dry_run_without_people_says_so(isogloss):
    config()
    lines = isogloss(*BUILD, "--dry-run", "--skip-people").stdout.splitlines()
    assert "judge    to do      Let people judge (without people)" in lines


def test_a_dry_run_for_programs_and_what_is_done_asks_nothing(isogloss):
    config(prompts=2)
    shown = json.loads(isogloss(*BUILD, "--dry-run", "--json").stdout)
    load = {"calls": 2, "input_tokens": {"low": 12, "expected": 16, "high": 20}, "output_tokens": 100, "cost": 0.0}
    named = {"model": "scripted/random", **load}
    assert shown == {
        "steps": {"collect": "to do", "fold": "to do", "judge": "waiting", "count": "to do"},
        "at_most": {"collect": [named], "fold": [], "judge": [], "count": []},
        "by_model": [named], "in_all": load, "not_yet_known": [],
    }  # fmt: skip
    isogloss(*BUILD, code=3)
    shown = json.loads(isogloss(*BUILD, "--dry-run", "--json").stdout)
    assert shown["steps"] == {"collect": "done", "fold": "done", "judge": "waiting", "count": "to do"}
    assert (shown["at_most"]["collect"], shown["by_model"], shown["in_all"]) == ([], [], None)


def test_a_dry_run_never_takes_an_unknown_price_for_nothing(isogloss):
    config(prompts=2, models=["scripted/random", "openai/m"])
    done = isogloss(*BUILD, "--dry-run")
    assert "openai/m: at most 2 calls, 20 tokens in, 100 out, unknown cost" in done.stdout
    assert done.stdout.splitlines()[-1] == "in all: at most 4 calls, 40 tokens in, 200 out, unknown cost"
    assert done.stderr.splitlines()[0] == (
        'the price of openai/m isn\'t known; put input_price and output_price under [models."openai/m"] in '
        "isogloss.toml"
    )
    shown = json.loads(isogloss(*BUILD, "--dry-run", "--json").stdout)
    assert shown["in_all"]["cost"] is None
    assert [one["cost"] for one in shown["by_model"]] == [0.0, None]


def test_runs_lists_constructions_and_report_draws_them_again(isogloss):
    config()
    isogloss(*BUILD, code=3)
    assert "waiting for people (judge), 2 of 4 steps done" in isogloss("runs", ".").stdout
    [row] = json.loads(isogloss("runs", ".", "--json").stdout)
    assert (row["build"], row["study"], row["statuses"]) == ("b", "sayings", {"ok": 30})
    Path("b/report.html").unlink()
    isogloss("report", "b")
    assert Path("b/report.html").exists()
    isogloss("report", "b", "--out", "other.html")
    assert Path("other.html").exists()
    assert "has a report of its own, in html" in isogloss("report", "b", "--format", "csv", code=1).stderr


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["build", "sayngs", "c.toml", "--out", "b"], "did you mean 'sayings'?"),
        (["build", "lexicon", "c.toml", "--out", "b"], "study 'lexicon' builds no data set; there are"),
        (["build", "sayings", "none.toml", "--out", "b"], "there is no none.toml"),
        (["build", "sayings", "broken.toml", "--out", "b"], "broken.toml"),
        ([*BUILD, "--max-cost", "1"], "OPENAI_API_KEY"),
        (["annotate", "status", "b"], "b is no construction: it has no build.json"),
    ],
)
def test_a_mistake_is_one_line(isogloss, args, words):
    config(models=["openai/m"])
    Path("broken.toml").write_text("name = ")
    done = isogloss(*args, code=1)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("isogloss: ")]
    assert words in line
    assert done.stdout == ""


def test_wrong_usage_is_2(isogloss):
    isogloss("build", "sayings", "c.toml", code=2)


def test_calls_that_fail_end_with_3(isogloss):
    config(models=["scripted/crashes"])
    done = isogloss(*BUILD, "--json", code=3)
    assert json.loads(done.stdout)["steps"]["collect"] == "stopped"
    assert "scripted/crashes fails every call" in done.stderr


def test_a_second_process_is_told_so(isogloss):
    config()
    with BuildFolder("b").locked():
        assert "b is in use by another isogloss process" in isogloss(*BUILD, code=1).stderr


@contextmanager
def started(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A build that has collected some of 400 sayings, 0.05 s each."""
    config(models=["scripted/slow"], prompts=400)
    process = subprocess.Popen(
        [sys.executable, "-m", "isogloss", *BUILD, "--max-connections", "4"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while n_held() < 20:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def n_held() -> int:
    file = Path("b/ledger.sqlite")
    if not file.exists() or not file.stat().st_size:
        return 0
    try:
        with Ledger(file) as ledger:
            return ledger.n_responses()
    except StoreError:  # just being made
        return 0


def test_killed_in_the_middle_nothing_answered_is_asked_again(isogloss, environment):
    with started(environment) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        n_before = n_held()
        assert n_before < 400
        shown = json.loads(isogloss(*BUILD, "--json", code=3).stdout)
    assert shown["asked"] == 400 - n_before
    assert shown["tables"]["collected"] == 400
    assert n_held() == 400


def test_ctrl_c_keeps_what_was_answered_and_ends_with_3(isogloss, environment):
    with started(environment) as process:
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
        assert process.returncode == 3
        assert "Traceback" not in said
        assert "stopped early: scripted/slow: stopped by Ctrl-C" in said
        assert out.splitlines()[0].split() == ["collect", "stopped"]
        n_before = n_held()
        assert json.loads(isogloss(*BUILD, "--json", code=3).stdout)["asked"] == 400 - n_before


@contextmanager
def server(*options: object) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER), *map(str, options)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


KEY = {"OPENAI_API_KEY": "sk-none-0123456789"}
PRICED = '[models."openai/m"]\nfirst_wait = 0.01\ninput_price = 0\noutput_price = 10\n'


def test_a_server_with_limits_is_asked_round_after_round(isogloss):
    """Every round is asked on one event loop, so what waits for a limit in one round may wait again in the next."""
    Path("isogloss.toml").write_text(PRICED + "requests_per_minute = 3000\n")
    config(models=["openai/m"], prompts=12, rounds=4, raters=[])
    with server("--replies", "Rain makes friends") as url:
        done = isogloss(*BUILD, "--base-url", url, "--json", **KEY)
    shown = json.loads(done.stdout)
    assert shown["asked"] == shown["tables"]["collected"] == 48
    assert shown["tables"]["sayings"] == 1
    assert shown["cost"] > 0


def test_a_cap_on_the_cost_stops_and_a_higher_one_goes_on(isogloss):
    Path("isogloss.toml").write_text(PRICED)
    config(models=["openai/m"], prompts=40, raters=[])  # at most 50 tokens out a call: 0.0005 US$
    with server("--replies", "Rain makes friends") as url:
        done = isogloss(*BUILD, "--base-url", url, "--max-cost", "0.0006", "--json", code=3, **KEY)
        shown = json.loads(done.stdout)
        assert "the cap of 0.0006 US$ is reached" in shown["stopped"]
        assert 0 < shown["asked"] < 40
        assert shown["cost"] <= 0.0006
        again = json.loads(isogloss(*BUILD, "--base-url", url, "--max-cost", "1", "--json", **KEY).stdout)
    assert again["asked"] == 40 - shown["asked"]


def test_a_cap_needs_a_price(isogloss):
    config(models=["openai/m"])
    done = isogloss(*BUILD, "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1", code=1, **KEY)
    assert "--max-cost needs the price of openai/m" in done.stderr
