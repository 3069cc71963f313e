"""Both batch APIs, over their real wire: handed in, looked at, read, found again."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import pytest

from isogloss.errors import AbilityError, ModelError
from isogloss.models import open_model
from isogloss.models.batches import BatchLine, CrowdedError, Made, NotThereError, Post, UncertainError, batch_api
from isogloss.models.faults import PassingError
from isogloss.models.retry import RetryPolicy
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Sampling


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"isogloss_tests_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SERVER = _load("batch_server")
Fate = SERVER.Fate
QUICK = RetryPolicy(tries=3, first_wait=0.001)


@pytest.fixture
async def server():
    running = SERVER.BatchServer()
    await running.start()
    yield running
    await running.stop()


@pytest.fixture(params=["openai", "anthropic"])
async def wire(request, server):
    """An open model of one provider, and its batch API."""
    name = request.param
    url = server.url if name == "openai" else server.url.removesuffix("/v1")
    model = open_model(
        f"{name}/m",
        environment={f"{name.upper()}_API_KEY": SERVER.KEY},
        settings=ModelSettings(base_url=url, first_wait=0.001, tries=2),
    )
    await model.open()
    yield model, batch_api(model, policy=QUICK)
    await model.close()


def written(model, api, folder, texts=("a", "b", "c")) -> Path:
    head, between, tail = api.frame
    requests = [
        api.request(f"id-{k}", model.request_body(Prompt.make([Message(role="user", content=text)]), Sampling()))
        for k, text in enumerate(texts)
    ]
    path = folder / "requests.jsonl"
    path.write_bytes(head + between.join(requests) + tail)
    return path


async def results(api, id_: str) -> list[BatchLine]:
    state = await api.look(id_)
    assert state.end
    with tempfile.TemporaryFile() as file:
        await api.download(state, file)
        file.seek(0)
        return [line for text in file if (line := api.read(text)) is not None]


async def test_each_request_comes_back_under_its_own_id_and_reads_like_a_live_reply(wire, server, tmp_path):
    model, api = wire
    id_ = await api.submit("label", written(model, api, tmp_path))
    lines = await results(api, id_)
    assert [line.custom_id for line in lines] == ["id-2", "id-1", "id-0"]  # another order than was sent
    outcome = model.read_result(lines[0].status, {}, lines[0].body)
    assert (outcome.text, outcome.input_tokens, outcome.output_tokens) == ("re: c", 24, 2)


async def test_a_batch_under_way_has_no_end_and_an_ended_one_says_how(wire, server, tmp_path):
    model, api = wire
    server.fates = [Fate(n_looks=2, end="expired", n_done=2)]
    id_ = await api.submit("label", written(model, api, tmp_path))
    assert (await api.look(id_)).end == ""
    assert (await api.look(id_)).end == "expired"
    answered, _, expired = await results(api, id_)
    assert (answered.status, answered.undone) == (200, "")
    assert "expired before" in expired.undone or "window expired" in expired.undone


@pytest.mark.parametrize(("code", "fault"), [(400, None), (500, PassingError)])
async def test_a_failed_request_fails_as_a_live_call_would(wire, server, tmp_path, code, fault):
    model, api = wire
    server.fates = [Fate(n_done=0, refused="prompt is too long", code=code)]
    line = (await results(api, await api.submit("label", written(model, api, tmp_path))))[0]
    assert line.status == code
    if fault is None:
        assert model.read_result(line.status, {}, line.body).error == "HTTP 400: prompt is too long"
    else:
        with pytest.raises(fault, match="prompt is too long"):
            model.read_result(line.status, {}, line.body)


async def test_a_batch_is_found_again_over_several_pages(wire, server, tmp_path):
    model, api = wire
    file = written(model, api, tmp_path)
    ids = [await api.submit(f"label-{k}", file) for k in range(5)]
    found = await api.find("label-1", since=time.time(), n=3)
    assert found == [ids[1]] if model.wire.name == "openai" else found == ids[::-1]
    assert await api.find("label-9", since=time.time(), n=4) == []
    assert server.n_hits["list"] > 2


async def test_a_batch_can_be_cancelled_and_keeps_what_was_done(wire, server, tmp_path):
    model, api = wire
    server.fates = [Fate(n_looks=9, n_done=1)]
    id_ = await api.submit("label", written(model, api, tmp_path))
    await api.cancel(id_)
    assert (await api.look(id_)).end == "cancelled"
    assert sorted(bool(line.undone) for line in await results(api, id_)) == [False, True, True]


async def test_looking_and_reading_are_tried_again_but_a_creation_never_is(wire, server, tmp_path):
    model, api = wire
    server.faults = {"look": ["503", "cut"], "results": ["500"], "create": ["503", "cut"]}
    file = written(model, api, tmp_path)
    for _ in range(2):
        with pytest.raises(UncertainError):
            await api.submit("label", file)
    assert server.n_hits["create"] == 2
    assert len(await results(api, await api.submit("label", file))) == 3


async def test_a_fresh_batch_may_be_unknown(wire, server, tmp_path):
    model, api = wire
    server.faults = {"look": ["404"]}
    id_ = await api.submit("label", written(model, api, tmp_path))
    with pytest.raises(NotThereError):
        await api.look(id_)
    assert (await api.look(id_)).end == "completed"


@pytest.mark.parametrize("code", ["413", "429"])
async def test_too_much_at_once_is_told_apart(wire, server, tmp_path, code):
    model, api = wire
    server.faults = {"create": [code]}
    with pytest.raises(CrowdedError, match=f"server says {code}"):
        await api.submit("label", written(model, api, tmp_path))


async def test_a_server_without_the_api_is_named_as_such(wire, server, tmp_path):
    model, api = wire
    server.faults = {"create": ["404"]}
    with pytest.raises(ModelError, match="no batch API at this address; leave out --batch"):
        await api.submit("label", written(model, api, tmp_path))


async def test_a_wrong_key_ends_it_with_the_variable_to_check(server, tmp_path):
    model = open_model("openai/m", environment={"OPENAI_API_KEY": "sk-wrong-0123456789"},
                       settings=ModelSettings(base_url=server.url))  # fmt: skip
    await model.open()
    api = batch_api(model, policy=QUICK)
    with pytest.raises(ModelError, match="check OPENAI_API_KEY") as caught:
        await api.submit("label", written(model, api, tmp_path))
    assert "sk-wrong" not in str(caught.value)
    await model.close()


def test_lines_that_say_nothing_are_no_results(wire):
    _, api = wire
    for text in (b'{"custom_id":"a","resp', b"", b"[]", b'{"custom_id":1}', b"\xff\xfe", b"null"):
        assert api.read(text) is None


def test_anthropic_errors_come_in_two_shapes():
    from isogloss.models.anthropic_batches import AnthropicBatches

    read = AnthropicBatches.read
    inner = {"type": "overloaded_error", "message": "busy"}
    for error in (inner, {"type": "error", "error": inner}):
        line = {"custom_id": "a", "result": {"type": "errored", "error": error}}
        assert read(None, json.dumps(line).encode()).status == 529


def test_an_openai_line_without_response_says_why_and_shows_no_key():
    key = "secret-key-123456"
    api = batch_api(open_model("openai/m", environment={"OPENAI_API_KEY": key}))
    for code, status, undone in (("batch_expired", 0, "late for [key]"), ("request_timeout", 504, "")):
        fault = {"code": code, "message": f"late for {key}"}
        found = api.read(json.dumps({"id": "x", "custom_id": "a", "response": None, "error": fault}).encode())
        assert (found.status, found.undone) == (status, undone)
        assert key.encode() not in found.body


@pytest.mark.parametrize("body", [b"<html>", b'{"id": 7}', b"[" * 100_000])
async def test_a_reply_that_says_nothing_of_a_batch_is_a_fault_that_may_pass(body):
    model = open_model("openai/m", environment={"OPENAI_API_KEY": "k"})
    with pytest.raises(PassingError, match="the reply says nothing of a batch"):
        Post(model, QUICK).decoded(body, Made)


def test_a_model_without_batches_is_told_so():
    model = open_model("scripted/random", environment={})
    with pytest.raises(AbilityError, match="no batch API; leave out --batch"):
        batch_api(model)
