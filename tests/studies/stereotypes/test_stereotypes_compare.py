"""Triples by a model and by people, compared blind. Countries and stereotypes are made up."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import isogloss
from isogloss.api import Build
from isogloss.construction import Table, WaitingError, Workshop
from isogloss.errors import SettingError
from isogloss.models.scripted import ScriptedModel
from isogloss.records import Prompt, Rating, Response, Status
from isogloss.reports import Table as ReportTable
from isogloss.reports.sections import check_sections
from isogloss.studies.stereotypes.build.compare import COMPARE, Pair, agreement, compare, pairs_of, sheet
from isogloss.studies.stereotypes.build.config import BuildConfig, read_config
from isogloss.studies.stereotypes.build.figures import sections
from isogloss.studies.stereotypes.build.people import KEYS, words
from isogloss.studies.stereotypes.build.write import WRITE, write

CONFIG = """
name = "islands"
title = "Two islands"
licence = "CC0-1.0"
creators = ["A. Author"]
categories = ["region", "trade"]
[[countries]]
code = "XA"
name = "Aurelia"
language = "en"
[[countries]]
code = "XB"
name = "Borealia"
language = "en"
[retrieval]
claims = "claims.csv"
[validation]
raters = {XA = ["a1"], XB = ["b1"]}
needed = 1
[instances]
writer = "lab/secret"
writers = {XA = ["w1"]}
number = 2
both = ["XA"]
[review]
coordinator = "c1"
owner = "o1"
[comparison]
raters = {XA = ["a1", "j1", "j2"]}
[unrelated]
pool = "pool.txt"
most_similarity = 1.0
"""
CLAIMS = {"fishers": ("region", "are late"), "bakers": ("trade", "sing loudly"), "potters": ("trade", "fear storms")}
SENTENCES = (
    ("One of the {group} opened a door on Monday.", "It took hours.", "It took a minute."),
    ("Two {group} sat down beside a river.", "Nobody was glad of that.", "Everybody was glad of that."),
    ("We have met {group} at the market lately.", "They grumbled all morning.", "They laughed all morning."),
    ("My cousin lives with {group} in town.", "Her nights are dreadful.", "Her nights are quiet."),
)
TEXTS = ("context", "stereotype", "anti_stereotype")


def triples(group: str) -> list[dict[str, str]]:
    """Four of a group: the model writes the first two, a person the others."""
    return [dict(zip(TEXTS, (text.format(group=group) for text in texts), strict=True)) for texts in SENTENCES]


def reply(prompt: Prompt) -> str:
    return json.dumps(triples(next(group for group in CLAIMS if group in str(prompt.messages[0].content)))[:2])


def fill(path: Path, said: Callable[[Mapping[str, str]], Mapping[str, str]]) -> Path:
    """Fill a CSV sheet in as its rater would."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        titles, *rows = csv.reader(file)
    filled = [{**dict(zip(titles, row, strict=True)), **said(dict(zip(titles, row, strict=True)))} for row in rows]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([titles, *([row[title] for title in titles] for row in filled)])
    return path


def written(row: Mapping[str, str]) -> dict[str, str]:
    one = triples(row["Group"])[1 + int(row["Number"])]
    titles = ("Context that names the group", "Sentence with the stereotype", "Sentence with the opposite")
    return dict(zip(titles, one.values(), strict=True))


def side_of_person(row: Mapping[str, str]) -> str:
    """What a rater who knew it all would tell of a row: where the person's triple stands."""
    return "A" if row["A: context"] in {one["context"] for one in triples(row["Group"])[2:]} else "B"


RATERS = {
    "a1": lambda row: "?" if row["Group"] == "potters" else side_of_person(row),
    "j1": lambda row: side_of_person(row) if row["Group"] != "bakers" else {"A": "B", "B": "A"}[side_of_person(row)],
    "j2": lambda row: "no difference" if row["Group"] == "potters" else side_of_person(row),
}
"""Rater → side: all hold the person's of the fishers for better, and differ on the others."""


class Folder:
    """A construction, its sheets and the people who fill them in."""

    def __init__(self, place: Path, config: str = CONFIG) -> None:
        self.config, self.out = place / "config.toml", place / "out"
        self.config.write_text(config, encoding="utf-8")
        claims = [("XA", *CLAIMS[group][:1], group, CLAIMS[group][1]) for group in CLAIMS]
        with (place / "claims.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("country", "category", "group", "claim"), *claims,
                                        ("XB", "region", "fishers", "are late")])  # fmt: skip
        nouns = ("Salt", "Glass", "Copper", "Snow", "Paper", "Wool", "Chalk", "Amber", "Granite", "Clover", "Silk",
                 "Cedar", "Marble", "Barley", "Resin", "Ivory")  # fmt: skip
        (place / "pool.txt").write_text("".join(f"{noun} weighs little.\n" for noun in nouns), encoding="utf-8")
        self.prompts: list[str] = []

    def build(self, **more: Any) -> Build:
        def say(prompt: Prompt) -> str:
            self.prompts.append(str(prompt.messages[0].content))
            return reply(prompt)

        return isogloss.build_dataset(
            "stereotypes", self.config, out=self.out, models={"lab/secret": ScriptedModel("lab/secret", say)}, **more
        )

    def answer(self, task: str, said: Mapping[str, Callable[[Mapping[str, str]], Mapping[str, str]]]) -> None:
        """Every rater's sheet goes out, is filled in and comes back without a fault."""
        build = Build(self.out)
        paths = {path.stem: path for path in build.export_sheets(task, formats=["csv"])}
        assert list(paths) == [f"{task}-{rater}" for rater in said]
        for rater, of_row in said.items():
            [back] = build.import_sheets([fill(paths[f"{task}-{rater}"], of_row)])
            assert (back.rater, back.faults, back.n_unfilled) == (rater, (), 0)

    def to_comparison(self) -> Build:
        """All steps before it, with whoever takes part."""
        self.build()
        self.answer("validate", {rater: lambda row: {"How common (1 to 5)": "5"} for rater in ("a1", "b1")})
        self.build()
        self.answer("write", {"w1": written})
        accept = dict.fromkeys(("c1", "o1"), lambda row: {"Decision": "accept"})
        self.build()
        self.answer("review", {"c1": accept["c1"]})
        Build(self.out).export_sheets("review", formats=["csv"])
        build = Build(self.out)
        build.import_sheets([fill(self.out / "sheets" / "review-o1.csv", accept["o1"])])
        return self.build()

    def table(self, name: str) -> Table:
        lines = (self.out / "tables" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


# --- from the first step to the last ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, Build]:
    """A construction that waits for those who compare."""
    folder = Folder(tmp_path_factory.mktemp("waiting"))
    return folder, folder.to_comparison()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = Folder(tmp_path_factory.mktemp("done"))
    folder.to_comparison()
    folder.answer("compare", {rater: lambda row, say=say: {"Better triple": say(row)} for rater, say in RATERS.items()})
    summary = folder.build().summary
    assert summary is not None
    assert summary.complete, summary
    return folder


def test_it_waits_for_those_who_compare_and_all_that_a_rule_does_is_done(waiting: tuple[Folder, Build]):
    summary = waiting[1].summary
    assert summary is not None
    assert {name: state for name, state in summary.steps.items() if state != "done"} == {
        "compare": "waiting", "assemble": "to do",
    }  # fmt: skip
    assert summary.waiting.startswith(
        "'compare' waits for people: a1 has 6 of 6 rows to do, j1 has 6 of 6 rows to do, j2 has 6 of 6 rows to do; "
        "fewer than 3 answers to 6 of 6 pairs of XA; 'isogloss annotate export"
    )
    assert summary.waiting.endswith("(without comparing: take [comparison] out of the configuration)")


def test_both_write_for_the_country_and_the_model_alone_for_the_other(done: Folder):
    counts = Counter((row["country"], row["group"], row["origin"], row["writer"]) for row in done.table("instances"))
    both = {("XA", group, *who): 2 for group in CLAIMS for who in (("person", "w1"), ("model", "lab/secret"))}
    assert counts == {**both, ("XB", "fishers", "model", "lab/secret"): 2}
    assert len(done.table("triples")) == 14
    assert len(done.prompts) == 4
    assert not any(text[2].format(group="x")[:20] in prompt for prompt in done.prompts for text in SENTENCES)


def test_every_pair_has_what_each_rater_said_by_who_wrote_it(done: Folder):
    instances = {row["id"]: row for row in done.table("instances")}
    compared = done.table("compared")
    assert len(compared) == 6
    expected = {
        "fishers": {"a1": "person", "j1": "person", "j2": "person"},
        "bakers": {"a1": "person", "j1": "model", "j2": "person"},
        "potters": {"a1": None, "j1": "person", "j2": "same"},
    }
    for row in compared:
        model, person = instances[row["model_id"]], instances[row["person_id"]]
        assert (model["origin"], person["origin"], row["writer"]) == ("model", "person", "lab/secret")
        assert model["stereotype_id"] == person["stereotype_id"] == row["stereotype_id"]
        assert row["answers"] == expected[str(model["group"])]
        assert list(row["answers"]) == ["a1", "j1", "j2"]
    assert {row[key] for row in compared for key in ("model_id", "person_id")} == {
        id for id, row in instances.items() if row["country"] == "XA"
    }


def test_it_is_summed_up_by_country_and_category(done: Folder):
    rows = {row["category"]: row for row in done.table("comparison")}
    assert list(rows) == ["region", "trade", ""]
    assert rows["region"] == {
        "country": "XA", "category": "region", "n_pairs": 2, "n_judgements": 6, "n_model": 0, "n_person": 6,
        "n_same": 0, "n_cannot_tell": 0, "model_share": 0.0, "low": None, "high": None, "percent": 100.0,
        "alpha": None, "reason": "undefined: no variation, all ratings are the same",
    }  # fmt: skip
    trade, country = rows["trade"], rows[""]
    counts = ("n_pairs", "n_judgements", "n_model", "n_person", "n_same", "n_cannot_tell")
    assert [trade[key] for key in counts] == [4, 12, 2, 6, 2, 2]
    assert [country[key] for key in counts] == [6, 18, 2, 12, 2, 2]
    assert (trade["model_share"], country["model_share"]) == (2 / 8, 2 / 14)
    # Bakers bring 2 of 6, potters 0 of 2, fishers 0 of 6: no draw has a share over 2/6, and some have none.
    assert (trade["low"], trade["high"]) == (0.0, 2 / 6)
    assert (country["low"], country["high"]) == (0.0, 2 / 6)
    # Agreeing pairs of raters: fishers 3 of 3 (twice), bakers 1 of 3 (twice), potters 0 of 1 (twice).
    assert trade["percent"] == pytest.approx(100 * 2 / 8)
    assert country["percent"] == pytest.approx(100 * 8 / 14)
    # Nominal alpha by hand: 2 models, 12 persons, 2 same among 16 paired ratings; disagreement observed over expected.
    observed = (2 * (2 + 2) / 2 + 2 * 2 / 1) / 16
    expected = (16**2 - 2**2 - 12**2 - 2**2) / (16 * 15)
    assert country["alpha"] == pytest.approx(1 - observed / expected)
    assert country["reason"] == ""


def test_the_report_says_what_half_means(done: Folder):
    tables = {name: done.table(name) for name in ("comparison", "instances", "triples")}
    found = sections(tables, read_config(done.config))
    check_sections(found)
    [table] = [section for section in found if section.id == "comparison"]
    assert isinstance(table, ReportTable)
    assert table.title == "Written by models, written by people"
    assert [row[:8] for row in table.rows] == [
        ("Aurelia", "region", 2, 6, 0, 6, 0, 0), ("Aurelia", "trade", 4, 12, 2, 6, 2, 2),
        ("Aurelia", "all", 6, 18, 2, 12, 2, 2),
    ]  # fmt: skip
    assert [row[8].value for row in table.rows] == [0.0, 0.25, 2 / 14]
    assert "0.5 (50 %) says that neither is preferred" in table.note
    assert [section for section in sections({}, read_config(done.config)) if section.id == "comparison"] == []


def test_the_card_and_the_ratings_have_it(done: Folder):
    card = (done.out / "dataset" / "README.md").read_text(encoding="utf-8")
    assert (
        "Aurelia: 6 pairs of a triple by a model and one by a person were rated blind. Of 18 judgements, 2 hold the "
        "model’s for better, 12 the person’s, 2 neither, 2 can’t tell. Share for the model’s of those that prefer one: "
        "0.143 (0.000 … 0.333; 0.5 is no preference)." in card
    )
    assert "| XA | compare | 3 | 18 |" in card
    rows = [row for row in pq.read_table(done.out / "dataset/ratings/ratings.parquet").to_pylist()
            if row["task"] == "compare"]  # fmt: skip
    assert Counter(row["decision"] for row in rows) == {"person": 12, "model": 2, "same": 2, None: 2}
    assert {row["item_id"] for row in rows} == {
        f"{row['model_id']} {row['person_id']}" for row in done.table("compared")
    }
    assert not {row["rater"] for row in rows} & {"a1", "j1", "j2"}


def test_done_again_nothing_changes(done: Folder):
    before = {path: path.read_bytes() for path in (done.out / "dataset").rglob("*") if path.is_file()}
    summary = done.build().summary
    assert summary is not None
    assert (summary.made, summary.asked) == ([], 0)
    assert {path: path.read_bytes() for path in before} == before


# --- blind ------------------------------------------------------------------------------------------------------------


def test_no_cell_column_or_page_of_a_sheet_tells_who_wrote_what(waiting: tuple[Folder, Build]):
    folder, build = waiting
    known = {str(row[key]) for row in folder.table("instances") for key in ("id", "writer")}
    assert len(known) == 16  # fourteen triples, the model and the writer
    rows = {}
    for path in build.export_sheets("compare"):
        if path.suffix == ".csv":
            text = path.read_text("utf-8-sig")
            titles, *cells = csv.reader(text.splitlines())
            rows[path.stem] = [dict(zip(titles, row, strict=True)) for row in cells]
        else:
            with zipfile.ZipFile(path) as book:
                text = "".join(book.read(name).decode("utf-8") for name in book.namelist())
        assert not [name for name in known if re.search(rf"\b{re.escape(name)}\b", text)], path
        assert "person" not in text
        assert "model" not in text.replace("language models", "")
    assert list(rows) == ["compare-a1", "compare-j1", "compare-j2"]
    for mine in rows.values():
        assert list(mine[0]) == [
            "Topic", "Group", "What is said of it", "A: context", "A: stereotype", "A: opposite", "B: context",
            "B: stereotype", "B: opposite", "Better triple", "item_id", "task", "rater",
        ]  # fmt: skip
        # Two pairs of each stereotype: the model's is A in one, and B in the other.
        assert Counter((row["Group"], side_of_person(row)) for row in mine) == {
            (group, side): 1 for group in CLAIMS for side in "AB"
        }
    orders = {tuple(row["item_id"] for row in mine) for mine in rows.values()}
    assert len(orders) == 3
    assert len({frozenset(order) for order in orders}) == 1


def test_a_workbook_comes_back_in_words(waiting: tuple[Folder, Build], tmp_path: Path):
    import openpyxl

    from isogloss.annotation import read_sheet, write_sheets

    bench = waiting[1].bench()
    tables = {name: waiting[0].table(name) for name in COMPARE.reads}
    sheet = COMPARE.sheet(bench.workshop(COMPARE, tables))
    [path] = write_sheets(sheet.form, {"j1": sheet.rows["j1"]}, tmp_path, seed=0, formats=["xlsx"])
    book = openpyxl.load_workbook(path)
    page = book["compare"]
    for row, said in enumerate(("a", "B", "No difference", "?", "left"), start=2):
        page.cell(row, 10).value = said
    book.save(path)
    reading = read_sheet(path, sheet.form, sheet.rows)
    assert [one.values["better"] for one in reading.ratings] == ["A", "B", "same", None]
    assert [fault.message for fault in reading.faults] == [
        "column 'Better triple': 'left' is none of A, B, no difference, ?"
    ]
    assert reading.unfilled == [7]


# --- pairs ------------------------------------------------------------------------------------------------------------


def instance(stereotype: str, origin: str, number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{stereotype}{origin}{number}", "stereotype_id": stereotype, "country": "XA", "category": "region",
        "group": "fishers", "context": f"{origin} {number} of {stereotype}", "stereotype": "s", "anti_stereotype": "a",
        "writer": "lab/secret" if origin == "model" else "w1", "origin": origin, "accepted": True, **changes,
    }  # fmt: skip


def config(raters: tuple[str, ...] = ("j1", "j2"), needed: int = 2) -> BuildConfig:
    return BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC0-1.0", "creators": ["x"], "categories": ["region"],
            "countries": [{"code": code, "name": code, "language": "en"} for code in ("XA", "XB")],
            "retrieval": {"models": ["lab/a"]},
            "instances": {"writer": "lab/secret", "writers": {"XA": ["w1"]}, "number": 2, "both": ["XA"]},
            "comparison": {"raters": {"XA": raters}, "needed": needed} if raters else {},
        }
    )  # fmt: skip


def workshop(rows: Table, ratings: list[Rating] | None = None, given: BuildConfig | None = None, **more: Any):
    return Workshop(
        config=given or config(), tables={"reviewed": rows, "validated": []}, folder=Path("b"),
        ask=lambda *_, **__: pytest.fail("nobody asks a model here"), ratings=lambda task: ratings or [], **more,
    )  # fmt: skip


def say(pairs: list[Pair], rater: str, *answers: str | None) -> list[Rating]:
    return [
        Rating(task="compare", item_id=pair.id, rater=rater, values={"better": answer})
        for pair, answer in zip(pairs, answers, strict=True)
    ]


def test_as_many_pairs_as_the_smaller_side_has_of_accepted_triples_of_one_stereotype():
    rows = [
        *(instance("s1", "model", k) for k in range(5)), *(instance("s1", "person", k) for k in range(3)),
        instance("s1", "person", 3, accepted=False), instance("s2", "model", 0),
        instance("s3", "model", 0, country="XB"), instance("s3", "person", 0, country="XB"),
    ]  # fmt: skip
    pairs = pairs_of(workshop(rows))
    assert [pair.model["stereotype_id"] for pair in pairs] == ["s1"] * 3
    assert {pair.person["id"] for pair in pairs} == {f"s1person{k}" for k in range(3)}
    assert len({pair.model["id"] for pair in pairs}) == 3
    assert [pair.id for pair in pairs_of(workshop(rows[::-1]))] == [pair.id for pair in pairs]
    others = {tuple(pair.id for pair in pairs_of(workshop(rows, seed=seed))) for seed in range(20)}
    assert len(others) > 10


def test_sides_are_balanced_within_a_stereotype_and_by_chance_over_many():
    one = [instance(f"s{k}", origin, 0) for k in range(400) for origin in ("model", "person")]
    sides = Counter(pair.model_side for pair in pairs_of(workshop(one)))
    assert 170 <= sides["A"] <= 230  # three standard deviations
    four = [instance(f"s{k}", origin, n) for k in range(50) for n in range(4) for origin in ("model", "person")]
    pairs = pairs_of(workshop(four))
    assert Counter((pair.model["stereotype_id"], pair.model_side) for pair in pairs) == {
        (f"s{k}", side): 2 for k in range(50) for side in "AB"
    }
    first = {pair.id for pair in pairs_of(workshop(four[:80]))}
    assert first < {pair.id for pair in pairs}  # a stereotype more changes no pair of another


def test_an_answer_holds_for_just_the_texts_and_sides_that_were_shown():
    rows = [instance("s1", "model", 0), instance("s1", "person", 0)]
    [pair] = pairs = pairs_of(workshop(rows))
    ratings = [*say(pairs, "j1", pair.model_side), *say(pairs, "j2", "same")]
    [row] = compare(workshop(rows, ratings))["compared"]
    assert (row["pair"], row["answers"]) == (pair.id, {"j1": "model", "j2": "same"})
    corrected = [rows[0], {**rows[1], "stereotype": "corrected"}]
    with pytest.raises(WaitingError, match="fewer than 2 answers to 1 of 1 pairs of XA"):
        compare(workshop(corrected, ratings))
    assert pair._replace(model_side="B" if pair.model_side == "A" else "A").id != pair.id


def test_those_not_needed_and_strangers_do_not_count():
    rows = [instance("s1", "model", 0), instance("s1", "person", 0)]
    pairs = pairs_of(workshop(rows))
    ratings = [*say(pairs, "j1", None), *say(pairs, "stranger", "A")]
    with pytest.raises(WaitingError, match="j2 has 1 of 1 rows to do, j3 has 1 of 1 rows to do"):
        compare(workshop(rows, ratings, config(("j1", "j2", "j3"))))
    tables = compare(workshop(rows, [*ratings, *say(pairs, "j3", None)], config(("j1", "j2", "j3"))))
    assert tables["compared"][0]["answers"] == {"j1": None, "j3": None}
    [row] = tables["comparison"][1:]
    assert (row["n_judgements"], row["n_cannot_tell"], row["model_share"], row["low"]) == (2, 2, None, None)
    assert (row["percent"], row["alpha"], row["reason"]) == (None, None, "undefined: nobody could tell")


def test_who_wrote_for_the_country_does_not_compare_there():
    rows = [instance("s1", "model", 1), instance("s1", "person", 1, writer="j2")]
    for call in (compare, sheet):
        with pytest.raises(
            SettingError, match=r"'j2' is named in comparison\.raters\.XA, and has written triples of it"
        ):
            call(workshop(rows))


def test_agreement_says_why_there_is_none():
    assert agreement([]) == (None, None, "undefined: there is no pair")
    assert agreement([["model", None], ["same", None]]) == (None, None, "undefined: it needs two raters")
    assert agreement([["model", "model"]]) == (100.0, None, "undefined: no variation, all ratings are the same")
    assert agreement([["model", "model"], ["same", "same"]]) == (100.0, 1.0, "")


def test_a_country_without_a_pair_has_a_row_that_says_so():
    said: list[str] = []
    tables = compare(workshop([instance("s1", "model", 0)], warn=said.append))
    assert tables["compared"] == []
    [row] = tables["comparison"]
    assert (row["country"], row["category"], row["n_pairs"], row["model_share"]) == ("XA", "", 0, None)
    assert said == [
        "XA: no stereotype has both a model's and a person's triple that the reviews accepted, so none is compared"
    ]


@pytest.mark.parametrize("more", [{"skip_people": True}, {"given": config(())}])
def test_nobody_is_asked_and_nothing_compared_without_people_or_raters(more: dict[str, Any]):
    rows = [instance("s1", "model", 0), instance("s1", "person", 0)]
    assert compare(workshop(rows, **more)) == {"compared": [], "comparison": []}


def test_a_wording_of_the_users_without_this_part_is_missed_only_where_it_is_needed(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text('name = "own@1"\nlanguage = "en"\n', encoding="utf-8")
    rows = [instance("s1", "model", 0), instance("s1", "person", 0)]

    def sheet(raters: tuple[str, ...]) -> Mapping[str, Any]:
        given = config(raters)
        wording = given.validation.model_copy(update={"wording": str(own)})
        assert COMPARE.sheet is not None
        return COMPARE.sheet(workshop(rows, given=given.model_copy(update={"validation": wording}))).rows

    assert sheet(()) == {}
    with pytest.raises(SettingError, match=r"own\.toml has no part \[compare\]"):
        sheet(("j1", "j2"))


@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_the_wordings_that_ship_have_it(language: str):
    held = words(language, "compare")
    assert set(held.texts) == set(KEYS["compare"])
    assert held.texts["answers"][:2] == ("A", "B")
    assert "Aurelia" in held.filled("title", {"country": "Aurelia", "people": "x"})[0]


# --- both write -------------------------------------------------------------------------------------------------------


def desk(ratings: list[Rating], replies: list[list[dict[str, str]]], **more: Any) -> tuple[Table, Table, list[str]]:
    """What is written for one stereotype; the texts that the model was asked with."""
    asked: list[str] = []

    def ask(prompts: Any, model: str, **_: Any) -> list[Response]:
        asked.extend(prompt.messages[0].content for prompt in prompts)
        text = json.dumps(replies[min(len(asked), len(replies)) - 1])
        return [Response(prompt_id=one.id, model=model, repeat=1, status=Status.OK, text=text) for one in prompts]

    row = {"id": "s1", "country": "XA", "language": "en", "category": "region", "group": "fishers",
           "claim": "are late", "kept": True}  # fmt: skip
    tables = write(
        Workshop(config=config(), tables={"validated": [row]}, folder=Path("b"), ask=ask,
                 ratings=lambda task: [one for one in ratings if one.task == task], **more)
    )  # fmt: skip
    return tables["instances"], tables["rejects"], asked


def by_people(*texts: dict[str, str]) -> list[Rating]:
    return [Rating(task="write", item_id=f"s1/{k}", rater="w1", values=one) for k, one in enumerate(texts, start=1)]


def test_near_copies_of_what_people_wrote_are_turned_down_and_the_model_is_not_shown_them():
    first, second, third, fourth = triples("fishers")
    instances, rejects, asked = desk(by_people(first, second), [[first, third], [fourth]])
    assert [(row["number"], row["origin"], row["context"]) for row in instances] == [
        (1, "person", first["context"]), (2, "person", second["context"]), (3, "model", third["context"]),
        (4, "model", fourth["context"]),
    ]  # fmt: skip
    assert [(row["rule"], row["writer"]) for row in rejects] == [("near-copy", "lab/secret")]
    assert len(asked) == 2
    assert "Write 2 " in asked[0]
    assert "Write 1 " in asked[1]
    assert third["context"] in asked[1]
    assert not [text for text in asked if first["context"] in text or second["context"] in text]


def test_without_people_the_model_writes_alone():
    first, second, *_ = triples("fishers")
    instances, rejects, _ = desk([], [[first, second]], skip_people=True)
    assert [(row["origin"], row["number"]) for row in instances] == [("model", 1), ("model", 2)]
    assert rejects == []
    with pytest.raises(WaitingError, match="w1 has 2 of 2 rows to do"):
        desk([], [[first, second]])


def test_too_few_are_counted_for_each_origin():
    first, second, third, _ = triples("fishers")
    said: list[str] = []
    desk(by_people(first, second), [[third]], warn=said.append)
    assert said[0].startswith("1 of 1 stereotypes have fewer than 2 triples of each origin; turned down: ")


def test_settings_of_the_step_that_writes_are_as_before_where_none_is_written_by_both():
    def keys(**changes: object) -> set[str]:
        given = config(())
        settings = WRITE.settings(given.model_copy(update={"instances": given.instances.model_copy(update=changes)}))
        return set(settings["instances"])  # type: ignore[index]

    assert keys() - keys(both=()) == {"both"}
    assert keys(both=()) == {"writer", "writers", "number", "wording", "max_rounds", "max_tokens", "temperature"}


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('both = ["XA"]', 'both = ["XC"]', "instances.both names the country 'XC', which isn't among XA, XB"),
        ('both = ["XA"]', 'both = ["XA", "XA"]', "country of instances.both 'XA' comes twice; leave one of them out"),
        ('both = ["XA"]', 'both = ["XA", "XB"]',
         "instances.both has XB, for which instances.writers names nobody; name writers"),
        ('writer = "lab/secret"', 'writer = "people"',
         "instances.both has XA, but no model writes; name a model as instances.writer"),
        ('both = ["XA"]', "", "comparison.raters names people for XA, which instances.both hasn't; only where"),
        ('{XA = ["a1", "j1", "j2"]}', '{XC = ["j1"]}',
         "comparison.raters names the country 'XC', which isn't among XA, XB"),
        ('{XA = ["a1", "j1", "j2"]}', '{XB = ["a1", "j1", "j2"]}',
         "comparison.raters names nobody for XA, which instances.both has; name raters"),
        ('"j1", "j2"]', '"j1"]', "comparison.raters.XA has 2 raters, fewer than the 3 needed; name more, or lower"),
        ('"j1", "j2"]', '"j1", "J1"]', "rater of XA in comparison 'J1' comes twice; leave one of them out"),
        ('"j1", "j2"]', '"j1", "w1"]', "'w1' writes for XA and compares what is written; name another for one"),
        ("[comparison]", "[comparision]", "no key named 'comparision'; did you mean 'comparison'?"),
        ("[comparison]", "[comparison]\nneded = 2", "no key in 'comparison' named 'neded'; did you mean 'needed'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, words: str):
    assert old in CONFIG
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.replace(old, new), encoding="utf-8")
    with pytest.raises(SettingError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)
