"""Anthropic's wire: what is sent, and what a message comes to."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.models.anthropic_wire import STATUS_OF, read_reply
from isogloss.models.faults import PassingError
from isogloss.models.outcome import InnerError, Outcome
from isogloss.records import Message, Prompt, Sampling, Status

ADVICE = [Message(role="system", content="Sé breve."), Message(role="user", content="¿Usa «coche»?")]


async def test_a_request_has_the_wires_own_form(server: Any, connect: Any) -> None:
    response = await (await connect("anthropic")).ask(Prompt.make(ADVICE), Sampling(max_tokens=5, seed=7), 2)
    assert (response.status, response.text, response.n_tries, response.repeat) == (Status.OK, "Sí", 1, 2)
    assert (response.input_tokens, response.cached_tokens, response.output_tokens) == (24, 0, 1)
    assert (response.finish_reason, response.revision) == ("end_turn", "m-2026-01-01")
    assert server.bodies == [
        {
            "model": "m",
            "temperature": 0.0,
            "max_tokens": 5,
            "messages": [{"role": "user", "content": "¿Usa «coche»?"}],
            "system": "Sé breve.",
        }
    ]
    sent = {name.lower(): value for name, value in server.headers[0].items()}
    assert (sent["x-api-key"], sent["anthropic-version"]) == ("secret-key-123456", "2023-06-01")
    assert "authorization" not in sent


async def test_a_limit_is_named_where_the_sampling_has_none(server: Any, connect: Any, prompt: Prompt) -> None:
    model = await connect("anthropic")
    await model.ask(prompt, Sampling(temperature=None), 1)
    assert set(server.bodies[0]) == {"model", "max_tokens", "messages"}
    assert server.bodies[0]["max_tokens"] == 4096
    assert model.held == {"temperature": None, "top_p": None, "max_tokens": 4096, "seed": None}


@pytest.mark.parametrize(
    ("roles", "system", "messages"),
    [
        (("system", "system", "user"), "0\n\n1", [("user", "2")]),
        (("user", "system", "assistant", "user"), "1", [("user", "0"), ("assistant", "2"), ("user", "3")]),
        (("system",), None, [("user", "0")]),
        (("user",), None, [("user", "0")]),
    ],
)
async def test_system_messages_go_into_their_own_field(
    server: Any, connect: Any, roles: tuple[Any, ...], system: str | None, messages: list[tuple[str, str]]
) -> None:
    asked = [Message(role=role, content=str(k)) for k, role in enumerate(roles)]
    await (await connect("anthropic")).ask(Prompt.make(asked), Sampling(), 1)
    assert server.bodies[0].get("system") == system
    assert [(sent["role"], sent["content"]) for sent in server.bodies[0]["messages"]] == messages


async def test_refused_parameters_are_left_out_and_the_limit_stays(server: Any, connect: Any, prompt: Prompt) -> None:
    server.refuses = {"temperature", "top_p"}
    model = await connect("anthropic")
    sampling = Sampling(temperature=0.0, top_p=0.9, max_tokens=5)
    first = await model.ask(prompt, sampling, 1)
    second = await model.ask(prompt, sampling, 2)
    assert (first.status, first.n_tries, second.n_tries) == (Status.OK, 3, 1)
    assert set(server.bodies[-1]) == {"model", "max_tokens", "messages"}
    assert model.remarks == ("temperature was refused; left out", "top_p was refused; left out")
    assert not model.learn_refusal(400, b'{"error":{"message":"max_tokens is not supported"}}', sampling, sent=2)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ('{"input_tokens": 24, "output_tokens": 1}', (24, None, 1)),
        ('{"input_tokens": 4, "cache_read_input_tokens": 1000, "output_tokens": 1}', (1004, 1000, 1)),
        ('{"input_tokens": 4, "cache_creation_input_tokens": 20, "cache_read_input_tokens": null}', (24, None, None)),
        ('{"input_tokens": -4, "cache_read_input_tokens": true, "output_tokens": "1"}', (None, None, None)),
        ("[]", (None, None, None)),
        ("null", (None, None, None)),
    ],
)
def test_input_tokens_are_all_of_them(usage: str, tokens: tuple[int | None, ...]) -> None:
    body = f'{{"content": [{{"type": "text", "text": "Sí"}}], "stop_reason": "end_turn", "usage": {usage}}}'
    outcome = read_reply(body.encode())
    assert (outcome.status, outcome.text) == (Status.OK, "Sí")
    assert (outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == tokens


@pytest.mark.parametrize("kind", STATUS_OF)
def test_an_error_without_a_status_gets_that_of_its_type(kind: str) -> None:
    with pytest.raises(InnerError) as caught:
        read_reply(msgspec.json.encode({"type": "error", "error": {"type": kind, "message": "words"}}))
    assert (caught.value.words.message, caught.value.words.http_status) == ("words", STATUS_OF[kind])


def test_half_a_character_is_marked_and_the_reply_kept() -> None:
    body = rb'{"content": [{"type": "text", "text": "S\u00ed \ud83d"}], "stop_reason": "end_turn"}'
    assert read_reply(body).text == "Sí \N{REPLACEMENT CHARACTER}"


def test_a_stop_reason_of_later_days_is_kept_with_its_text() -> None:
    outcome = read_reply(b'{"content": [{"type": "text", "text": "S"}], "stop_reason": "new"}')
    assert (outcome.status, outcome.text, outcome.finish_reason) == (Status.OK, "S", "new")


@pytest.mark.parametrize("body", [b"<html>", b"", b'{"content": "x"}', b"[1]", b"[" * 100_000])
def test_what_is_no_message_is_a_passing_fault(body: bytes) -> None:
    with pytest.raises(PassingError, match="isn't a message"):
        read_reply(body)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["content", "type", "text", "thinking", "stop_reason", "error", "usage", "model"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_the_reading_of_a_message(value: object) -> None:
    with contextlib.suppress(PassingError, InnerError):
        assert isinstance(read_reply(msgspec.json.encode(value)), Outcome)
