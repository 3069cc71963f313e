"""The lexicon study's part of the report, from a small made-up survey."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from isogloss.records import Dataset, Status
from isogloss.reports import Chart, Pages, Prose, Section, Table
from isogloss.studies.lexicon import STUDY
from isogloss.studies.lexicon.figures import seed_of
from isogloss.studies.lexicon.view import View, Voice
from isogloss.study import ANSWER_COLUMNS

TABLE = """item,description,gloss,variant,ES,CL,PR
car,Vehículo de cuatro ruedas.,car,coche,+,-,-
car,Vehículo de cuatro ruedas.,car,auto,-,+,-
car,Vehículo de cuatro ruedas.,car,carro,-,-,+
bus,Vehículo para muchas personas.,bus,autobús,+,-,-
bus,Vehículo para muchas personas.,bus,micro,-,+,?
bus,Vehículo para muchas personas.,bus,guagua,-,-,+
pea,Semilla verde y redonda.,pea,guisante,+,-,+
pea,Semilla verde y redonda.,pea,arveja,-,+,-
"""
SETTINGS = STUDY.parse_settings({"resamples": 50})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path: Path = tmp_path_factory.mktemp("data") / "words.csv"
    path.write_text(TABLE, encoding="utf-8")
    return STUDY.load(path, SETTINGS)


def survey(dataset: Dataset, models: tuple[str, ...]) -> pd.DataFrame:
    """`lab/good` knows all but Chile's words, for which it answers as Spain; `lab/mute` says nothing readable."""
    rows = []
    for item, condition in STUDY.conditions(dataset, SETTINGS, 7):
        for model in models:
            country = "ES" if condition.country == "CL" and model == "lab/good" else condition.country
            said = {option.id for option in item.options if option.labels.get(country) == 1.0}
            if model.endswith("always-yes"):
                said = {option.id for option in item.options}
            if condition.format == "yes_no":
                value: object = condition.option in said
            else:
                value = tuple(n for n, option in enumerate(condition.order, start=1) if option in said)
            status = Status.UNPARSED if model == "lab/mute" else Status.OK
            rows.append(
                (item.id, condition.country, condition.language, condition.format, condition.wording, condition.reading,
                 condition.option, condition.order, {}, "b2:0", model, 1, "lexicon.test@1", "strict", status.value,
                 value if status is Status.OK else None, "")
            )  # fmt: skip
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS))


def report(dataset: Dataset, *models: str) -> dict[str, Section]:
    answers = survey(dataset, models)
    estimates = STUDY.estimate(answers, dataset, SETTINGS, 7)
    assert STUDY.sections is not None
    return {section.id: section for section in STUDY.sections(estimates, answers, dataset, SETTINGS)}


@pytest.fixture(scope="module")
def sections(dataset: Dataset) -> dict[str, Section]:
    return report(dataset, "lab/good", "scripted/always-yes")


def test_the_report_holds_what_the_study_promises(sections):
    assert list(sections) == [
        "summary", "overview", "countries-yes-no", "countries-multiple-choice", "map-yes-no", "map-multiple-choice",
        "countries-yes-no-table", "countries-multiple-choice-table", "areas-yes-no", "areas-multiple-choice",
        "labels-yes-no", "labels-multiple-choice", "against-delta-f1", "against-gold-size", "correlations", "borrowed",
        "closest", "unique-yes-no", "unique-multiple-choice", "items", "methods", "limits",
    ]  # fmt: skip


def test_the_summary_names_best_and_chance_with_intervals_and_n(sections):
    summary = sections["summary"]
    assert isinstance(summary, Prose)
    text = " ".join(summary.paragraphs)
    assert "lab/good reaches Youden’s J" in text
    assert "over 23 of 23 answers" in text
    assert "What chance looks like here: scripted/always-yes reaches 0.000" in text
    assert "taking the first three of a shuffled list reaches" in text


def test_baselines_stand_beside_the_informants(sections):
    overview = sections["overview"]
    assert isinstance(overview, Table)
    assert [row[0] for row in overview.rows] == [
        "lab/good", "scripted/always-yes", "baseline: always yes", "baseline: yes at rate p", "baseline: first three",
    ]  # fmt: skip
    assert overview.rows[0][-2:] == ("23 of 23", "9 of 9")


def test_each_informant_has_a_panel_and_maps_show_real_ones(sections):
    assert [panel.title for panel in sections["countries-yes-no"].panels] == ["lab/good", "scripted/always-yes"]
    assert [panel.title for panel in sections["map-yes-no"].panels] == ["lab/good"]
    assert "Lowest Chile" in sections["map-yes-no"].panels[0].alt


def test_answers_given_with_spanish_words_are_found_in_the_cross_table(sections):
    closest = sections["closest"]
    assert isinstance(closest, Table)
    fits = {(row[0], row[2]): row[4] for row in closest.rows if row[1] == "lab/good"}
    assert fits["Chile (CL)", "yes–no questions"] == "Spain"
    assert fits["Spain (ES)", "yes–no questions"] == "its own"


def test_item_pages_show_what_was_chosen_missed_and_added(sections):
    pages = sections["items"]
    assert isinstance(pages, Pages)
    bus = next(page for page in pages.pages if page["id"] == "bus")
    columns = bus["columns"]
    assert bus["rows"] == ["autobús", "micro", "guagua"]
    assert dict(zip(columns, bus["reference"], strict=True)) == {"ES": "+--", "CL": "-+-", "PR": "-?+"}
    cells = {layer["title"]: dict(zip(columns, layer["cells"], strict=True)) for layer in bus["layers"]}
    assert cells["lab/good, yes–no questions"] == {"ES": "100", "CL": "100", "PR": "0.1"}
    assert cells["lab/good, multiple choice"]["CL"] == "100"
    assert pages.column_names["CL"] == "Chile"


def test_nothing_scored_gives_dashes_and_no_figure(dataset):
    found = report(dataset, "lab/mute")
    assert "no reply could be scored" in found["summary"].paragraphs[0]
    assert "countries-yes-no" not in found
    overview = found["overview"]
    assert overview.rows[0][2].value is None
    assert overview.rows[0][-2:] == ("0 of 23", "0 of 9")
    page = next(page for page in found["items"].pages if page["id"] == "car")
    assert page["layers"][0]["cells"] == ["xxx", "xxx", "xxx"]


def test_an_empty_survey_has_a_report_too(dataset):
    assert STUDY.sections is not None
    found = STUDY.sections([], pd.DataFrame(columns=list(ANSWER_COLUMNS)), dataset, SETTINGS)
    assert [section.id for section in found] == ["summary", "methods", "limits"]


def test_covariates_get_a_figure_each(dataset):
    rows = tuple({"code": code, "web tokens": number} for code, number in (("ES", 9e9), ("CL", 5e7), ("PR", 1e6)))
    found = report(dataset.model_copy(update={"tables": {**dataset.tables, "covariates": rows}}), "lab/good")
    charts = [found[id] for id in ("against-yes-no-web-tokens", "against-multiple-choice-web-tokens")]
    assert all(isinstance(chart, Chart) for chart in charts)
    assert "logarithmic" in str(charts[0].panels[0].spec)


def test_seed_and_voices_are_read_from_the_estimates(dataset):
    estimates = STUDY.estimate(survey(dataset, ("scripted/random", "lab/good")), dataset, SETTINGS, 7)
    assert seed_of(estimates) == 7
    assert seed_of([]) == 0
    view = View.of(estimates, dataset)
    assert view.voices("yes_no") == [Voice("lab/good", "strict"), Voice("scripted/random", "strict")]
    assert view.studied("yes_no") == [Voice("lab/good", "strict")]
    assert view.countries("yes_no") == ["ES", "PR", "CL"]
