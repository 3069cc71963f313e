"""Correlations and reference values of the lexicon study."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from isogloss.metrics import f1_always_yes, f1_yes_at_rate, spearman
from isogloss.records import Dataset, Item, Option
from isogloss.studies.lexicon.estimate import estimate
from isogloss.studies.lexicon.items import load_items
from isogloss.studies.lexicon.measures import area_means
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.study import ANSWER_COLUMNS

SETTINGS = SimpleNamespace(resamples=200, confidence=0.9)


@pytest.fixture(scope="module")
def tables(shared):
    folder = shared / "data" / "published_tables"
    with (folder / "varilex_paper_country.csv").open(newline="") as file:
        country = list(csv.DictReader(file))
    with (folder / "varilex_paper_area.csv").open(newline="") as file:
        area = list(csv.DictReader(file))
    correlations = json.loads((folder / "varilex_correlations.json").read_text("utf-8"))
    aggregates = json.loads((folder / "varilex_aggregates.json").read_text("utf-8"))
    return SimpleNamespace(country=country, area=area, correlations=correlations, aggregates=aggregates)


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("delta_f1~jadj", "ynqf_delta_f1", "mcqf_jadj_gpt51"),
        ("f1~baseline", "ynqf_f1_gpt4o", "ynqf_baseline_printed"),
        ("jadj~baseline", "mcqf_jadj_gpt51", "mcqf_baseline_printed"),
    ],
)
def test_published_correlations_come_out(tables, name, x, y):
    rho, p = spearman(column(tables.country, x), column(tables.country, y))
    assert rho == pytest.approx(tables.correlations[name]["from_printed_tables"], abs=1e-6)
    assert round(rho, 3) == tables.correlations[name]["printed"]
    assert 0 < p < 1


def test_published_area_means_come_out(tables):
    areas = {row["area"]: k for k, row in enumerate(tables.area)}
    area_of = np.array([areas[row["area_inferred"]] for row in tables.country])
    for ours, theirs in (("ynqf_delta_f1", "delta_f1"), ("mcqf_jadj_gpt51", "jadj")):
        means = area_means(column(tables.country, ours)[None], area_of, len(areas))[0]
        assert means == pytest.approx(column(tables.area, theirs), abs=0.00051)


def test_always_yes_fits_the_data_and_rate_p_fits_what_the_paper_prints(tables):
    known = tables.aggregates["country"]
    rows = [row for row in tables.country if row["code"] in known]
    share = column([known[row["code"]] for row in rows], "share_plus")
    always = f1_always_yes(share)
    assert always == pytest.approx(column([known[row["code"]] for row in rows], "f1_answer_always_yes"), abs=1e-5)
    printed = column(rows, "ynqf_baseline_printed")  # over samples of some 480 cells a country
    assert np.abs(printed - f1_yes_at_rate(share)).mean() < 0.04
    assert np.abs(printed - always).mean() > 0.1


def answers(dataset, yes_no, choose):
    """Answers to every question of both formats."""
    codes = [str(row["code"]) for row in dataset.tables["places"]]
    rows = []
    for item in dataset.items:
        order = tuple(option.id for option in item.options)
        for code in codes:
            said = [option.id for option in item.options if option.labels.get(code)]
            asked = [option for option in item.options if code in option.labels]
            rows += [(item.id, code, "yes_no", option.id, (), yes_no(option, code)) for option in asked]
            if len(order) >= 2 and said:
                rows.append((item.id, code, "multiple_choice", None, order, choose(order, said, code)))
    frame = pd.DataFrame(rows, columns=["item_id", "country", "format", "option", "order", "value"], dtype=object)
    return frame.assign(
        model="m", reading="strict", status="ok", repeat=1, coder="c@1", language="es", wording="es", asked_by="text",
        factors=None, prompt_id="", note="",
    )[list(ANSWER_COLUMNS)]  # fmt: skip


def test_the_invented_varilex_table_has_its_expected_values(shared):
    folder = shared / "data" / "varilex_format"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    dataset = load_items(folder / "synthetic.csv", LexiconSettings())
    frame = answers(dataset, lambda option, code: True, lambda order, said, code: (1,))
    found = {
        (one.measure, one.group.get("baseline"), one.group.get("country")): one
        for one in estimate(frame, dataset, SETTINGS, 0)
        if "model" not in one.group and "area" not in one.group
    }
    assert found["share_plus", None, None].n_answers == expected["valid_cells"]
    assert found["mean_gold_size", None, None].n_answers == expected["mcqf_questions"]
    for code, known in expected["country"].items():
        place = code.upper()
        share = found["share_plus", None, place]
        assert share.n_answers == known["valid_cells"]
        assert share.value == pytest.approx(known["plus_cells"] / known["valid_cells"])
        assert found["f1", "always_yes", place].value == pytest.approx(known["f1_answer_always_yes"], abs=1e-9)
        assert found["f1", "yes_at_rate_p", place].value == share.value
        assert found["mean_gold_size", None, place].n_answers == known["mcqf_questions"]
        for measure, name in (("adjusted_jaccard", "exact"), ("adjusted_jaccard_first_order", "first_order")):
            assert found[measure, "first_three", place].value == pytest.approx(
                known[f"expected_first3_baseline_jadj_{name}_clipped"], abs=1e-8
            )


def made(n_items=40, n_countries=6, seed=0):
    """A data set whose countries differ in their share of +, with a covariate that follows it."""
    rng = np.random.default_rng(seed)
    codes = [f"C{k}" for k in range(n_countries)]
    items = []
    for i in range(n_items):
        options = tuple(
            Option(
                id=f"{i}.{k}",
                text=f"{i}-{k}",
                labels={code: float(rng.random() < 0.15 + 0.1 * c) for c, code in enumerate(codes)},
            )
            for k in range(2 + i % 4)
        )
        items.append(Item(id=str(i), text=f"thing {i}", options=options))
    places = tuple({"code": code, "name": code, "area": f"area {c // 2}"} for c, code in enumerate(codes))
    covariates = tuple({"code": code, "tokens": 10.0**c, "flat": 1.0} for c, code in enumerate(codes))
    return Dataset(name="made", items=tuple(items), tables={"places": places, "covariates": covariates})


@pytest.fixture(scope="module")
def guessed():
    """A model that answers without a look at the question."""
    rng = np.random.default_rng(1)
    dataset = made()
    frame = answers(
        dataset,
        lambda option, code: bool(rng.random() < 0.5),
        lambda order, said, code: tuple(np.sort(1 + rng.permutation(len(order))[: rng.integers(1, 3)]).tolist()),
    )
    return dataset, frame, estimate(frame, dataset, SETTINGS, 0)


def one(estimates, measure, **group):
    [found] = [each for each in estimates if each.measure == measure and each.group == group]
    return found


YES_NO = {"model": "m", "format": "yes_no", "reading": "strict"}
CHOICE = {"model": "m", "format": "multiple_choice", "reading": "strict"}


def by_country(estimates, measure, **group):
    return [one(estimates, measure, **group, country=f"C{k}").value for k in range(6)]


def test_country_correlations_are_those_of_the_printed_rows(guessed):
    _, _, found = guessed
    f1, share = by_country(found, "f1", **YES_NO), by_country(found, "share_plus", format="yes_no")
    rho = one(found, "spearman(f1,share_plus)", **YES_NO)
    assert rho.value == pytest.approx(stats.spearmanr(f1, share).statistic)
    assert rho.low <= rho.value <= rho.high
    assert "over 6 countries, p" in rho.method
    jaccard = by_country(found, "adjusted_jaccard", **CHOICE)
    both = one(found, "spearman(f1,adjusted_jaccard)", model="m", reading="strict")
    assert both.value == pytest.approx(stats.spearmanr(f1, jaccard).statistic)
    assert both.n_answers == one(found, "f1", **YES_NO).n_answers + one(found, "adjusted_jaccard", **CHOICE).n_answers
    delta = by_country(found, "delta_f1", **YES_NO, baseline="yes_at_rate_p")
    crossed = one(found, "spearman(delta_f1,adjusted_jaccard)", model="m", reading="strict", baseline="yes_at_rate_p")
    assert crossed.value == pytest.approx(stats.spearmanr(delta, jaccard).statistic)


def test_f1_of_guesses_follows_the_share_of_plus_and_youdens_j_need_not(guessed):
    _, _, found = guessed
    assert one(found, "spearman(f1,share_plus)", **YES_NO).value > 0.9
    assert one(found, "spearman(f1,baseline)", **YES_NO, baseline="yes_at_rate_p").value > 0.9
    for measure in ("youden_j", "mcc"):
        assert one(found, f"spearman({measure},share_plus)", **YES_NO).value < 0.9


def test_covariates_are_correlated_over_countries_and_areas(guessed):
    _, _, found = guessed
    f1 = by_country(found, "f1", **YES_NO)
    expected = stats.spearmanr(f1, range(6)).statistic
    assert one(found, "spearman(f1,tokens)", **YES_NO).value == pytest.approx(expected)
    areas = [one(found, "f1", **YES_NO, area=f"area {k}").value for k in range(3)]
    over_areas = one(found, "spearman_areas(f1,tokens)", **YES_NO)
    assert over_areas.value == pytest.approx(stats.spearmanr(areas, range(3)).statistic)
    assert "over 3 areas" in over_areas.method


def test_a_constant_covariate_has_no_correlation_and_says_why(guessed):
    _, _, found = guessed
    flat = one(found, "spearman(f1,flat)", **YES_NO)
    assert (flat.value, flat.low) == (None, None)
    assert "one side of the correlation is constant (over countries)" in flat.method


def test_correlations_over_answers_are_scipys(guessed):
    dataset, frame, found = guessed
    asked = frame[frame["format"] == "multiple_choice"]
    options = {option.id: option for item in dataset.items for option in item.options}
    gold = [sum(options[k].labels[c] for k in order) for order, c in zip(asked["order"], asked["country"], strict=True)]
    size = [len(value) for value in asked["value"]]
    rho = one(found, "spearman_questions(gold_size,answer_size)", **CHOICE)
    assert rho.value == pytest.approx(stats.spearmanr(gold, size).statistic)
    assert rho.low < rho.value < rho.high
    assert f"over {len(asked)} answers" in rho.method
    for y in ("n_options", "gold_size", "answer_size"):
        assert one(found, f"spearman_questions(adjusted_jaccard,{y})", **CHOICE).n_items == 40


def test_two_countries_are_too_few_for_a_correlation():
    dataset = made(n_countries=2)
    frame = answers(dataset, lambda option, code: True, lambda order, said, code: (1,))
    found = estimate(frame, dataset, SETTINGS, 0)
    few = one(found, "spearman(f1,share_plus)", **YES_NO)
    assert few.value is None
    assert "needs three pairs, got 2" in few.method
    assert one(found, "spearman(mcc,share_plus)", **YES_NO).method.startswith(
        "Spearman's rank correlation; undefined: none of the countries has both values"
    )
    assert one(found, "spearman_questions(adjusted_jaccard,answer_size)", **CHOICE).value is None
