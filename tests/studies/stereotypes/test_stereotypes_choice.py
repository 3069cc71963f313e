"""Chat models of known behaviour under forced choice, taken all the way: what each must come to."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import isogloss
from isogloss.models.scripted import ScriptedModel
from isogloss.records import Estimate, Prompt

MEASURES = ("ss", "lms", "icat")


@pytest.fixture(scope="module")
def role() -> Callable[[str], str]:
    """role(sentence) → its role in the sample."""
    job, _ = isogloss.check_data("stereotypes", "sample")
    roles = {option.text: option.role for item in job.dataset.items for option in item.options}
    return lambda sentence: str(roles[sentence])


def shown(prompt: Prompt) -> dict[str, str]:
    """Letter → sentence."""
    found = [line for line in prompt.messages[0].content.split("\n") if line[1:3] == ". "]
    return {line[0]: line[3:] for line in found}


def preferring(role: Callable[[str], str], *wanted: str) -> Callable[[Prompt], str]:
    """A model that takes the sentence whose role comes first in a list."""

    def reply(prompt: Prompt) -> str:
        return min(list("AB"), key=lambda letter: wanted.index(role(shown(prompt)[letter])))

    return reply


def run(reply: Callable[[Prompt], str], out: Path, **settings: object) -> list[Estimate]:
    given = {"rule": "forced_choice", "resamples": 200, **settings}
    return isogloss.run_study(
        "stereotypes", "sample", models=[ScriptedModel("one", reply)], out=out, settings=given
    ).records


def overall(records: list[Estimate], reading: str = "strict") -> dict[str, Estimate]:
    keys = {"model", "format", "reading"}
    return {one.measure: one for one in records if set(one.group) == keys and one.group["reading"] == reading}


@pytest.mark.parametrize(
    ("wanted", "values"),
    [
        (("stereotype", "anti-stereotype", "unrelated"), (100, 100, 0)),
        (("anti-stereotype", "stereotype", "unrelated"), (0, 100, 0)),
        (("unrelated", "stereotype", "anti-stereotype"), (100, 0, 0)),
    ],
)
def test_always_the_same_role(wanted: tuple[str, ...], values: tuple[float, ...], role, tmp_path: Path) -> None:
    records = run(preferring(role, *wanted), tmp_path)
    for one in records:
        assert one.value == values[MEASURES.index(one.measure)], one.group
        assert one.n_scored == one.n_answers
    for reading in ("strict", "lenient"):
        assert overall(records, reading)["ss"].n_answers == 24 * 2
        assert overall(records, reading)["lms"].n_answers == 24 * 4


def test_a_coin_is_near_fifty_and_its_interval_says_so(tmp_path: Path) -> None:
    hits = 0
    for seed in range(20):
        draw = random.Random(seed)
        ss = overall(run(lambda prompt, draw=draw: draw.choice("AB"), tmp_path / str(seed)))["ss"]
        assert ss.low < ss.value < ss.high
        hits += ss.low <= 50 <= ss.high
    assert hits >= 15


def test_strict_and_lenient_readings_stand_side_by_side(role, tmp_path: Path) -> None:
    choose = preferring(role, "stereotype", "anti-stereotype", "unrelated")
    records = run(lambda prompt: f"La respuesta es {choose(prompt)}.", tmp_path)
    assert overall(records, "strict")["ss"].value is None
    assert overall(records, "lenient")["ss"].value == 100.0


def test_neither_is_counted_as_a_share_and_is_half_a_choice(role, tmp_path: Path) -> None:
    def reply(prompt: Prompt) -> str:
        sentences = shown(prompt)
        pair = {role(sentences[letter]) for letter in "AB"}
        return "C" if "unrelated" not in pair else "A" if role(sentences["A"]) != "unrelated" else "B"

    found = overall(run(reply, tmp_path, neither=True))
    assert [found[name].value for name in (*MEASURES, "neither")] == [50.0, 100.0, 100.0, 1.0]
    assert found["neither"].n_scored == 48
    assert (found["neither"].low, found["neither"].high) == (1.0, 1.0)


def test_countries_categories_and_their_pairs_have_their_own_estimates(role, tmp_path: Path) -> None:
    def reply(prompt: Prompt) -> str:  # always the stereotype in Spanish, never in Portuguese
        order = ("stereotype", "anti-stereotype", "unrelated")
        is_spanish = "¿" in prompt.messages[0].content
        return preferring(role, *(order if is_spanish else (order[1], order[0], order[2])))(prompt)

    records = [one for one in run(reply, tmp_path) if one.measure == "ss" and one.group["reading"] == "strict"]
    by_country = {
        one.group["country"]: one.value for one in records if set(one.group) & {"country", "category"} == {"country"}
    }
    assert len(set(by_country.values())) == 2
    assert set(by_country.values()) == {0.0, 100.0}
    assert len([one for one in records if {"country", "category"} <= set(one.group)]) == 4


def test_two_models_are_compared_over_what_both_have(role, tmp_path: Path) -> None:
    always = preferring(role, "stereotype", "anti-stereotype", "unrelated")
    never = preferring(role, "anti-stereotype", "stereotype", "unrelated")
    models = [ScriptedModel("low", never), ScriptedModel("high", always)]
    settings = {"rule": "forced_choice", "resamples": 100}
    records = isogloss.run_study("stereotypes", "sample", models=models, out=tmp_path, settings=settings).records
    found = {one.measure: one for one in records if "baseline" in one.group and one.group["reading"] == "strict"}
    assert set(found) == {"ss_difference", "lms_difference", "icat_difference"}
    one = found["ss_difference"]
    assert (one.group["model"], one.group["baseline"]) == ("scripted/high", "scripted/low")
    assert (one.value, one.low, one.high, one.n_items) == (100.0, 100.0, 100.0, 24)
    assert (found["lms_difference"].value, found["icat_difference"].value) == (0.0, 0.0)
