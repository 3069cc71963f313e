"""What a file is, is seen from its content; what is wrong with it is named by file, row and column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import isogloss
from isogloss.errors import DataError, UnknownNameError
from isogloss.studies.stereotypes.check import findings
from isogloss.studies.stereotypes.items import load_items
from isogloss.studies.stereotypes.settings import StereotypeSettings

PLAIN = StereotypeSettings()
ROW = {
    "id": "r1", "country": "XA", "language": "es", "category": "region", "target": "gente de la costa",
    "context": "La gente de la costa espera.", "stereotype": "Llega tarde.", "anti_stereotype": "Llega pronto.",
    "unrelated": "El agua hierve.",
}  # fmt: skip


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_sample_is_two_made_up_countries_with_every_context_naming_its_group() -> None:
    job, found = isogloss.check_data("stereotypes", "sample")
    assert len(job.dataset.items) == 24
    assert {item.fields["country"] for item in job.dataset.items} == {"XA", "XB"}
    assert len({item.fields["category"] for item in job.dataset.items}) == 2
    assert not [one for one in found if one.where == "contexts"]
    for item in job.dataset.items:
        assert [option.role for option in item.options] == ["stereotype", "anti-stereotype", "unrelated"]


def test_stereoset_of_both_languages_has_the_same_ids(shared: Path) -> None:
    folder = shared / "data" / "stereoset"
    english, portuguese = (load_items(folder / f"dev_{name}.json", PLAIN) for name in ("en", "ptbr"))
    assert len(english.items) == 4229
    assert [item.id for item in english.items] == [item.id for item in portuguese.items]
    assert {item.fields["split"] for item in english.items} == {"intrasentence", "intersentence"}


def test_crows_pairs_has_the_more_stereotypical_sentence_as_stereotype(shared: Path) -> None:
    dataset = load_items(shared / "data" / "crows_pairs" / "crows_pairs.csv", PLAIN)
    assert len(dataset.items) == 1508
    assert all([option.role for option in item.options] == ["stereotype", "anti-stereotype"] for item in dataset.items)
    assert len({item.fields["category"] for item in dataset.items}) == 9


def test_own_layout_reads_alike_as_lines_parquet_table_and_folder(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rows = [ROW, {**ROW, "id": "r2", "country": "XB"}]
    frame = pd.DataFrame(rows)
    (tmp_path / "data" / "XA").mkdir(parents=True)
    (tmp_path / "data" / "XB").mkdir()
    frame[:1].to_parquet(tmp_path / "data" / "XA" / "test.parquet")
    frame[1:].to_parquet(tmp_path / "data" / "XB" / "test.parquet")
    (tmp_path / "data" / "ratings").mkdir()
    pd.DataFrame({"rater": ["a"]}).to_parquet(tmp_path / "data" / "ratings" / "XA.parquet")
    frame.to_parquet(tmp_path / "one.parquet")
    frame.to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "lines").mkdir()
    sources = [
        tmp_path / "data", tmp_path / "one.parquet", tmp_path / "one.csv", frame,
        lines(tmp_path / "one.jsonl", *rows), lines(tmp_path / "lines" / "XA.jsonl", *rows).parent,
    ]  # fmt: skip
    found = [load_items(source, PLAIN).items for source in sources]
    assert all(items == found[0] for items in found)
    assert [item.fields["country"] for item in found[0]] == ["XA", "XB"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"context": " "}, "rows.jsonl line 1: column 'context' is empty"),
        ({"target": None}, "rows.jsonl line 1: column 'target' is empty"),
        ({"category": ""}, "line 1: column 'category' is empty"),
        ({"anti_stereotype": "Llega tarde."}, "line 1: two of its sentences are the same"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, change: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load_items(lines(tmp_path / "rows.jsonl", {**ROW, **change}), PLAIN)


def test_columns_ids_and_files_that_lack_are_named(tmp_path: Path) -> None:
    short = {name: cell for name, cell in ROW.items() if name != "target"}
    with pytest.raises(DataError, match="has no column 'target'; expected StereoSet's JSON"):
        load_items(lines(tmp_path / "rows.jsonl", short), PLAIN)
    with pytest.raises(DataError, match=r"rows.jsonl line 2 has the id 'r1', which stands at .*rows.jsonl line 1, too"):
        load_items(lines(tmp_path / "rows.jsonl", ROW, ROW), PLAIN)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n{", encoding="utf-8")
    with pytest.raises(DataError, match="line 2 is not JSON"):
        load_items(tmp_path / "rows.jsonl", PLAIN)
    for name, content in (("empty.csv", ""), ("blank.jsonl", "\n")):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match="has no row"):
            load_items(tmp_path / name, PLAIN)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match="holds neither Parquet nor JSON lines"):
        load_items(tmp_path / "nothing", PLAIN)


def test_a_context_without_its_group_is_a_finding_and_no_error(tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.jsonl", ROW, {**ROW, "id": "r2", "context": "Mi vecina espera."})
    dataset = load_items(path, PLAIN)
    [finding] = [one for one in findings(dataset, PLAIN) if one.where == "contexts"]
    assert finding.message == "1 don't name their group: r2"


def test_settings_choose_rows_and_unknown_names_are_met_with_near_ones() -> None:
    job, _ = isogloss.check_data("stereotypes", "sample", settings={"countries": "XB"})
    assert {item.language for item in job.dataset.items} == {"pt"}
    job, _ = isogloss.check_data("stereotypes", "sample", settings={"sample": "5"})
    assert len(job.dataset.items) == 5
    with pytest.raises(UnknownNameError, match=r"no country in .* named 'XC'"):
        isogloss.check_data("stereotypes", "sample", settings={"countries": "XC"})


def test_what_a_table_marks_as_missing_is_missing_and_text_stays_text() -> None:
    pd = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pd.NA, pd.NaT):
        frame = pd.DataFrame([{**ROW, "split": missing, "unrelated": missing, "country": missing}])
        [item] = load_items(frame, PLAIN).items
        assert (item.fields["country"], item.fields["split"], len(item.options)) == ("", "intersentence", 2)
        with pytest.raises(DataError, match="row 1: column 'target' is empty"):
            load_items(pd.DataFrame([{**ROW, "target": missing}]), PLAIN)
    texts = pd.DataFrame([{**ROW, "country": "NA", "stereotype": "None", "anti_stereotype": "nan", "unrelated": "NO"}])
    [item] = load_items(texts, PLAIN).items
    assert item.fields["country"] == "NA"
    assert [option.text for option in item.options] == ["None", "nan", "NO"]


def test_check_says_how_many_terms_it_leaves_out_and_of_which_country_each_is(tmp_path: Path) -> None:
    rows = [
        {**ROW, "id": f"{country}{k}", "country": country, "target": f"grupo{k}", "context": f"Un grupo{k} espera."}
        for country in ("XA", "XB") for k in range(4)
    ]  # fmt: skip
    found = {one.where: one.message for one in findings(load_items(lines(tmp_path / "r.jsonl", *rows), PLAIN), PLAIN)}
    assert found["terms"].endswith(
        "8 of them with one example (each weighs as much as any other): 'grupo0' (XA), 'grupo1' (XA), 'grupo2' (XA), "
        "'grupo3' (XA), 'grupo0' (XB) and 3 more"
    )


def test_a_cell_too_many_in_own_csv_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("; ".join(ROW) + "\n" + ";".join(ROW.values()) + "\n" + ";".join(ROW.values()) + ";x\n", "utf-8")
    with pytest.raises(DataError, match=r"own.csv row 3 has 10 cells, the header 9; put text with a semicolon in it"):
        load_items(path, PLAIN)
