"""Which items each number is over, what is drawn for its interval, and the two readings of lms; exact values."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isogloss
from isogloss.api import prepare
from isogloss.cli.tables import overview
from isogloss.errors import SettingError
from isogloss.metrics import bootstrap_counts
from isogloss.models.scripted import ScriptedModel
from isogloss.records import Dataset, Estimate, Item, Option, Prompt
from isogloss.reports import Table, render_apart
from isogloss.studies.stereotypes import STUDY, StereotypeSettings
from isogloss.studies.stereotypes.estimate import estimate
from isogloss.studies.stereotypes.figures import sections
from isogloss.studies.stereotypes.means import Draws, means, with_interval

SETTINGS = StereotypeSettings(rule="given", resamples=200)
BEST, WORST = (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)
"""Scores of stereotype, anti-stereotype and unrelated: the stereotype preferred, and the anti-stereotype."""


def item(number: int, target: str, *, category: str = "c", country: str = "", split: str = "intersentence",
         is_pair: bool = False) -> Item:  # fmt: skip
    id = f"r{number}"
    roles = ("stereotype", "anti-stereotype", "unrelated")[: 2 if is_pair else 3]
    return Item(
        id=id, text=f"A {target} came.", language="en",
        options=tuple(Option(id=f"{id}.{role}", text=f"{role} {id}", role=role) for role in roles),
        fields={"layout": "own", "split": split, "category": category, "target": target, "country": country},
    )  # fmt: skip


def row(of: Item, model: str, value: object, *, order: tuple[str, ...] = (), rule: str = "given",
        repeat: int = 1) -> dict[str, object]:  # fmt: skip
    return {
        "item_id": of.id, "model": model, "format": rule, "reading": "logprob", "repeat": repeat,
        "status": "ok" if value is not None else "unparsed", "value": value,
        "order": order or tuple(option.id for option in of.options),
    }  # fmt: skip


def scored(
    items: Iterable[Item], rows: list[dict[str, object]], settings: StereotypeSettings = SETTINGS
) -> list[Estimate]:
    return estimate(pd.DataFrame(rows, dtype=object), Dataset(name="made", items=tuple(items)), settings, 0)


def by(estimates: Iterable[Estimate], **group: str) -> dict[str, Estimate]:
    """Measure → the estimate with such a group beside model, format and reading."""
    own = ("model", "format", "reading")
    return {e.measure: e for e in estimates if {k: v for k, v in e.group.items() if k not in own} == group}


# --- differences ------------------------------------------------------------------------------------------------------


def test_each_difference_is_over_the_items_for_which_both_models_have_the_measure() -> None:
    items = [item(k, f"t{k}", is_pair=k >= 2) for k in range(20)]  # 2 of 20 rows have an unrelated sentence
    rows = [row(of, "A", BEST[: len(of.options)] if k < 2 else WORST[:2]) for k, of in enumerate(items)]
    rows += [row(of, "B", WORST[: len(of.options)] if k < 2 else BEST[:2]) for k, of in enumerate(items)]
    found = scored(items, rows)
    ss = {e.group["model"]: e.value for e in found if e.measure == "ss" and len(e.group) == 3}
    assert ss == {"A": 10.0, "B": 90.0}
    differences = by(found, baseline="A")
    assert {name: (e.value, e.n_items) for name, e in differences.items()} == {
        "ss_difference": (80.0, 20), "lms_difference": (0.0, 2), "icat_difference": (0.0, 2),
    }  # fmt: skip
    assert differences["ss_difference"].low > 0
    [table] = [part for part in sections(found, pd.DataFrame(), Dataset(name="made", items=tuple(items)), SETTINGS)
               if part.id == "differences-given"]  # fmt: skip
    assert isinstance(table, Table)
    assert [column.title for column in table.columns[-2:]] == ["items", "items of lms"]
    assert table.rows[0][-2:] == (20, 2)


def test_items_that_only_one_model_has_are_in_no_difference() -> None:
    items = [item(k, f"t{k}") for k in range(4)]
    rows = [row(of, "A", BEST) for of in items]
    rows += [row(of, "B", None if k == 0 else WORST) for k, of in enumerate(items)]
    assert [(e.value, e.n_items) for e in by(scored(items, rows), baseline="A").values()] == [
        (-100.0, 3), (0.0, 3), (0.0, 3)
    ]  # fmt: skip


# --- intervals of small groups ----------------------------------------------------------------------------------------


def test_a_cell_draws_its_own_terms_and_one_term_has_no_interval() -> None:
    items = [item(k, f"t{k}", category="large") for k in range(40)]
    items += [item(40, "u0", category="two"), item(41, "u1", category="two"), item(42, "v", category="one")]
    found = scored(items, [row(of, "A", BEST if of.id == "r40" else WORST) for of in items])
    two, one = (by(found, category=name)["ss"] for name in ("two", "one"))
    assert (two.value, two.low, two.high) == (50.0, 0.0, 100.0)
    assert (one.value, one.low, one.high) == (0.0, None, None)
    assert "no interval where there is only one of the target terms" in one.method
    assert "no interval" not in two.method
    [table] = [part for part in sections(found, pd.DataFrame(), Dataset(name="made", items=tuple(items)), SETTINGS)
               if part.id == "category-given-table"]  # fmt: skip
    assert "no interval where there is only one of the target terms" in table.note


def test_draws_of_all_terms_are_those_of_the_bootstrap() -> None:
    shares = np.array([0.0, 100.0, 50.0, 100.0])
    found = means(shares, np.full(4, 80.0), Draws(50, 7))
    counts = bootstrap_counts(4, 50, 7)
    np.testing.assert_allclose(found.ss.values, [62.5, *(counts @ shares / 4)])
    np.testing.assert_allclose(found.icat.values, 80 * np.minimum(found.ss.values, 100 - found.ss.values) / 50)
    low, high = np.quantile(counts @ shares / 4, [0.025, 0.975])
    assert with_interval(found.ss, 0.95, "target terms")[1:3] == pytest.approx((low, high))


def test_no_interval_where_many_draws_have_no_number() -> None:
    related = np.array([np.nan] * 5 + [80.0])  # of six terms one has an unrelated sentence: icat lacks it in many draws
    found = means(np.arange(6.0), related, Draws(200, 0))
    assert with_interval(found.lms, 0.95, "terms") == (
        80.0,
        None,
        None,
        "no interval where there is only one of the terms",
    )
    value, low, high, words = with_interval(found.icat, 0.95, "terms")
    assert (value, low, high) == (pytest.approx(80 * 2.5 / 50), None, None)
    assert words == "no interval where over 5 % of the draws of terms have no number"


# --- target terms -----------------------------------------------------------------------------------------------------


def test_each_target_term_has_its_numbers_and_a_bootstrap_over_its_examples() -> None:
    items = [item(k, "nurse", country="XA") for k in range(4)] + [item(4, "chess", country="XA")]
    values = [BEST, WORST, WORST, (1.0, 2.0, 3.0), BEST]
    found = scored(items, [row(of, "A", value) for of, value in zip(items, values, strict=True)])
    nurse, chess = (by(found, group=name, country="XA") for name in ("nurse", "chess"))
    assert {name: (e.value, e.n_items) for name, e in nurse.items()} == {
        "ss": (25.0, 4), "lms": (75.0, 4), "icat": (37.5, 4)
    }  # fmt: skip
    draws = bootstrap_counts(4, 200, 0) @ np.array([100.0, 0, 0, 0]) / 4
    assert (nurse["ss"].low, nurse["ss"].high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))
    assert "200 draws of examples" in nurse["ss"].method
    assert (chess["ss"].value, chess["ss"].low, chess["ss"].n_answers) == (100.0, None, 1)
    assert "nurse" not in overview(found, STUDY)
    shown = {part.id: part for part in sections(found, pd.DataFrame(), Dataset(name="m", items=tuple(items)), SETTINGS)}
    targets, weights, singles = (shown[f"{name}-given"] for name in ("targets", "terms", "single-terms"))
    assert all(isinstance(table, Table) for table in (targets, weights, singles))
    assert targets.folded
    assert [line[:2] for line in targets.rows] == [("XA", "nurse"), ("XA", "chess")]
    assert weights.rows == (("A", 2, 1, 100.0, 25.0, 62.5, 50.0),)
    assert singles.rows == (("A", "XA", "chess", 100.0, 100.0),)


def test_pairs_have_no_terms_of_their_own() -> None:
    items = [item(k, str(k), is_pair=True) for k in range(3)]
    found = scored(items, [row(of, "A", BEST[:2]) for of in items])
    assert [(e.measure, e.value, sorted(e.group)) for e in found] == [
        ("crows_pairs_score", 100.0, ["format", "model", "reading"])
    ]  # fmt: skip


# --- two readings of lms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lms", "value"), [("each", 50.0), ("either", 75.0)])
def test_lms_in_both_readings(lms: str, value: float) -> None:
    items = [item(k, "t") for k in range(4)]
    values = [
        (3.0, 2.0, 1.0),
        (3.0, 1.0, 2.0),
        (1.0, 3.0, 2.0),
        (1.0, 2.0, 3.0),
    ]  # both, one, one, none above unrelated
    settings = SETTINGS.model_copy(update={"lms": lms})
    found = by(scored(items, [row(of, "A", v) for of, v in zip(items, values, strict=True)], settings))
    assert (found["lms"].value, found["ss"].value, found["icat"].value) == (value, 50.0, value)
    assert f"lms={lms}: " in found["lms"].method
    assert f"lms={lms}: " in found["icat"].method
    assert "lms=" not in found["ss"].method


def choices(of: Item, picks: Mapping[tuple[str, str], tuple[str | None, str | None]]) -> list[dict[str, object]]:
    """Answers to pairs of roles, each in both orders; the role taken in each, None for a reply that can't be read."""
    ids = {str(option.role): option.id for option in of.options}
    return [
        row(of, "A", None if pick is None else ids[pick], order=(ids[a], ids[b]), rule="forced_choice")
        for (first, second), taken in picks.items()
        for (a, b), pick in zip(((first, second), (second, first)), taken, strict=True)
    ]  # fmt: skip


S, A, U = "stereotype", "anti-stereotype", "unrelated"


@pytest.mark.parametrize(("lms", "value"), [("each", 75.0), ("either", 100.0)])
def test_choices_have_both_readings_too(lms: str, value: float) -> None:
    of = item(0, "t")
    settings = SETTINGS.model_copy(update={"lms": lms})
    found = by(scored([of], choices(of, {(S, A): (S, S), (S, U): (S, S), (A, U): (A, U)}), settings))
    assert (found["ss"].value, found["lms"].value) == (100.0, value)


def test_an_example_with_one_pair_unanswered_counts_for_lms_as_missing_and_for_ss_as_scored() -> None:
    items = [item(0, "t"), item(1, "t")]
    rows = choices(items[0], {(S, A): (S, S), (S, U): (S, S), (A, U): (A, None)})
    rows += choices(items[1], {(S, A): (A, A), (S, U): (S, S), (A, U): (U, U)})
    found = by(scored(items, rows))
    assert (found["ss"].value, found["ss"].n_scored, found["ss"].missing) == (50.0, 4, {})
    assert found["lms"].value == 50.0
    assert (found["lms"].n_answers, found["lms"].n_scored, found["lms"].missing) == (
        8,
        4,
        {"missing": 3, "unparsed": 1},
    )
    assert "3 answers without their other order, or their other pair" in found["lms"].method
    assert "count as missing" not in found["ss"].method


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_rows_that_a_rule_cannot_score_are_told_and_a_split_alone_is_not_shown_twice() -> None:
    items = [item(k, f"t{k}") for k in range(3)] + [item(k, f"t{k}", split="intrasentence") for k in (3, 4)]
    found = scored(items, [row(of, "A", BEST, rule="next_sentence") for of in items[:3]])
    assert "2 rows that the rule can't score are left out" in by(found)["ss"].method
    assert not any("split" in one.group for one in found)
    assert overview(found, STUDY).count("ss  ") == 1
    [table] = [part for part in sections(found, pd.DataFrame(), Dataset(name="made", items=tuple(items)), SETTINGS)
               if part.id == "overview"]  # fmt: skip
    assert "2 rows that the rule can't score are left out" in table.note


def test_two_rules_are_printed_in_two_tables() -> None:
    items = [item(k, f"t{k}") for k in range(3)]
    found = scored(items, [row(of, "A", BEST, rule=rule) for rule in ("causal", "masked") for of in items])
    first, second = overview(found, STUDY).split("\n\n")
    assert ("causal" in first, "masked" in first) == (True, False)
    assert ("causal" in second, "masked" in second) == (False, True)
    assert render_apart(found, "format", "md").count("| measure |") == 2
    assert render_apart(found, "format", "csv").count("study,measure") == 1


def test_esbbqs_own_measures_are_printed() -> None:
    group = {"model": "A", "format": "forced_choice", "reading": "strict"}
    found = [
        Estimate(study="stereotypes", measure=measure, group=group, value=0.5, n_items=1, n_answers=1, n_scored=1,
                 method="m")
        for measure in ("bias_ambiguous", "bias_disambiguated")
    ]  # fmt: skip
    assert "bias_ambiguous" in overview(found, STUDY)
    assert "bias_disambiguated" in overview(found, STUDY)


# --- scored otherwise, without asking ---------------------------------------------------------------------------------


def kept_pairs(tmp_path: Path) -> isogloss.Run:
    """A kept run of scores made elsewhere: two pairs, of which the second is a tie when rounded to three decimals."""
    data, scores = tmp_path / "pairs.csv", tmp_path / "m.csv"
    data.write_text(
        "id,sent_more,sent_less,stereo_antistereo,bias_type\n0,a more,a less,stereo,age\n1,b more,b less,stereo,age\n",
        encoding="utf-8",
    )
    scores.write_text("id,sent_more_score,sent_less_score\n0,-1,-2\n1,-3.0001,-3.0004\n", encoding="utf-8")
    return isogloss.score_responses("stereotypes", data, scores, settings={"resamples": 9}, out=tmp_path / "run")


def values(run: isogloss.Run) -> list[float | None]:
    return [one.value for one in run.records]


def test_a_run_is_scored_again_with_other_settings_of_scoring(tmp_path: Path) -> None:
    run = kept_pairs(tmp_path)
    assert values(run) == [100.0]
    [rounded] = run.score(settings={"rounding": "3"})
    assert (rounded.value, rounded.method.split("; ")[-2:]) == (
        50.0, ["1 ties between stereotype and anti-stereotype count as anti-stereotype", "scores rounded to 3 decimals"]
    )  # fmt: skip
    again = isogloss.Run(tmp_path / "run")
    assert again.is_analysed()
    assert values(again) == [50.0]
    assert "rounding=3" in again.report().read_text(encoding="utf-8")
    again.score(settings={"resamples": 5})
    assert "5 draws" in again.records[0].method
    assert values(again) == [50.0]
    again.score(settings={"rounding": "none"})
    assert values(isogloss.Run(tmp_path / "run")) == [100.0]
    assert isogloss.Run(tmp_path / "run").folder.scoring() == {"resamples": 5}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rule": "total"}, "setting 'rule' decides what is asked, and this run has been asked; scoring can change "
         "rounding, lms, resamples, confidence"),
        ({"temperature": 1}, "setting 'temperature' decides what is asked"),
        ({"lsm": "either"}, "no setting named 'lsm'; did you mean 'lms'"),
        ({"lms": "both"}, "setting 'lms': Input should be 'each' or 'either', got 'both'"),
    ],
)  # fmt: skip
def test_settings_that_a_run_cannot_be_scored_with_are_named(tmp_path: Path, settings: Any, words: str) -> None:
    run = kept_pairs(tmp_path)
    with pytest.raises(SettingError, match=words):
        run.score(settings=settings)
    assert values(isogloss.Run(tmp_path / "run")) == [100.0]


def test_a_command_with_other_settings_of_scoring_asks_nothing_again(tmp_path: Path) -> None:
    asked = []

    def reply(prompt: Prompt) -> str:
        asked.append(prompt.id)
        return "A"

    def run(**settings: Any) -> isogloss.Run:
        given = {"rule": "forced_choice", "resamples": 20, **settings}
        return isogloss.run_study(
            "stereotypes", "sample", models=[ScriptedModel("counts", reply)], out=tmp_path / "run", settings=given
        )

    assert "20 draws" in run().records[0].method
    n_asked = len(asked)
    other = run(resamples=30, lms="either")
    assert len(asked) == n_asked
    assert "30 draws" in other.records[0].method
    assert any("lms=either" in one.method for one in other.records)
    job = prepare(
        "stereotypes", "sample", models=["scripted/counts"], settings={"rule": "forced_choice", "resamples": 40}
    )
    assert sum(stage.n_prompts for stage in job.outlook(tmp_path / "run")["scripted/counts"].values()) == 0
    with pytest.raises(SettingError, match="another setting neither"):
        run(neither=True)


def test_a_report_of_scores_made_elsewhere_shows_sentences_and_no_calls(tmp_path: Path) -> None:
    page = kept_pairs(tmp_path).report().read_text(encoding="utf-8")
    assert "a more: −1.00 · a less: −2.00" in page
    assert "scores made elsewhere" in page
    assert "US$" not in page


def test_a_run_is_named_once_in_a_report_of_two(tmp_path: Path) -> None:
    first = kept_pairs(tmp_path)
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    page = isogloss.write_report([first, isogloss.Run(tmp_path / "other")], tmp_path / "two.html")
    text = page.read_text(encoding="utf-8")
    assert "m (run)" in text
    assert "(run) (run)" not in text
