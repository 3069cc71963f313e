"""`isogloss models`: who can be asked and on what terms; a key is never shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.errors import UnknownNameError

TOML = """
[providers.openai]
requests_per_minute = 500

[models."openai/mine"]
base_url = "http://127.0.0.1:8000/v1"
key_variable = "MY_SERVER_KEY"
input_price = 0.25
output_price = 1.25
"""
KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5q"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """said(*words) → what `isogloss models` prints, beside an isogloss.toml."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ISOGLOSS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MY_SERVER_KEY", KEY)
    Path("isogloss.toml").write_text(TOML, encoding="utf-8")

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["models", *words], catch_exceptions=False)
        assert done.exit_code == 0
        assert KEY not in done.output
        return done.stdout

    return run


def test_what_the_file_sets_is_shown_and_whether_the_key_is_there(said):
    terms: dict[str, Any] = json.loads(said("--json"))["config"]
    assert terms["file"] == "isogloss.toml"
    assert terms["providers"] == {
        "openai": {"requests_per_minute": 500, "key_variable": "OPENAI_API_KEY", "key_set": False}
    }
    assert terms["models"] == {
        "openai/mine": {
            "base_url": "http://127.0.0.1:8000/v1",
            "key_variable": "MY_SERVER_KEY",
            "key_set": True,
            "input_price": 0.25,
            "output_price": 1.25,
        }
    }
    text = said()
    assert "requests_per_minute: 500" in text
    assert "key: MY_SERVER_KEY is set" in text
    assert "key: OPENAI_API_KEY is not set" in text


def test_without_a_file_nothing_is_set(said):
    Path("isogloss.toml").unlink()
    assert json.loads(said("--json"))["config"]["file"] is None
    assert "sets:" not in said()


def test_prices_are_listed_with_their_date(said):
    rows = {row["model"]: row for row in json.loads(said("prices", "--json"))}
    assert rows["openai/mine"] == {
        "model": "openai/mine", "input": 0.25, "output": 1.25, "cached": None, "batch": 0.5,
        "as_of": None, "source": "isogloss.toml",
    }  # fmt: skip
    assert rows["openai/gpt-4o-mini"]["as_of"] == "2026-10-04"
    assert "openai/gpt-4o-mini-2024-07-18" not in rows
    assert max(map(len, said("prices").splitlines())) <= 80


def test_prices_of_some_models(said):
    assert [row["model"] for row in json.loads(said("prices", "gpt-4o-mini", "--json"))] == ["openai/gpt-4o-mini"]
    [dated] = json.loads(said("prices", "gpt-4o-mini-2024-07-18", "--json"))
    assert dated["input"] == 0.15
    assert "claude-haiku-4-5" in said("prices", "HAIKU")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["prices", "openai/gpt-4o-mni"], "did you mean 'openai/gpt-4o-mini'"),
        (["prics"], "did you mean 'prices'?"),
    ],
)
def test_near_names_are_offered(said, words, part):
    with pytest.raises(UnknownNameError) as caught:
        said(*words)
    assert part in str(caught.value)
