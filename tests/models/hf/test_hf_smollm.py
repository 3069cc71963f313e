"""The real small model, from its GGUF file: it talks, it scores, and llama.cpp says nearly the same."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Sampling, Status

WORDS = ("coche", "carro", "auto", "palta", "aguacate", "ordenador")

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def ask_of(word: str, *candidates: str) -> Prompt:
    text = f'¿Se usa la palabra "{word}" en España? Responda solo Sí o No.'
    return Prompt.make([Message(role="user", content=text)], candidates=candidates)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(smollm: Path) -> AsyncIterator[HfModel]:
    """Loaded from the GGUF file itself, once."""
    made = open_model(f"hf/{smollm}", environment={}, settings=ModelSettings(device="cpu"))
    assert isinstance(made, HfModel)
    assert made.abilities.chat  # told from the file's head
    await made.open()
    yield made
    await made.close()


async def test_it_names_a_capital(model: HfModel) -> None:
    question = Prompt.make([Message(role="user", content="What is the capital of France?")])
    response = await model.ask(question, Sampling(max_tokens=30), 1)
    assert response.status is Status.OK
    assert "Paris" in (response.text or "")
    assert (response.rendered or "").endswith("What is the capital of France?<|im_end|>\n<|im_start|>assistant\n")
    assert model.revision == "b179c9523d0e6a0f"
    assert model.remarks == ("its chat template puts a system message of its own before the question",)


async def test_a_batch_gives_what_single_calls_give(model: HfModel) -> None:
    scored = [ask_of(word, "Sí", "No", "No sé") for word in WORDS]
    talked = [ask_of(word) for word in WORDS[:2]]
    short = Sampling(max_tokens=6)
    together = await asyncio.gather(*(model.ask(prompt, short, 1) for prompt in (*scored, *talked)))
    for prompt, response in zip((*scored, *talked), together, strict=True):
        single = await model.ask(prompt, short, 1)
        assert response.text == single.text
        if prompt.candidates:
            assert response.candidate_logprobs == pytest.approx(single.candidate_logprobs, abs=1e-4)
            assert response.candidate_tokens == (2, 1, 3)


async def test_scores_are_near_those_of_llama_cpp_on_the_same_file(model: HfModel, embedded: str) -> None:
    """llama.cpp rounds activations to 8 bits, so its numbers are off: by up to 0.21 nats on these prompts."""
    other = open_model(embedded, environment=os.environ)
    prompts = [ask_of(word, "Sí", "No") for word in WORDS]
    await other.open()
    try:
        theirs = [await other.ask(prompt, Sampling(), 1) for prompt in prompts]
    finally:
        await other.close()
    ours = await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts))
    assert [a.input_tokens for a in ours] == [b.input_tokens for b in theirs]
    pairs = [(a.candidate_logprobs, b.candidate_logprobs) for a, b in zip(ours, theirs, strict=True)]
    print(max(abs(x - y) for a, b in pairs for x, y in zip(a or (), b or (), strict=True)), pairs)
    for a_logprobs, b_logprobs in pairs:
        assert a_logprobs == pytest.approx(b_logprobs, abs=0.35)


async def test_a_saved_copy_in_a_folder_scores_the_same(model: HfModel, tmp_path: Path, transformers: Any) -> None:
    assert model._session is not None
    model._session._loaded.model.save_pretrained(tmp_path)
    model._session._loaded.tokenizer.save_pretrained(tmp_path)
    copy = open_model(f"hf/{tmp_path}", environment={}, settings=ModelSettings(device="cpu"))
    assert copy.abilities == model.abilities
    await copy.open()
    prompt = ask_of("coche", "Sí", "No")
    first, second = [await which.ask(prompt, Sampling(), 1) for which in (model, copy)]
    await copy.close()
    assert copy.template == model.template
    assert first.candidate_logprobs == pytest.approx(second.candidate_logprobs, abs=1e-5)
    assert copy.revision != model.revision
