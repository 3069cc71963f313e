"""Every fault of a provider has the right status, the right number of tries, and keeps the provider's words."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from isogloss.errors import AbilityError, ModelError
from isogloss.models.openai import ChatModel, Endpoint
from isogloss.models.retry import RetryPolicy
from isogloss.records import AnswerForm, Prompt, Sampling, Status

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


@pytest.mark.parametrize(
    "fault",
    [
        *(
            "429",
            "429 retry-after",
            "429 gemini minute",
            "429 that speaks of billing",
            "408",
            "500",
            "502",
            "503",
            "504",
            "529",
            "cut",
            "cut body",
        ),
        *("html", "cut json", "other json", "empty body", "error in 200", "bare message in 200", "no choices"),
        *("null choices", "null content", "broke off"),
    ],
)
async def test_a_passing_fault_is_tried_again_and_mended(server: Any, connect: Any, prompt: Prompt, fault: str) -> None:
    server.plan = [fault, fault]
    response = await (await connect()).ask(prompt, GREEDY, 1)
    assert (response.status, response.text, response.n_tries, server.hits) == (Status.OK, "Sí", 3, 3)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("429", "HTTP 429: Rate limit reached for requests"),
        ("500", "HTTP 500: server says 500"),
        ("529", "HTTP 529: server says 529"),
        ("html", "<html><body>Bad gateway</body></html>"),
        ("cut json", '{"id":"chatcmpl-1"'),
        ("empty body", "empty body"),
        ("error in 200", "HTTP 502: Provider returned error"),
        ("bare message in 200", "upstream is tired"),
        ("no choices", "without choices"),
        ("null content", "without content"),
        ("broke off", "broke off"),
        ("cut", ""),
        ("cut body", ""),
    ],
)
async def test_a_lasting_fault_fails_after_four_tries_with_its_words(
    server: Any, connect: Any, prompt: Prompt, fault: str, words: str
) -> None:
    server.plan = [fault] * 9
    response = await (await connect()).ask(prompt, GREEDY, 1)
    assert (response.status, response.text, response.n_tries, server.hits) == (Status.FAILED, None, 4, 4)
    assert words in (response.error or "")
    assert response.error


async def test_a_time_out_is_tried_again(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["hang"]
    response = await (await connect(timeout=0.2)).ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries) == (Status.OK, 2)


async def test_time_outs_without_end_fail(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["hang"] * 9
    response = await (await connect(timeout=0.1, tries=2)).ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries, response.error) == (Status.FAILED, 2, "no reply within 0.1 s")


async def test_retry_after_in_seconds_is_waited_for(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["429 retry-after"]
    await (await connect()).ask(prompt, GREEDY, 1)
    assert 0.2 <= server.times[1] - server.times[0] < 2


async def test_retry_after_as_a_date_is_waited_for(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["429 date"]
    await (await connect()).ask(prompt, GREEDY, 1)
    assert 0.4 <= server.times[1] - server.times[0] < 4  # dates have whole seconds


async def test_a_wait_longer_than_the_time_left_gives_up_at_once(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["429 long wait"] * 9
    started = time.perf_counter()
    response = await (await connect(max_seconds=1.0)).ask(prompt, GREEDY, 1)
    assert (response.status, response.n_tries) == (Status.FAILED, 1)
    assert time.perf_counter() - started < 0.9


async def test_time_is_bounded_when_tries_are_not(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["429"] * 10_000
    started = time.perf_counter()
    response = await (await connect(tries=10_000, max_seconds=0.5, longest_wait=0.01)).ask(prompt, GREEDY, 1)
    assert response.status is Status.FAILED
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        ("empty content", Status.OK, ""),
        ("parts", Status.OK, "Sí"),
        ("content filter", Status.BLOCKED, None),
        ("half filtered", Status.BLOCKED, "Se dice"),
        ("safety", Status.BLOCKED, None),
        ("prompt blocked", Status.BLOCKED, None),
        ("prompt filtered", Status.BLOCKED, None),
        ("flagged", Status.BLOCKED, None),
        ("refusal stop", Status.REFUSED, None),
        ("refusal field", Status.REFUSED, "I can't help with that."),
        ("length", Status.TRUNCATED, "Sí, en"),
        ("length whole", Status.TRUNCATED, "Sí"),
        ("hidden reasoning", Status.TRUNCATED, None),
        ("reasoning only", Status.TRUNCATED, ""),
        ("reasoning and answer", Status.OK, "Sí"),
        ("tool call", Status.FAILED, None),
        ("too long", Status.FAILED, None),
    ],
)
async def test_what_another_try_would_not_mend_is_a_status_after_one(
    server: Any, connect: Any, prompt: Prompt, fault: str, status: Status, text: str | None
) -> None:
    server.plan = [fault]
    response = await (await connect()).ask(prompt, GREEDY, 1)
    assert (response.status, response.text or None, response.n_tries) == (status, text or None, 1)
    assert response.error or status in (Status.OK, Status.REFUSED, Status.TRUNCATED)


@pytest.mark.parametrize("fault", ["hidden reasoning", "reasoning only", "reasoning and answer", "parts"])
async def test_reasoning_in_its_own_field_is_kept_apart(server: Any, connect: Any, prompt: Prompt, fault: str) -> None:
    server.plan = [fault]
    response = await (await connect()).ask(prompt, GREEDY, 1)
    assert (response.reasoning or "").startswith("Pienso")
    assert "Pienso" not in (response.text or "")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("prompt blocked", "OTHER"),
        ("safety", "SAFETY"),
        ("flagged", "Input was flagged"),
        ("too long", "maximum context length"),
        ("hidden reasoning", "max_tokens"),
    ],
)
async def test_the_providers_reason_is_kept(server: Any, connect: Any, prompt: Prompt, fault: str, words: str) -> None:
    server.plan = [fault]
    assert words in (await (await connect()).ask(prompt, GREEDY, 1)).error


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("bad key", "check OPENAI_API_KEY"),
        ("forbidden", "Project has no access to model m"),
        ("no model", "The model `m` does not exist"),
        ("quota", "check the account's billing"),
        ("quota in words", "quota exhausted, check billing"),
        ("quota in 200", "Out of credits"),
        ("no credits", "Insufficient credits"),
        ("moved", "check the base URL"),
    ],
)
async def test_a_terminal_fault_ends_the_asking_at_once(
    server: Any, connect: Any, prompt: Prompt, fault: str, words: str
) -> None:
    server.plan = [fault]
    with pytest.raises(ModelError) as caught:
        await (await connect()).ask(prompt, GREEDY, 1)
    assert server.hits == 1
    assert str(caught.value).startswith("openai/m: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_server_that_wants_a_key_says_which_variable(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["bad key"]
    with pytest.raises(ModelError, match="the server wants a key; set OPENAI_API_KEY"):
        await (await connect(key=None)).ask(prompt, GREEDY, 1)
    assert "Authorization" not in server.headers[0]


async def test_a_server_that_is_down_ends_the_asking(prompt: Prompt, unused_tcp_port: int) -> None:
    model = ChatModel(
        "openai/m",
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
    monkeypatch.setitem(
        type(server)._answer.__globals__["WORDS"], "max_tokens", ("max_tokens is too large: 5. At most 4.", None)
    )
    model = await connect()
    response = await model.ask(prompt, FULL, 1)
    assert (response.status, response.n_tries, model.remarks) == (Status.FAILED, 1, ())


# --- what can't be asked ----------------------------------------------------------------------------------------------


async def test_what_the_model_cannot_do_is_said_before_anything_is_sent(server: Any, connect: Any) -> None:
    from isogloss.records import Message

    model = await connect()
    messages = [Message(role="user", content="¿?")]
    form = AnswerForm(kind="one_of", choices=("Sí", "No"))
    with pytest.raises(AbilityError, match="log-probabilities"):
        await model.ask(Prompt.make(messages, candidates=("Sí", "No")), GREEDY, 1)
    with pytest.raises(AbilityError, match="constrained"):
        await model.ask(Prompt.make(messages, form=form), Sampling(constrained=True), 1)
    assert server.hits == 0


# --- keys -------------------------------------------------------------------------------------------------------------


async def test_a_key_is_in_no_error_record_or_repr(server: Any, connect: Any, prompt: Prompt) -> None:
    model = await connect()
    server.plan = ["echo key"]
    response = await model.ask(prompt, GREEDY, 1)
    assert response.error == "HTTP 400: bad header Bearer [key]"
    server.plan = ["bad key"]
    with pytest.raises(ModelError) as caught:
        await model.ask(prompt, GREEDY, 1)
    assert "sk-se" not in str(caught.value)
    shown = f"{model!r} {model._endpoint!r} {model.http!r} {caught.value!r} {response!r}"
    assert "secret-key" not in shown
