"""The embedded model: held to a form, with true probabilities, and gone when we are gone."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from isogloss.errors import ModelError
from isogloss.models import open_model
from isogloss.models.gguf import GgufModel
from isogloss.records import AnswerForm, Message, Prompt, Sampling, Status

YES_NO = AnswerForm(kind="one_of", choices=("Sí", "No"))
WORDS = ("coche", "carro", "auto", "palta", "aguacate", "ordenador")
GREEDY = Sampling(max_tokens=400, constrained=True)


def put(text: str, form: AnswerForm | None = None, candidates: tuple[str, ...] = ()) -> Prompt:
    return Prompt.make([Message(role="user", content=text)], form=form, candidates=candidates)


def ask_of(word: str, **fields: object) -> Prompt:
    return put(f'¿Se usa la palabra "{word}" en España? Responda solo Sí o No.', YES_NO, **fields)  # type: ignore[arg-type]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(embedded: str) -> AsyncIterator[GgufModel]:
    made = open_model(embedded, environment=os.environ)
    assert isinstance(made, GgufModel)
    await made.open()
    yield made
    await made.close()
    await made.close()


@pytest.mark.gguf
async def test_six_yes_no_questions_are_all_answered_in_the_form(model: GgufModel) -> None:
    responses = await asyncio.gather(*(model.ask(ask_of(word), GREEDY, 1) for word in WORDS))
    assert all(response.status is Status.OK and response.text in YES_NO.choices for response in responses)
    assert {response.revision for response in responses} == {"b179c9523d0e6a0f"} == {model.revision}
    assert model.held == {"temperature": 0.0, "top_p": None, "max_tokens": 400, "seed": None}


@pytest.mark.gguf
@pytest.mark.parametrize("max_chosen", [None, 3])
async def test_numbers_of_114_options_cannot_repeat(model: GgufModel, max_chosen: int | None) -> None:
    form = AnswerForm(kind="number_list", n_options=114, max_chosen=max_chosen)
    response = await model.ask(put("Escriba números del 1 al 114, separados por /.", form), GREEDY, 1)
    numbers = [int(number) for number in (response.text or "").split("/")]
    assert response.status is Status.OK
    assert all(a < b for a, b in pairwise(numbers))
    assert 1 <= numbers[0] <= numbers[-1] <= 114
    assert max_chosen is None or len(numbers) <= max_chosen


@pytest.mark.gguf
async def test_probabilities_are_the_product_of_the_tokens_that_the_server_itself_writes(model: GgufModel) -> None:
    """An independent way: let a grammar force the answer, and add up what chat completions says of its tokens."""
    response = await model.ask(ask_of("coche", candidates=YES_NO.choices), Sampling(), 1)
    assert response.status is Status.OK
    assert response.candidate_logprobs is not None
    assert sum(map(math.exp, response.candidate_logprobs)) <= 1
    for candidate, logprob in zip(YES_NO.choices, response.candidate_logprobs, strict=True):
        assert logprob == pytest.approx(await _by_chat(model, ask_of("coche"), candidate), abs=0.02)


async def _by_chat(model: GgufModel, prompt: Prompt, answer: str) -> float:
    import msgspec

    assert model._session is not None
    body = {
        "messages": [{"role": "user", "content": prompt.messages[0].content}],
        "grammar": f'root ::= "{answer}"',
        "max_tokens": 8,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 1,
    }
    reply = await model._session.chat.http.post("/v1/chat/completions", msgspec.json.encode(body))
    decoded = msgspec.json.decode(reply.body)
    assert decoded["choices"][0]["message"]["content"] == answer
    tokens = [token for token in decoded["choices"][0]["logprobs"]["content"] if token["token"]]
    return math.fsum(token["logprob"] for token in tokens)


@pytest.mark.gguf
async def test_the_scored_prompt_has_the_tokens_of_the_chat(model: GgufModel) -> None:
    """No start token put twice."""
    chat = await model.ask(ask_of("coche"), GREEDY, 1)
    scored = await model.ask(ask_of("coche", candidates=YES_NO.choices), GREEDY, 1)
    assert chat.input_tokens == scored.input_tokens


@pytest.mark.gguf
async def test_numbers_get_shares_that_add_up_to_one_at_most(model: GgufModel) -> None:
    numbers = tuple(str(k) for k in range(1, 31))
    prompt = put("Diga un número del 1 al 30. Responda solo con el número.", candidates=numbers)
    responses = [await model.ask(prompt, Sampling(), repeat) for repeat in (1, 2)]
    shares = [math.exp(logprob) for logprob in responses[0].candidate_logprobs or ()]
    assert len(shares) == 30
    assert 0.01 < sum(shares) <= 1
    assert responses[0].candidate_logprobs == pytest.approx(responses[1].candidate_logprobs, abs=0.02)


@pytest.mark.gguf
async def test_a_candidate_that_is_far_off_still_has_a_probability(model: GgufModel) -> None:
    response = await model.ask(put("¿Cuánto es 2 + 2?", candidates=("4", "Subthreshold")), Sampling(), 1)
    assert response.status is Status.OK
    assert -60 < (response.candidate_logprobs or (0, 0))[1] < -10


@pytest.mark.gguf
async def test_a_prompt_too_long_is_a_failed_call(model: GgufModel) -> None:
    long = "palabra " * 9000
    for prompt in (put(long), put(long, candidates=("Sí",))):
        response = await model.ask(prompt, Sampling(max_tokens=4), 1)
        assert response.status is Status.FAILED
        assert "context" in (response.error or "")


@pytest.mark.gguf
async def test_a_server_that_dies_ends_the_asking(embedded: str) -> None:
    model = open_model(embedded, environment=os.environ)
    assert isinstance(model, GgufModel)
    await model.open()
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    with pytest.raises(ModelError, match=r"the llama.cpp server is gone .*signal 9"):
        await model.ask(ask_of("coche"), GREEDY, 1)
    await model.close()


@pytest.mark.gguf
async def test_it_answers_nobody_without_the_token(model: GgufModel) -> None:
    from isogloss.models.http import HttpClient

    assert model._process is not None
    stranger = HttpClient(model._process.address, headers={}, max_connections=1, connect_timeout=5, total_timeout=5)
    await stranger.open()
    assert (await stranger.post("/v1/chat/completions", b"{}")).status == 401
    assert model._process.address.startswith("http://127.0.0.1:")
    await stranger.close()


@pytest.mark.gguf
async def test_closing_ends_the_server(embedded: str) -> None:
    model = open_model(embedded, environment=os.environ)
    assert isinstance(model, GgufModel)
    await model.open()
    pid = model.pid
    await model.close()
    assert pid is not None
    assert not _runs(pid)


PARENT = """
import asyncio, os, sys
from isogloss.models import open_model
from isogloss.records import Message, Prompt, Sampling

async def main():
    model = open_model("gguf/smollm2", environment=os.environ)
    await model.open()
    asking = asyncio.create_task(
        model.ask(Prompt.make([Message(role="user", content="Cuente una historia.")]), Sampling(max_tokens=4000), 1)
    )
    await asyncio.sleep(0.5)
    print(model.pid, flush=True)
    await asking

asyncio.run(main())
"""


@pytest.mark.gguf
async def test_the_server_ends_when_its_parent_is_killed_in_the_middle_of_a_reply(embedded: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _runs(child)
        parent.kill()
    deadline = time.monotonic() + 5
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    """Whether a process is there and more than an entry that nobody has collected."""
    status = Path(f"/proc/{pid}/stat")
    if status.parent.parent.joinpath("self").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_without_the_runtime_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "xllamacpp" else find_spec(name))
    model = open_model(f"gguf/{tmp_path}/x.gguf", environment={})
    with pytest.raises(ModelError, match=r"pip install 'isogloss\[gguf\]'"):
        await model.open()
    await model.close()


async def test_without_the_weights_the_command_is_named(tmp_path: Path) -> None:
    model = open_model("gguf/smollm2", environment={"ISOGLOSS_CACHE": str(tmp_path)})
    with pytest.raises(ModelError, match="'isogloss models pull smollm2'"):
        await model.open()
    await model.close()


async def test_a_file_that_is_not_there_and_one_of_another_revision_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no weights at"):
        await open_model(f"gguf/{tmp_path}/none.gguf", environment={}).open()
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"is revision [0-9a-f]{16}, not abcdef12"):
        await open_model(f"gguf/{tmp_path}/x.gguf@abcdef12", environment={}).open()


@pytest.mark.gguf
async def test_a_file_that_holds_no_weights_is_one_line(embedded: str, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"garbage garbage")
    with pytest.raises(ModelError, match=r"llama.cpp can't serve .*x.gguf: .*invalid magic"):
        await open_model(f"gguf/{tmp_path}/x.gguf", environment={}).open()
