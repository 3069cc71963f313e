"""What a provider's error says, and how long it asks to wait."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.models.faults import PassingError, read_words, retry_after, scrub
from isogloss.models.openai_wire import read_reply
from isogloss.models.outcome import InnerError, Outcome

NOON = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, b"{}", None),
        ({"retry-after": "7"}, b"{}", 7.0),
        ({"retry-after": "0.5"}, b"{}", 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, b"{}", 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, b"{}", 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, b"{}", 0.0),
        ({"retry-after": "soon"}, b"{}", None),
        ({}, b'{"error":{"details":[{"retryDelay":"34s"}]}}', 34.0),
    ],
)
def test_the_wait_a_provider_asks_for(headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    assert retry_after(headers, body, now=NOON) == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"Too fast","type":"x"}}', "Too fast"),
        (b'{"error":"quota exhausted"}', "quota exhausted"),
        (b'[{"error":{"message":"Too fast"}}]', "Too fast"),
        (b'{"object":"error","message":"no such model"}', "no such model"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (
            b'{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}',
            "Extra inputs are not permitted",
        ),
        (b"<html>\n <b>502</b>\n</html>", "<html> <b>502</b> </html>"),
        (b"", ""),
    ],
)
def test_the_words_are_found_in_every_known_shape(body: bytes, message: str) -> None:
    assert message in read_words(body).message


@given(st.binary(max_size=300))
def test_no_body_breaks_the_reading_of_words(body: bytes) -> None:
    assert "\n" not in read_words(body).message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["choices", "message", "content", "finish_reason", "error", "usage", "refusal", "model"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_the_reading_of_a_reply(value: object) -> None:
    with contextlib.suppress(PassingError, InnerError):
        assert isinstance(read_reply(msgspec.json.encode(value)), Outcome)


@pytest.mark.parametrize(
    "key", ["sk-proj-abcdef123456", "sk-ab***yz1234", "gsk_abcdefgh1234", "abcd*****wxyz", "my own key"]
)
def test_a_key_is_scrubbed_whole_or_masked(key: str) -> None:
    assert scrub(f"wrong key {key} given", ["my own key"]) == "wrong key [key] given"


def test_words_that_only_look_like_keys_stay() -> None:
    text = "ask the desk-clerk for the skeleton key of risk-free tasks"
    assert scrub(text, []) == text
