"""The data set as it is published: counts, layouts, the card, and that nobody can be known from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import isogloss
from isogloss.construction import Table, Workshop
from isogloss.errors import DataError
from isogloss.records import Rating
from isogloss.studies.stereotypes import STUDY
from isogloss.studies.stereotypes.build.assemble import ASSEMBLE, assemble, count_rows
from isogloss.studies.stereotypes.build.config import BuildConfig

AURELIA = {"code": "XA", "name": "Aurelia", "language": "es", "people": "los aurelianos"}
NORLANDIA = {"code": "NO", "name": "Norlandia", "language": "pt-BR"}


def config(*countries: dict[str, str], **changes: Any) -> BuildConfig:
    """As the user's file says it."""
    return BuildConfig.model_validate(
        {
            "name": "islands",
            "title": "Stereotypes of two islands",
            "licence": "CC-BY-4.0",
            "creators": ["A. Author"],
            "categories": [{"name": "region", "words": "regiones"}, "trade"],
            "countries": list(countries or (AURELIA, NORLANDIA)),
            "retrieval": {"models": ["openai/x"]},
            "unrelated": {"licence": "CC BY-SA 3.0"},
            "validation": {"raters": {"XA": [f"a{k}" for k in range(5)]}},
            **changes,
        }
    )


def triple(country: str = "XA", number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"b2:{country}{number}", "stereotype_id": f"b2:s{country}{number}", "country": country, "language": "es",
        "category": "region", "target": f"los costeños {number}", "context": f"Un costeño {number} tenía una cita.",
        "stereotype": "Llegó tarde.", "anti_stereotype": "Llegó antes de la hora.",
        "unrelated": "La sal es blanca.", "unrelated_source": "pool.txt", "unrelated_similarity": 0.05,
        "origin": "model", "writer": "openai/x", "licence": "CC-BY-4.0", "validated": True, "reviewed": True,
        "corrected": False, "n_ratings": 5, "median": 4.0, **changes,
    }  # fmt: skip


def stereotype(country: str, number: int, **changes: Any) -> dict[str, Any]:
    return {"id": f"b2:s{country}{number}", "country": country, "language": "es", "category": "region",
            "group": f"los costeños {number}", "claim": "llegan tarde", **changes}  # fmt: skip


class Bench:
    """A folder with tables and ratings, in which the step is done again and again."""

    def __init__(self, folder: Path, tables: Mapping[str, Table], ratings: Sequence[Rating] = ()) -> None:
        self.folder, self.tables, self.ratings, self.warned = folder, dict(tables), ratings, list[str]()

    def make(self, given: Any = None, *, skip_people: bool = False) -> Table:
        workshop = Workshop(
            config=given or config(), tables=self.tables, folder=self.folder, ask=lambda *_, **__: [],
            ratings=lambda task: [one for one in self.ratings if one.task == task], warn=self.warned.append,
            skip_people=skip_people,
        )  # fmt: skip
        return assemble(workshop)["counts"]

    @property
    def card(self) -> str:
        return (self.folder / "dataset" / "README.md").read_text(encoding="utf-8")

    def rows(self, code: str) -> list[dict[str, Any]]:
        file = self.folder / "dataset" / "data" / code / "test-00000-of-00001.parquet"
        return pq.read_table(file).to_pylist()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    ratings = [Rating(task="validate", item_id="b2:sXA1", rater=f"a{k}", values={"value": 4}) for k in range(5)]
    decisions = [
        {"stage": "coordinator", "rater": "c1", "decision": "accept", "reason": ""},
        {"stage": "owner", "rater": "o1", "decision": "edit", "reason": "my cousin Ana says so"},
    ]
    instances = [
        {"id": row["id"], "country": row["country"], "language": "es", "category": "region"}
        for row in (triple("XA", 1), triple("NO", 1))
    ]
    tables = {
        "stereotypes": [stereotype("XA", 1), stereotype("XA", 2), stereotype("NO", 1)],
        "validated": [
            stereotype("XA", 1, kept=True, validated=True), stereotype("XA", 2, kept=False, validated=True),
            stereotype("NO", 1, kept=True, validated=False),
        ],
        "triples": [triple("XA", 1), triple("NO", 1, origin="person", writer="a3", validated=False, median=None)],
        "instances": instances,
        "reviewed": [{**instances[0], "decisions": decisions, "accepted": True}],
        "retrieval_log": [
            {"country": "XA", "model": "openai/x", "status": status, "n_rows": n, "n_repaired": 1, "n_dropped": 0}
            for status, n in (("ok", 8), ("ok", 3), ("refused", 0))
        ],
        "agreement": [{"country": "XA", "n_items": 2, "n_raters": 5, "percent": 100.0, "alpha": None,
                       "reason": "all ratings are equal"}],
    }  # fmt: skip
    return Bench(tmp_path, tables, ratings)


def test_the_arithmetic_of_the_published_set_comes_out(shared: Path):
    expected = json.loads((shared / "data/published_tables/espanstereo_counts.json").read_text(encoding="utf-8"))
    n_of = expected["validated_stereotypes"]
    per_stereotype = expected["triples_per_stereotype"]
    dropped = 7
    validated = [
        {"country": country, "kept": k < n, "validated": True}
        for country, n in n_of.items()
        for k in range(n + dropped)
    ]
    triples = [{"country": country} for country, n in n_of.items() for _ in range(n * per_stereotype)]
    rows = count_rows({"stereotypes": validated, "validated": validated, "triples": triples}, list(n_of))
    assert {row["country"]: row["n_validated"] for row in rows} == n_of
    assert [row["n_triples"] for row in rows] == [475, 490, 710, 435, 580]
    assert sum(row["n_validated"] for row in rows) == expected["total"] == 538
    assert sum(row["n_triples"] for row in rows) == expected["total_triples"] == 538 * 5 == 2690
    assert sum(row["n_stereotypes"] for row in rows) == 538 + 5 * dropped


def test_counts_tell_found_confirmed_and_made(bench: Bench):
    assert bench.make() == [
        {"country": "XA", "n_stereotypes": 2, "n_validated": 1, "n_triples": 1},
        {"country": "NO", "n_stereotypes": 1, "n_validated": 0, "n_triples": 1},
    ]
    assert ASSEMBLE.writes == ("counts",)


def test_columns_have_types_and_gaps_are_null(bench: Bench):
    bench.make()
    schema = pq.read_schema(bench.folder / "dataset/data/NO/test-00000-of-00001.parquet")
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert {kinds[name] for name in ("id", "country", "context", "unrelated", "licence", "canary")} == {"string"}
    assert (kinds["validated"], kinds["n_ratings"], kinds["median"]) == ("bool", "int32", "double")
    [row] = bench.rows("NO")
    assert row["median"] is None
    lines = (bench.folder / "dataset/data/NO/test.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [row]


def test_the_header_declares_a_configuration_a_country_and_quotes_what_yaml_would_misread(bench: Bench):
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with transformers")
    bench.make()
    header = yaml.safe_load(bench.card.split("---\n")[1])
    assert [one["config_name"] for one in header["configs"]] == ["XA", "NO"]
    assert header["language"] == ["es", "pt"]
    assert header["license"] == "cc-by-4.0"
    for one in header["configs"]:
        [file] = one["data_files"]
        assert file["split"] == "test"
        assert (bench.folder / "dataset" / file["path"]).is_file()


def test_stereosets_layout_has_ids_by_content_in_an_order_that_tells_nothing(bench: Bench):
    bench.tables["triples"] += [triple("XA", k) for k in range(2, 40)] + [triple("XA", 40, unrelated=None)]
    bench.make()
    whole = json.loads((bench.folder / "dataset/stereoset/XA.json").read_text(encoding="utf-8"))
    examples = whole["data"]["intersentence"]
    assert len(examples) == 39
    first = examples[0]
    assert (first["id"], first["target"], first["bias_type"]) == ("b2:XA1", "los costeños 1", "region")
    assert {one["gold_label"]: one["sentence"] for one in first["sentences"]} == {
        "stereotype": "Llegó tarde.", "anti-stereotype": "Llegó antes de la hora.", "unrelated": "La sal es blanca.",
    }  # fmt: skip
    assert len({one["id"] for example in examples for one in example["sentences"]}) == 3 * 39
    places = [[one["gold_label"] for one in example["sentences"]].index("stereotype") for example in examples]
    assert {places.count(place) >= 5 for place in range(3)} == {True}


@pytest.mark.parametrize("part", ["dataset", "dataset/data/XA/test.jsonl", "dataset/stereoset/XA.json"])
def test_what_was_written_is_read_again_by_the_measuring_part(bench: Bench, part: str):
    bench.make()
    dataset = STUDY.load(bench.folder / part, STUDY.parse_settings({}))
    item = next(item for item in dataset.items if item.fields["country"] == "XA")
    assert (item.id, item.language, item.fields["target"]) == ("b2:XA1", "es", "los costeños 1")
    assert [option.role for option in item.options] == ["stereotype", "anti-stereotype", "unrelated"]
    assert len(dataset.items) == (2 if part == "dataset" else 1)


def test_a_run_measures_it(bench: Bench):
    bench.make()
    settings = {"rule": "forced_choice", "resamples": 20}
    run = isogloss.run_study("stereotypes", bench.folder / "dataset", models=["scripted/random"], settings=settings)
    assert {one.measure for one in run.records} >= {"ss", "lms", "icat"}


def test_nobody_can_be_known_from_the_ratings(bench: Bench):
    bench.make()
    rows = pq.read_table(bench.folder / "dataset/ratings/ratings.parquet").to_pylist()
    assert [(row["task"], row["value"], row["decision"]) for row in rows] == [
        ("review coordinator", None, "accept"), ("review owner", None, "edit"),
        *[("validate", 4, None)] * 5,
    ]  # fmt: skip
    codes = [row["rater"] for row in rows]
    assert len(set(codes)) == 7
    assert all(re.fullmatch(r"r-[0-9a-f]{12}", code) for code in codes)
    assert [row["rater"] for row in rows if row["task"] == "validate"] == sorted(codes[2:])
    everything = "".join(
        str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text(encoding="utf-8")
        for path in (bench.folder / "dataset").rglob("*") if path.is_file()
    )  # fmt: skip
    assert "cousin" not in everything
    assert "'a3'" not in everything
    salt = (bench.folder / "assemble/rater-salt").read_text(encoding="ascii")
    assert salt not in everything


def test_a_rater_who_cannot_tell_is_there_without_a_number(bench: Bench):
    bench.ratings = [Rating(task="validate", item_id="b2:sXA1", rater="a1", values={"value": word}) for word in ("?",)]
    bench.make()
    rows = pq.read_table(bench.folder / "dataset/ratings/ratings.parquet").to_pylist()
    assert [row["value"] for row in rows if row["task"] == "validate"] == [None]


def test_a_person_has_one_code_everywhere_and_always_but_another_elsewhere(bench: Bench, tmp_path: Path):
    bench.make()
    first = bench.rows("NO")[0]["writer"]
    ratings = pq.read_table(bench.folder / "dataset/ratings/ratings.parquet").to_pylist()
    assert first in {row["rater"] for row in ratings if row["task"] == "validate"}
    bench.make()
    assert bench.rows("NO")[0]["writer"] == first
    assert bench.rows("XA")[0]["writer"] == "openai/x"
    other = Bench(tmp_path / "other", bench.tables)
    other.make()
    assert other.rows("NO")[0]["writer"] != first


def test_the_card_says_who_made_it_of_what(bench: Bench):
    bench.make()
    card = bench.card
    assert "Content warning" in card
    assert "| openai/x | 3 | 2 | 1 | 0 | 11 | 3 | 0 |" in card
    assert "| Aurelia (XA) | es | 2 | 1 of 2 | 1 | 1 |" in card
    assert "| Norlandia (NO) | pt-BR | 1 | – | 1 | 1 |" in card
    assert "| model | openai/x | CC-BY-4.0 | 1 |" in card
    assert "| person | people | CC-BY-4.0 | 1 |" in card
    assert "| XA | validate | 5 | 5 |" in card
    assert "all ratings are equal" in card
    assert "median of its ratings is 2 or less" in card
    assert "2.5, possible with an even number of raters) is kept" in card
    assert "Not for training" in card
    assert "Unrelated sentences (licence: CC BY-SA 3.0)" in card
    assert bench.rows("XA")[0]["canary"] in card
    assert "No people took part" not in card
    assert "{{" not in card
    assert "\n\n\n" not in card


def test_the_card_says_that_no_people_took_part(bench: Bench):
    bench.tables["triples"] = [triple(validated=False, reviewed=False, n_ratings=0, median=None)]
    bench.tables["validated"] = [stereotype("XA", 1, kept=True, validated=False)]
    bench.tables["reviewed"] = []
    bench.tables["agreement"] = []
    bench.ratings = []
    bench.make(config(AURELIA), skip_people=True)
    assert "**No people took part: it was built with `--skip-people`.** Nobody has confirmed" in bench.card
    assert "machine-generated" in bench.card
    assert not (bench.folder / "dataset/ratings").exists()


def test_the_card_tells_ready_claims_from_those_of_models(bench: Bench):
    bench.tables["retrieval_log"] = []
    bench.make(config(retrieval={"claims": "/home/somebody/claims.csv"}))
    assert "1. *Retrieval.* Claims were taken from a file, claims.csv." in bench.card
    assert "somebody" not in bench.card
    bench.make()
    assert "6 points of view, at most 10 rounds each." in " ".join(bench.card.split())


def test_the_card_says_what_each_of_several_models_brought(bench: Bench):
    first, second, third = bench.tables["validated"]
    first["brought_by"], second["brought_by"], third["brought_by"] = ["lab/a", "file"], ["lab/a"], ["file"]
    bench.make()
    assert "| brought by | stereotypes | brought by no other | confirmed by people |" in bench.card
    assert "| file | 2 | 1 | 1 of 1 |\n| lab/a | 2 | 1 | 1 of 2 |" in bench.card
    assert "\n\n\n" not in bench.card
    for row in (first, second, third):
        row["validated"] = False
    bench.make()
    assert "| lab/a | 2 | 1 | – |" in bench.card
    first["brought_by"] = third["brought_by"] = ["lab/a"]
    bench.make()
    assert "brought by no other" not in bench.card


def test_the_card_says_what_raters_have_in_common(bench: Bench):
    bench.make()
    assert "told of themselves" not in bench.card
    bench.tables["agreement"][0]["told"] = ["age: 20 to 29 (3), another answer or none (2)", "a|b: x (5)"]
    bench.make()
    assert (
        "What raters told of themselves, as far as at least 3 of a country told the same:\n\n"
        "- XA: age: 20 to 29 (3), another answer or none (2)\n- XA: a\\|b: x (5)\n\n"
    ) in bench.card
    assert "\n\n\n" not in bench.card


def test_markdown_in_the_data_stays_text(bench: Bench):
    bench.tables["triples"][0]["category"] = "a|b <b>\nc"
    bench.make()
    assert r"| a\|b \<b> c | 1 | 0 |" in bench.card


def test_without_any_triple_there_is_a_card_and_a_warning(bench: Bench):
    bench.tables["triples"] = []
    counts = bench.make()
    assert [row["n_triples"] for row in counts] == [0, 0]
    assert "XA has no triple" in bench.warned[0]
    assert "configs:" not in bench.card
    assert not (bench.folder / "dataset/data").exists()


def test_a_country_that_is_gone_leaves_no_file_but_own_files_stay(bench: Bench):
    bench.make()
    own = bench.folder / "dataset" / "data" / "NO" / "notes.txt"
    own.write_text("mine", encoding="utf-8")
    bench.tables["triples"] = bench.tables["triples"][:1]
    bench.make(config(AURELIA))
    assert own.exists()
    assert sorted(path.name for path in own.parent.iterdir()) == ["notes.txt"]
    assert not (bench.folder / "dataset/stereoset/NO.json").exists()


def test_a_card_changed_by_hand_is_kept(bench: Bench):
    bench.make()
    card = bench.folder / "dataset" / "README.md"
    card.write_text(bench.card + "\nOur paper: …\n", encoding="utf-8")
    bench.tables["stereotypes"].append(stereotype("XA", 3))
    bench.make()
    assert "Our paper" in bench.card
    assert "README.new.md" in bench.warned[-1]
    assert "| Aurelia (XA) | es | 3 |" in (card.parent / "README.new.md").read_text(encoding="utf-8")
    card.unlink()
    bench.make()
    assert not (card.parent / "README.new.md").exists()


def test_the_same_input_gives_the_same_bytes(bench: Bench):
    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (bench.folder / "dataset").rglob("*") if path.is_file()}

    bench.make()
    first = content()
    bench.make()
    assert content() == first


def test_ratings_count_only_of_those_who_are_raters_and_where_people_are_asked(bench: Bench):
    bench.make(config(validation={"raters": {"XA": ["a1", "a2"]}, "needed": 2}))
    path = bench.folder / "dataset" / "ratings" / "ratings.parquet"
    tasks = [row["task"] for row in pq.read_table(path).to_pylist()]
    assert tasks.count("validate") == 2
    assert "| XA | validate | 2 | 2 |" in bench.card
    bench.make(skip_people=True)
    assert "validate" not in {row["task"] for row in pq.read_table(path).to_pylist()}
    assert "| validate |" not in bench.card


def test_what_reviewers_changed_and_turned_down_is_on_the_card(bench: Bench):
    bench.tables["triples"][0]["corrected"] = True
    bench.tables["reviewed"].append({**bench.tables["instances"][1], "decisions": [], "accepted": False})
    bench.make()
    assert bench.rows("XA")[0]["corrected"] is True
    assert "who corrected 1 of them.\n   They turned down 1 more, which aren't here." in bench.card
    assert "| model, corrected in review | openai/x | CC-BY-4.0 | 1 |" in bench.card
    [line] = [line for line in bench.card.splitlines() if "in these wordings" in line]
    assert line.endswith("in these wordings: people-es@1, people-pt@1, retrieve-es@1, retrieve-pt@1.")


def test_every_field_of_the_configuration_is_in_the_reference():
    page = (Path(__file__).parents[3] / "docs/reference/data-formats.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([^`\n]+)`", page.partition("## Configuration of a construction")[2]))
    schema = BuildConfig.model_json_schema()
    for name, field in schema["properties"].items():
        part = field.get("$ref") or field.get("items", {}).get("$ref")
        keys = schema["$defs"][part.rpartition("/")[2]]["properties"] if part else ()
        assert keys or name in words, name
        for key in keys:
            assert {key, f"{name}.{key}"} & words or any(key in word for word in words if word.startswith("{")), key


def test_a_triple_without_a_text_is_named(bench: Bench):
    bench.tables["triples"].append(triple("XA", 9, context=""))
    with pytest.raises(DataError, match="triple 'b2:XA9' has no 'context'"):
        bench.make()


def test_a_folder_that_cant_be_written_is_named(bench: Bench):
    (bench.folder / "dataset").write_text("in the way", encoding="utf-8")
    with pytest.raises(DataError, match=r"can.t write .*dataset"):
        bench.make()


@pytest.mark.parametrize(
    ("licence", "shown"), [("CC-BY-4.0", '"cc-by-4.0"'), ("CC0 1.0", '"cc0-1.0"'), ("Our terms, v2", '"other"')]
)
def test_licences_go_by_the_names_of_the_hub(bench: Bench, licence: str, shown: str):
    bench.make(config(licence=licence))
    assert f"license: {shown}\n" in bench.card
    assert ('license_name: "our-terms-v2"' in bench.card) == (shown == '"other"')
