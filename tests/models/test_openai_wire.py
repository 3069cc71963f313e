"""Odd bodies that hold a reply all the same: it was paid for, so it is kept."""

from __future__ import annotations

import pytest

from isogloss.models.faults import PassingError
from isogloss.models.openai_wire import read_reply
from isogloss.records import Status

BODY = '{"choices": [{"message": {"content": %s}, "finish_reason": "stop"}], "usage": %s}'


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ('{"prompt_tokens": 24, "completion_tokens": 1}', (24, 1)),
        ('{"prompt_tokens": null, "completion_tokens": "x"}', (None, None)),
        ('{"prompt_tokens": -1, "completion_tokens": 1.5}', (None, None)),
        ("[]", (None, None)),
        ("null", (None, None)),
    ],
)
def test_a_reply_is_kept_whatever_the_usage_says(usage, tokens):
    outcome = read_reply((BODY % ('"Sí"', usage)).encode())
    assert (outcome.status, outcome.text) == (Status.OK, "Sí")
    assert (outcome.input_tokens, outcome.output_tokens) == tokens


@pytest.mark.parametrize(
    ("content", "text"),
    [(r'"S\u00ed \ud83d"', "Sí \N{REPLACEMENT CHARACTER}"), (r'"\ud83d\ude00"', "\N{GRINNING FACE}")],
)
def test_half_characters_are_marked_and_whole_ones_kept(content, text):
    assert read_reply((BODY % (content, "null")).encode()).text == text


def test_bytes_that_are_no_utf_8_are_marked():
    assert read_reply((BODY % ('"S\u00ed"', "null")).encode("latin-1")).text == "S\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("body", [b"<html>", b"", b'{"choices": "x"}', b"[1]", b"[" * 100_000])
def test_what_is_no_reply_is_a_passing_fault(body):
    with pytest.raises(PassingError, match="isn't a chat completion"):
        read_reply(body)
