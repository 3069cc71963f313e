"""Lexical tables: layouts, defects, places, bad input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import openpyxl
import pandas as pd
import pytest

from isogloss.errors import DataError, IsoglossError, SettingError, UnknownNameError
from isogloss.studies import get
from isogloss.studies.lexicon.check import findings
from isogloss.studies.lexicon.items import load_items
from isogloss.studies.lexicon.prompts import conditions
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.studies.lexicon.template import write_template

AUTO = LexiconSettings()
WIDE = "item,description,gloss,variant,CL,NO,NA\n"


def write(path, text, *, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def load(path, **settings):
    return load_items(path, LexiconSettings.model_validate(settings))


@pytest.fixture(scope="module")
def sample():
    return load_items(get("lexicon").samples["sample"], AUTO)


def wide_rows(dataset):
    codes = [place["code"] for place in dataset.tables["places"]]
    for item in dataset.items:
        for option in item.options:
            cells = [{1.0: "+", 0.0: "-", None: ""}[option.labels.get(code)] for code in codes]
            yield [
                item.id,
                item.text,
                item.fields.get("gloss", ""),
                item.fields.get("category", ""),
                option.text,
                *cells,
            ]


def wide_frame(dataset):
    codes = [place["code"] for place in dataset.tables["places"]]
    header = ["item", "description", "gloss", "category", "variant", *codes]
    return pd.DataFrame(list(wide_rows(dataset)), columns=header)


def long_frame(dataset):
    wide = wide_frame(dataset)
    wide["option"] = range(len(wide))
    names = ["item", "description", "gloss", "category", "variant", "option"]
    table = wide.melt(id_vars=names, var_name="country", value_name="label")
    return table.sort_values(["option", "country"], kind="stable")


# --- the VARILEX layout


def test_the_varilex_layout_has_the_expected_counts(shared):
    folder = shared / "data" / "varilex_format"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    dataset = load_items(folder / "synthetic.csv", AUTO)
    options = [option for item in dataset.items for option in item.options]
    assert len(dataset.items) == expected["items"]
    assert len(options) == expected["variant_rows"]
    assert sum(len(option.labels) for option in options) == expected["valid_cells"]
    assert sum(sum(option.labels.values()) for option in options) == expected["plus_cells"]
    for code, counts in expected["country"].items():
        labels = [option.labels[code.upper()] for option in options if code.upper() in option.labels]
        assert (len(labels), sum(labels)) == (counts["valid_cells"], counts["plus_cells"])


def test_the_varilex_layout_has_the_expected_questions(shared):
    folder = shared / "data" / "varilex_format"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    dataset = load_items(folder / "synthetic.csv", AUTO)
    asked = [condition for _, condition in conditions(dataset, AUTO, 0)]
    yes_no = [condition.country for condition in asked if condition.format == "yes_no"]
    choice = [condition.country for condition in asked if condition.format == "multiple_choice"]
    assert len(choice) == expected["mcqf_questions"]
    for code, counts in expected["country"].items():
        assert choice.count(code.upper()) == counts["mcqf_questions"]
        assert yes_no.count(code.upper()) == counts["valid_cells"]


def test_defects_of_the_varilex_layout_are_noted(shared):
    dataset = load_items(shared / "data" / "varilex_format" / "synthetic.csv", AUTO)
    assert dataset.notes == (
        "cells that are neither + nor -, counted as unlabelled: 4 (blank 2, '?' 1, 'º' 1)",
        "variants in more than one row of their item, each row kept as an option: 1 (Z005 'naba')",
    )
    item = next(item for item in dataset.items if item.id == "Z005")
    assert [option.id for option in item.options if option.text == "naba"] == ["Z005.3", "Z005.4"]
    assert dataset.items[0].fields == {"gloss": "INVENTED 1", "category": "R"}
    assert [place["code"] for place in dataset.tables["places"]][:3] == ["ES", "GQ", "CU"]
    told = " | ".join(message for _, message in findings(dataset, AUTO))
    assert "without + in any country (asked by yes or no only): 1 (Z030)" in told
    assert "with one variant (asked by yes or no only): 1 (Z001)" in told
    assert "with brackets (a sound, an optional part), shown to the model as written: 19 (Z004 '(la) masegale'" in told


def test_a_mended_varilex_header_is_read_the_same(tmp_path, shared):
    path = shared / "data" / "varilex_format" / "synthetic.csv"
    text = path.read_text(encoding="utf-8").replace("E/RvCPT;", "E/R;vCPT;", 1)
    assert load(write(tmp_path / "mended.csv", text)).digest == load(path).digest


# --- every layout and kind of file gives the same data set


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_files_give_the_same_data_set(tmp_path, sample, separator, encoding):
    path = tmp_path / "table.csv"
    wide_frame(sample).to_csv(path, index=False, sep=separator, encoding=encoding)
    assert load(path).digest == sample.digest
    assert load(path).notes == ()


def test_all_kinds_of_files_and_layouts_give_the_same_data_set(tmp_path, sample, shared):
    varilex = load(shared / "data" / "varilex_format" / "synthetic.csv")
    for dataset in (sample, varilex):
        wide, long = wide_frame(dataset), long_frame(dataset)
        for name, frame in (("wide", wide), ("long", long)):
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
            frame.to_csv(tmp_path / f"{name}.tsv", index=False, sep="\t")
            frame.to_parquet(tmp_path / f"{name}.parquet")
            paths = [tmp_path / f"{name}.{kind}" for kind in ("csv", "tsv", "parquet")]
            digests = {load(source).digest for source in [*paths, frame]}
            assert digests == {dataset.digest}, name
    sample_frame = wide_frame(sample)
    sample_frame.to_excel(tmp_path / "wide.xlsx", index=False)
    assert load(tmp_path / "wide.xlsx").digest == sample.digest
    assert load(sample_frame.set_index("item")).digest == sample.digest


def test_labels_may_be_ones_and_zeros_or_words(sample):
    frame = wide_frame(sample)
    codes = list(frame.columns[5:])
    for plus, minus in (
        (1, 0),
        (1.0, 0.0),
        (True, False),
        ("Sí", "No"),
        ("yes", "no"),
        ("SIM", "não"),
        (" + ", "−"),
        ("+", "–"),
    ):
        changed = frame.copy()
        changed[codes] = frame[codes].map({"+": plus, "-": minus}.get)
        assert load(changed).digest == sample.digest, plus


def test_a_description_given_once_is_enough(tmp_path):
    path = write(tmp_path / "t.csv", "item,description,variant,CL\na,Cosa.,x,+\na,,y,-\n")
    assert load(path).items[0].text == "Cosa."
    assert len(load(path).items[0].options) == 2


# --- codes that are words (case 26)


def test_codes_and_labels_that_are_words_stay_words(tmp_path):
    rows = "NA,Cosa.,None,no,no,+,None\nNA,Cosa.,None,NA,+,-,n/a\n"
    for encoding in ("utf-8", "utf-8-sig"):
        path = write(tmp_path / f"{encoding}.csv", (WIDE + rows).replace(",", ";"), encoding=encoding)
        dataset = load(path)
        [item] = dataset.items
        assert (item.id, item.fields["gloss"]) == ("NA", "None")
        assert [option.text for option in item.options] == ["no", "NA"]
        assert [option.labels for option in item.options] == [{"CL": 0.0, "NO": 1.0}, {"CL": 1.0, "NO": 0.0}]
        assert [place["code"] for place in dataset.tables["places"]] == ["CL", "NA", "NO"]
        assert dataset.notes == ("cells that are neither + nor -, counted as unlabelled: 2 ('None' 1, 'n/a' 1)",)


def test_countries_of_a_long_table_stay_words_in_every_kind_of_file(tmp_path):
    frame = pd.DataFrame(
        [["a", "Cosa.", "x", "NA", "+"], ["a", "Cosa.", "x", "no", "no"], ["a", "Cosa.", "x", "es", "1"]],
        columns=["item", "description", "variant", "country", "label"],
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.xlsx", tmp_path / "t.parquet", frame):
        assert load(source).items[0].options[0].labels == {"NA": 1.0, "NO": 0.0, "ES": 1.0}


def test_a_data_frame_that_lost_namibia_is_told_how_to_keep_it(tmp_path):
    path = write(tmp_path / "t.csv", "item,description,variant,country,label\na,Cosa.,x,NA,+\n")
    with pytest.raises(DataError, match=r"data frame row 1, column 'country': empty.*keep_default_na=False"):
        load(pd.read_csv(path))


# --- encodings


def test_latin_1_is_read_with_a_note(tmp_path):
    path = write(tmp_path / "t.csv", "item,description,variant,ES\na,Depósito pequeño.,cañón,+\n", encoding="latin-1")
    dataset = load(path)
    assert dataset.items[0].options[0].text == "cañón"
    assert dataset.notes[0].startswith("not UTF-8 (row 2), so read as Windows-1252 (Latin-1)")


def test_damaged_utf_8_is_not_taken_for_latin_1(tmp_path):
    content = "item,description,variant,ES\na,Señal.,año,+\n".encode() + b"b,\xff,caf\xe9,+\n"
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"t.csv row 3: byte 0xff isn't UTF-8; save the file as UTF-8"):
        load(tmp_path / "t.csv")


# --- bad input: one line each


BAD = {
    "no separator": (
        "item description variant CL\na b c +\n",
        r"row 1: can't tell what separates the columns.*delimiter=semicolon",
    ),
    "missing column": (
        "item,gloss,variant,CL\na,b,c,+\n",
        r"t.csv row 1: no column 'description'.*got 'item', 'gloss'",
    ),
    "missing label column": (
        "item,description,variant,country\na,b,c,CL\n",
        r"row 1: no column 'label'; a wide table",
    ),
    "no country column": (
        "item,description,variant\na,b,c\n",
        r"row 1: no column for a country",
    ),
    "unknown country column": (
        "item,description,variant,CL,Chiel\na,b,c,+,+\n",
        r"row 1: no country named 'Chiel'.*places file.*'notes'",
    ),
    "column twice": (
        "item,concept,description,variant,CL\na,a,b,c,+\n",
        r"columns 'item' and 'concept' are both the item",
    ),
    "country twice": (
        "item,description,variant,CL,cl\na,b,c,+,+\n",
        r"row 1: country 'CL' has two columns",
    ),
    "column without title": (
        "item,description,variant,CL,\na,b,c,+,+\n",
        r"row 1, column 5: no title",
    ),
    "unknown country": (
        "item,description,variant,country,label\na,b,c,CL,+\na,b,c,XQ,+\n",
        r"row 3, column 'country': no country named 'XQ'",
    ),
    "empty variant": (
        "item,description,variant,CL\na,b,c,+\na,b, ,+\n",
        r"row 3, column 'variant': empty",
    ),
    "empty item": (
        "item,description,variant,CL\n,b,c,+\n",
        r"row 2, column 'item': empty",
    ),
    "empty description": (
        "item,description,variant,CL\na,,c,+\n",
        r"row 2, column 'description': empty; item 'a'",
    ),
    "empty country": (
        "item,description,variant,country,label\na,b,c,,+\n",
        r"row 2, column 'country': empty",
    ),
    "duplicate item": (
        "item,description,variant,CL\na,one,c,+\nb,two,d,-\na,two,e,-\n",
        r"row 4, column 'description': item 'a' is 'two' here and 'one' in row 2",
    ),
    "conflicting labels": (
        "item,description,variant,country,label\na,b,c,CL,+\na,b,c,CL,-\n",
        r"row 3, column 'label': 'c' of item 'a' is '-' in CL here and '\+' in row 2",
    ),
    "graded label": (
        "item,description,variant,CL\na,b,c,0.4\n",
        r"row 2, column 'CL': expected \+ or -, 1 or 0, got '0.4'; graded labels .* aren't read yet",
    ),
    "graded label with comma": (
        "item;description;variant;CL\na;b;c;0,4\n",
        r"got '0,4'; graded",
    ),
    "a count": (
        "item,description,variant,CL\na,b,c,12\n",
        r"row 2, column 'CL': expected \+ or -, 1 or 0, got '12'",
    ),
    "short row": (
        "item,description,variant,CL,MX\na,b,c,+,-\na,b,d,+\n",
        r"row 3: 4 cells, expected 5",
    ),
    "long row": (
        "item,description,variant,CL\na,b,c,+,-\n",
        r"row 2: 5 cells, expected 4",
    ),
    "open quotation mark": (
        'item,description,variant,CL\na,"b,c,+\na,b,d,+\n',
        r"row 2: 2 cells, expected 4.*quotation mark",
    ),
    "nothing labelled": (
        "item,description,variant,CL\na,b,c,?\n",
        r"t.csv: no cell is \+ or -, so there is nothing to ask",
    ),
    "header only": (
        "item,description,variant,CL\n",
        r"nothing to ask",
    ),
    "blank": (
        "  \n\n",
        r"t.csv is empty",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_gets_one_line(tmp_path, name):
    text, message = BAD[name]
    with pytest.raises(IsoglossError, match=message) as caught:
        load(write(tmp_path / "t.csv", text))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_gets_one_line(tmp_path):
    cases = {
        tmp_path / "absent.csv": "no file .*absent.csv",
        tmp_path: "is a folder; expected a file",
        write(tmp_path / "old.xls", "x"): r"can't read '.xls'.*save it as .xlsx",
        write(tmp_path / "bare", "x"): "can't read 'a file without ending'",
        write(tmp_path / "empty.csv", ""): "empty.csv is empty",
        write(tmp_path / "damaged.xlsx", "PK\x03\x04 nothing"): "isn't an Excel file that can be read, or is damaged",
        write(
            tmp_path / "damaged.parquet", "PAR1 nothing PAR1"
        ): "isn't a Parquet file that can be read, or is damaged",
        write(tmp_path / "zipped.csv", "PK\x03\x04 nothing"): "is an Excel or other zipped file by its content",
        write(tmp_path / "utf16.csv", "item,variant", encoding="utf-16-le"): "UTF-16 without its mark",
    }
    for path, message in cases.items():
        with pytest.raises(DataError, match=message) as caught:
            load(path)
        assert "\n" not in str(caught.value)


def test_an_excel_file_cut_short_gets_one_line(tmp_path, sample):
    wide_frame(sample).to_excel(tmp_path / "whole.xlsx", index=False)
    content = (tmp_path / "whole.xlsx").read_bytes()
    (tmp_path / "half.xlsx").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"half\.xlsx isn't an Excel file that can be read, or is damaged"):
        load(tmp_path / "half.xlsx")


def test_a_layout_that_is_asked_for_and_not_there_is_an_error(tmp_path):
    path = write(tmp_path / "t.csv", "item,description,variant,CL\na,b,c,+\n")
    with pytest.raises(DataError, match="no column 'country', 'label'"):
        load(path, layout="long")
    with pytest.raises(DataError, match="no column 'EXPL', 'Ingles', 'Forma'"):
        load(path, layout="varilex")


def test_what_is_neither_a_path_nor_a_data_frame_is_an_error():
    with pytest.raises(DataError, match="expected a path or a data frame, got list"):
        load_items([1, 2], AUTO)


def test_a_delimiter_can_be_set(tmp_path):
    path = write(tmp_path / "t.csv", "item:description:variant:CL\na:b:c:+\n")
    assert load(path, delimiter=":").items[0].options[0].labels == {"CL": 1.0}


def test_repeated_rows_of_a_long_table_are_set_aside_with_a_note(tmp_path):
    rows = "a,b,c,CL,+\na,b,c,CL,+\na,b,c,CL,?\n"
    dataset = load(write(tmp_path / "t.csv", "item,description,variant,country,label\n" + rows))
    assert dataset.items[0].options[0].labels == {"CL": 1.0}
    assert "rows that repeat an earlier row, set aside: 1" in dataset.notes


# --- places and covariates


@pytest.fixture
def two_made_up(tmp_path):
    return write(tmp_path / "t.csv", "item,description,variant,norte,XA,CL\na,Cosa.,x,+,-,+\na,Cosa.,y,-,+,+\n")


def test_a_places_file_makes_up_countries_and_renames_known_ones(tmp_path, two_made_up):
    text = (
        "code;name;name_pt;area;latitude;longitude\nNorte;Tierra del Norte;Terra do Norte;Polo;80,5;-10\n"
        "XA;Xalandia;;;;\nCL;Chile chico;;;;\n"
    )
    places = write(tmp_path / "places.csv", text)
    dataset = load(two_made_up, places=places)
    assert dataset.tables["places"] == (
        {"code": "CL", "name": "Chile chico", "area": "Chile", "latitude": -33.5, "longitude": -70.9},
        {"code": "NORTE", "name": "Tierra del Norte", "name_pt": "Terra do Norte", "area": "Polo", "latitude": 80.5,
         "longitude": -10.0},
        {"code": "XA", "name": "Xalandia", "area": "Xalandia", "latitude": None, "longitude": None},
    )  # fmt: skip
    told = [message for _, message in findings(dataset, AUTO)]
    assert "without coordinates, so not on the map (give a places file): 1 (XA)" in told


def test_an_unknown_country_is_offered_near_names_of_the_places_file(tmp_path, two_made_up):
    places = write(tmp_path / "places.csv", "code,name\nNORTES,Norte\nXA,Xalandia\n")
    with pytest.raises(UnknownNameError, match=r"t.csv row 1: no country named 'norte'; did you mean 'NORTES'"):
        load(two_made_up, places=places)


def test_other_countries_are_their_own_area(tmp_path):
    dataset = load(write(tmp_path / "t.csv", "item,description,variant,BR,MX\na,Cosa.,x,+,-\n"))
    assert [(place["code"], place["area"]) for place in dataset.tables["places"]] == [
        ("MX", "Mexico & Central America"),
        ("BR", "Brazil"),
    ]
    assert dataset.tables["places"][1]["name_pt"] == "Brasil"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code,title\nCL,x\n", r"p.csv row 1: no column 'name'"),
        ("code,name\nCL,\n", r"p.csv row 2, column 'name': 'CL' has no name"),
        ("code,name\nC L,x\n", r"p.csv row 2, column 'code': expected letters, digits and hyphens, got 'C L'"),
        ("code,name\nCL,x\ncl,y\n", r"p.csv row 3, column 'code': 'CL' stands in an earlier row too"),
        ("code,name,latitude\nCL,x,south\n", r"row 2, column 'latitude': expected degrees from -90 to 90, got 'south'"),
        ("code,name,longitude\nCL,x,181\n", r"row 2, column 'longitude': expected degrees from -180 to 180, got '181'"),
    ],
)
def test_a_bad_places_file_gets_one_line(tmp_path, two_made_up, text, message):
    with pytest.raises(DataError, match=message):
        load(two_made_up, places=write(tmp_path / "p.csv", text))


def test_covariates_are_numbers_per_country_of_the_data(tmp_path):
    data = write(tmp_path / "t.csv", "item,description,variant,CL,MX\na,Cosa.,x,+,-\n")
    covariates = write(tmp_path / "c.csv", "code,tokens,share\nmx,1.5e9,\nBR,3,0.1\n")
    dataset = load(data, covariates=covariates)
    assert dataset.tables["covariates"] == ({"code": "MX", "tokens": 1.5e9, "share": None},)
    assert dataset.notes == ("c.csv has no row for CL",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country_of,tokens\nMX,1\n", r"c.csv row 1: no column 'code'"),
        ("code,tokens\nMX,many\n", r"c.csv row 2, column 'tokens': expected a number, got 'many'"),
        ("code,tokens\nMX,nan\n", r"expected a number, got 'nan'"),
        ("code,tokens\nMX,1\nMX,2\n", r"c.csv row 3, column 'code': 'MX' comes twice"),
        ("code,tokens\nXQ,1\n", r"c.csv row 2, column 'code': no country named 'XQ'"),
    ],
)
def test_a_bad_covariate_file_gets_one_line(tmp_path, text, message):
    data = write(tmp_path / "t.csv", "item,description,variant,CL,MX\na,Cosa.,x,+,-\n")
    with pytest.raises(IsoglossError, match=message):
        load(data, covariates=write(tmp_path / "c.csv", text))


def test_a_country_of_the_settings_must_be_in_the_data(tmp_path):
    data = write(tmp_path / "t.csv", "item,description,variant,CL,MX\na,Cosa.,x,+,-\n")
    with pytest.raises(UnknownNameError, match="no country of the data named 'AR'; there are CL, MX"):
        load(data, countries="ar")


# --- settings


def test_settings_take_text_with_commas():
    settings = get("lexicon").parse_settings(
        {"format": "multiple_choice, yes_no", "countries": "cl,mx", "sample": "10", "delimiter": "semicolon"}
    )
    assert settings.format == ("multiple_choice", "yes_no")
    assert settings.countries == ("CL", "MX")
    assert (settings.sample, settings.delimiter) == (10, ";")
    assert get("lexicon").parse_settings(settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"format": "yes_on"}, "no format named 'yes_on'; did you mean 'yes_no'"),
        ({"format": ""}, "at least one format is needed"),
        ({"sample": "0"}, "setting 'sample'"),
        ({"delimiter": "::"}, "expected one character"),
        ({"confidence": "1.5"}, "setting 'confidence'"),
        ({"langauge": "es"}, "no setting named 'langauge'"),
    ],
)
def test_a_setting_that_cannot_be_gets_one_line(given, message):
    with pytest.raises(SettingError, match=message):
        get("lexicon").parse_settings(given)


def test_every_setting_is_described():
    assert all(field.description for field in LexiconSettings.model_fields.values())


# --- template, sample, checks


def test_the_template_is_read_back(tmp_path):
    path = tmp_path / "template.xlsx"
    write_template(path)
    dataset = load(path)
    assert [item.id for item in dataset.items] == ["straw", "pool"]
    assert dataset.items[0].options[0].labels == {"ES": 1.0, "MX": 0.0, "CO": 0.0, "CL": 0.0, "AR": 1.0}
    assert "AR" not in dataset.items[1].options[0].labels
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["How to", "Table"]
    assert book["Table"]["E300"].number_format == "@"


def test_the_template_never_writes_over_a_file(tmp_path):
    path = write(tmp_path / "mine.xlsx", "x")
    with pytest.raises(SettingError, match="is there already"):
        write_template(path)
    with pytest.raises(SettingError, match=r"ending in \.xlsx"):
        write_template(tmp_path / "mine.csv")


def test_two_fitting_worksheets_are_an_error(tmp_path, sample):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        for name in ("one", "two"):
            wide_frame(sample).to_excel(book, sheet_name=name, index=False)
    with pytest.raises(DataError, match="more than one such table: worksheets 'one', 'two'"):
        load(tmp_path / "two.xlsx")


def test_the_sample_has_a_plus_for_every_concept_and_country(sample):
    codes = [place["code"] for place in sample.tables["places"]]
    assert len(sample.items) >= 40
    assert len(codes) == 21
    for item in sample.items:
        assert 3 <= len(item.options) <= 15
        assert item.fields["gloss"]
        for code in codes:
            assert any(option.labels[code] == 1.0 for option in item.options), (item.id, code)


def test_no_description_of_the_sample_names_a_variant(sample):
    told = " | ".join(message for _, message in findings(sample, AUTO))
    assert "description names a variant" not in told
    assert "the same but for case" not in told


def test_check_tells_what_is_odd(tmp_path):
    rows = "a,El auto.,car (US: auto),auto,+,,\na,El auto.,,Áuto,+,,\na,El auto.,,coche [k],-,-,\n"
    dataset = load(write(tmp_path / "t.csv", WIDE + rows))
    told = {f"{where}: {message.splitlines()[0]}" for where, message in findings(dataset, AUTO)}
    assert told >= {
        "table: 1 items, 3 variants, 3 countries; 4 labelled cells, 2 of them + (0.500)",
        "items: description names a variant: 2 (a 'auto', a 'Áuto')",
        "items: gloss with a remark such as (US: …), kept as it is: 1 (a)",
        "variants: the same but for case, accents or punctuation: 1 (a 'auto' = 'Áuto')",
        "variants: with brackets (a sound, an optional part), shown to the model as written: 1 (a 'coche [k]')",
        "countries: without any label (never asked): 1 (NA)",
        "countries: without any + (asked by yes or no only): 1 (NO)",
        "yes_no: 4 questions: CL 3, NO 1",
        "multiple_choice: 1 questions: CL 1",
    }
    assert dataset.notes == ("cells that are neither + nor -, counted as unlabelled: 5 (blank 5)",)


def test_check_says_when_a_format_has_no_question(tmp_path):
    dataset = load(write(tmp_path / "t.csv", "item,description,variant,CL\na,Cosa.,x,+\n"))
    assert ("multiple_choice", "no question: no item has two variants and a + in a country that is asked about") in [
        tuple(finding) for finding in findings(dataset, AUTO)
    ]


def test_reading_a_text_file_loads_no_pandas():
    code = (
        "import sys; from isogloss.studies import get; study = get('lexicon')\n"
        "study.load(study.samples['sample'], study.parse_settings({}))\n"
        "print([name for name in ('pandas', 'pyarrow', 'openpyxl', 'babel') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_quoted_cells_with_separators_and_line_breaks_are_read(tmp_path):
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["item", "description", "variant", "CL"], ["a", "Una cosa,\nque sirve.", 'el "x", claro', "+"]]
        )
    [item] = load(tmp_path / "t.csv").items
    assert (item.text, item.options[0].text) == ("Una cosa, que sirve.", 'el "x", claro')


def test_rows_of_one_variant_that_contradict_each_other_are_noted(tmp_path):
    table = "item,description,variant,CL,PE\na,Cosa.,x,+,-\na,Cosa.,x,-,-\na,Cosa.,y,+,+\na,Cosa.,y,+,+\n"
    dataset = load(write(tmp_path / "t.csv", table))
    assert dataset.notes == (
        "variants in more than one row of their item, each row kept as an option: 2 (a 'x', a 'y')",
        "of these, with + in one row and - in another for one country: a 'x'",
    )
