"""Which questions are put, in which order and words; equal in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import tracemalloc
from collections import Counter

import pytest

from isogloss.errors import SettingError, UnknownNameError
from isogloss.studies import BUILT_IN, get, names
from isogloss.studies.lexicon.places import default_places
from isogloss.studies.lexicon.prompts import ask, conditions, reference
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.studies.lexicon.wording import load_wording
from isogloss.studies.lexicon.wording import names as wordings
from isogloss.study import Study

STUDY = get("lexicon")
TABLE = """item,description,variant,CL,MX,DO
bus,Vehículo grande.,micro,+,-,-
bus,Vehículo grande.,camión,-,+,?
bus,Vehículo grande.,guagua,-,-,+
tax,Impuesto.,iva,+,+,+
dog,Animal que ladra.,perro,-,+,-
dog,Animal que ladra.,can,-,-,-
"""


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE, encoding="utf-8")
    return STUDY.load(path, LexiconSettings())


def settings(**given):
    return STUDY.parse_settings(given)


def asked(dataset, seed=0, **given):
    return list(conditions(dataset, settings(**given), seed))


def put(dataset, country, option=None, item="bus", **given):
    """The prompt of one question, found among all."""
    for found, condition in asked(dataset, **given):
        if found.id == item and condition.country == country and condition.option == option:
            return ask(found, condition, dataset, settings(**given)), condition
    raise AssertionError("no such question")


# --- which questions


def test_yes_no_asks_once_for_every_labelled_cell(dataset):
    questions = asked(dataset, format="yes_no")
    cells = {(condition.option, condition.country) for _, condition in questions}
    assert len(questions) == len(cells) == 6 * 3 - 1
    assert ("bus.2", "DO") not in cells


def test_multiple_choice_asks_where_there_are_two_variants_and_a_plus(dataset):
    questions = asked(dataset, format="multiple_choice")
    assert {(item.id, condition.country) for item, condition in questions} == {
        ("bus", "CL"), ("bus", "MX"), ("bus", "DO"), ("dog", "MX"),
    }  # fmt: skip
    assert all(sorted(condition.order) == sorted(o.id for o in item.options) for item, condition in questions)
    assert all(condition.option is None for _, condition in questions)


def test_conditions_name_all_that_is_varied(dataset):
    for _, condition in asked(dataset, wording="pt"):
        assert (condition.language, condition.wording, condition.reading) == ("pt", "pt@1", "text")
        assert condition.format in ("yes_no", "multiple_choice")


def test_formats_follow_each_other_and_readings_ask_the_same_questions(dataset):
    questions = asked(dataset, reading="both")
    kinds = [(condition.format, condition.reading) for _, condition in questions]
    assert list(dict.fromkeys(kinds)) == [
        ("yes_no", "text"), ("yes_no", "logprob"), ("multiple_choice", "text"), ("multiple_choice", "logprob"),
    ]  # fmt: skip
    by_kind = {
        kind: [(item.id, c.country, c.option, c.order) for item, c in questions if (c.format, c.reading) == kind]
        for kind in kinds
    }
    assert by_kind["yes_no", "text"] == by_kind["yes_no", "logprob"]
    assert by_kind["multiple_choice", "text"] == by_kind["multiple_choice", "logprob"]
    assert {c.reading for _, c in asked(dataset, reading="logprob")} == {"logprob"}


def test_a_sample_is_the_beginning_of_the_whole_order(dataset):
    everything = asked(dataset, format="yes_no")
    assert asked(dataset, format="yes_no", sample=5) == everything[:5]
    assert len(asked(dataset, sample=3)) == 6
    assert len(asked(dataset, sample=1000)) == len(asked(dataset))


def test_the_seed_orders_questions_and_options(dataset):
    orders = {tuple((c.option, c.country) for _, c in asked(dataset, seed, format="yes_no")) for seed in range(5)}
    assert len(orders) == 5
    shown = {
        c.order for seed in range(60) for _, c in asked(dataset, seed, format="multiple_choice") if len(c.order) == 3
    }
    assert len(shown) == 6


def test_orders_do_not_depend_on_the_order_of_the_columns(tmp_path, dataset):
    lines = [line.split(",") for line in TABLE.strip().splitlines()]
    turned = "\n".join(",".join([*line[:3], *line[:2:-1]]) for line in lines)
    (tmp_path / "turned.csv").write_text(turned, encoding="utf-8")
    other = STUDY.load(tmp_path / "turned.csv", LexiconSettings())
    assert other.digest == dataset.digest
    assert asked(other) == asked(dataset)


def test_countries_can_be_picked(dataset):
    assert {condition.country for _, condition in asked(dataset, countries="mx,DO")} == {"MX", "DO"}
    some = [(item, c) for item, c in asked(dataset) if c.country == "MX"]
    assert asked(dataset, countries="MX") == some
    with pytest.raises(UnknownNameError, match="no country of the data named 'AR'"):
        asked(dataset, countries="AR")


def fingerprint(study, limit=400):
    dataset = study.load(study.samples["sample"], study.parse_settings({"sample": limit}))
    hasher = hashlib.blake2b()
    for question in study.questions(dataset, study.parse_settings({"sample": limit}), 7):
        hasher.update(question.prompt.id.encode())
    return hasher.hexdigest()


def test_questions_are_equal_in_every_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_lexicon_prompts import STUDY, fingerprint\n"
        "print(fingerprint(STUDY))"
    )
    folder = os.path.dirname(__file__)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, folder], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        ).stdout.strip()
        for salt in ("0", "random")
    }  # fmt: skip
    assert outputs == {fingerprint(STUDY)}


# --- the words


def test_a_yes_no_prompt_names_country_description_and_variant(dataset):
    prompt, _ = put(dataset, "DO", "bus.3", wording="es")
    [message] = prompt.messages
    assert message.role == "user"
    for part in ("País: República Dominicana\n", "Concepto: Vehículo grande.", "Término: «guagua»"):
        assert part in message.content
    assert (prompt.form.kind, prompt.form.choices, prompt.candidates) == ("one_of", ("Sí", "No"), ())


def test_a_multiple_choice_prompt_lists_the_options_in_the_order_shown(dataset):
    prompt, condition = put(dataset, "CL", wording="pt")
    texts = {"bus.1": "micro", "bus.2": "camión", "bus.3": "guagua"}
    listed = "\n".join(f"{number}. {texts[option]}" for number, option in enumerate(condition.order, start=1))
    assert prompt.messages[0].content.endswith(f"Termos:\n{listed}")
    assert (prompt.form.kind, prompt.form.n_options, prompt.form.max_chosen) == ("number_list", 3, None)


def test_country_names_are_in_the_language_of_the_wording(dataset):
    for wording, name in (("es", "República Dominicana"), ("pt", "República Dominicana"), ("en", "Dominican Republic")):
        assert f": {name}\n" in put(dataset, "DO", "bus.3", wording=wording)[0].messages[0].content


def test_prompts_for_log_probabilities_carry_the_candidates(dataset):
    assert put(dataset, "CL", "bus.1", reading="logprob")[0].candidates == ("Sí", "No")
    assert put(dataset, "CL", reading="logprob")[0].candidates == ("1", "2", "3")


def test_a_perfect_informant_replies_what_the_labels_say(dataset):
    given = settings(wording="en")
    for item, condition in conditions(dataset, given, 0):
        reply = reference(item, condition, dataset, given)
        plus = {option.id for option in item.options if option.labels.get(condition.country) == 1.0}
        if condition.format == "yes_no":
            assert reply == ("Yes" if condition.option in plus else "No")
        else:
            assert {condition.order[int(number) - 1] for number in reply.split("/")} == plus


def test_there_are_three_wordings_and_each_says_by_whom():
    assert wordings() == ["en", "es", "pt"]
    for name in wordings():
        wording = load_wording(name)
        assert wording.language == name
        assert wording.name == f"{name}@1"
        assert wording.author


def test_an_unknown_wording_is_told_with_those_there_are():
    with pytest.raises(UnknownNameError, match=r"no wording named 'fr'; there are en, es, pt; or give the path"):
        load_wording("fr")


MINE = """
name = "mine@1"
language = "es"
author = "me"
yes = "sí"
no = "no"
yes_no = "{country}/{description}/{variant}/{gloss}"
multiple_choice = "{country}/{description}/{options}"
"""


def test_a_wording_of_the_user_is_kept_with_the_data(tmp_path):
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    given = settings(wording=str(tmp_path / "mine.toml"), format="yes_no")
    dataset = STUDY.load(tmp_path / "t.csv", given)
    (tmp_path / "mine.toml").unlink()
    item, condition = next(conditions(dataset, given, 0))
    prompt = ask(item, condition, dataset, given)
    assert condition.wording == "mine@1"
    assert prompt.messages[0].content.count("/") == 3
    assert reference(item, condition, dataset, given) in ("sí", "no")
    assert dataset.digest != STUDY.load(tmp_path / "t.csv", settings()).digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('author = "me"\n', "", r"mine.toml: no 'author'; a wording has name, language"),
        ('name = "mine@1"\nlanguage = "es"', 'nome = "x"', r"no 'name'; no 'language'; unknown 'nome'"),
        ('"me"', "3", r"'author' is not a text"),
        ('"me"', '""', r"'author' is empty"),
        ("/{variant}", "", r"'yes_no' has no field \{variant\}"),
        ("{options}", "{opciones}", r"no field \{options\}; 'multiple_choice' has an unknown field \{opciones\}"),
        ("{options}", "{options", r"template '.*mine.toml, multiple_choice'"),
        ('"mine@1"', '"es@1"', r"'name' 'es@1' is that of a wording that ships"),
        ('"es"', '"es_CL"', r"did you mean 'es-CL'"),
        ('"no"', '"Sí"', r"'yes' and 'no' are the same"),
        ("yes =", "yes :", r"mine.toml isn't TOML"),
    ],
)
def test_a_wording_with_faults_has_them_all_named(tmp_path, old, new, message):
    assert old in MINE
    (tmp_path / "mine.toml").write_text(MINE.replace(old, new), encoding="utf-8")
    with pytest.raises(SettingError, match=message):
        load_wording(str(tmp_path / "mine.toml"))


def test_a_wording_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SettingError, match="no wording file"):
        load_wording(str(tmp_path / "absent.toml"))


def test_a_question_of_another_wording_is_an_error(dataset):
    item, condition = asked(dataset, wording="pt")[0]
    with pytest.raises(SettingError, match="wording 'pt@1', but the settings name 'es@1'"):
        ask(item, condition, dataset, settings(wording="es"))


# --- size


def big_table(path, n_items=900, n_variants=10):
    """A table of the size of VARILEX: 9,000 variants in 21 countries, 189,000 labelled cells."""
    codes = list(default_places())
    with path.open("w", encoding="utf-8") as file:
        file.write("item,description,variant," + ",".join(codes) + "\n")
        for item in range(n_items):
            for k in range(n_variants):
                cells = ",".join("+" if (item + 3 * k + at) % 4 == 0 else "-" for at in range(len(codes)))
                file.write(f"Z{item:04d},Concepto número {item}.,palabra {item} {k},{cells}\n")
    return path


def test_a_table_of_the_size_of_varilex_is_quick_and_small(tmp_path):
    path = big_table(tmp_path / "big.csv")
    start = time.process_time()
    dataset = STUDY.load(path, settings())
    loading = time.process_time() - start
    tracemalloc.start()
    try:
        questions = conditions(dataset, settings(format="yes_no"), 0)
        next(questions)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    start = time.process_time()
    counts = Counter(condition.format for _, condition in conditions(dataset, settings(), 0))
    ordering = time.process_time() - start
    assert counts == {"yes_no": 189_000, "multiple_choice": 900 * 21}
    assert peak < 12e6, "positions and ranks as arrays, never as a list of conditions"
    assert loading < 5, "about 0.3 s on a quiet machine"
    assert ordering < 20, "about 2 s on a quiet machine"


# --- the list of studies


def test_studies_are_found_by_name():
    assert "lexicon" in names()
    assert all(isinstance(get(name), Study) for name in BUILT_IN)
    with pytest.raises(UnknownNameError, match="no study named 'lexikon'; did you mean 'lexicon'"):
        get("lexikon")


def test_listing_the_studies_imports_none_of_them():
    code = (
        "import sys, isogloss.studies as s; s.names()\n"
        "print([name for name in sys.modules if name.startswith('isogloss.studies.') or name == 'numpy'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_another_packages_study_is_found_and_a_broken_one_told(monkeypatch):
    from importlib.metadata import EntryPoint

    points = [
        EntryPoint("again", "isogloss.studies.lexicon:STUDY", "isogloss.studies"),
        EntryPoint("broken", "isogloss.studies.nowhere:STUDY", "isogloss.studies"),
        EntryPoint("wrong", "isogloss.studies.lexicon:HERE", "isogloss.studies"),
    ]
    monkeypatch.setattr("isogloss.studies.entry_points", lambda group: points)
    assert names() == sorted({*BUILT_IN, "again", "broken", "wrong"})
    assert get("again") is STUDY
    with pytest.raises(SettingError, match=r"study 'broken' .* can't be imported"):
        get("broken")
    with pytest.raises(SettingError, match=r"study 'wrong' .* expected a Study"):
        get("wrong")
