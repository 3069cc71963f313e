"""Forced choice, and what a model must be able to do: informants of known behaviour come out as they must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import isogloss
from isogloss.errors import AbilityError, DataError, SettingError
from isogloss.models.scripted import ScriptedModel
from isogloss.studies import get

SAMPLE = get("stereotypes").samples["sample"]


def choosing(role: str) -> ScriptedModel:
    """A model that takes the sentence of a role wherever it stands; otherwise the related one."""
    job, _ = isogloss.check_data("stereotypes", "sample")
    roles = {option.text: option.role for item in job.dataset.items for option in item.options}

    def reply(prompt):
        shown = dict(re.findall(r"^([ABC])\. (.*)$", prompt.messages[0].content, re.MULTILINE))
        of = {roles.get(text, "neither"): letter for letter, text in shown.items()}
        return of.get(role) or next(letter for r, letter in of.items() if r != "unrelated")

    return ScriptedModel(f"takes-{role}", reply)


def measured(model, tmp_path: Path, **settings):
    given = {"rule": "forced_choice", "resamples": 200, **settings}
    run = isogloss.run_study("stereotypes", "sample", models=[model], out=tmp_path / "run", settings=given)
    plain = {"model", "format", "reading"}
    return {e.measure: e for e in run.records if set(e.group) == plain and e.group["reading"] == "strict"}


@pytest.mark.parametrize(
    ("role", "ss", "lms", "icat"), [("stereotype", 100.0, 100.0, 0.0), ("anti-stereotype", 0.0, 100.0, 0.0)]
)
def test_always_and_never_the_stereotype(tmp_path: Path, role: str, ss: float, lms: float, icat: float) -> None:
    found = measured(choosing(role), tmp_path)
    assert [found[name].value for name in ("ss", "lms", "icat")] == [ss, lms, icat]
    assert (found["ss"].n_answers, found["ss"].n_scored) == (48, 48)


def test_a_habit_of_position_is_no_bias(tmp_path: Path) -> None:
    found = measured("scripted/always-first", tmp_path)
    assert [found[name].value for name in ("ss", "lms", "icat")] == [50.0, 50.0, 50.0]
    assert (found["ss"].low, found["ss"].high) == (50.0, 50.0)


def test_chance_is_near_fifty_and_its_interval_holds_it(tmp_path: Path) -> None:
    found = measured("scripted/random", tmp_path)
    assert found["ss"].low <= 50 <= found["ss"].high
    assert found["lms"].low <= 50 <= found["lms"].high


@pytest.mark.parametrize(("name", "status"), [("refuses", "refused"), ("empty", "unparsed"), ("rambles", "unparsed")])
def test_silence_has_no_value(tmp_path: Path, name: str, status: str) -> None:
    found = measured(f"scripted/{name}", tmp_path)
    for one in found.values():
        assert one.value is None
        assert one.missing == {status: one.n_answers}


def test_neither_is_half_a_choice_and_is_counted(tmp_path: Path) -> None:
    found = measured(choosing("neither"), tmp_path, neither="true")
    assert found["ss"].value == 50.0
    assert found["neither"].value == 1.0
    assert found["lms"].value == 0.0


def test_a_pair_with_one_order_answered_is_not_scored(tmp_path: Path) -> None:
    model = choosing("stereotype")
    told = model._behaviour

    def half(prompt, repeat):
        play = told(prompt, repeat)
        return play if play.text == "A" else play._replace(text="...")

    found = measured(ScriptedModel.behaving("scripted/half", half), tmp_path)
    assert found["ss"].value is None
    assert found["ss"].missing == {"unparsed": 24, "missing": 24}
    assert "answers without their other order count as missing" in found["ss"].method


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("causal", "rule=causal needs log-probabilities of given text; take rule=forced_choice"),
        ("masked", "rule=masked needs a masked model"),
        ("next_sentence", "needs a model with a next-sentence head"),
        ("given", "is for scores made elsewhere"),
        ("forced_choice,total", "rule=total needs log-probabilities"),
    ],
)
def test_a_model_that_cannot_do_what_a_rule_needs_is_told_before_anything_is_asked(
    tmp_path: Path, rule: str, words: str
) -> None:
    asked = []
    model = ScriptedModel("counts", lambda prompt: asked.append(prompt) or "A")
    with pytest.raises(AbilityError, match=words):
        isogloss.run_study("stereotypes", "sample", models=[model], out=tmp_path, settings={"rule": rule})
    assert not asked


def test_settings_that_cannot_be_are_named(tmp_path: Path) -> None:
    for settings, words in (
        ({"rule": "causl"}, "no rule named 'causl'; did you mean 'causal'"),
        ({"countries": "XZ"}, "no country in .* named 'XZ'"),
        ({"rule": "crows_pairs"}, "rule=crows_pairs can score no row"),
        ({"wording": "fi", "rule": "forced_choice"}, "no wording named 'fi'"),
    ):
        with pytest.raises(SettingError, match=words):
            isogloss.check_data("stereotypes", "sample", settings=settings)[0].questions().__next__()
    bad = tmp_path / "bad.jsonl"
    text = SAMPLE.read_text(encoding="utf-8")
    bad.write_text(text.replace('"target": "carteros"', '"target": ""', 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.jsonl line 7: column 'target' is empty"):
        isogloss.check_data("stereotypes", bad)
    bad.write_text(text + text.split("\n")[0], encoding="utf-8")
    with pytest.raises(DataError, match="has the id 'sample-01', which stands at"):
        isogloss.check_data("stereotypes", bad)


def test_a_context_that_lacks_its_group_is_found_by_check(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    text = SAMPLE.read_text(encoding="utf-8")
    other.write_text(text.replace("Mi primo es cartero.", "Mi primo llegó ayer."), encoding="utf-8")
    _, findings = isogloss.check_data("stereotypes", other)
    said = [finding.message for finding in findings if finding.where == "contexts"]
    assert any("sample-08" in message for message in said)


# --- BBQ and EsBBQ ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("Religion", {"arc": (24.5, 3.5), "race": (14.3, 0.2)}),
        ("Sexual_orientation", {"arc": (11.8, 0.5), "race": (5.8, -0.7)}),
    ],
)
def test_the_bias_scores_of_unifiedqa_are_those_printed(shared: Path, category: str, expected: dict) -> None:
    file = shared / "data" / "bbq" / f"unifiedqa_preds_{category}.jsonl"
    run = isogloss.score_responses("stereotypes", file, file, settings={"resamples": 50})
    found = {(e.measure, e.group["model"]): e for e in run.records if set(e.group) == {"model", "format", "reading"}}
    for name, (ambiguous, disambiguated) in expected.items():
        model = f"unifiedqa-t5-11b_pred_{name}"
        assert round(found["s_amb", model].value, 1) == ambiguous
        assert round(found["s_dis", model].value, 1) == disambiguated
        assert found["s_amb", model].missing == {}


def esbbq_model(shared: Path, role: str) -> tuple[Path, ScriptedModel]:
    """A model that gives the biased, counter-biased or unknown answer of every question; "right": the right one."""
    file = shared / "data" / "esbbq" / "Nationality.es.csv"
    job, _ = isogloss.check_data("stereotypes", file, settings={"rule": "forced_choice"})
    wanted = {}
    for question in job.questions():
        item, order = question.item, question.condition.order
        of_role = {option.role: option.id for option in item.options}
        choice = item.fields["label"] if role == "right" else of_role[role]
        wanted[question.prompt.id] = "ABC"[order.index(choice)]
    return file, ScriptedModel(role, lambda prompt: wanted[prompt.id])


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("stereotype", {"accuracy_ambiguous": 0.0, "bias_ambiguous": 1.0, "bias_disambiguated": 1.0, "s_amb": 100.0,
                        "s_dis": 100.0}),
        ("anti-stereotype", {"accuracy_ambiguous": 0.0, "bias_ambiguous": -1.0, "bias_disambiguated": -1.0,
                             "s_amb": -100.0, "s_dis": -100.0}),
        ("unknown", {"accuracy_ambiguous": 1.0, "accuracy_disambiguated": 0.0, "bias_ambiguous": 0.0, "s_dis": None}),
        ("right", {"accuracy_ambiguous": 1.0, "accuracy_disambiguated": 1.0, "bias_ambiguous": 0.0,
                   "bias_disambiguated": 0.0}),
    ],
)  # fmt: skip
def test_informants_of_known_behaviour_on_esbbq(shared: Path, tmp_path: Path, role: str, expected: dict) -> None:
    file, model = esbbq_model(shared, role)
    settings = {"rule": "forced_choice", "resamples": 50}
    run = isogloss.run_study("stereotypes", file, models=[model], out=tmp_path / "run", settings=settings)
    found = {e.measure: e.value for e in run.records if e.group["reading"] == "strict" and len(e.group) == 3}
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_the_published_question_types_are_those_derived(shared: Path) -> None:
    import pandas as pd

    for name in ("Nationality", "SpanishRegion"):
        file = shared / "data" / "esbbq" / f"{name}.es.csv"
        types = pd.read_csv(file)["question_type"].fillna("n/a").tolist()
        job, _ = isogloss.check_data("stereotypes", file, settings={"rule": "forced_choice"})
        for item, published in zip(job.dataset.items, types, strict=True):
            role = next(option.role for option in item.options if option.id == item.fields["label"])
            derived = {"stereotype": "pro-stereo", "anti-stereotype": "anti-stereo", "unknown": "n/a"}[role]
            assert derived == published, item.id
