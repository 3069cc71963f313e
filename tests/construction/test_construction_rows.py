"""Rows in a model's reply: plain ones as they are, others repaired and marked, the rest counted."""

import doctest

import pytest

from isogloss.construction import rows_in_text
from isogloss.construction.rows_in_text import EMPTY_LIST, RowsRead, read_rows

COLUMNS = ("group", "claim")
ONE = '{"group": "bakers", "claim": "sing while they work"}'
TWO = '{"group": "tailors", "claim": "are vain"}'
ROWS = (
    {"group": "bakers", "claim": "sing while they work"},
    {"group": "tailors", "claim": "are vain"},
)


@pytest.mark.parametrize(
    "text",
    [
        f"[{ONE}, {TWO}]",
        f"\n [{ONE},\n{TWO}]\n",
        f"{ONE}\n{TWO}",
        f"{ONE}\n\n{TWO}\n",
        f'[{ONE}, {{"claim": "are vain", "source": ["a book"], "group": " tailors\\n"}}]',
    ],
)
def test_a_list_or_json_lines_are_read_as_they_are(text):
    assert read_rows(text, COLUMNS) == RowsRead(ROWS, False, 0, "")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"```json\n[{ONE}, {TWO}]\n```", "code fence set aside"),
        (f"```\n{ONE}\n{TWO}\n```", "code fence set aside"),
        (f"Here they are:\n```json\n[{ONE}, {TWO}]\n```\nTell me [if] you need more.", "code fence set aside"),
        (f"Region:\n```json\n[{ONE}]\n```\nTrade:\n```json\n[{TWO}]\n```", "code fence set aside"),
        (f"Sure! [{ONE}, {TWO}] Shall I go on?", "words around the list set aside"),
        (f"[{ONE}, {TWO},]", "trailing commas set aside"),
        (f'{{"stereotypes": [{ONE}, {TWO}]}}', "list taken out of an object"),
        (f"[{ONE.replace('group', 'Group')}, {TWO}]", "names of columns in another case"),
        (f"1. {ONE}\n2. {TWO}", "rows read one by one"),
        (f"{ONE},\n{TWO},", "rows read one by one"),
        (f"Region [1]: [{ONE}] Trade: [{TWO}]", "rows read one by one"),
        (f"[{ONE}, {TWO[:-1]},}}]", "trailing commas set aside"),
        (f"[{ONE}, {TWO[:-1]},}}", "rows read one by one"),
        ("[{'group': 'bakers', 'claim': 'sing while they work'}, {'group': 'tailors', 'claim': 'are vain',}]",
         "rows read one by one"),
        (f"[{ONE}, {{“group”: “tailors”, “claim”: “are vain”}}]", "rows read one by one"),
        (f"[{ONE}, {{«group»: «tailors», «claim»: «are vain»}}]", "rows read one by one"),
        (f"[{ONE}, {{‘group’: ‘tailors’, ‘claim’: ‘are vain’}}]", "rows read one by one"),
        (f'[{ONE}, {{group: "tailors", claim: "are vain"}}]', "rows read one by one"),
        (f'{{"a": {{"b": {ONE}, "c": {TWO}}}}}', "rows read one by one"),
        (f'{{"region": [{ONE}], "trade": [{TWO}]}}', "rows read one by one"),
    ],
)  # fmt: skip
def test_what_is_around_rows_or_wrong_in_them_is_mended_and_marked(text, note):
    assert read_rows(text, COLUMNS) == RowsRead(ROWS, True, 0, note)


@pytest.mark.parametrize("around", ["[{}", '{{"stereotypes": [{}', "```json\n[{}", "Here they are: [{}"])
def test_a_reply_that_is_cut_off_gives_its_whole_rows(around):
    read = read_rows(around.format(f'{ONE}, {TWO}, {{"group": "pott'), COLUMNS)
    assert read == RowsRead(ROWS, True, 1, "rows read one by one")


def test_rows_that_cannot_be_used_are_counted():
    odd = ['{"group": "potters"}', '{"group": "", "claim": "x"}', '{"group": "…", "claim": "x"}',
           '{"group": "potters", "claim": 5}', '["potters", "are shy"]', '"potters"', "null"]  # fmt: skip
    assert read_rows(f"[{ONE}, {', '.join(odd)}, {TWO}]", COLUMNS) == RowsRead(ROWS, False, 7, "")
    assert read_rows(f"[{', '.join(odd)}]", COLUMNS) == RowsRead((), False, 7, "no row has group and claim")
    unreadable = """{"group": "potters", "claim": "say "hello" twice"}"""
    assert read_rows(f"[{ONE}, {unreadable}, {TWO}]", COLUMNS) == RowsRead(ROWS, True, 1, "rows read one by one")


def test_a_quote_inside_a_claim_stays():
    read = read_rows("""[{'group': 'bakers', 'claim': "don't say \\"good day\\""}]""", COLUMNS)
    assert read.rows == ({"group": "bakers", "claim": 'don\'t say "good day"'},)
    assert read_rows('[{"group": "bakers", "claim": "say “hello”"},]', COLUMNS).rows[0]["claim"] == "say “hello”"


def test_an_empty_list_is_no_fault_and_words_are_no_rows():
    assert read_rows("[]", COLUMNS) == RowsRead((), False, 0, EMPTY_LIST)
    assert read_rows("```json\n[]\n```", COLUMNS) == RowsRead((), True, 0, EMPTY_LIST)
    assert read_rows("There are none that I know.", COLUMNS) == RowsRead((), False, 0, "no rows in the reply")
    assert read_rows("Bakers [1] sing [2].", COLUMNS) == RowsRead((), False, 0, "no rows in the reply")
    assert read_rows(" \n", COLUMNS) == RowsRead((), False, 0, "an empty reply")


@pytest.mark.parametrize(
    "text", ["{" * 5000, "[" * 5000, '{"a":' * 2000, "[{'a': 'b\\d'}]", "[{[1]: 2}]", "[NaN, 1e999]"]
)
def test_odd_texts_are_borne(text):
    assert read_rows(text, COLUMNS).rows == ()


def test_half_a_character_can_be_written_down():
    [row] = read_rows('[{"group": "bakers", "claim": "laugh \\ud83d"}]', COLUMNS).rows
    assert row["claim"].encode() == b"laugh ?"


def test_the_examples_hold():
    assert doctest.testmod(rows_in_text).failed == 0
