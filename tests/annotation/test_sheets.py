"""Sheets that go out: what is in them, in which order, and what is never written over."""

import csv
import doctest
import io
import re
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.annotation import Field, Form, cells, read_sheet, sheet_task, write_sheets
from isogloss.annotation.cells import guarded, needs_guard, unguarded
from isogloss.annotation.language import is_right_to_left, list_separator
from isogloss.annotation.workbook import n_lines
from isogloss.errors import SettingError

FORM = Form(
    task="validate",
    title="How common is it?",
    instructions=("Content warning: these are stereotypes.", "Write one number a row."),
    language="en",
    shown=(("group", "Group"), ("claim", "What is said")),
    fields=(
        Field(name="value", title="How common", kind="scale", choices=("1", "2", "3", "4", "5"),
              labels=("never seen", "rare", "known", "common", "pervasive"), abstain="?", abstain_label="can't say"),
        Field(name="note", title="Remark", kind="text", required=False),
    ),
)  # fmt: skip
CLAIMS = {
    "s1": ("people of the coast", "are always late"),
    "s2": ("millers", '=HYPERLINK("http://example.invalid")'),
    "s3": ("people of the hills", "3-5"),
    "s4": ("007", "say \"maybe\", then;\nleave"),
    "1e5": ("bakers", "-they whistle"),
}  # fmt: skip
ROWS = [{"item_id": key, "group": group, "claim": claim} for key, (group, claim) in CLAIMS.items()]


def csv_rows(path: Path) -> list[dict[str, str]]:
    text = path.read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in text.splitlines()[0] else ","))


def fill(path: Path, values: dict[str, str]) -> None:
    """Write values into a sheet as a rater would, by item."""
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        page = book["validate"]
        for row in range(2, page.max_row + 1):
            if page.cell(row, 5).value in values:
                page.cell(row, 3).value = values[page.cell(row, 5).value]
        book.save(path)
        return
    rows = csv_rows(path)
    for row in rows:
        row["How common"] = values.get(unguarded(row["item_id"]), "")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_sheet_goes_out_is_filled_in_and_comes_back(tmp_path, kind):
    [path] = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=[kind])
    assert path.name == f"validate-a1.{kind}"
    assert sheet_task(path) == "validate"
    fill(path, {"s1": "5", "s2": "1", "s3": "4,0", "s4": "?", "1e5": " 2 "})
    reading = read_sheet(path, FORM, {"a1": ROWS, "a2": ROWS}, received_at=7.0)
    assert (reading.rater, reading.faults, reading.unfilled, reading.notes) == ("a1", [], [], [])
    assert {rating.item_id: rating.values["value"] for rating in reading.ratings} == {
        "s1": 5, "s2": 1, "s3": 4, "s4": None, "1e5": 2,
    }  # fmt: skip
    assert {rating.source for rating in reading.ratings} == {path.name}
    assert {rating.received_at for rating in reading.ratings} == {7.0}


def test_texts_that_a_spreadsheet_would_change_are_guarded_in_csv_and_text_in_workbooks(tmp_path):
    sheet, book = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv", "xlsx"])
    found = {row["item_id"]: (row["Group"], row["What is said"]) for row in csv_rows(sheet)}
    assert found == {
        "s1": CLAIMS["s1"],
        "s2": ("millers", "'" + CLAIMS["s2"][1]),
        "s3": ("people of the hills", "'3-5"),
        "s4": ("'007", CLAIMS["s4"][1]),
        "'1e5": ("bakers", "'-they whistle"),
    }
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    page = openpyxl.load_workbook(book)["validate"]
    kinds = {cell.data_type for row in page.iter_rows() for cell in row if cell.value is not None}
    assert kinds == {"s"}
    assert {cell.number_format for row in page.iter_rows() for cell in row} == {"@"}
    claims = {page.cell(row, 5).value: page.cell(row, 2).value for row in range(2, 7)}
    assert claims == {key: claim for key, (_, claim) in CLAIMS.items()}


def test_a_workbook_has_instructions_first_lists_of_values_and_a_fixed_header(tmp_path):
    [path] = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["xlsx"])
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["info", "validate"]
    info = [[cell.value for cell in row] for row in book["info"].iter_rows()]
    assert info == [
        [None, "How common is it?"], [None, FORM.instructions[0]], [None, FORM.instructions[1]], [None, None],
        ["How common", None], ["1", "never seen"], ["2", "rare"], ["3", "known"], ["4", "common"], ["5", "pervasive"],
        ["?", "can't say"],
    ]  # fmt: skip
    page = book["validate"]
    assert page.freeze_panes == "A2"
    [rule] = page.data_validations.dataValidation
    assert (str(rule.sqref), rule.formula1) == ("C2:C6", "info!$A$6:$A$11")
    assert page.protection.sheet
    assert not page["C2"].protection.locked
    assert page["A2"].protection.locked
    assert not page.sheet_view.rightToLeft


def test_rows_are_as_high_as_their_wrapped_texts_need(tmp_path):
    long = "word " * 60  # 300 characters: in a column of 48, seven lines and some room
    form = FORM.model_copy(update={"instructions": ("short", long)})
    rows = [{**ROWS[0], "claim": long}, ROWS[1]]
    [path] = write_sheets(form, {"a1": rows}, tmp_path, seed=0, formats=["xlsx"])
    book = openpyxl.load_workbook(path)
    assert [book["info"].row_dimensions[row].height for row in (2, 3)] == [15, 60]
    page = book["validate"]
    heights = {page.cell(row, 5).value: page.row_dimensions[row].height for row in (2, 3)}
    assert heights == {ROWS[0]["item_id"]: 8 * 15, ROWS[1]["item_id"]: 4 * 15}  # room to write


def test_letters_of_full_width_count_twice_and_no_row_is_higher_than_spreadsheets_allow(tmp_path):
    assert (n_lines("a" * 90, 48), n_lines("他" * 90, 48), n_lines("a\n\nb", 48)) == (3, 5, 3)
    [path] = write_sheets(FORM, {"a1": [{**ROWS[0], "claim": "word " * 500}]}, tmp_path, seed=0, formats=["xlsx"])
    assert openpyxl.load_workbook(path)["validate"].row_dimensions[2].height == 400


def test_instructions_with_the_warning_lie_beside_a_csv_sheet(tmp_path):
    write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"])
    text = (tmp_path / "validate-a1.txt").read_text(encoding="utf-8-sig")
    assert "Content warning" in text
    assert "  1  never seen\n" in text


def test_each_rater_has_an_order_of_their_own_that_the_seed_gives_again(tmp_path):
    many = [{"item_id": f"s{n}", "group": "g", "claim": f"claim of number {n} here"} for n in range(30)]

    def orders(folder, seed, rows):
        paths = write_sheets(FORM, {"a1": rows, "a2": rows}, tmp_path / folder, seed=seed, formats=["csv"])
        return [[row["item_id"] for row in csv_rows(path)] for path in paths]

    one, two = orders("x", 0, many)
    assert sorted(one) == sorted(two) == sorted(row["item_id"] for row in many)
    assert one != two
    assert orders("y", 0, many[::-1]) == [one, two]
    assert orders("z", 1, many) != [one, two]


def test_a_sheet_says_nothing_of_other_raters(tmp_path):
    paths = write_sheets(FORM, {"a1": ROWS, "zz9": ROWS}, tmp_path, seed=0, formats=["csv"])
    assert "zz9" not in paths[0].read_text(encoding="utf-8-sig")


def test_a_begun_sheet_is_left_as_it_is_and_a_fresh_one_is_written_anew(tmp_path):
    sheet, book = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv", "xlsx"])
    fill(sheet, {"s1": "5"})
    before = sheet.read_bytes()
    again = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=3, formats=["csv", "xlsx"])
    assert again == [sheet, book]
    assert sheet.read_bytes() == before


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_begun_sheet_whose_rows_are_others_now_stays_and_the_new_one_goes_beside(tmp_path, kind):
    [path] = write_sheets(FORM, {"a1": ROWS[1:]}, tmp_path, seed=0, formats=[kind])
    fill(path, {"s2": "5"})
    before, said = path.read_bytes(), []
    paths = write_sheets(FORM, {"a1": ROWS, "a0": ROWS}, tmp_path, seed=0, formats=[kind], tell=said.append)
    assert [one.name for one in paths] == [f"validate-a1-2.{kind}", f"validate-a0.{kind}"]
    assert path.read_bytes() == before
    assert said == [
        f"{path} has been begun with other rows, or is no sheet: it stays as it is, and a new one goes beside"
    ]
    assert len(read_sheet(paths[0], FORM, {"a1": ROWS}).unfilled) == 5
    fill(paths[0], {"s1": "4"})
    assert write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=[kind]) == paths[:1]
    assert write_sheets(FORM, {"a1": ROWS[2:]}, tmp_path, seed=0, formats=[kind])[0].name == f"validate-a1-3.{kind}"


def test_a_begun_workbook_takes_the_csv_sheet_beside_it_to_the_next_number(tmp_path):
    _, book = write_sheets(FORM, {"a1": ROWS[1:]}, tmp_path, seed=0, formats=["csv", "xlsx"])
    fill(book, {"s2": "5"})
    paths = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv", "xlsx"])
    assert [path.name for path in paths] == ["validate-a1-2.csv", "validate-a1-2.xlsx"]


def test_a_number_that_is_another_raters_code_is_passed_over(tmp_path):
    [path, other] = write_sheets(FORM, {"a1": ROWS[1:], "A1-2": ROWS}, tmp_path, seed=0, formats=["csv"])
    fill(path, {"s2": "5"})
    paths = write_sheets(FORM, {"a1": ROWS, "A1-2": []}, tmp_path, seed=0, formats=["csv"])
    assert [one.name for one in paths] == ["validate-a1-3.csv"]
    assert sorted(row["rater"] for row in csv_rows(other)) == ["A1-2"] * 5


def test_rows_that_came_back_already_do_not_go_out_again(tmp_path):
    answered = {"a1": {"s1", "s2", "gone"}, "a2": {row["item_id"] for row in ROWS}}
    paths = write_sheets(
        FORM, {"a1": ROWS, "a2": ROWS, "a3": ROWS}, tmp_path, seed=0, formats=["csv"], answered=answered
    )
    assert [path.name for path in paths] == ["validate-a1.csv", "validate-a3.csv"]
    assert sorted(row["item_id"] for row in csv_rows(paths[0])) == ["'1e5", "s3", "s4"]
    assert len(csv_rows(paths[1])) == 5


def test_a_begun_sheet_that_holds_what_is_left_among_rows_that_came_back_stays_the_sheet(tmp_path):
    [path] = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"])
    fill(path, {"s1": "5", "s2": "4"})
    answered = {"a1": {"s1", "s2"}}
    assert write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"], answered=answered) == [path]
    assert len(csv_rows(path)) == 5


def test_a_sheet_nobody_has_begun_gives_way_to_new_rows(tmp_path):
    [path] = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"])
    write_sheets(FORM, {"a1": ROWS[:2]}, tmp_path, seed=0, formats=["csv"])
    assert {row["item_id"] for row in csv_rows(path)} == {"s1", "s2"}


def test_a_file_of_somebody_else_under_the_name_is_not_written_over(tmp_path):
    (tmp_path / "validate-a1.csv").write_text("my,notes\n1,2\n")
    [path] = write_sheets(FORM, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"])
    assert path.name == "validate-a1-2.csv"
    assert (tmp_path / "validate-a1.csv").read_text() == "my,notes\n1,2\n"


def test_a_rater_without_rows_gets_no_sheet(tmp_path):
    assert write_sheets(FORM, {"a1": []}, tmp_path, seed=0, formats=["csv"]) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", ["ana@example.org", "a/1", "", "..", "-a", "a b"])
def test_codes_unfit_for_file_names_are_refused(tmp_path, code):
    with pytest.raises(SettingError, match=re.escape(repr(code))):
        write_sheets(FORM, {code: ROWS}, tmp_path, seed=0, formats=["csv"])


def test_codes_that_differ_by_case_only_are_refused(tmp_path):
    with pytest.raises(SettingError, match="'a1' and 'A1' are too much alike"):
        write_sheets(FORM, {"a1": ROWS, "A1": ROWS}, tmp_path, seed=0, formats=["csv"])


def test_columns_of_one_title_are_refused(tmp_path):
    form = FORM.model_copy(update={"shown": (("group", "Remark"), ("claim", "What is said"))})
    with pytest.raises(SettingError, match="two columns titled 'Remark'"):
        write_sheets(form, {"a1": ROWS}, tmp_path, seed=0, formats=["csv"])


def test_raters_of_another_language_get_their_form_from_right_to_left(tmp_path):
    arabic = FORM.model_copy(
        update={"language": "ar", "title": "ما مدى انتشاره؟", "shown": (("group", "المجموعة"), ("claim", "القول"))}
    )
    form = FORM.model_copy(update={"others": {"b1": arabic}})
    paths = write_sheets(form, {"a1": ROWS, "b1": ROWS}, tmp_path, seed=0, formats=["xlsx"])
    pages = [openpyxl.load_workbook(path)["validate"] for path in paths]
    assert [page.sheet_view.rightToLeft for page in pages] == [False, True]
    assert [page["A1"].value for page in pages] == ["Group", "المجموعة"]
    assert pages[1]["A2"].alignment.readingOrder == 2
    fill(paths[1], {"s1": "٤"})
    reading = read_sheet(paths[1], form, {"b1": ROWS})
    assert [rating.values["value"] for rating in reading.ratings] == [4]


def test_cells_are_parted_as_spreadsheets_of_the_language_expect():
    assert [list_separator(tag) for tag in ("en", "es", "pt-BR", "es-MX", "es-XA", "zz")] == [
        ",",
        ";",
        ";",
        ",",
        ";",
        ",",
    ]
    assert [is_right_to_left(tag) for tag in ("ar", "he", "pa-Arab", "pa", "es-XA")] == [True, True, True, False, False]
    assert is_right_to_left("zz", "(العربية)")
    assert not is_right_to_left("zz", "123 abc")


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+5", "-x", "@here", "\t=1", " =1", "＝1", "3-5", "1/2", "007", "12345678901234567890", "1e5", "5 mar",
     "mar-05", "MARCH1", "12:30", "50 %", "$5", "TRUE", "Verdadero", "7th May", "2026-05-03"],
)  # fmt: skip
def test_what_looks_like_a_formula_a_number_or_a_date_is_guarded(text):
    assert guarded(text) == "'" + text


@pytest.mark.parametrize(
    "text", ["are always late", "a1", "'tis so", "the 3 millers of May", "", "b2:4f", "¿5?", "s-1f", "0", "12"]
)
def test_plain_texts_are_left_alone(text):
    assert guarded(text) == text


@given(st.text(st.sampled_from("'=+-@ 1/e.aMay\t\n"), max_size=8))
def test_what_is_guarded_comes_back_unchanged_also_without_its_apostrophe(text):
    assert unguarded(guarded(text)) == text
    if needs_guard(text) and not text.startswith("'"):
        assert unguarded(text) == text


def test_the_examples_of_cells_hold():
    found = doctest.testmod(cells)
    assert found.attempted > 0
    assert found.failed == 0
