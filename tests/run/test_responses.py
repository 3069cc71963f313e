"""Replies made elsewhere: nothing of the file is taken for something else, and nothing is lost in silence."""

from __future__ import annotations

import pytest

from isogloss.errors import DataError
from isogloss.run.responses import Given, read_responses

HEAD = "prompt_id,model,repeat,response\n"


@pytest.fixture
def read(tmp_path):
    def write_and_read(text: str, name: str = "r.csv") -> list[Given]:
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        return read_responses(tmp_path / name)

    return write_and_read


def test_csv_and_json_lines_say_the_same(read):
    table = read(HEAD + 'b2:1,m,1,"Sí, ""claro"""\nb2:1,m,2,\n')
    lines = read(
        '{"prompt_id": "b2:1", "model": "m", "repeat": 1, "response": "Sí, \\"claro\\""}\n'
        '{"prompt_id": "b2:1", "model": "m", "repeat": 2, "response": ""}\n',
        "r.jsonl",
    )
    assert (
        [one[1:5] for one in table]
        == [one[1:5] for one in lines]
        == [
            ("b2:1", "m", 1, 'Sí, "claro"'),
            ("b2:1", "m", 2, ""),
        ]
    )


def test_model_and_repeat_may_be_left_out(read):
    assert read("prompt_id,response\nb2:1,Sí\n")[0][1:5] == ("b2:1", "elsewhere", 1, "Sí")


def test_semicolons_capitals_spaces_and_a_byte_order_mark_are_no_fault(read):
    assert read("\ufeffPrompt_ID ; Response\nb2:1;1/3\n")[0].reply == "1/3"


def test_no_reply_is_not_an_empty_reply(read):
    given = read('{"prompt_id": "a", "response": null}\n{"prompt_id": "b", "response": ""}\n')
    assert [one.prompt_id for one in given] == ["b"]


def test_unusual_characters_stay_in_their_cell(read):
    assert read(HEAD + "b2:1,m,1,a\u2028b\x0bc\n")[0].reply == "a\u2028b\x0bc"
    assert read('{"prompt_id": "a", "response": "S\\ud800"}\n')[0].reply == "S\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + 'a,m,1,"Sí\nb,m,1,No\n', "quotation mark not closed"),
        (HEAD + "a,m,1\n", "row 2 has 3 cells, the header 4"),
        (HEAD + "a,m,1,Sí,No\n", "row 2 has 5 cells, the header 4"),
        (HEAD + "a,m,0,Sí\n", "'repeat' is '0'; expected a whole number from 1"),
        (HEAD + "a,m,x,Sí\n", "'repeat' is 'x'"),
        (HEAD + "a,m,1000000000,Sí\n", "there are only 1 responses"),
        ("prompt_id,response,response\na,b,c\n", "more than one column 'response'"),
        ("prompt,response\na,b\n", "no column 'prompt_id'"),
        ('[{"prompt_id": "a"}]', "is a JSON list; expected one JSON object a line"),
        ('{"prompt_id": "a", "response": "x", "response": "y"}', "line 1 names one of its fields twice"),
        ('{"prompt_id": "a", "response": "x"}\n{"prompt_id"', "line 2 is not JSON"),
        ('{"response": "x"}', "line 1 has no 'prompt_id'"),
        ('{"a": ' + "[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_a_bad_file_is_named_by_row(read, text, words):
    with pytest.raises(DataError, match=words):
        read(text)


def test_files_that_are_no_text_or_not_there(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        read_responses(tmp_path / "r.csv")
    with pytest.raises(DataError, match="can't be read"):
        read_responses(tmp_path / "none.csv")
