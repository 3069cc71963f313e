"""Estimates of the lexicon study: hand-made answers, exact values; informants of known behaviour."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from isogloss.errors import DataError
from isogloss.metrics import expected_adjusted_jaccard
from isogloss.records import Dataset, Item, Option, Status
from isogloss.studies.lexicon.estimate import estimate
from isogloss.study import ANSWER_COLUMNS

SETTINGS = SimpleNamespace(resamples=300, confidence=0.95)
PLACES = (("AA", "North"), ("BB", "North"), ("CC", "South"))
LABELS = {  # one line per variant: AA, BB, CC; "?" is unlabelled
    "one": ["+--", "++-", "-+-", "--+"],
    "two": ["+-+", "-+-", "--?"],
    "three": ["+++", "+--"],
}


def made_dataset(labels=LABELS, covariates=()):
    items = []
    for name, rows in labels.items():
        options = []
        for k, row in enumerate(rows, start=1):
            marks = {code: float(mark == "+") for (code, _), mark in zip(PLACES, row, strict=True) if mark != "?"}
            options.append(Option(id=f"{name}.{k}", text=f"{name}-{k}", labels=marks))
        items.append(Item(id=name, text=f"thing {name}", options=tuple(options)))
    places = tuple({"code": code, "name": code, "area": area} for code, area in PLACES)
    return Dataset(name="made", items=tuple(items), tables={"places": places, "covariates": covariates})


DATA = made_dataset()


def rows_of(dataset, yes_no=None, choose=None, status="ok", model="m", reading="strict", repeat=1):
    """Answers to all questions: `yes_no(option, country)` and `choose(item, country)` → set of option ids."""
    rows = []
    for item in dataset.items:
        for code, _ in PLACES:
            asked = [option for option in item.options if yes_no is not None and code in option.labels]
            rows += [(item.id, code, "yes_no", option.id, (), yes_no(option, code)) for option in asked]
            order = tuple(option.id for option in reversed(item.options))
            if choose is not None and any(option.labels.get(code) for option in item.options):
                chosen = choose(item, code)
                value = tuple(k for k, name in enumerate(order, start=1) if name in chosen)
                rows.append((item.id, code, "multiple_choice", None, order, value))
    frame = pd.DataFrame(rows, columns=["item_id", "country", "format", "option", "order", "value"], dtype=object)
    frame["coder"] = "lexicon." + frame["format"].map({"yes_no": "yes_no", "multiple_choice": "numbers"}) + ".strict@1"
    if status != "ok":
        frame["value"] = pd.Series([None] * len(frame), dtype=object)
    return frame.assign(
        model=model, reading=reading, status=status, repeat=repeat, language="es", wording="es", asked_by="text",
        factors=None, prompt_id="", note="",
    )[list(ANSWER_COLUMNS)]  # fmt: skip


def is_plus(option, code):
    return option.labels[code] == 1


def gold(item, code):
    return {option.id for option in item.options if option.labels.get(code)}


def perfect(**kwargs):
    return rows_of(DATA, is_plus, gold, **kwargs)


def find(estimates, measure, **group):
    [found] = [one for one in estimates if one.measure == measure and one.group == group]
    return found


def of(estimates, measure, format="yes_no", **group):
    return find(estimates, measure, model="m", format=format, reading="strict", **group)


def run(frame, dataset=DATA, settings=SETTINGS, seed=0):
    return estimate(frame, dataset, settings, seed)


def test_a_perfect_informant_has_one_everywhere():
    found = run(perfect())
    for place in ({}, {"country": "AA"}, {"country": "CC"}, {"area": "North"}):
        for measure, format in (
            ("f1", "yes_no"), ("youden_j", "yes_no"), ("mcc", "yes_no"), ("recall_unique", "yes_no"),
            ("adjusted_jaccard", "multiple_choice"), ("adjusted_jaccard_first_order", "multiple_choice"),
            ("recall_unique", "multiple_choice"),
        ):  # fmt: skip
            assert of(found, measure, format, **place).value == pytest.approx(1)
    assert of(found, "f1_pooled", area="North").value == 1
    assert of(found, "recall_unique_elsewhere").value == 0
    assert of(found, "f1").low == of(found, "f1").high == 1


def test_always_yes_gives_2p_over_1_plus_p_and_beats_its_own_baseline_by_nothing():
    found = run(rows_of(DATA, lambda option, code: True))
    p = 12 / 26  # 12 + of 26 labelled cells
    assert find(found, "share_plus", format="yes_no").value == pytest.approx(p)
    assert of(found, "f1").value == pytest.approx(2 * p / (1 + p))
    assert of(found, "delta_f1", baseline="always_yes").value == pytest.approx(0)
    assert of(found, "delta_f1", baseline="always_yes").high == pytest.approx(0)
    assert of(found, "delta_f1", baseline="yes_at_rate_p").value == pytest.approx(2 * p / (1 + p) - p)
    assert of(found, "youden_j").value == 0
    assert of(found, "yes_share").value == 1
    assert of(found, "mcc").value is None
    assert "only one of yes and no" in of(found, "mcc").method
    assert of(found, "recall_unique_elsewhere").value == 1


def test_values_by_hand():
    def said(option, code):  # says of every country what is + in AA
        return option.labels["AA"] == 1

    found = run(rows_of(DATA, said, lambda item, code: gold(item, "AA")))
    # BB: yes to one.1 one.2 two.1 three.1 three.2; + are one.2 one.3 two.2 three.1: 2 right, 3 wrong, 2 missed
    assert of(found, "f1", country="BB").value == pytest.approx(4 / 9)
    assert of(found, "youden_j", country="BB").value == pytest.approx(2 / 4 - 3 / 5)
    # CC: + are one.4 two.1 three.1; 2 right, 3 wrong, 1 missed; two.3 is unlabelled there and not asked
    assert of(found, "f1", country="CC").value == pytest.approx(4 / 8)
    assert of(found, "f1", country="CC").n_answers == 8
    assert of(found, "f1", area="North").value == pytest.approx((1 + 4 / 9) / 2)
    assert "unweighted mean of 2 of 2 countries" in of(found, "f1", area="North").method
    assert of(found, "f1_pooled", area="North").value == pytest.approx(2 * 7 / (2 * 7 + 3 + 2))
    assert of(found, "f1").value == pytest.approx(2 * 9 / (2 * 9 + 6 + 3))
    # unique: one.1, three.2 to AA; one.3, two.2 to BB; one.4 to CC
    assert of(found, "recall_unique", country="AA").value == 1
    assert of(found, "recall_unique", country="AA").n_scored == 2
    assert of(found, "recall_unique", country="BB").value == 0
    assert of(found, "recall_unique_elsewhere", country="AA").value == 1
    assert of(found, "recall_unique_elsewhere", country="AA").n_scored == 4
    assert of(found, "recall_unique").value == pytest.approx(2 / 5)
    # CC's questions: one {4}, chosen {1, 2}: J 0; two {1} of 3, chosen {1}: 1; three {1} of 2, chosen both: J = E = 1/2
    choice = of(found, "adjusted_jaccard", "multiple_choice", country="CC")
    assert choice.value == pytest.approx(1 / 3)
    assert choice.n_answers == choice.n_items == 3
    base = np.mean([expected_adjusted_jaccard(n, 1, min(3, n)) for n in (4, 3, 2)])
    assert find(found, "adjusted_jaccard", format="multiple_choice", country="CC", baseline="first_three").value == (
        pytest.approx(base)
    )
    delta = of(found, "delta_adjusted_jaccard", "multiple_choice", country="CC", baseline="first_three")
    assert delta.value == pytest.approx(1 / 3 - base)
    assert of(found, "mean_answer_size", "multiple_choice").value == pytest.approx((2 + 1 + 2) / 3)
    assert find(found, "mean_gold_size", format="multiple_choice", country="AA").value == pytest.approx(5 / 3)
    assert of(found, "recall_unique", "multiple_choice", country="BB").value == 0


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_silence_is_missing_and_never_a_value(status):
    found = [one for one in run(perfect(status=status.value)) if "model" in one.group]
    assert len(found) > 50
    for one in found:
        assert (one.value, one.low, one.high, one.n_scored) == (None, None, None, 0)
        assert one.missing == {status: one.n_answers}
        assert "nothing was scored" in one.method
    assert of(found, "f1").n_answers == 26
    assert of(found, "f1").n_items == 3
    assert of(found, "adjusted_jaccard", "multiple_choice").n_answers == 9


def test_what_is_missing_is_counted_by_status_and_left_out_of_the_value():
    frame = perfect()
    frame.loc[[0, 1, 2], "status"] = ["refused", "refused", "failed"]
    frame.loc[[0, 1, 2], "value"] = None
    found = of(run(frame), "f1")
    assert found.value == 1
    assert (found.n_answers, found.n_scored) == (26, 23)
    assert found.missing == {Status.REFUSED: 2, Status.FAILED: 1}


def test_a_baseline_is_taken_over_the_same_answers_as_the_model():
    frame = rows_of(DATA, lambda option, code: True)
    frame.loc[frame["country"] != "AA", ["status", "value"]] = ["refused", None]
    found = run(frame)
    assert of(found, "delta_f1", baseline="always_yes").value == pytest.approx(0)
    assert find(found, "f1", format="yes_no", baseline="always_yes").n_scored == 26


def test_an_empty_choice_is_counted_as_zero():
    found = of(run(rows_of(DATA, choose=lambda item, code: set())), "adjusted_jaccard", "multiple_choice")
    assert (found.value, found.n_scored) == (0, 9)


def test_a_number_named_twice_counts_once():
    frame = rows_of(DATA, choose=gold)
    frame["value"] = pd.Series([value + value for value in frame["value"]], dtype=object)
    assert of(run(frame), "adjusted_jaccard", "multiple_choice").value == pytest.approx(1)


def test_duplicate_variants_are_options_of_their_own():
    data = made_dataset({"one": ["++-", "++-", "--+"]})
    found = run(rows_of(data, choose=lambda item, code: {sorted(gold(item, code))[0]}), data)
    assert find(found, "mean_gold_size", format="multiple_choice", country="AA").value == 2


def test_graded_answers_are_yes_above_a_half():
    frame = rows_of(DATA, lambda option, code: 0.51 if is_plus(option, code) else 0.5, reading="logprob")
    assert find(run(frame), "f1", model="m", format="yes_no", reading="logprob").value == 1


def test_repeats_are_pooled():
    frame = pd.concat([perfect(), rows_of(DATA, lambda option, code: not is_plus(option, code), repeat=2)])
    found = of(run(frame), "yes_share")
    assert (found.value, found.n_answers, found.n_items) == (0.5, 52, 3)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    noisy = rows_of(
        DATA, lambda option, code: bool(rng.random() < 0.5), lambda item, code: {item.options[rng.integers(2)].id}
    )
    frame = pd.concat([noisy, perfect(model="other"), perfect(reading="lenient")], ignore_index=True)
    assert run(frame) == run(frame.sample(frac=1, random_state=1))


def test_one_seed_gives_one_set_of_numbers():
    rng = np.random.default_rng(1)
    frame = rows_of(DATA, lambda option, code: bool(rng.random() < 0.5))
    assert run(frame, seed=0) == run(frame, seed=0)
    assert [one.low for one in run(frame, seed=0)] != [one.low for one in run(frame, seed=1)]
    assert [one.value for one in run(frame, seed=0)] == [one.value for one in run(frame, seed=1)]


def test_no_answers_give_no_estimates():
    assert run(perfect().iloc[:0]) == []


def test_the_method_names_interval_seed_and_coder():
    assert of(run(perfect(), seed=7), "youden_j").method == (
        "bootstrap over items, 300 draws, seed 7, 95 %; lexicon.yes_no.strict@1"
    )


def test_a_single_item_has_a_value_and_no_interval():
    data = made_dataset({"one": LABELS["one"]})
    found = of(run(rows_of(data, is_plus), data), "f1")
    assert (found.value, found.low) == (1, None)
    assert "no interval: a single item" in found.method


def random_informants(n_models, n_items=30, n_options=4):
    """Answers by the toss of a coin, one model per seed, to a data set of three countries."""
    rng = np.random.default_rng(5)
    labels = {
        f"i{k}": ["".join(rng.choice(["+", "-"], 3, p=[0.3, 0.7])) for _ in range(n_options)] for k in range(n_items)
    }
    data = made_dataset(labels)
    once = rows_of(data, lambda option, code: True)
    frame = pd.concat([once] * n_models, ignore_index=True)
    frame["model"] = np.repeat([f"random-{k:03}" for k in range(n_models)], len(once))
    frame["value"] = pd.Series((rng.random(len(frame)) < 0.5).tolist(), dtype=object)
    return frame, data


def test_the_interval_of_random_answers_contains_no_skill_in_about_95_of_100():
    frame, data = random_informants(100)
    found = [
        one
        for one in run(frame, data)
        if one.measure == "youden_j" and set(one.group) <= {"model", "format", "reading"}
    ]
    assert len(found) == 100
    assert 89 <= sum(one.low <= 0 <= one.high for one in found) <= 99


def test_a_country_asked_about_too_few_items_has_no_interval():
    data = made_dataset({f"i{k}": ["+-+", "-+-"] for k in range(12)})
    frame = rows_of(data, is_plus)
    frame = frame[(frame["country"] != "CC") | frame["item_id"].isin(["i0", "i1"])]
    found = of(run(frame, data), "f1", country="CC")
    assert (found.value, found.low, found.n_items) == (1, None, 2)
    assert "no interval: undefined in over 5 % of 300 bootstrap draws" in found.method


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("item_id", "nine", "item 'nine', which isn't in the data set"),
        ("country", "ZZ", "country 'ZZ', which isn't"),
        ("country", None, "names no country"),
        ("option", "one.9", "option 'one.9', which isn't"),
        ("option", "two.3", "neither [+] nor -"),
        ("value", "yes", "true, false or a share, got 'yes'"),
        ("format", "open", "format 'open' can't be scored"),
    ],
)
def test_answers_that_do_not_fit_the_data_are_named(column, value, message):
    frame = rows_of(DATA, is_plus)
    at = frame.index[frame["country"] == "CC"][0]
    frame.at[at, column] = value
    with pytest.raises(DataError, match=message):
        run(frame)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("value", (5,), "chooses number 5 of a list of 4"),
        ("value", (0,), "chooses number 0 of a list of 4"),
        ("value", True, "a list of positions"),
        ("value", ("b",), "a list of positions"),
        ("order", ("one.1", "one.7"), "option 'one.7', which isn't"),
        ("order", ("one.3", "one.4", "two.2"), "item 'one' in 'AA', where no variant is [+]"),
    ],
)
def test_choices_that_do_not_fit_the_data_are_named(column, value, message):
    frame = rows_of(DATA, choose=lambda item, code: set())
    frame.at[0, column] = value
    with pytest.raises(DataError, match=message):
        run(frame)


def test_places_without_areas_have_no_area_rows():
    data = made_dataset()
    data = Dataset(name="bare", items=data.items, tables={"places": ({"code": "AA", "name": "A", "area": None},)})
    found = run(perfect(), data)
    assert {one.group["country"] for one in found if "country" in one.group} == {"AA", "BB", "CC"}
    assert not any("area" in one.group or "areas" in one.measure for one in found)
