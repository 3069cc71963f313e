"""Two reviews of every triple, one after the other. Countries and stereotypes are made up."""

import pytest

from isogloss.annotation import read_sheet, write_sheets
from isogloss.construction import WaitingError, Workshop
from isogloss.errors import DataError, SettingError
from isogloss.records import Rating
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.review import REVIEW, review

CONFIG = BuildConfig.model_validate(
    {
        "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"], "categories": ["region"],
        "countries": [{"code": "XA", "name": "Aurelia", "language": "en"}],
        "retrieval": {"models": ["scripted/x"]}, "review": {"coordinator": "c1", "owner": "o1"},
    }
)  # fmt: skip
INSTANCES = [
    {
        "id": f"i{n}", "stereotype_id": "s1", "country": "XA", "language": "en", "category": "region",
        "group": "people of the coast", "number": n, "context": f"People of the coast met at {n}.",
        "stereotype": "They came late.", "anti_stereotype": "They came early.", "writer": "openai/secret-name",
        "origin": "model",
    }
    for n in range(1, 5)
]  # fmt: skip
VALIDATED = [{"id": "s1", "claim": "are always late", "kept": True}]


def workshop(tmp_path, ratings=(), config=CONFIG, instances=INSTANCES, **more):
    return Workshop(
        config=config,
        tables={"instances": instances, "validated": VALIDATED},
        folder=tmp_path,
        ask=lambda *_, **__: pytest.fail("a step for people asks no model"),
        ratings=lambda task: [rating for rating in ratings if rating.task == task],
        **more,
    )


def decide(tmp_path, rater, said, ratings=(), **more):
    """What a reviewer says of the present sheet: number of a triple → (decision, reason, new texts)."""
    rows = REVIEW.sheet(workshop(tmp_path, ratings, **more)).rows[rater]
    found = []
    for row in rows:
        number = row["item_id"].partition("~")[0].removeprefix("i")
        if int(number) in said:
            decision, reason, new = said[int(number)]
            values = {"decision": decision, "reason": reason, "new_context": None, "new_stereotype": None,
                      "new_anti_stereotype": None, **new}  # fmt: skip
            found.append(Rating(task="review", item_id=row["item_id"], rater=rater, values=values))
    return [*ratings, *found]


ACCEPT = ("accept", None, {})
FIRST = {1: ACCEPT, 2: ("edit", "shorter", {"new_stereotype": "They were late."}), 3: ("reject", "odd", {}), 4: ACCEPT}


def test_what_both_let_through_is_accepted_in_its_last_words(tmp_path):
    ratings = decide(tmp_path, "c1", FIRST)
    second = {
        1: ACCEPT,
        2: ("edit", "place", {"new_context": "The people of the coast met."}),
        4: ("reject", "twice", {}),
    }
    tables = review(workshop(tmp_path, decide(tmp_path, "o1", second, ratings)))
    rows = {row["id"]: row for row in tables["reviewed"]}
    assert {key: (row["accepted"], row["reviewed"]) for key, row in rows.items()} == {
        "i1": (True, True), "i2": (True, True), "i3": (False, True), "i4": (False, True),
    }  # fmt: skip
    assert rows["i2"]["context"] == "The people of the coast met."
    assert rows["i2"]["stereotype"] == "They were late."
    assert rows["i2"]["anti_stereotype"] == "They came early."
    assert rows["i2"]["decisions"] == [
        {"stage": "coordinator", "rater": "c1", "decision": "edit", "reason": "shorter"},
        {"stage": "owner", "rater": "o1", "decision": "edit", "reason": "place"},
    ]
    assert [len(rows[f"i{n}"]["decisions"]) for n in range(1, 5)] == [2, 2, 1, 2]
    assert list(rows["i1"]) == [*INSTANCES[0], "decisions", "accepted", "reviewed"]


def test_the_owner_is_asked_when_the_coordinator_is_through_and_about_the_rest(tmp_path):
    assert list(REVIEW.sheet(workshop(tmp_path)).rows) == ["c1"]
    assert len(REVIEW.sheet(workshop(tmp_path)).rows["c1"]) == 4
    some = decide(tmp_path, "c1", {1: ACCEPT, 2: ACCEPT})
    assert list(REVIEW.sheet(workshop(tmp_path, some)).rows) == ["c1"]
    rows = REVIEW.sheet(workshop(tmp_path, decide(tmp_path, "c1", FIRST))).rows["o1"]
    assert [row["stereotype"] for row in rows] == ["They came late.", "They were late.", "They came late."]


def test_who_wrote_a_triple_is_shown_to_nobody(tmp_path):
    sheet = REVIEW.sheet(workshop(tmp_path))
    [path] = write_sheets(sheet.form, sheet.rows, tmp_path, seed=0, formats=["csv"])
    text = path.read_text("utf-8-sig")
    assert "secret-name" not in text
    assert "are always late" in text
    assert "Aurelia" in text


def test_the_step_waits_for_each_review_in_turn(tmp_path):
    with pytest.raises(WaitingError, match="'review' waits for people: c1 has 4 of 4 rows to do;"):
        review(workshop(tmp_path))
    ratings = decide(tmp_path, "c1", FIRST)
    with pytest.raises(WaitingError, match="'review' waits for people: o1 has 3 of 3 rows to do;"):
        review(workshop(tmp_path, ratings))
    with pytest.raises(WaitingError, match="o1 has 2 of 3 rows to do;"):
        review(workshop(tmp_path, decide(tmp_path, "o1", {1: ACCEPT}, ratings)))


def test_a_decision_holds_only_for_the_words_it_was_made_about(tmp_path):
    ratings = decide(tmp_path, "o1", dict.fromkeys((1, 2, 4), ACCEPT), decide(tmp_path, "c1", FIRST))
    assert review(workshop(tmp_path, ratings))["reviewed"]
    changed = {2: ("edit", "shorter still", {"new_stereotype": "Late they were."})}
    # As the ledger has it, the coordinator's later decision takes the place of the former.
    later = {(rating.rater, rating.item_id): rating for rating in decide(tmp_path, "c1", changed, ratings)}
    with pytest.raises(
        WaitingError, match="o1 has 1 of 3 rows to do; decisions of the owner on texts that have changed since: 1"
    ):
        review(workshop(tmp_path, list(later.values())))


def test_a_triple_written_anew_is_reviewed_anew(tmp_path):
    ratings = decide(tmp_path, "o1", dict.fromkeys((1, 2, 4), ACCEPT), decide(tmp_path, "c1", FIRST))
    anew = [INSTANCES[0] | {"context": "Another one."}, *INSTANCES[1:]]
    with pytest.raises(WaitingError, match="c1 has 1 of 4 rows to do; decisions of the coordinator on texts"):
        review(workshop(tmp_path, ratings, instances=anew))


def test_a_correction_that_breaks_a_rule_is_said_and_stays(tmp_path):
    first = dict.fromkeys(range(1, 5), ACCEPT) | {1: ("edit", "shorter", {"new_context": "The bakers met."})}
    ratings = decide(tmp_path, "o1", dict.fromkeys(range(1, 5), ACCEPT), decide(tmp_path, "c1", first))
    said = []
    rows = review(workshop(tmp_path, ratings, warn=said.append))["reviewed"]
    assert rows[0]["accepted"]
    assert said == [
        "triple i1 as corrected: group not named (the context doesn't name 'people of the coast'); it is kept"
    ]


def test_without_people_all_are_accepted_and_none_is_reviewed(tmp_path):
    config = CONFIG.model_copy(update={"review": CONFIG.review.model_copy(update={"coordinator": "", "owner": ""})})
    rows = review(workshop(tmp_path, config=config, skip_people=True))["reviewed"]
    assert [(row["accepted"], row["reviewed"], row["decisions"]) for row in rows] == [(True, False, [])] * 4


def test_two_reviewers_are_needed(tmp_path):
    for pair, message in [
        ({"coordinator": ""}, "review.coordinator isn't set; name a person's code, or build with --skip-people"),
        ({"owner": ""}, "review.owner isn't set"),
        ({"owner": "c1"}, "are one person"),
    ]:
        config = CONFIG.model_copy(update={"review": CONFIG.review.model_copy(update=pair)})
        with pytest.raises(SettingError, match=message):
            review(workshop(tmp_path, config=config))


def test_nothing_to_review_says_what_helps_those_who_write(tmp_path):
    mend = f"correct what people wrote ('isogloss annotate export {tmp_path} --task write')"
    other = "take another model as instances.writer"
    by_model = CONFIG.model_copy(update={"instances": CONFIG.instances.model_copy(update={"writer": "lab/w"})})
    by_both = CONFIG.instances.model_copy(update={"writer": "lab/w", "writers": {"XA": ("w1",)}, "both": ("XA",)})
    for config, more, advice in [
        (CONFIG, {}, mend), (by_model, {}, other),
        (CONFIG.model_copy(update={"instances": by_both}), {}, f"{mend}, or {other}"),
        (CONFIG.model_copy(update={"instances": by_both}), {"skip_people": True}, other),
    ]:  # fmt: skip
        with pytest.raises(DataError) as caught:
            review(workshop(tmp_path, instances=[], config=config, **more))
        assert str(caught.value) == (
            "there is no triple to review: not one keeps the rules. tables/rejects.jsonl and the report say which rule "
            f"each breaks; {advice}"
        )


def test_a_sheet_of_a_review_comes_back_with_its_faults_named(tmp_path):
    import openpyxl

    sheet = REVIEW.sheet(workshop(tmp_path))
    [path] = write_sheets(sheet.form, sheet.rows, tmp_path, seed=0, formats=["xlsx"])
    book = openpyxl.load_workbook(path)
    page = book["review"]
    assert [cell.value for cell in page[1]] == [
        "Country", "Topic", "Group", "What is said of it", "Context", "Stereotype", "Opposite", "Decision", "Reason",
        "New context", "New stereotype", "New opposite", "item_id", "task", "rater",
    ]  # fmt: skip
    for row, cells in enumerate([("correct", "typo", "New."), ("edit", "typo", None), ("reject", None, None)], 2):
        for column, value in zip((8, 9, 10), cells, strict=True):
            page.cell(row, column).value = value
    book.save(path)
    reading = read_sheet(path, sheet.form, sheet.rows)
    assert [(rating.values["decision"], rating.values["new_context"]) for rating in reading.ratings] == [
        ("edit", "New.")
    ]
    assert [(fault.row, fault.message) for fault in reading.faults] == [
        (3, "'correct' needs at least one of 'New context', 'New stereotype', 'New opposite'"),
        (4, "column 'Reason' is empty, but 'reject' needs it"),
    ]
    assert reading.unfilled == [5]
