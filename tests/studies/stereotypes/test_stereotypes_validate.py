"""People say how common stereotypes are, on sheets; the median decides. Countries and stereotypes are made up."""

import doctest
import importlib
from dataclasses import replace

import pytest

from isogloss.annotation import read_sheet, write_sheets
from isogloss.construction import WaitingError, Workshop
from isogloss.errors import DataError, SettingError, UnknownNameError
from isogloss.records import Rating
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.people import KEYS, words
from isogloss.studies.stereotypes.build.people_writing import writing_sheet, written
from isogloss.studies.stereotypes.build.validate import VALIDATE, validate

FIVE = ("a1", "a2", "a3", "a4", "a5")
CONFIG = BuildConfig.model_validate(
    {
        "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"],
        "categories": [{"name": "region", "words": "regiones"}, "food"],
        "countries": [
            {"code": "XA", "name": "Aurelia", "language": "es"}, {"code": "XB", "name": "Borealia", "language": "pt"},
        ],
        "retrieval": {"models": ["scripted/x"]},
        "validation": {"raters": {"XA": FIVE, "XB": ("b1", "b2", "b3", "b4")}, "needed": 4},
        "instances": {"writer": "people", "writers": {"XA": ["w1", "w2"], "XB": ["w3"]}, "number": 2},
        "review": {"coordinator": "c1", "owner": "o1"},
    }
)  # fmt: skip


def stereotype(item_id, country="XA", category="region", claim="llegan siempre tarde"):
    return {
        "id": item_id, "country": country, "language": "es" if country == "XA" else "pt", "category": category,
        "group": "los de la costa", "claim": claim, "sources": [f"{item_id}-1"], "models": ["scripted/x"], "views": [],
    }  # fmt: skip


def claims(*given):
    """Retrieved rows: (stereotype, number, model); "" is the file of ready claims."""
    return [{"id": f"{item_id}-{number}", "model": model} for item_id, number, model in given]


ROWS = [stereotype("s1"), stereotype("s2"), stereotype("s3", category="food"), stereotype("t1", "XB")]


def workshop(tmp_path, ratings=(), config=CONFIG, rows=ROWS, retrieved=None, **more):
    said = []
    retrieved = claims(*((row["id"], 1, "scripted/x") for row in rows)) if retrieved is None else retrieved
    made = Workshop(
        config=config,
        tables={"stereotypes": rows, "retrieved": retrieved},
        folder=tmp_path,
        ask=lambda *_, **__: pytest.fail("a step for people asks no model"),
        ratings=lambda task: [rating for rating in ratings if rating.task == task],
        tell=said.append,
        warn=said.append,
        **more,
    )
    return made, said


def rated(values):
    """item → values by its country's raters in order; None for who can't tell, ... for who hasn't answered."""
    people = {"s": FIVE, "t": ("b1", "b2", "b3", "b4")}
    return [
        Rating(task="validate", item_id=item, rater=rater, values={"value": value})
        for item, given in values.items()
        for rater, value in zip(people[item[0]], given, strict=False)
        if value is not ...
    ]


ALL = {"s1": (5, 5, 4, 5, 3), "s2": (1, 2, 2, 1, 4), "s3": (2, 3, 3, 3, 2), "t1": (2, 2, 3, 3)}


def test_the_median_decides_and_nothing_is_lost(tmp_path):
    tables = validate(workshop(tmp_path, rated(ALL))[0])
    keys = ("values", "median", "n_ratings", "kept", "validated")
    found = {row["id"]: tuple(row[key] for key in keys) for row in tables["validated"]}
    assert found == {
        "s1": ([5, 5, 4, 5, 3], 5.0, 5, True, True),
        "s2": ([1, 2, 2, 1, 4], 2.0, 5, False, True),
        "s3": ([2, 3, 3, 3, 2], 3.0, 5, True, True),
        "t1": ([2, 2, 3, 3], 2.5, 4, True, True),
    }
    assert set(tables) == set(VALIDATE.writes)
    assert set(stereotype("s1")) < set(tables["validated"][0])


@pytest.mark.parametrize(("keep", "fate"), [(True, "kept"), (False, "dropped")])
def test_a_median_of_two_and_a_half_follows_the_rule_and_the_rule_is_printed(tmp_path, keep, fate):
    rule = CONFIG.validation.model_copy(update={"keep_undecided": keep})
    made, said = workshop(tmp_path, rated(ALL), CONFIG.model_copy(update={"validation": rule}))
    tables = validate(made)
    assert tables["validated"][3]["kept"] is keep
    setting = str(keep).lower()
    assert f"XB: 1 with a median of 2.5 {fate} (validation.keep_undecided = {setting})" in said
    assert "XA: 2 of 3 stereotypes kept, those with a median over 2" in said


def test_rates_have_wilsons_interval_by_category_and_country(tmp_path):
    rates = validate(workshop(tmp_path, rated(ALL))[0])["validation_rates"]
    found = {(row["country"], row["category"]): (row["n"], row["n_kept"], row["rate"]) for row in rates}
    assert found == {
        ("XA", "region"): (2, 1, 0.5), ("XA", "food"): (1, 1, 1.0), ("XA", ""): (3, 2, pytest.approx(2 / 3)),
        ("XB", "region"): (1, 1, 1.0), ("XB", ""): (1, 1, 1.0),
    }  # fmt: skip
    assert (rates[0]["low"], rates[0]["high"]) == pytest.approx((0.0945, 0.9055), abs=1e-4)


# --- by model ---------------------------------------------------------------------------------------------------------


def several(config=CONFIG):
    """The configuration with two models and a file; s1 is of all three, s2 of one model, s3 of the file, t1 of none."""
    retrieval = config.retrieval.model_copy(update={"models": ("lab/a", "lab/b"), "claims": "claims.csv"})
    retrieved = claims(("s1", 1, "lab/b"), ("s1", 2, "lab/a"), ("s1", 3, ""), ("s2", 1, "lab/a"), ("s3", 1, ""),
                       ("t1", 1, "lab/b"), ("t1", 2, "lab/b"))  # fmt: skip
    sources = {"s1": ["s1-1", "s1-2", "s1-3"], "t1": ["t1-1", "t1-2"]}
    rows = [{**row, "sources": sources.get(row["id"], row["sources"])} for row in ROWS]
    return {"config": config.model_copy(update={"retrieval": retrieval}), "rows": rows, "retrieved": retrieved}


def test_each_model_has_its_rate_and_a_file_counts_as_one(tmp_path):
    tables = validate(workshop(tmp_path, rated(ALL), **several())[0])
    assert [row["brought_by"] for row in tables["validated"]] == [
        ["lab/a", "lab/b", "file"], ["lab/a"], ["file"], ["lab/b"],
    ]  # fmt: skip
    keys = ("country", "model", "n", "n_alone", "n_rated", "n_kept", "rate")
    assert [tuple(row[key] for key in keys) for row in tables["model_rates"]] == [
        ("XA", "lab/a", 2, 1, 2, 1, 0.5), ("XA", "lab/b", 1, 0, 1, 1, 1.0), ("XA", "file", 2, 1, 2, 2, 1.0),
        ("XB", "lab/a", 0, 0, 0, 0, None), ("XB", "lab/b", 1, 1, 1, 1, 1.0), ("XB", "file", 0, 0, 0, 0, None),
    ]  # fmt: skip
    first, *_, last = tables["model_rates"]
    assert (first["low"], first["high"]) == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert (last["low"], last["high"]) == (None, None)


def test_what_two_models_both_brought_is_a_share_of_either(tmp_path):
    overlap = validate(workshop(tmp_path, rated(ALL), **several())[0])["model_overlap"]
    keys = ("country", "a", "b", "n_a", "n_b", "n_both", "share_of_a", "share_of_b")
    assert [tuple(row[key] for key in keys) for row in overlap] == [
        ("XA", "lab/a", "lab/b", 2, 1, 1, 0.5, 1.0), ("XA", "lab/a", "file", 2, 2, 1, 0.5, 0.5),
        ("XA", "lab/b", "file", 1, 2, 1, 1.0, 0.5), ("XB", "lab/a", "lab/b", 0, 1, 0, None, 0.0),
        ("XB", "lab/a", "file", 0, 0, 0, None, None), ("XB", "lab/b", "file", 1, 0, 0, 0.0, None),
    ]  # fmt: skip


def test_without_people_models_have_no_rate_but_an_overlap(tmp_path):
    tables = validate(workshop(tmp_path, skip_people=True, **several())[0])
    assert {(row["n_rated"], row["rate"], row["low"]) for row in tables["model_rates"]} == {(0, None, None)}
    assert [row["n"] for row in tables["model_rates"]] == [2, 1, 2, 0, 1, 0]
    assert tables["model_overlap"][0]["n_both"] == 1


# --- agreement --------------------------------------------------------------------------------------------------------


def test_agreement_counts_keep_votes_and_pairs(tmp_path):
    first, second = validate(workshop(tmp_path, rated(ALL))[0])["agreement"]
    # Pairs alike: s1 three fives, 3 of 10; s2 two ones and two twos, 2 of 10; s3 two twos and three threes, 4 of 10.
    assert first["percent"] == pytest.approx(100 * 9 / 30)
    assert first["keep_votes"] == {"5/5": 1, "3/5": 1, "1/5": 1}
    assert (first["n_items"], first["n_raters"], first["reason"]) == (3, 5, "")
    assert 0 < first["alpha"] < 1
    assert second["keep_votes"] == {"2/4": 1}


def test_ratings_without_variation_have_no_alpha_but_a_reason_and_full_agreement(tmp_path):
    ratings = rated({"s1": (4,) * 5, "s2": (4,) * 5, "s3": (4,) * 5, "t1": (3, 3, 3, 1)})
    first, second = validate(workshop(tmp_path, ratings)[0])["agreement"]
    assert (first["alpha"], first["percent"]) == (None, 100.0)
    assert first["reason"] == "undefined: no variation, all ratings are the same"
    assert second["percent"] == 50.0


def test_one_dissent_gives_alpha_zero_beside_high_agreement(tmp_path):
    rows = [stereotype(f"s{n}") for n in range(5)]
    ratings = rated({f"s{n}": (3,) * 5 for n in range(4)} | {"s4": (3, 3, 1, 3, 3)})
    [row] = validate(workshop(tmp_path, ratings, rows=rows)[0])["agreement"]
    assert (row["alpha"], row["percent"], row["reason"]) == (0.0, 92.0, "")


def test_one_rater_has_no_agreement_and_the_reason_is_told(tmp_path):
    rule = CONFIG.validation.model_copy(update={"needed": 1, "raters": {"XA": ("a1",), "XB": ("b1",)}})
    config = CONFIG.model_copy(update={"validation": rule})
    tables = validate(workshop(tmp_path, rated({"s1": (5,), "s2": (1,), "s3": (4,), "t1": (2,)}), config)[0])
    [first, second] = tables["agreement"]
    assert (first["alpha"], first["percent"], first["reason"]) == (None, None, "undefined: it needs two raters")
    assert (first["n_items"], first["n_raters"]) == (3, 1)
    assert second["keep_votes"] == {"0/1": 1}
    assert [row["kept"] for row in tables["validated"]] == [True, False, True, False]


def test_who_cannot_tell_has_answered_but_does_not_count(tmp_path):
    made, said = workshop(tmp_path, rated(ALL | {"s1": (None, 5, None, 2, 2), "s2": (None,) * 5}))
    tables = validate(made)
    first, second = tables["validated"][:2]
    assert (first["values"], first["median"], first["n_ratings"]) == ([5, 2, 2], 2.0, 3)
    assert (second["median"], second["kept"], second["validated"]) == (None, False, False)
    assert tables["validation_rates"][0]["n"] == 1
    assert any("XA: dropped because nobody could tell how common they are: 1" in line for line in said)
    assert any("XA: judged by fewer than 4 ratings, since the other raters couldn't tell: 1" in line for line in said)


def test_the_step_waits_and_says_for_whom_and_what_to_run(tmp_path):
    ratings = rated(ALL | {"s1": (5, 5, 4, ..., ...), "s3": (1, 2, 3, ..., 2), "t1": (..., 2, 3, 3)})
    with pytest.raises(WaitingError) as caught:
        validate(workshop(tmp_path, ratings)[0])
    assert caught.value.exit_code == 3
    assert str(caught.value) == (
        "'validate' waits for people: a4 has 2 of 3 rows to do, a5 has 1 of 3 rows to do, b1 has 1 of 1 rows to do; "
        "fewer than 4 ratings for 1 of 3 stereotypes of XA; fewer than 4 ratings for 1 of 1 stereotypes of XB; "
        f"'isogloss annotate export {tmp_path}' writes the sheets, 'isogloss annotate import {tmp_path} SHEET' takes "
        "one back, then build again (--skip-people goes on without)"
    )


def test_while_numbers_are_lacking_and_somebody_is_out_it_waits_and_a_question_mark_is_no_number(tmp_path):
    with pytest.raises(WaitingError, match=r"a5 has 1 of 3 rows to do; fewer than 4 ratings for 1 of 3 stereotypes of"):
        validate(workshop(tmp_path, rated(ALL | {"s1": (5, 5, 4, None, ...)}))[0])
    made, said = workshop(tmp_path, rated(ALL | {"s1": (5, 5, 4, None, None), "s3": (2, 3, 3, ..., 2)}))
    assert [row["n_ratings"] for row in validate(made)["validated"]] == [3, 5, 4, 4]
    assert "XA: judged by fewer than 4 ratings, since the other raters couldn't tell: 1" in said
    made, said = workshop(tmp_path, rated(ALL | {"s1": (5, 5, 4, None, 4)}))
    assert validate(made)["validated"][0]["median"] == 4.5
    assert not any("couldn't tell" in line for line in said)


def test_it_goes_on_when_enough_have_answered(tmp_path):
    tables = validate(workshop(tmp_path, rated(ALL | {"s1": (5, 5, 4, ..., 1)}))[0])
    assert tables["validated"][0]["values"] == [5, 5, 4, 1]
    assert tables["validated"][0]["median"] == 4.5


def test_ratings_of_others_and_of_other_things_do_not_count(tmp_path):
    alien = [Rating(task="validate", item_id=item, rater=rater, values={"value": 1})
             for item, rater in (("s1", "b1"), ("s1", "z9"), ("gone", "a1"))]  # fmt: skip
    assert validate(workshop(tmp_path, rated(ALL) + alien)[0]) == validate(workshop(tmp_path, rated(ALL))[0])


def test_what_raters_tell_of_themselves_is_summed_up_and_rare_answers_enter_no_table(tmp_path):
    (tmp_path / "raters.csv").write_text(
        "rater,age,from\na1,20 to 29,Norte\na2,20 to 29,Norte\na3,,Norte\na4,20 to 29,Sur\nb1,60 to 69,Leste\n"
    )
    made, said = workshop(tmp_path, rated(ALL))
    tables = validate(made)
    assert said[-4:] == [
        "XA, age: 20 to 29 (3), not told (2)", "XA, from: Norte (3), Sur (1), not told (1)",
        "XB, age: not told (3), 60 to 69 (1)", "XB, from: not told (3), Leste (1)",
    ]  # fmt: skip
    assert [row["told"] for row in tables["agreement"]] == [
        ["age: 20 to 29 (3), another answer or none (2)", "from: Norte (3), another answer or none (2)"], [],
    ]  # fmt: skip
    assert all(word not in str(tables) for word in ("Sur", "60 to 69", "Leste"))


def test_two_raters_who_say_the_same_are_not_named(tmp_path):
    (tmp_path / "raters.csv").write_text("rater,age\na1,20 to 29\na2,20 to 29\n")
    assert validate(workshop(tmp_path, rated(ALL))[0])["agreement"][0]["told"] == []


def test_without_a_table_of_raters_nothing_is_told(tmp_path):
    assert [row["told"] for row in validate(workshop(tmp_path, rated(ALL))[0])["agreement"]] == [[], []]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,age\na1,30\n", "has no column 'rater'"),
        ("rater,age\na9,30\n", "row 2: no rater named 'a9'"),
        ("rater;age\na1;30\na1;40\n", "row 3: rater 'a1' comes twice"),
        ("rater,mail\na1,ana@example.org\n", "row 2 holds an address; personal data don't belong here"),
    ],
)
def test_a_table_of_raters_is_checked(tmp_path, text, message):
    (tmp_path / "raters.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        validate(workshop(tmp_path, rated(ALL))[0])


def test_without_people_all_are_kept_and_none_is_validated(tmp_path):
    config = CONFIG.model_copy(update={"validation": CONFIG.validation.model_copy(update={"raters": {}})})
    tables = validate(workshop(tmp_path, config=config, skip_people=True)[0])
    assert {(row["kept"], row["validated"], row["n_ratings"]) for row in tables["validated"]} == {(True, False, 0)}
    assert tables["validation_rates"] == tables["agreement"] == []


def test_too_few_raters_are_refused_before_anything_is_asked(tmp_path):
    rule = CONFIG.validation.model_copy(update={"raters": {"XA": FIVE}})
    with pytest.raises(SettingError, match=r"validation\.raters\.XB has 0 raters, fewer than the 4 needed"):
        VALIDATE.sheet(workshop(tmp_path, config=CONFIG.model_copy(update={"validation": rule}))[0])


def test_raters_are_asked_about_their_country_in_its_language(tmp_path):
    sheet = VALIDATE.sheet(workshop(tmp_path)[0])
    assert {rater: [row["item_id"] for row in rows] for rater, rows in sheet.rows.items()} == {
        **{rater: ["s1", "s2", "s3"] for rater in FIVE}, **{f"b{n}": ["t1"] for n in range(1, 5)},
    }  # fmt: skip
    assert sheet.form.of("a1").title == "¿Cuán extendidos están estos estereotipos en Aurelia?"
    assert sheet.form.of("b4").title == "Quão comuns são estes estereótipos em Borealia?"
    assert sheet.form.of("b4").language == "pt"
    assert sheet.rows["a1"][0]["category"] == "regiones"
    assert all("Aviso sobre" in sheet.form.of(rater).instructions[0] for rater in sheet.rows)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_sheets_go_out_and_come_back_as_ratings_of_the_step(tmp_path, kind):
    import openpyxl

    made, _ = workshop(tmp_path)
    sheet = VALIDATE.sheet(made)
    paths = write_sheets(sheet.form, sheet.rows, tmp_path / "sheets", seed=1, formats=[kind])
    assert len(paths) == 9
    ratings = []
    for path in paths:
        if kind == "xlsx":
            book = openpyxl.load_workbook(path)
            for row in range(2, book["validate"].max_row + 1):
                book["validate"].cell(row, 4).value = "4"
            book.save(path)
        else:
            path.write_text(path.read_text("utf-8-sig").replace(';"";', ';"4";'), "utf-8-sig")
        reading = read_sheet(path, sheet.form, sheet.rows)
        assert (reading.faults, reading.unfilled) == ([], [])
        ratings += reading.ratings
    tables = validate(workshop(tmp_path, ratings)[0])
    assert [row["median"] for row in tables["validated"]] == [4.0] * 4


@pytest.mark.parametrize("language", ["es", "pt", "en"])
@pytest.mark.parametrize("task", KEYS)
def test_the_wordings_that_ship_are_whole(language, task):
    held = words(language, task)
    assert held.language == language
    assert set(held.texts) == set(KEYS[task])
    titles = [text for key, text in held.texts.items() if isinstance(text, str) and key != "title"]
    assert len(set(titles)) == len(titles)


def test_a_wording_of_ones_own_is_checked_line_by_line(tmp_path):
    with pytest.raises(UnknownNameError, match="no wording for people named 'qu'"):
        words("qu", "validate")
    path = tmp_path / "mine.toml"
    for text, message in [
        ("name = 1", "has no text 'name'"),
        ('name = "x"\nlanguage = "qu"', r"has no part \[validate\]"),
        (
            'name = "x"\nlanguage = "qu"\n[validate]\ntitle = "T {place}"',
            "has the field {place}; there are",
        ),
        ('name = "x"\nlanguage = "qu"\n[validate]\ntitle = "T"\ninstructions = "one"', "must be a list of texts"),
        ("x", "is no TOML file"),
    ]:
        path.write_text(text)
        words.cache_clear()
        with pytest.raises(SettingError, match=message):
            words(str(path), "validate")


# --- triples that people write ----------------------------------------------------------------------------------------


def writers(tmp_path, ratings=(), config=CONFIG):
    made, _ = workshop(tmp_path, ratings, config)
    kept = [{**row, "kept": row["id"] != "s2"} for row in ROWS]
    return replace(made, tables={"validated": kept})


def test_writers_share_the_kept_stereotypes_of_their_country(tmp_path):
    sheet = writing_sheet(writers(tmp_path))
    assert {writer: [row["item_id"] for row in rows] for writer, rows in sheet.rows.items()} == {
        "w1": ["s1/1", "s1/2"], "w2": ["s3/1", "s3/2"], "w3": ["t1/1", "t1/2"],
    }  # fmt: skip
    assert sheet.form.of("w3").language == "pt"
    assert "tiene 2 filas" in sheet.form.of("w1").instructions[1]
    assert [field.name for field in sheet.form.fields] == ["context", "stereotype", "anti_stereotype"]


def test_what_people_wrote_becomes_candidates_and_is_waited_for(tmp_path):
    owners = {"s1": "w1", "s3": "w2", "t1": "w3"}
    ratings = [
        Rating(task="write", item_id=f"{item}/{n}", rater=owners[item],
               values={"context": f"c{n}", "stereotype": f"s{n}", "anti_stereotype": f"a{n}"})
        for item in owners for n in (1, 2)
    ]  # fmt: skip
    with pytest.raises(WaitingError, match="'write' waits for people: w3 has 1 of 2 rows to do;") as caught:
        written(writers(tmp_path, ratings[:-1]))
    assert str(caught.value).endswith(
        "(without writers: name a model as instances.writer, and leave instances.writers and instances.both out)"
    )
    rows = written(writers(tmp_path, ratings))
    assert len(rows) == 6
    assert rows[1] == {
        "stereotype_id": "s1", "country": "XA", "language": "es", "category": "region", "group": "los de la costa",
        "number": 2, "context": "c2", "stereotype": "s2", "anti_stereotype": "a2", "writer": "w1", "origin": "person",
    }  # fmt: skip


def test_writers_are_not_raters_or_reviewers_and_must_be_named(tmp_path):
    for names, message in [
        ({"XA": ("a1",), "XB": ("w3",)}, "'a1' writes and judges"),
        ({"XA": ("o1",), "XB": ("w3",)}, "'o1' writes and judges"),
        ({"XA": ("w1",)}, "instances.writers names nobody for XB"),
    ]:
        config = CONFIG.model_copy(update={"instances": CONFIG.instances.model_copy(update={"writers": names})})
        with pytest.raises(SettingError, match=message):
            writing_sheet(writers(tmp_path, config=config))


def test_who_rated_or_reviewed_before_cannot_write_and_who_wrote_cannot_judge(tmp_path):
    def once(task, rater, **values):
        return Rating(task=task, item_id="s9", rater=rater, values=values)

    for task in ("validate", "review"):
        message = f"'w2' is to write for XA, and has answered in the step '{task}' before; writers don't judge what is "
        with pytest.raises(SettingError, match=f"{message}written, so name another in instances.writers.XA"):
            writing_sheet(writers(tmp_path, [once(task, "w2", value=5)]))
    assert writing_sheet(writers(tmp_path, [once("compare", "w2", better="A"), once("write", "w2", context="x")])).rows
    with pytest.raises(SettingError, match="'o1' is named in review, and has written triples before"):
        writing_sheet(writers(tmp_path, [once("write", "o1", context="x")]))
    for step in (validate, VALIDATE.sheet):
        with pytest.raises(SettingError) as caught:
            step(workshop(tmp_path, [*rated(ALL), once("write", "b2", context="x")])[0])
        assert str(caught.value) == (
            "'b2' is named in validation.raters.XB, and has written triples before; who writes doesn't judge what is "
            "written, so name another there"
        )


def test_the_examples_in_the_docstrings_hold():
    for name in ("isogloss.studies.stereotypes.build.validate", "isogloss.annotation.raters"):
        found = doctest.testmod(importlib.import_module(name))
        assert found.attempted > 0
        assert found.failed == 0
