"""A fifth study in under 60 lines, taken all the way: what this needs is all that a study costs."""

from __future__ import annotations

import csv
import inspect
from pathlib import Path

import pytest

import isogloss
from isogloss.models.scripted import ScriptedModel
from isogloss.records import AnswerForm, Condition, Dataset, Estimate, Item, Message, Prompt, Response, Status
from isogloss.study import Coder, Settings, Study
from isogloss.text import Reading


# --- the toy study begins
class ToySettings(Settings):
    language: str = "en"


def load_items(source, settings):
    with open(source, encoding="utf-8") as file:
        rows = tuple(
            Item(id=row["id"], text=row["question"], fields={"key": row["key"]}) for row in csv.DictReader(file)
        )
    return Dataset(name=Path(source).name, items=rows)


def conditions(dataset, settings, seed):
    for item in dataset.items:
        for country in ("CL", "PE"):
            yield item, Condition(country=country, language=settings.language)


def ask(item, condition, dataset, settings):
    content = f"You live in {condition.country}. {item.text} Say yes or no."
    return Prompt.make([Message(role="user", content=content)], form=AnswerForm(kind="one_of", choices=("yes", "no")))


def read(item, condition, response: Response) -> Reading:
    if response.text in ("yes", "no"):
        return Reading(Status.OK, response.text == "yes")
    return Reading(Status.UNPARSED, None, "neither yes nor no")


def estimate(answers, dataset, settings, seed):
    keys = {item.id: item.fields["key"] == "yes" for item in dataset.items}
    estimates = []
    for (model, country), rows in answers.groupby(["model", "country"]):
        scored = rows[rows["status"] == "ok"]
        right = [value == keys[item_id] for item_id, value in zip(scored["item_id"], scored["value"], strict=True)]
        estimates.append(Estimate(
            study="toy", measure="accuracy", group={"model": model, "country": country},
            value=sum(right) / len(right) if right else None, n_items=rows["item_id"].nunique(), n_answers=len(rows),
            n_scored=len(right), missing=rows[rows["status"] != "ok"]["status"].value_counts().to_dict(),
            method="share right",
        ))  # fmt: skip
    return estimates


TOY = Study(
    name="toy", version="1", title="Is it so?", settings=ToySettings, load=load_items, conditions=conditions, ask=ask,
    coders=lambda condition: [Coder("toy.yes_no@1", "strict", read)], estimate=estimate,
    reference=lambda item, condition, dataset, settings: item.fields["key"],
)  # fmt: skip
# --- the toy study ends


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "toy.csv"
    path.write_text(
        "id,question,key\na,Is water wet?,yes\nb,Is stone soft?,no\nc,Is the sky up?,yes\n", encoding="utf-8"
    )
    return path


def test_a_study_takes_under_60_lines():
    lines = inspect.getsource(inspect.getmodule(load_items)).splitlines()
    body = lines[lines.index("# --- the toy study begins") : lines.index("# --- the toy study ends")]
    assert len(body) < 60


def test_perfect_informant_goes_all_the_way(data, tmp_path):
    run = isogloss.run_study(TOY, data, models=["scripted/perfect"], out=tmp_path / "run")
    assert [e.value for e in run.records] == [1.0, 1.0]
    assert run.summary.asked == run.summary.prompts == 6
    assert set(run.answers["country"]) == {"CL", "PE"}
    assert run.report().read_text(encoding="utf-8").startswith("<!doctype html>")


def test_asking_again_asks_nothing_and_other_models_join(data, tmp_path):
    isogloss.run_study(TOY, data, models=["scripted/perfect"], out=tmp_path / "run")
    run = isogloss.run_study(TOY, data, models=["scripted/perfect", "scripted/always-yes"], out=tmp_path / "run")
    assert (run.summary.asked, run.summary.cached) == (6, 6)
    assert {e.group["model"]: e.value for e in run.records} == {
        "scripted/perfect": 1.0,
        "scripted/always-yes": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize(
    ("name", "status"),
    [("refuses", "unparsed"), ("empty", "unparsed"), ("rambles", "unparsed"), ("crashes", "failed")],
)
def test_silence_is_missing_and_never_a_value(data, tmp_path, name, status):
    run = isogloss.run_study(TOY, data, models=[f"scripted/{name}"], out=tmp_path / "run")
    for estimate_ in run.records:
        assert estimate_.value is None
        assert estimate_.missing == {status: 3}


def test_a_model_may_be_a_function(data, tmp_path):
    model = ScriptedModel("no-sayer", lambda prompt: "no")
    run = isogloss.run_study(TOY, data, models=[model], out=tmp_path / "run")
    assert [e.value for e in run.records] == [pytest.approx(1 / 3)] * 2
