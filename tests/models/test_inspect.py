"""Inspect AI's models through its real package: what its replies and faults come to."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import isogloss
from isogloss.errors import AbilityError, ModelError
from isogloss.models import open_model
from isogloss.models.inspect_ai import InspectModel
from isogloss.models.model import CalledOffError
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Response, Sampling, Status

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")
KEY = "secret-key-123456"
SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=7, seed=3)
PROMPT = Prompt.make([Message(role="system", content="Sé breve."), Message(role="user", content="¿Usa usted «coche»?")])


@pytest.fixture(scope="module", autouse=True)
def _extra() -> None:
    """Skips where the extra isn't installed; fails in CI."""
    missing = [name for name in ("inspect_ai", "openai") if importlib.util.find_spec(name) is None]
    if missing:
        words = f"not installed: {', '.join(missing)} (pip install 'isogloss[inspect]' openai)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)


Reply = Callable[..., Any]
Asked = Callable[..., Any]


@pytest.fixture
async def mock() -> AsyncIterator[Callable[..., Any]]:
    """mock(reply) → an open inspect/mockllm/model whose outputs a function makes."""
    opened: list[InspectModel] = []

    async def make(reply: Reply | None = None, **settings: Any) -> InspectModel:
        model = InspectModel(
            "inspect/mockllm/model",
            model_id="mockllm/model",
            settings=ModelSettings(first_wait=0.001, **settings),
            arguments={} if reply is None else {"custom_outputs": reply},
        )
        await model.open()
        opened.append(model)
        return model

    yield make
    for model in opened:
        await model.close()


@pytest.fixture
async def through(server: Any) -> AsyncIterator[Callable[..., Any]]:
    """through(**settings) → an open model of Inspect's openai-api provider on the faulty server."""
    opened: list[Any] = []

    async def make(key: str = KEY, **settings: Any) -> Any:
        model = open_model(
            "inspect/openai-api/faulty/m",
            environment={"FAULTY_API_KEY": key},
            settings=ModelSettings(base_url=server.url, **{"first_wait": 0.001, **settings}),
        )
        await model.open()
        opened.append(model)
        return model

    yield make
    for model in opened:
        await model.close()


def output(content: Any, stop_reason: str = "stop", **fields: Any) -> Any:
    from inspect_ai.model import ModelOutput

    made = ModelOutput.from_content("mock-2026", content, stop_reason=stop_reason)  # type: ignore[arg-type]
    return made.model_copy(update=fields)


async def ask(model: Any, prompt: Prompt = PROMPT) -> Response:
    response: Response = await model.ask(prompt, SAMPLING, 1)
    return response


async def test_messages_roles_and_sampling_reach_inspect(mock: Any) -> None:
    seen: list[Any] = []

    def notes(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        seen.append((messages, config))
        return output("Sí")

    response = await ask(await mock(notes))
    [(messages, config)] = seen
    assert [(m.role, m.text) for m in messages] == [("system", "Sé breve."), ("user", "¿Usa usted «coche»?")]
    assert (config.temperature, config.top_p, config.max_tokens, config.seed) == (0.5, 0.9, 7, 3)
    assert (config.max_retries, config.max_connections, config.attempt_timeout) == (0, 16, 300)
    assert (response.status, response.text, response.revision) == (Status.OK, "Sí", "mock-2026")
    assert (response.finish_reason, response.n_tries) == ("stop", 1)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", Status.OK),
        ("max_tokens", Status.TRUNCATED),
        ("model_length", Status.TRUNCATED),
        ("content_filter", Status.BLOCKED),
        ("tool_calls", Status.FAILED),
        ("unknown", Status.FAILED),
    ],
)
async def test_every_stop_reason_has_its_status_and_keeps_the_text(mock: Any, reason: str, status: Status) -> None:
    response = await ask(await mock(lambda *_: output("Se dice", reason)))
    assert (response.status, response.text, response.finish_reason) == (status, "Se dice", reason)


async def test_the_words_of_a_filter_are_kept(mock: Any) -> None:
    from inspect_ai.model import StopDetails

    filtered = output("", "content_filter")
    filtered.choices[0].stop_details = StopDetails(type="refusal", explanation="violence (high)")
    response = await ask(await mock(lambda *_: filtered))
    assert response.status is Status.BLOCKED
    assert response.error == "the provider's filter withheld the reply: violence (high)"


async def test_a_refusal_in_words_stays_a_text_and_a_marked_one_is_refused(mock: Any) -> None:
    from inspect_ai.model import ContentText

    words = "Lo siento, no puedo."
    plain = await ask(await mock(lambda *_: output(words)))
    marked = await ask(await mock(lambda *_: output([ContentText(text=words, refusal=True)])))
    assert [(r.status, r.text) for r in (plain, marked)] == [(Status.OK, words), (Status.REFUSED, words)]


async def test_reasoning_is_kept_apart(mock: Any) -> None:
    from inspect_ai.model import ContentReasoning, ContentText

    thought = ContentReasoning(reasoning="¿A o B?")
    hidden = ContentReasoning(reasoning="c2VjcmV0", summary="dudas", redacted=True)
    both = await ask(await mock(lambda *_: output([thought, hidden, ContentText(text="Sí")])))
    alone = await ask(await mock(lambda *_: output([thought])))
    assert (both.status, both.text, both.reasoning) == (Status.OK, "Sí", "¿A o B?\ndudas")
    assert (alone.status, alone.text, alone.reasoning) == (Status.TRUNCATED, None, "¿A o B?")


async def test_an_empty_reply_is_a_reply(mock: Any) -> None:
    response = await ask(await mock(lambda *_: output("")))
    assert (response.status, response.text) == (Status.OK, "")


async def test_tokens_read_from_a_cache_are_among_those_of_the_prompt(mock: Any) -> None:
    from inspect_ai.model import ModelUsage

    usage = ModelUsage(input_tokens=10, input_tokens_cache_read=30, input_tokens_cache_write=2, output_tokens=5)
    response = await ask(await mock(lambda *_: output("Sí", usage=usage)))
    assert (response.input_tokens, response.cached_tokens, response.output_tokens) == (42, 30, 5)


async def test_an_exception_is_a_failed_call_without_the_key(mock: Any) -> None:
    def breaks(*_: Any) -> Any:
        raise LookupError("nothing at sk-abcdef123456")

    response = await ask(await mock(breaks))
    assert (response.status, response.error, response.n_tries) == (Status.FAILED, "nothing at [key]", 1)


async def test_a_reply_without_choices_is_asked_for_again(mock: Any) -> None:
    from inspect_ai.model import ModelOutput

    plan = iter([ModelOutput(), output("Sí")])
    response = await ask(await mock(lambda *_: next(plan)))
    assert (response.status, response.text, response.n_tries) == (Status.OK, "Sí", 2)


async def test_tokens_of_tries_that_came_to_nothing_are_in_the_calls(mock: Any) -> None:
    from inspect_ai.model import ModelOutput, ModelUsage

    def paid(n_input: int) -> Any:
        return ModelUsage(input_tokens=n_input, input_tokens_cache_read=30, output_tokens=5)

    plan = iter([ModelOutput(usage=paid(100)), ModelOutput(usage=paid(100)), output("Sí", usage=paid(10))])
    response = await ask(await mock(lambda *_: next(plan)))
    assert (response.status, response.n_tries, response.passing) == (Status.OK, 3, False)
    assert (response.input_tokens, response.cached_tokens, response.output_tokens) == (300, 90, 15)

    failed = await ask(await mock(lambda *_: ModelOutput(usage=paid(100)), tries=2))
    assert (failed.status, failed.n_tries, failed.passing) == (Status.FAILED, 2, True)
    assert (failed.input_tokens, failed.cached_tokens, failed.output_tokens) == (260, 60, 10)


@pytest.mark.parametrize("count", [-1, 2**53 + 1])
async def test_a_count_that_cannot_be_is_none(mock: Any, count: int) -> None:
    from inspect_ai.model import ModelUsage

    usage = ModelUsage(input_tokens=count, output_tokens=count)
    response = await ask(await mock(lambda *_: output("Sí", usage=usage)))
    assert (response.input_tokens, response.output_tokens) == (None, None)


async def test_a_key_that_comes_back_in_a_reply_is_hidden_and_other_texts_stay(through: Any, server: Any) -> None:
    canned, choice = (type(server)._reply.__globals__[name] for name in ("Canned", "choice"))
    said = "Sí {} sk-abcdefghijkl"
    server.plan = [canned(200, {**choice(said.format(KEY), reasoning_content=KEY), "model": f"m-{KEY}"})]
    response = await ask(await through())
    assert (response.text, response.reasoning, response.revision) == (said.format("[key]"), "[key]", "m-[key]")


async def test_no_part_of_a_key_is_left_where_the_words_are_cut(through: Any, server: Any) -> None:
    canned = type(server)._reply.__globals__["Canned"]
    model = await through()
    for n in range(280, 301, 4):
        server.plan = [canned(422, {"error": {"message": "x" * n + KEY, "code": "odd"}})]
        response = await ask(model)
        assert response.status is Status.FAILED
        assert "sec" not in (response.error or "")


async def test_slow_calls_end_at_the_time_limit(mock: Any) -> None:
    async def slow(*_: Any) -> Any:
        await asyncio.sleep(30)

    response = await ask(await mock(slow, timeout=1, tries=1))
    assert (response.status, response.n_tries) == (Status.FAILED, 1)
    assert "attempt_timeout" in str(response.error)


async def test_a_cancelled_call_lets_go_and_the_model_answers_on(mock: Any) -> None:
    waits = asyncio.Event()

    async def first_waits(*_: Any) -> Any:
        if not waits.is_set():
            waits.set()
            await asyncio.sleep(30)
        return output("Sí")

    model = await mock(first_waits, max_connections=1)
    call = asyncio.create_task(ask(model))
    await waits.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await asyncio.wait_for(ask(model), 5)).status is Status.OK


async def test_never_more_calls_at_once_than_allowed(mock: Any) -> None:
    under_way, most = 0, 0

    async def counts(*_: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return output("Sí")

    model = await mock(counts, max_connections=3)
    await asyncio.gather(*(ask(model) for _ in range(12)))
    assert most == 3


async def test_calls_that_wait_can_be_called_off(mock: Any, through: Any, server: Any) -> None:
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def holds(*_: Any) -> Any:
        waits.set()
        await goes_on.wait()
        return output("Sí")

    model = await mock(holds, max_connections=1)
    first, second = asyncio.create_task(ask(model)), asyncio.create_task(ask(model))
    await waits.wait()
    model.call_off()
    with pytest.raises(CalledOffError):
        await second
    goes_on.set()
    assert (await first).status is Status.OK

    server.plan = ["500"]
    patient = await through(first_wait=30)
    between = asyncio.create_task(ask(patient))
    while not server.hits:
        await asyncio.sleep(0.01)
    patient.call_off()
    with pytest.raises(CalledOffError):
        await between
    assert server.hits == 1


async def test_nothing_of_a_call_is_kept(mock: Any) -> None:
    from inspect_ai.event import ModelEvent

    model = await mock()
    for _ in range(50):
        await ask(model)
    gc.collect()
    assert sum(type(thing) is ModelEvent for thing in gc.get_objects()) < 5  # isinstance would wake lazy objects


async def test_what_it_cannot_do_is_said(mock: Any) -> None:
    model = await mock()
    raw = Prompt.make([Message(role="text", content="En España se dice")])
    scored = Prompt.make([Message(role="user", content="x")], candidates=["a", "b"])
    for prompt, sampling, words in (
        (raw, SAMPLING, "can't go on with a raw text"),
        (scored, SAMPLING, "no log-probabilities"),
        (PROMPT, Sampling(constrained=True), "can't be held to a form"),
    ):
        with pytest.raises(AbilityError, match=words):
            await model.ask(prompt, sampling, 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("inspect/nix/m", "Model API nix of model 'nix/m' not recognized"),
        ("inspect/perplexity/m", "No PERPLEXITY_API_KEY defined in the environment"),
        ("inspect/groq/m", "pip install groq"),
        ("inspect/m", "should be in the format"),
    ],
)
async def test_what_is_missing_is_one_line(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERPLEXITY_API_KEY", raising=False)
    if name == "inspect/groq/m" and importlib.util.find_spec("groq") is not None:
        pytest.skip("the package is here")
    with pytest.raises(ModelError) as caught:
        await open_model(name, environment={}).open()
    assert words in str(caught.value)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    assert "[bold]" not in str(caught.value)


async def test_it_prints_nothing_and_leaves_the_hooks_of_python_alone(
    mock: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "conversation")
    hook = sys.excepthook
    await ask(await mock())
    assert sys.excepthook is hook
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


async def test_a_whole_call_over_the_wire(through: Any, server: Any) -> None:
    response = await ask(await through())
    assert (response.status, response.text) == (Status.OK, "Sí")
    assert (response.input_tokens, response.output_tokens, response.revision) == (24, 1, "m-2026-01-01")
    [body] = server.bodies
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert {k: body[k] for k in ("temperature", "top_p", "max_tokens", "seed")} == {
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": 3,
    }  # fmt: skip
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("plan", "status", "hits"),
    [
        (["429", "503"], Status.OK, 3),
        (["429 retry-after"], Status.OK, 2),
        (["cut"], Status.OK, 2),
        (["cut json"], Status.OK, 2),
        (["no choices"], Status.OK, 2),
        (["500"] * 9, Status.FAILED, 4),
        (["too long"], Status.TRUNCATED, 1),
        (["content filter"], Status.BLOCKED, 1),
        (["prompt filtered"], Status.BLOCKED, 1),
        (["refusal field"], Status.REFUSED, 1),
        (["length"], Status.TRUNCATED, 1),
        (["hidden reasoning"], Status.TRUNCATED, 1),
        (["reasoning and answer"], Status.OK, 1),
    ],
)
async def test_faults_over_the_wire(through: Any, server: Any, plan: list[str], status: Status, hits: int) -> None:
    server.plan = list(plan)
    response = await ask(await through())
    assert (response.status, server.hits, response.n_tries) == (status, hits, hits)


@pytest.mark.parametrize(
    ("planned", "words"),
    [
        ("bad key", "the key isn't accepted"),
        ("no model", "no such model"),
        ("quota", "the quota is used up"),
        ("no credits", "the quota is used up"),
    ],
)
async def test_what_every_call_would_meet_ends_the_asking(through: Any, server: Any, planned: str, words: str) -> None:
    server.plan = [planned]
    with pytest.raises(ModelError, match=words) as caught:
        await ask(await through())
    assert str(caught.value).startswith("inspect/openai-api/faulty/m: ")
    assert "\n" not in str(caught.value)
    assert server.hits == 1


async def test_the_key_is_shown_nowhere(through: Any, server: Any) -> None:
    server.plan = ["echo key"]
    model = await through()
    response = await ask(model)
    assert response.status is Status.FAILED
    assert "[key]" in str(response.error)
    assert KEY not in f"{response!r} {model!r}"


def test_a_whole_study_through_inspect(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def run() -> isogloss.Run:
        return isogloss.run_study(
            "lexicon", "sample", models=["inspect/mockllm/model"], limit=5, settings={"format": "yes_no"},
            out=tmp_path / "run",
        )  # fmt: skip

    first, again = run(), run()
    assert first.summary is not None
    assert (first.summary.asked, dict(first.summary.statuses)) == (5, {"ok": 5})
    assert set(first.answers["status"]) == {"unparsed"}  # "Default output from mockllm/model" is no answer
    assert again.summary is not None
    assert (again.summary.asked, again.summary.cached) == (0, 5)
    assert capfd.readouterr() == ("", "")


async def test_a_study_also_runs_where_an_event_loop_runs_already(tmp_path: Path) -> None:
    run = isogloss.run_study("lexicon", "sample", models="inspect/mockllm/model", limit=2, out=tmp_path / "run")
    assert run.summary is not None
    assert set(run.summary.statuses) == {"ok"}
