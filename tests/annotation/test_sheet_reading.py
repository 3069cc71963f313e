"""Sheets that come back, as spreadsheets and people leave them: what is right is taken, the rest named by row."""

import datetime
import re

import openpyxl
import pytest

from isogloss.annotation import Fault, Field, Form, Together, read_sheet, sheet_task
from isogloss.annotation.cells import is_error, is_mangled
from isogloss.annotation.reading import read_field
from isogloss.errors import DataError

VALIDATE = Form(
    task="validate",
    title="How common?",
    instructions=(),
    language="es",
    shown=(("claim", "Lo que se dice"),),
    fields=(Field(name="value", title="¿Cuánto?", kind="scale", choices=("1", "2", "3", "4", "5"), abstain="?"),),
)
REVIEW = Form(
    task="review",
    title="Review",
    instructions=(),
    language="en",
    shown=(("text", "Text"),),
    fields=(
        Field(name="decision", title="Decision", kind="choice", choices=("accept", "edit", "reject"),
              labels=("aceptar", "corregir", "rechazar")),
        Field(name="reason", title="Reason", kind="text", required=False,
              required_if=("decision", ("edit", "reject"))),
        Field(name="new", title="New text", kind="text", required=False),
    ),
    together=Together(field="decision", values=("edit",), fields=("new",)),
)  # fmt: skip
ROWS = [{"item_id": f"s{n}", "claim": f"dicho número {n} de la costa"} for n in range(1, 6)]
TEXTS = [{"item_id": f"t{n}", "text": f"text {n} of the set"} for n in range(1, 6)]
HEAD = "Lo que se dice,¿Cuánto?,item_id,task,rater"


def lines(*values, rater="a1", task="validate", separator=",", head=HEAD):
    """A sheet for ROWS with some values, as text."""
    body = [
        separator.join((row["claim"], f'"{value}"', row["item_id"], task, rater))
        for row, value in zip(ROWS, values, strict=False)
    ]
    return "\n".join([head.replace(",", separator), *body]) + "\n"


def read(tmp_path, text, form=VALIDATE, rows=ROWS, *, encoding="utf-8", name="sheet.csv"):
    path = tmp_path / name
    path.write_text(text, encoding=encoding, newline="")
    return read_sheet(path, form, {"a1": rows, "a2": rows})


def values(reading):
    return {rating.item_id: rating.values for rating in reading.ratings}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_and_encodings_of_spreadsheets_are_read(tmp_path, separator, encoding):
    reading = read(tmp_path, lines(1, 2, 3, 4, 5, separator=separator), encoding=encoding)
    assert [rating.values["value"] for rating in reading.ratings] == [1, 2, 3, 4, 5]
    assert (reading.faults, reading.unfilled, reading.notes, reading.warnings) == ([], [], [], [])


def test_excels_line_that_names_the_separator_is_no_row(tmp_path):
    reading = read(tmp_path, "sep=;\n" + lines(1, 9, separator=";"), rows=ROWS[:2])
    assert [fault.row for fault in reading.faults] == [3]


def test_windows_1252_is_read_and_said(tmp_path):
    reading = read(tmp_path, lines(1, 2, 3, 4, 5), encoding="cp1252")
    assert len(reading.ratings) == 5
    assert reading.notes == [
        "not UTF-8, so read as Windows-1252; if letters look wrong, save it as 'CSV UTF-8' and import it again"
    ]


@pytest.mark.parametrize("typed", ["4", " 4 ", "4.0", "4,0", "'4", "４"])
def test_a_number_may_be_written_in_several_ways(tmp_path, typed):
    reading = read(tmp_path, lines(typed), rows=ROWS[:1])
    assert values(reading) == {"s1": {"value": 4}}
    assert isinstance(reading.ratings[0].values["value"], int)


@pytest.mark.parametrize("typed", ["0", "6", "4.5", "-4", "cuatro", "4!", "yes", "45", "nan", "1e0", "4,0,0"])
def test_unknown_values_are_named_by_row_and_not_taken(tmp_path, typed):
    reading = read(tmp_path, lines(3, typed), rows=ROWS[:2])
    assert values(reading) == {"s1": {"value": 3}}
    assert reading.faults == [Fault(3, f"column '¿Cuánto?': {typed!r} is none of 1, 2, 3, 4, 5, ?")]


@pytest.mark.parametrize(
    "typed", ["2026-05-03", "05-mar", "3-May", "mar-05", "03/05/2026", "5 ene", "2026-05-03 00:00:00"]
)
def test_dates_that_a_spreadsheet_made_are_named(tmp_path, typed):
    reading = read(tmp_path, lines(typed, 2), rows=ROWS[:2])
    assert values(reading) == {"s2": {"value": 2}}
    assert reading.faults == [
        Fault(2, f"column '¿Cuánto?': a spreadsheet seems to have made a date of what was typed: {typed!r}; "
                 "type it again as text")
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["late in May", "3 millers", "2026", "see 3-5", "maybe 5", ""])
def test_texts_with_numbers_are_no_dates(text):
    assert not is_mangled(text, "en")


def test_words_for_failed_formulas_are_known():
    assert all(map(is_error, ("#NAME?", "#¿NOMBRE?", "#REF!", "#DIV/0!", "#N/A", "#VALUE!")))
    assert not any(map(is_error, ("#1", "#late", "NAME?", "# NAME")))


def test_empty_rows_are_still_to_do_and_no_fault(tmp_path):
    reading = read(tmp_path, lines(5, "", "?", " ", 2))
    assert values(reading) == {"s1": {"value": 5}, "s3": {"value": None}, "s5": {"value": 2}}
    assert reading.unfilled == [3, 5]
    assert reading.faults == []


def test_missing_rows_are_named(tmp_path):
    reading = read(tmp_path, lines(1, 2, 3))
    assert len(reading.ratings) == 3
    assert reading.faults == [Fault(0, "2 rows are missing from the sheet: 's4', 's5'")]


def test_doubled_rows_count_once_if_they_agree_and_not_at_all_otherwise(tmp_path):
    text = (
        lines(1, 2, 3, 4, 5)
        + "dicho número 1 de la costa,1,s1,validate,a1\ndicho número 2 de la costa,4,s2,validate,a1\n"
    )
    reading = read(tmp_path, text)
    assert [rating.item_id for rating in reading.ratings] == ["s1", "s3", "s4", "s5"]
    assert reading.faults == [
        Fault(7, "item 's1' comes 2 times (rows 2, 7), with the same answers; one is taken"),
        Fault(8, "item 's2' comes 2 times (rows 3, 8), with different answers; none is taken, so leave one"),
    ]


def test_rows_of_another_rater_task_or_item_are_named_and_not_taken(tmp_path):
    text = lines(1, 2) + (
        "dicho número 3 de la costa,3,s3,validate,a2\n"
        "dicho número 4 de la costa,4,s4,review,a1\n"
        "dicho número 9 de la costa,4,s9,validate,a1\n"
    )
    reading = read(tmp_path, text, rows=ROWS[:4])
    assert list(values(reading)) == ["s1", "s2"]
    assert reading.faults == [
        Fault(4, "a row of the rater 'a2' in the sheet of 'a1'"),
        Fault(5, "a row of the task 'review' in a sheet of 'validate'"),
        Fault(6, "row 's9' isn't asked of 'a1' (any more); if the rows are others now, export anew"),
    ]


def test_one_column_sorted_alone_is_noticed(tmp_path):
    swapped = lines(1, 2, 3).replace("número 1", "número X").replace("número 2", "número 1").replace("X", "2")
    reading = read(tmp_path, swapped, rows=ROWS[:3])
    assert list(values(reading)) == ["s3"]
    assert reading.faults[0] == Fault(
        2, "column 'Lo que se dice': the text isn't the one that went out: "
           "'dicho número 2 de la costa', not 'dicho número 1 de la costa'"
    )  # fmt: skip


MANY = [{"item_id": f"s{n}", "claim": f"dicho {n} de la costa"} for n in range(1, 15)]


@pytest.mark.parametrize(
    ("typed", "way"),
    [
        ("1,1,1,2,2,2,2,3,3,4,5,5", "ascending"),
        ("5,5,4,4,4,3,3,2,2,1,1,1", "descending"),
        ("?,1,1,2,2,2,2,3,3,4,5,5,5", "ascending"),
        ("1,1,1,2,2,,2,2,3,3,4,5,5", "ascending"),
        ("1,1,1,2,2,2,3,3,4,5,5", ""),  # eleven
        ("1,1,1,1,1,1,1,1,5,5,5,5", ""),  # two values
        ("1,1,1,2,2,2,2,3,3,5,4,5", ""),
        ("3,3,3,3,3,3,3,3,3,3,3,3", ""),
    ],
)
def test_answers_that_stand_in_order_are_kept_with_a_warning(tmp_path, typed, way):
    answers = typed.split(",")
    body = [f"{row['claim']},{value},{row['item_id']},validate,a1" for row, value in zip(MANY, answers, strict=False)]
    reading = read(tmp_path, "\n".join([HEAD, *body]), rows=MANY[: len(answers)])
    assert len(reading.ratings) == sum(map(bool, answers))
    assert (reading.faults, reading.notes) == ([], [])
    assert reading.warnings == (
        [
            f"column '¿Cuánto?': the answers stand in {way} order from top to bottom, which a random order of rows "
            "hardly gives: was this column sorted alone? Then they are beside the wrong texts: move the sheet away, "
            "export anew with --task validate, and have it filled in again. If whole rows were sorted, all is well"
        ]
        if way
        else []
    )


def test_rows_that_came_back_before_are_neither_missing_nor_still_to_do(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text(lines(1, "", "", 4), encoding="utf-8")
    reading = read_sheet(path, VALIDATE, {"a1": ROWS}, answered={"a1": {"s2", "s5"}, "a2": {"s3"}})
    assert list(values(reading)) == ["s1", "s4"]
    assert (reading.faults, reading.unfilled) == ([], [4])


def test_a_shown_text_that_became_a_date_is_named(tmp_path):
    rows = [{"item_id": "s1", "claim": "3-5"}]
    reading = read(tmp_path, HEAD + "\n05-mar,4,s1,validate,a1\n", rows=rows)
    assert reading.faults == [Fault(2, "column 'Lo que se dice': a spreadsheet has made a date of '3-5': '05-mar'")]


def test_columns_may_be_in_another_order_and_own_ones_are_left_alone(tmp_path):
    text = "rater,mi nota,¿cuánto?,TASK,Item_ID,Lo que se dice\na1,uf,4,validate,s1,dicho  número 1 de la costa \n"
    reading = read(tmp_path, text, rows=ROWS[:1])
    assert values(reading) == {"s1": {"value": 4}}
    assert reading.notes == ["left alone, because the form has no such column: 'mi nota'"]


def test_workbooks_with_real_numbers_and_dates_are_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["notes of mine"])
    page = book.create_sheet("rows")
    page.append(HEAD.split(","))
    typed = [4, 4.0, datetime.datetime(2026, 5, 3), True, None]
    for row, value in zip(ROWS, typed, strict=True):
        page.append([row["claim"], value, row["item_id"], "validate", "a1"])
    page["H40"].number_format = "0"
    book.save(tmp_path / "any name.xlsx")
    reading = read_sheet(tmp_path / "any name.xlsx", VALIDATE, {"a1": ROWS})
    assert values(reading) == {"s1": {"value": 4}, "s2": {"value": 4}}
    assert reading.unfilled == [6]
    assert [fault.row for fault in reading.faults] == [4, 5]
    assert "made a date of what was typed: '2026-05-03'" in reading.faults[0].message
    assert "'True' is none of" in reading.faults[1].message


def test_a_second_worksheet_with_the_key_columns_is_named_and_left_alone(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["notes of mine"])
    for name, value in (("rows", 4), ("copy", 1)):
        page = book.create_sheet(name)
        page.append(HEAD.split(","))
        page.append([ROWS[0]["claim"], value, "s1", "validate", "a1"])
    book.save(tmp_path / "x.xlsx")
    reading = read_sheet(tmp_path / "x.xlsx", VALIDATE, {"a1": ROWS[:1]})
    assert values(reading) == {"s1": {"value": 4}}
    assert reading.warnings == [
        "only the worksheet 'rows' is read, and 'copy' left alone, though the columns item_id, task, rater are there, "
        "too: if the answers are there, save it as a file of its own and import that"
    ]


def review(tmp_path, *said):
    body = [
        ",".join((row["text"], *cells, row["item_id"], "review", "a1")) for row, cells in zip(TEXTS, said, strict=False)
    ]
    text = "\n".join(["Text,Decision,Reason,New text,item_id,task,rater", *body])
    return read(tmp_path, text, REVIEW, TEXTS[: len(said)])


def test_choices_are_read_by_word_or_label_in_any_case(tmp_path):
    reading = review(tmp_path, ("Accept", "", ""), (" ACEPTAR", "", ""), ("rechazar", "untrue", ""))
    assert [rating.values["decision"] for rating in reading.ratings] == ["accept", "accept", "reject"]
    assert reading.ratings[2].values == {"decision": "reject", "reason": "untrue", "new": None}


def test_a_reason_that_is_needed_and_a_text_that_has_no_use_are_named(tmp_path):
    reading = review(
        tmp_path,
        ("reject", "", ""),
        ("edit", "typo", ""),
        ("accept", "", "a new text"),
        ("", "late", ""),
        ("edit", "x", "y"),
    )  # fmt: skip
    assert [rating.item_id for rating in reading.ratings] == ["t5"]
    assert reading.faults == [
        Fault(2, "column 'Reason' is empty, but 'rechazar' needs it"),
        Fault(3, "'corregir' needs at least one of 'New text'"),
        Fault(4, "a text in 'New text' goes with 'corregir' only"),
        Fault(5, "column 'Decision' is empty"),
    ]


def test_a_word_that_is_no_choice_is_answered_with_the_labels_that_the_sheet_shows(tmp_path):
    reading = review(tmp_path, ("quizá", "", ""))
    assert reading.faults == [Fault(2, "column 'Decision': 'quizá' is none of aceptar, corregir, rechazar")]
    bare = REVIEW.fields[0].model_copy(update={"labels": ()})
    assert read_field(bare, "quizá", "es") == (None, "'quizá' is none of accept, edit, reject")


def test_a_reason_that_became_a_date_or_an_error_is_named(tmp_path):
    reading = review(tmp_path, ("reject", "05-mar", ""), ("reject", "#NAME?", ""), ("reject", "'-no", ""))
    assert [rating.values["reason"] for rating in reading.ratings] == ["-no"]
    assert [fault.row for fault in reading.faults] == [2, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lines(1, 2, rater="a9"), "no rater named 'a9'; there are a1, a2"),
        (lines(1, task="write"), "is a sheet of the task 'write', not of 'validate'"),
        (lines(1, head=HEAD.replace("¿Cuánto?", "Nota")), "has no column '¿Cuánto?'"),
        (lines(1, head=HEAD.replace("rater", "who")), "isn't a sheet of isogloss"),
        (HEAD + "\n", "has no rows"),
        ("", "isn't a sheet of isogloss"),
        (HEAD.replace("Lo que se dice", "¿Cuánto?") + "\n", "the column '¿cuanto?' comes twice"),
    ],
)
def test_what_is_no_sheet_of_these_raters_is_refused(tmp_path, text, words):
    with pytest.raises(DataError, match=re.escape(words)):
        read(tmp_path, text)


def test_files_that_cannot_be_read_are_refused_in_one_line(tmp_path):
    (tmp_path / "x.xlsx").write_bytes(b"not a workbook")
    (tmp_path / "x.csv").write_bytes(b"\x81\x8d\xff")
    for name, words in [
        ("x.xlsx", "can't be read as a workbook"), ("x.csv", "neither UTF-8 nor Windows-1252"),
        ("x.ods", "is neither CSV nor xlsx"), ("gone.csv", "can't be read: No such file"),
    ]:  # fmt: skip
        with pytest.raises(DataError, match=words) as caught:
            sheet_task(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_no_mutilated_sheet_breaks_the_reading(tmp_path):
    """Each way to cut a good sheet short gives a reading or one clear line."""
    good = lines(1, 2, 3, 4, 5)
    for end in range(0, len(good), 3):
        try:
            reading = read(tmp_path, good[:end])
        except DataError:
            continue
        assert reading.rater == "a1"
        assert len(reading.ratings) + len(reading.unfilled) + len(reading.faults) >= 1
