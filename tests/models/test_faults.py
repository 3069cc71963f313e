"""Every fault of a provider has the right status, the right number of tries, and keeps the provider's words."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import msgspec
import pytest

from isogloss.errors import AbilityError, ModelError
from isogloss.models.chat import ChatModel, Endpoint
from isogloss.models.faults import PassingError
from isogloss.models.openai_wire import OPENAI
from isogloss.models.retry import RetryPolicy
from isogloss.records import AnswerForm, Message, Prompt, Sampling, Status

GREEDY = Sampling(max_tokens=5)


async def test_a_plain_reply_is_ok_and_asked_once(server: Any, connect: Any, prompt: Prompt) -> None:
    response = await (await connect()).ask(prompt, GREEDY, 2)
    assert (response.status, response.text, response.n_tries, response.repeat) == (Status.OK, "Sí", 1, 2)
    assert (response.input_tokens, response.output_tokens, response.finish_reason) == (24, 1, "stop")
    assert response.revision == "m-2026-01-01 fp_1"
    assert server.bodies == [
        {
            "model": "m",
            "temperature": 0.0,
            "max_tokens": 5,
            "messages": [{"role": "user", "content": "¿Usa usted «coche»?"}],
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer secret-key-123456"


PASSING = {
    "both": (
        *("429", "429 retry-after", "429 ms", "408", "500", "502", "503", "504", "529", "cut", "cut body"),
        *("html", "cut json", "other json", "empty body", "error in 200", "bare message in 200"),
        *("null content", "broke off"),
    ),
    "openai": (*("429 gemini minute", "429 that speaks of billing", "429 in 200", "no choices", "null choices"),),
    "anthropic": ("overloaded in 200", "no content", "pause"),
}


@pytest.mark.parametrize(
    ("speaks", "fault"),
    [(speaks, fault) for speaks in ("openai", "anthropic") for fault in (*PASSING["both"], *PASSING[speaks])],
)
async def test_a_passing_fault_is_tried_again_and_mended(
    server: Any, connect: Any, prompt: Prompt, speaks: str, fault: str
) -> None:
    server.plan = [fault, fault]
    response = await (await connect(speaks)).ask(prompt, GREEDY, 1)
    assert (response.status, response.text, response.n_tries, server.hits) == (Status.OK, "Sí", 3, 3)


@pytest.mark.parametrize(
    ("speaks", "fault", "words"),
    [
        ("openai", "429", "HTTP 429: Rate limit reached for requests"),
        ("openai", "500", "HTTP 500: server says 500"),
        ("openai", "529", "HTTP 529: server says 529"),
        ("openai", "html", "<html><body>Bad gateway</body></html>"),
        ("openai", "cut json", '{"id":"chatcmpl-1"'),
        ("openai", "empty body", "empty body"),
        ("openai", "error in 200", "HTTP 502: Provider returned error"),
        ("openai", "bare message in 200", "upstream is tired"),
        ("openai", "no choices", "without choices"),
        ("openai", "null content", "without content"),
        ("openai", "broke off", "broke off"),
        ("openai", "cut", ""),
        ("openai", "cut body", ""),
        ("anthropic", "429", "HTTP 429: This request would exceed the rate limit"),
        ("anthropic", "500", "HTTP 500: server says 500"),
        ("anthropic", "529", "HTTP 529: server says 529"),
        ("anthropic", "html", "<html><body>Bad gateway</body></html>"),
        ("anthropic", "cut json", '{"id":"msg_1"'),
        ("anthropic", "empty body", "empty body"),
        ("anthropic", "error in 200", "HTTP 500: Provider returned error"),
        ("anthropic", "overloaded in 200", "HTTP 529: Overloaded"),
        ("anthropic", "bare message in 200", "upstream is tired"),
        ("anthropic", "null content", "without content"),
        ("anthropic", "broke off", "broke off (stop_reason None)"),
        ("anthropic", "pause", "broke off (stop_reason 'pause_turn')"),
        ("anthropic", "cut", ""),
    ],
)
async def test_a_lasting_fault_fails_after_four_tries_with_its_words(
    server: Any, connect: Any, prompt: Prompt, speaks: str, fault: str, words: str
) -> None:
    server.plan = [fault] * 9
    response = await (await connect(speaks)).ask(prompt, GREEDY, 1)
    assert (response.status, response.text, response.n_tries, server.hits) == (Status.FAILED, None, 4, 4)
    assert words in (response.error or "")
    assert response.error


async def test_a_time_out_is_tried_again(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    server.plan = ["hang"]
    response = await (await connect(wire, timeout=0.2)).ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries) == (Status.OK, 2)


async def test_time_outs_without_end_fail(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    server.plan = ["hang"] * 9
    response = await (await connect(wire, timeout=0.1, tries=2)).ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries, response.error) == (Status.FAILED, 2, "no reply within 0.1 s")


@pytest.mark.parametrize("fault", ["429 retry-after", "429 ms"])
async def test_retry_after_in_seconds_is_waited_for(
    server: Any, connect: Any, prompt: Prompt, wire: str, fault: str
) -> None:
    server.plan = [fault]
    await (await connect(wire)).ask(prompt, GREEDY, 1)
    assert 0.2 <= server.times[1] - server.times[0] < 2


async def test_retry_after_as_a_date_is_waited_for(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    server.plan = ["429 date"]
    await (await connect(wire)).ask(prompt, GREEDY, 1)
    assert 0.4 <= server.times[1] - server.times[0] < 4  # dates have whole seconds


async def test_a_wait_longer_than_the_time_left_gives_up_at_once_and_stops_nobody_else(
    server: Any, connect: Any, prompt: Prompt, wire: str
) -> None:
    server.plan = ["429 long wait"]
    started = time.perf_counter()
    model = await connect(wire, max_seconds=1.0)
    response = await model.ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries) == (Status.FAILED, 1)
    assert (await model.ask(prompt, GREEDY, 2)).status is Status.OK
    assert time.perf_counter() - started < 0.9


async def test_time_is_bounded_when_tries_are_not(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    server.plan = ["429"] * 10_000
    started = time.perf_counter()
    response = await (await connect(wire, tries=10_000, max_seconds=0.5, longest_wait=0.01)).ask(prompt, GREEDY, 1)
    assert response.status is Status.FAILED
    assert time.perf_counter() - started < 2.5


@pytest.mark.parametrize(
    ("speaks", "fault", "status", "text"),
    [
        ("openai", "empty content", Status.OK, ""),
        ("openai", "null finish", Status.OK, "Sí"),
        ("openai", "parts", Status.OK, "Sí"),
        ("openai", "content filter", Status.BLOCKED, None),
        ("openai", "half filtered", Status.BLOCKED, "Se dice"),
        ("openai", "safety", Status.BLOCKED, None),
        ("openai", "prompt blocked", Status.BLOCKED, None),
        ("openai", "prompt filtered", Status.BLOCKED, None),
        ("openai", "flagged", Status.BLOCKED, None),
        ("openai", "refusal stop", Status.REFUSED, None),
        ("openai", "refusal field", Status.REFUSED, "I can't help with that."),
        ("openai", "length", Status.TRUNCATED, "Sí, en"),
        ("openai", "length whole", Status.TRUNCATED, "Sí"),
        ("openai", "hidden reasoning", Status.TRUNCATED, None),
        ("openai", "reasoning only", Status.TRUNCATED, ""),
        ("openai", "reasoning and answer", Status.OK, "Sí"),
        ("openai", "tool call", Status.FAILED, None),
        ("openai", "too long", Status.FAILED, None),
        ("anthropic", "empty content", Status.OK, ""),
        ("anthropic", "stop sequence", Status.OK, "Sí"),
        ("anthropic", "parts", Status.OK, "Sí"),
        ("anthropic", "prompt filtered", Status.BLOCKED, None),
        ("anthropic", "refusal stop", Status.REFUSED, None),
        ("anthropic", "refusal half-way", Status.REFUSED, "Se"),
        ("anthropic", "length", Status.TRUNCATED, "Sí, en"),
        ("anthropic", "length whole", Status.TRUNCATED, "Sí"),
        ("anthropic", "window full", Status.TRUNCATED, "Sí, en"),
        ("anthropic", "hidden reasoning", Status.TRUNCATED, None),
        ("anthropic", "reasoning only", Status.TRUNCATED, None),
        ("anthropic", "redacted only", Status.TRUNCATED, None),
        ("anthropic", "reasoning and answer", Status.OK, "Sí"),
        ("anthropic", "tool call", Status.FAILED, None),
        ("anthropic", "too long", Status.FAILED, None),
        ("anthropic", "too large", Status.FAILED, None),
    ],
)
async def test_what_another_try_would_not_mend_is_a_status_after_one(
    server: Any, connect: Any, prompt: Prompt, speaks: str, fault: str, status: Status, text: str | None
) -> None:
    server.plan = [fault]
    response = await (await connect(speaks)).ask(prompt, GREEDY, 1)
    assert (response.status, response.text or None, response.n_tries) == (status, text or None, 1)
    assert response.error or status in (Status.OK, Status.REFUSED, Status.TRUNCATED)


@pytest.mark.parametrize("fault", ["hidden reasoning", "reasoning only", "reasoning and answer"])
async def test_reasoning_in_its_own_field_is_kept_apart(
    server: Any, connect: Any, prompt: Prompt, wire: str, fault: str
) -> None:
    server.plan = [fault]
    response = await (await connect(wire)).ask(prompt, GREEDY, 1)
    assert (response.reasoning or "").startswith("Pienso")
    assert "Pienso" not in (response.text or "")


async def test_reasoning_among_the_parts_is_kept_apart(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["parts"]
    response = await (await connect()).ask(prompt, GREEDY, 1)
    assert (response.reasoning, response.text) == ("Pienso", "Sí")


@pytest.mark.parametrize(("speaks", "tokens"), [("openai", (1024, 1000, 1)), ("anthropic", (1024, 1000, 1))])
async def test_cached_tokens_are_among_all_of_the_prompt(
    server: Any, connect: Any, prompt: Prompt, speaks: str, tokens: tuple[int, int, int]
) -> None:
    server.plan = ["cached"]
    response = await (await connect(speaks)).ask(prompt, GREEDY, 1)
    assert (response.input_tokens, response.cached_tokens, response.output_tokens) == tokens


@pytest.mark.parametrize(
    ("speaks", "fault", "words"),
    [
        ("openai", "prompt blocked", "OTHER"),
        ("openai", "safety", "SAFETY"),
        ("openai", "flagged", "Input was flagged"),
        ("openai", "too long", "maximum context length"),
        ("openai", "hidden reasoning", "max_tokens"),
        ("anthropic", "prompt filtered", "Output blocked by content filtering policy"),
        ("anthropic", "too long", "prompt is too long: 12 tokens > 10 maximum"),
        ("anthropic", "too large", "HTTP 413: Request exceeds the maximum size"),
        ("anthropic", "hidden reasoning", "max_tokens"),
        ("anthropic", "redacted only", "hidden reasoning"),
    ],
)
async def test_the_providers_reason_is_kept(
    server: Any, connect: Any, prompt: Prompt, speaks: str, fault: str, words: str
) -> None:
    server.plan = [fault]
    assert words in (await (await connect(speaks)).ask(prompt, GREEDY, 1)).error


@pytest.mark.parametrize(
    ("speaks", "fault", "words"),
    [
        ("openai", "bad key", "check OPENAI_API_KEY"),
        ("openai", "forbidden", "Project has no access to model m"),
        ("openai", "no model", "The model `m` does not exist"),
        ("openai", "quota", "check the account's billing"),
        ("openai", "quota in words", "quota exhausted, check billing"),
        ("openai", "quota in 200", "Out of credits"),
        ("openai", "no credits", "Insufficient credits"),
        ("openai", "moved", "check the base URL"),
        ("anthropic", "bad key", "check ANTHROPIC_API_KEY (HTTP 401: invalid x-api-key)"),
        ("anthropic", "forbidden", "Project has no access to model m"),
        ("anthropic", "no model", "no such model at this address"),
        ("anthropic", "quota", "the quota is used up; check the account's billing"),
        ("anthropic", "quota", "Your credit balance is too low"),
        ("anthropic", "quota in 200", "Out of credits"),
        ("anthropic", "no credits", "Insufficient credits"),
        ("anthropic", "usage limit", "the quota is used up"),
        ("anthropic", "moved", "check the base URL"),
    ],
)
async def test_a_terminal_fault_ends_the_asking_at_once(
    server: Any, connect: Any, prompt: Prompt, speaks: str, fault: str, words: str
) -> None:
    server.plan = [fault]
    with pytest.raises(ModelError) as caught:
        await (await connect(speaks)).ask(prompt, GREEDY, 1)
    assert server.hits == 1
    assert str(caught.value).startswith(f"{speaks}/m: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_server_that_wants_a_key_says_which_variable(
    server: Any, connect: Any, prompt: Prompt, wire: str
) -> None:
    server.plan = ["bad key"]
    with pytest.raises(ModelError, match=f"the server wants a key; set {wire.upper()}_API_KEY"):
        await (await connect(wire, key=None)).ask(prompt, GREEDY, 1)
    assert not {"authorization", "x-api-key"} & {name.lower() for name in server.headers[0]}


async def test_a_server_that_is_down_ends_the_asking(prompt: Prompt, unused_tcp_port: int) -> None:
    model = ChatModel(
        "openai/m",
        wire=OPENAI,
        model_id="m",
        endpoint=Endpoint(f"http://127.0.0.1:{unused_tcp_port}/v1"),
        policy=RetryPolicy(first_wait=0.001),
    )
    await model.open()
    with pytest.raises(ModelError, match=r"no connection to http://127.0.0.1:\d+/v1 .*is the server running"):
        await model.ask(prompt, GREEDY, 1)
    await model.close()
    await model.close()


async def test_a_server_that_goes_down_later_is_a_failed_call(server: Any, connect: Any, prompt: Prompt) -> None:
    model = await connect()
    await model.ask(prompt, GREEDY, 1)
    await server.stop()
    assert (await model.ask(prompt, GREEDY, 1)).status is Status.FAILED


# --- refused parameters -----------------------------------------------------------------------------------------------

FULL = Sampling(temperature=0.0, top_p=0.9, max_tokens=5, seed=7)


@pytest.mark.parametrize("names_param", [True, False])
async def test_a_refused_name_is_changed_once_and_remembered(
    server: Any, connect: Any, prompt: Prompt, names_param: bool
) -> None:
    server.refuses, server.names_param = {"max_tokens"}, names_param
    model = await connect()
    first = await model.ask(prompt, FULL, 1)
    second = await model.ask(prompt, FULL, 2)
    assert (first.n_tries, second.n_tries) == (2, 1)
    assert server.bodies[1]["max_completion_tokens"] == 5
    assert "max_tokens" not in server.bodies[1]
    assert model.held == {"temperature": 0.0, "top_p": 0.9, "max_tokens": 5, "seed": 7}
    assert model.remarks == ("max_tokens was refused; sent as max_completion_tokens",)


@pytest.mark.parametrize("names_param", [True, False])
@pytest.mark.parametrize("name", ["temperature", "seed"])
async def test_a_refused_parameter_is_left_out(
    server: Any, connect: Any, prompt: Prompt, name: str, names_param: bool
) -> None:
    server.refuses, server.names_param = {name}, names_param
    model = await connect()
    response = await model.ask(prompt, FULL, 1)
    assert (response.status, response.n_tries) == (Status.OK, 2)
    assert name not in server.bodies[1]
    assert model.held[name] is None
    assert model.remarks == (f"{name} was refused; left out",)


async def test_all_parameters_refused_one_after_the_other(server: Any, connect: Any, prompt: Prompt) -> None:
    server.refuses = {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed"}
    model = await connect()
    response = await model.ask(prompt, FULL, 1)
    assert (response.status, response.n_tries) == (Status.OK, 6)
    assert set(server.bodies[-1]) == {"model", "messages"}
    assert set(model.held.values()) == {None}


async def test_many_calls_at_once_learn_of_one_refusal(server: Any, connect: Any, prompt: Prompt) -> None:
    server.refuses = {"max_tokens"}
    model = await connect()
    responses = await asyncio.gather(*(model.ask(prompt, FULL, k) for k in range(1, 9)))
    assert {response.status for response in responses} == {Status.OK}
    assert model.held["max_tokens"] == 5
    assert len(model.remarks) == 1


async def test_a_value_too_large_is_a_fault_and_not_a_refused_parameter(
    server: Any, connect: Any, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.refuses = {"max_tokens"}
    words = type(server)._answer.__globals__["WORDS"]["openai"]
    monkeypatch.setitem(words, "max_tokens", ("max_tokens is too large: 5. At most 4.", None))
    model = await connect()
    response = await model.ask(prompt, FULL, 1)
    assert (response.status, response.n_tries, model.remarks) == (Status.FAILED, 1, ())


# --- refused system messages ------------------------------------------------------------------------------------------

ADVICE = Prompt.make([Message(role="system", content="Sé breve."), Message(role="user", content="¿Usa «coche»?")])


async def test_a_refused_system_message_is_folded_into_the_users_once(server: Any, connect: Any, wire: str) -> None:
    server.refuses = {"system"}
    model = await connect(wire)
    first = await model.ask(ADVICE, GREEDY, 1)
    second = await model.ask(ADVICE, GREEDY, 2)
    assert (first.status, first.n_tries, second.n_tries) == (Status.OK, 2, 1)
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "Sé breve.\n\n¿Usa «coche»?"}]
    assert "system" not in server.bodies[1]
    assert model.remarks == ("a system message was refused; its text stands before the first message of the user",)


async def test_many_calls_at_once_learn_of_one_refused_system_message(server: Any, connect: Any, wire: str) -> None:
    server.refuses = {"system", "temperature"}
    model = await connect(wire)
    responses = await asyncio.gather(*(model.ask(ADVICE, GREEDY, k) for k in range(1, 9)))
    assert {response.status for response in responses} == {Status.OK}
    assert len(model.remarks) == 2


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "System role not supported"),
        (500, "System role not supported"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "Only user and assistant roles are supported!"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (422, "Unsupported role: system"),
        (400, "Developer instruction is not enabled for models/m"),
    ],
)
async def test_the_words_of_a_refused_system_message(connect: Any, status: int, words: str) -> None:
    model = await connect()
    body = msgspec.json.encode({"error": {"message": words, "code": "unsupported_value"}})
    assert b"system" in model.request_body(ADVICE, GREEDY)
    assert model.learn_refusal(status, body, GREEDY, sent=0)
    assert b"system" not in model.request_body(ADVICE, GREEDY)
    assert not model.learn_refusal(status, body, GREEDY, sent=1)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "temperature is not supported"),
        (503, "System role not supported"),
        (400, "The system is not available"),
        (400, "File system error"),
    ],
)
async def test_other_words_change_nothing(connect: Any, prompt: Prompt, status: int, words: str) -> None:
    model = await connect()
    before = model.request_body(ADVICE, GREEDY)
    assert not model.learn_refusal(status, msgspec.json.encode({"error": {"message": words}}), GREEDY, sent=0)
    assert model.request_body(ADVICE, GREEDY) == before


# --- what batches use -------------------------------------------------------------------------------------------------


async def test_batches_write_and_read_as_live_calls_do(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    model = await connect(wire)
    live = await model.ask(prompt, GREEDY, 1)
    assert json.loads(model.request_body(prompt, GREEDY)) == server.bodies[0]
    good = type(server)._reply.__globals__["REPLIES"][wire]
    outcome = model.read_result(200, {}, json.dumps(good["ok"].body).encode())
    assert (outcome.status, outcome.text, outcome.input_tokens) == (live.status, live.text, live.input_tokens)
    with pytest.raises(PassingError, match="HTTP 500"):
        model.read_result(500, {}, json.dumps(good["500"].body).encode())
    with pytest.raises(PassingError) as caught:
        model.read_result(429, {"retry-after": "7"}, json.dumps(good["429"].body).encode())
    assert (caught.value.retry_after, caught.value.crowded) == (7.0, True)
    with pytest.raises(ModelError, match="quota"):
        model.read_result(good["quota"].status, {}, json.dumps(good["quota"].body).encode())
    assert model.read_result(400, {}, json.dumps(good["too long"].body).encode()).status is Status.FAILED


async def test_a_refusal_learned_before_counts_for_requests_of_unknown_age(connect: Any, wire: str) -> None:
    model = await connect(wire)
    body = b'{"error":{"message":"`temperature` is deprecated for this model."}}'
    other = b'{"error":{"message":"`top_p` is deprecated for this model."}}'
    assert model.learn_refusal(400, body, GREEDY)
    assert model.learn_refusal(400, body, GREEDY)
    assert not model.learn_refusal(400, body, GREEDY, sent=1)
    assert not model.learn_refusal(400, other, GREEDY)  # was never sent
    assert model.remarks == ("temperature was refused; left out",)


# --- what can't be asked ----------------------------------------------------------------------------------------------


async def test_what_the_model_cannot_do_is_said_before_anything_is_sent(server: Any, connect: Any, wire: str) -> None:
    model = await connect(wire)
    messages = [Message(role="user", content="¿?")]
    form = AnswerForm(kind="one_of", choices=("Sí", "No"))
    with pytest.raises(AbilityError, match="log-probabilities"):
        await model.ask(Prompt.make(messages, candidates=("Sí", "No")), GREEDY, 1)
    with pytest.raises(AbilityError, match="constrained"):
        await model.ask(Prompt.make(messages, form=form), Sampling(constrained=True), 1)
    with pytest.raises(AbilityError, match="raw text"):
        await model.ask(Prompt.make([Message(role="text", content="Se dice")]), GREEDY, 1)
    assert server.hits == 0


# --- keys -------------------------------------------------------------------------------------------------------------


async def test_a_key_is_in_no_error_record_or_repr(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    model = await connect(wire)
    server.plan = ["echo key"]
    response = await model.ask(prompt, GREEDY, 1)
    assert response.status is Status.FAILED
    assert (response.error or "").endswith("[key]")
    server.plan = ["bad key"]
    with pytest.raises(ModelError) as caught:
        await model.ask(prompt, GREEDY, 1)
    assert "sk-se" not in str(caught.value)
    shown = f"{model!r} {model._endpoint!r} {model.http!r} {caught.value!r} {response!r}"
    assert "secret-key" not in shown
