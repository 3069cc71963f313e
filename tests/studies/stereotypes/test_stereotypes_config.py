"""The configuration of a construction: what it takes, and the one line that each mistake gives."""

import re

import pytest

from isogloss.errors import SettingError
from isogloss.studies.stereotypes.build.config import (
    EXAMPLE,
    PARTS,
    VIEWS,
    BuildConfig,
    Named,
    read_config,
    write_example,
)

LEAST = """
name = "x"
title = "X"
licence = "CC-BY-4.0"
creators = ["x"]
categories = ["region"]
[[countries]]
code = "XA"
name = "Aurelia"
language = "es"
[retrieval]
models = ["lab/a"]
"""


def written(tmp_path, text):
    path = tmp_path / "aurelia.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(SettingError) as caught:
        read_config(path)
    said = str(caught.value)
    assert said.startswith(f"{path}")
    assert "\n" not in said
    return said.removeprefix(f"{path}").removeprefix(": ")


def test_few_fields_are_needed_and_the_rest_has_its_defaults(tmp_path):
    config = read_config(written(tmp_path, LEAST))
    assert config.categories == (Named(name="region"),)
    assert tuple(view.name for view in config.views) == VIEWS
    assert (config.merging.encoder, config.merging.threshold, config.merging.review_from) == ("use", 0.85, 0.75)
    assert (config.validation.needed, config.validation.drop_median, config.validation.keep_undecided) == (5, 2.0, True)
    assert (config.instances.writer, config.instances.number, config.retrieval.max_rounds) == ("people", 5, 10)


def test_the_example_shows_every_field():
    shown = set(re.findall(r"^#? ?(\w+) = ", EXAMPLE, re.MULTILINE))
    parts = {name: part for name, part in PARTS.items() if name not in ("categories", "views", "overlap.sets")}
    fields = {field for part in parts.values() for field in part.model_fields}
    plain = {field for field in BuildConfig.model_fields if field not in PARTS}
    assert fields | plain <= shown | {"writers"}
    assert re.search(r"writers = \{XA", EXAMPLE)
    for name in ("retrieval", "validation", "instances"):
        part = EXAMPLE.partition(f"[{name}]")[2].partition("\n[")[0]
        assert "# wording = " in part


def test_the_example_that_is_written_can_be_read(tmp_path):
    write_example(tmp_path / "example.toml")
    config = read_config(tmp_path / "example.toml")
    assert config.validation.raters == {"XA": ("a1", "a2", "a3", "a4", "a5")}
    assert [category.words for category in config.categories] == ["regiones y ciudades", "oficios"]
    with pytest.raises(SettingError, match="can't write"):
        write_example(tmp_path / "none" / "example.toml")


def test_words_stay_words(tmp_path):
    text = LEAST.replace('"XA"', '"NO"').replace('"region"', '"NA"').replace('"Aurelia"', '"null"')
    config = read_config(written(tmp_path, text + '[validation]\nraters = {NO = ["yes", "no", "1", "on", "off"]}'))
    assert config.countries[0].code == "NO"
    assert config.countries[0].name == "null"
    assert config.categories[0].name == "NA"
    assert config.validation.raters == {"NO": ("yes", "no", "1", "on", "off")}


def test_words_may_be_of_one_language_or_of_each(tmp_path):
    text = LEAST.replace('["region"]', '["trade", {name = "region", words = {es = "regiones", pt-BR = "regiões"}}]')
    plain, each = read_config(written(tmp_path, text)).categories
    assert (plain.words_in("es"), Named(name="x", words="y").words_in("sw")) == ("", "y")
    assert [each.words_in(tag) for tag in ("es", "es-CL", "pt-BR", "pt", "en")] == (
        ["regiones", "regiones", "regiões", "", ""]
    )


def test_files_are_taken_from_where_the_configuration_lies(tmp_path):
    config = read_config(
        written(
            tmp_path,
            LEAST + 'claims = "claims.csv"\nwording = "mine.toml"\n[instances]\nwording = "pt"\n'
            '[unrelated]\npool = {es = "pool.txt"}\n[overlap]\nclaims = "known.csv"\n'
            'sets = [{name = "Other", file = "other.json"}]\n',
        )
    )
    assert config.retrieval.claims == tmp_path / "claims.csv"
    assert config.retrieval.wording == str(tmp_path / "mine.toml")
    assert config.instances.wording == "pt"
    assert config.unrelated.pool == {"es": tmp_path / "pool.txt"}
    assert (config.overlap.claims, config.overlap.sets[0].file) == (tmp_path / "known.csv", tmp_path / "other.json")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "X"\n', "", "the key 'title' is missing"),
        ('name = "Aurelia"\n', "", "the key 'countries.1.name' is missing"),
        ('["region"]', "[]", "categories is empty; name at least one"),
        ('["region"]', '["region", ""]', "categories.2.name is empty"),
        ('["region"]', '["region", "  "]', "categories.2.name is empty"),
        ('["region"]', '["region", "Region"]', "category 'Region' comes twice; leave one of them out"),
        ('["region"]', '[5]', "categories.1: expected a word in quotes, or a table, got 5"),
        ('"lab/a"]', '"lab/a", "lab/a"]', "model 'lab/a' comes twice; leave one of them out"),
        ('models = ["lab/a"]', "", "retrieval.models names no model, and retrieval.claims no file; give one of them"),
        ('creators = ["x"]', "creators = []", "creators is empty; name at least one"),
        ('creators = ["x"]', "views = []\ncreators = ['x']", "views is empty; name at least one"),
        ('creators = ["x"]', "creater = ['x']", "no key named 'creater'; did you mean 'creators'"),
        ('models = ["lab/a"]', 'modles = ["lab/a"]', "no key in 'retrieval' named 'modles'; did you mean 'models'?"),
        ('language = "es"', 'langauge = "es"', "no key in 'countries' named 'langauge'; did you mean 'language'?"),
        ('["region"]', '[{nmae = "region"}]', "no key in 'categories' named 'nmae'; did you mean 'name'?"),
        ('language = "es"', 'language = "spanish!"', "countries XA: "),
        ('code = "XA"', 'code = "../XA"', "countries.1.code: a code has letters, digits, - and _ only"),
        ('code = "XA"', "code = 12", "countries.1.code: input should be a valid string, got 12"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_key(tmp_path, old, new, words):
    assert old in LEAST
    assert fault(tmp_path, LEAST.replace(old, new)).startswith(words)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[[countries]]\ncode = "xa"\nname = "B"\nlanguage = "pt"',
         "country code 'xa' comes twice; leave one of them out"),
        ('[validation]\nraters = {XA = ["a", "b"]}',
         "validation.raters.XA has 2 raters, fewer than the 5 needed; name more, or lower validation.needed"),
        ('[validation]\nneeded = 2\nraters = {XA = ["a", "a"]}', "rater of XA 'a' comes twice; leave one of them out"),
        ('[validation]\nneeded = 2\nraters = {XB = ["a", "b"]}',
         "validation.raters names the country 'XB', which isn't among XA"),
        ('[validation]\nneeded = 2\nraters = {XA = ["a", "b"]}\n[instances]\nwriters = {XA = ["b", "c"]}',
         "'b' is a rater and a writer; those who write aren't those who validate"),
        ('[instances]\nwriters = {XA = ["b"]}\n[review]\nowner = "b"', "'b' writes and reviews; name another reviewer"),
        ('[review]\nowner = "b"\ncoordinator = "b"',
         "review.coordinator and review.owner are one person; each triple passes two reviews"),
        ("[merging]\nthreshold = 0.7", "merging.review_from is above merging.threshold; pairs between them"),
        ("[merging]\nthreshold = 1.5", "merging.threshold: input should be less than or equal to 1, got 1.5"),
        ("[merging]\nthreshold = nan", "merging.threshold: input should be "),
        ('[overlap]\nsets = [{nam = "x", file = "y"}]',
         "no key in 'overlap.sets' named 'nam'; did you mean 'name'?"),
        ("[overlap]\nsets = [{name = 'x'}]", "the key 'overlap.sets.1.file' is missing"),
        ("[unrelated]\npool = 5", "unrelated.pool: input should be a valid "),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_one_line(tmp_path, more, words):
    assert fault(tmp_path, LEAST + more).startswith(words)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SettingError, match=re.escape(f"{tmp_path / 'none.toml'} can't be read: No such file")):
        read_config(tmp_path / "none.toml")
    assert re.match(r"is no TOML file: .*\(at line 8, column 8\); words stand in quotes", fault(
        tmp_path, LEAST.replace('"XA"', "NO")).strip())  # fmt: skip
    path = tmp_path / "latin.toml"
    path.write_bytes(LEAST.replace("Aurelia", "Aurélia").encode("latin-1"))
    with pytest.raises(SettingError, match=r"latin\.toml is not UTF-8 text: byte"):
        read_config(path)


def test_a_configuration_made_in_python_is_checked_too():
    with pytest.raises(ValueError, match="category 'a' comes twice"):
        BuildConfig.model_validate(
            {"name": "x", "title": "x", "licence": "x", "creators": ["x"], "categories": ["a", "a"],
             "countries": [{"code": "XA", "name": "x", "language": "es"}], "retrieval": {"models": ["lab/a"]}}
        )  # fmt: skip
