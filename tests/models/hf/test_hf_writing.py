"""Replies: put through the chat template, the same alone and beside others, reproducible when drawn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.errors import AbilityError
from isogloss.models.hf import HfModel
from isogloss.models.hf.prompts import FOLDED
from isogloss.records import Message, Prompt, Sampling, Status

Tiny = Callable[..., Path]
Opened = Callable[..., Awaitable[HfModel]]

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
REFUSES_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + CHAT
)
DROPS_SYSTEM = "{% for m in messages if m['role'] != 'system' %}{{ m['content'] }}\n{% endfor %}assistant:"
REFUSES_ALL = "{{ raise_exception('Never') }}"
QUESTIONS = ("Sí", "¿Se usa la palabra coche en España?", "The dog sleeps in the garden and the world turns.", "No no")


def put(*contents: str, roles: tuple[Any, ...] = ("user",)) -> Prompt:
    return Prompt.make([Message(role=role, content=text) for role, text in zip(roles, contents, strict=True)])


@pytest.mark.parametrize("shape", ["gpt2", "llama", "mistral", "bloom"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
async def test_a_reply_does_not_depend_on_its_neighbours(
    shape: str, temperature: float, tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny(shape, CHAT))
    sampling = Sampling(temperature=temperature, max_tokens=12)
    prompts = [put(question) for question in QUESTIONS]
    together = await asyncio.gather(*(model.ask(prompt, sampling, 1) for prompt in prompts))
    alone = [await model.ask(prompt, sampling, 1) for prompt in prompts]
    assert [response.text for response in together] == [response.text for response in alone]
    assert len({response.text for response in together}) > 1


async def test_a_greedy_reply_is_what_a_plain_loop_writes(transformers: Any, tiny: Tiny, opened: Opened) -> None:
    import torch

    folder = tiny("llama", CHAT)
    model = await opened(folder)
    response = await model.ask(put(QUESTIONS[1]), Sampling(max_tokens=10), 1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(f"<|user|>{QUESTIONS[1]}\n<|assistant|>", add_special_tokens=False)["input_ids"]
    n_prompt = len(ids)
    for _ in range(10):
        with torch.no_grad():
            token = int(bare(torch.tensor([ids])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        ids.append(token)
    assert response.text == tokenizer.decode(ids[n_prompt:], skip_special_tokens=True)
    assert response.rendered == f"<|user|>{QUESTIONS[1]}\n<|assistant|>"
    assert response.input_tokens == n_prompt
    assert model.template == CHAT


async def test_drawn_replies_repeat_by_seed_prompt_and_repeat(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2", CHAT))
    sampling = Sampling(temperature=1.0, max_tokens=8, seed=5)
    first, again, second = [await model.ask(put("Sí"), sampling, repeat) for repeat in (1, 1, 2)]
    other = await model.ask(put("Sí"), sampling.model_copy(update={"seed": 6}), 1)
    assert first.text == again.text
    assert len({first.text, second.text, other.text}) == 3


async def test_the_limit_is_a_truncated_reply_and_an_end_token_is_not(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2", CHAT))
    cut = await model.ask(put("Sí"), Sampling(max_tokens=3), 1)
    assert (cut.status, cut.finish_reason, cut.output_tokens) == (Status.TRUNCATED, "length", 3)
    long = Sampling(temperature=3.0, max_tokens=100)
    drawn = await asyncio.gather(*(model.ask(put("Sí"), long, repeat) for repeat in range(1, 30)))
    ended = [response for response in drawn if response.status is Status.OK]
    assert ended
    assert {response.finish_reason for response in ended} == {"stop"}
    assert all((response.output_tokens or 0) <= 100 for response in drawn)


async def test_a_reply_never_runs_over_the_models_context(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2", CHAT))
    response = await model.ask(put("perro " * 30), Sampling(max_tokens=500), 1)
    assert response.status in (Status.OK, Status.TRUNCATED)
    assert (response.input_tokens or 0) + (response.output_tokens or 0) <= 128


def test_draws_follow_the_distribution_and_keep_to_the_nucleus() -> None:
    torch = pytest.importorskip("torch")
    from isogloss.models.hf.writing import Draw

    scores = torch.tensor([[0.5, 0.3, 0.2]]).log().repeat(4000, 1)
    seeds = [str(k) for k in range(4000)]
    counts = Counter(Draw(seeds, 1.0, None)(None, scores).argmax(-1).tolist())
    assert [counts[k] / 4000 for k in range(3)] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    counts = Counter(Draw(seeds, 1.0, 0.7)(None, scores).argmax(-1).tolist())
    assert [counts[k] / 4000 for k in range(3)] == pytest.approx([0.625, 0.375, 0.0], abs=0.03)
    assert counts[2] == 0


# --- templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "rendered", "folds"),
    [
        (CHAT, "<|system|>Sea breve.\n<|user|>¿Se usa?\n<|assistant|>", False),
        (REFUSES_SYSTEM, "<|user|>Sea breve.\n\n¿Se usa?\n<|assistant|>", True),
        (DROPS_SYSTEM, "Sea breve.\n\n¿Se usa?\nassistant:", True),
    ],
)
async def test_a_system_message_is_never_lost(
    template: str, rendered: str, folds: bool, tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny("gpt2", template))
    prompt = put("Sea breve.", "¿Se usa?", roles=("system", "user"))
    response = await model.ask(prompt, Sampling(max_tokens=1), 1)
    assert response.rendered == rendered
    assert (FOLDED in model.remarks) == folds


async def test_a_template_that_refuses_is_a_failed_call_with_its_words(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2", REFUSES_ALL))
    response = await model.ask(put("Sí"), Sampling(max_tokens=1), 1)
    assert response.status is Status.FAILED
    assert response.error == "its chat template refuses the messages: Never"


async def test_raw_text_is_continued_as_it_is(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2"))
    response = await model.ask(put("El perro", roles=("text",)), Sampling(max_tokens=3), 1)
    assert response.status in (Status.OK, Status.TRUNCATED)
    assert response.rendered is None
    with pytest.raises(AbilityError, match="has no chat template"):
        await model.ask(put("Sí"), Sampling(max_tokens=1), 1)


async def test_closing_leaves_a_long_reply_quickly(tiny: Tiny, opened: Opened) -> None:
    from isogloss.errors import ModelError

    model = await opened(tiny("bloom", CHAT))
    call = asyncio.create_task(model.ask(put("Sí"), Sampling(max_tokens=100_000), 1))
    await asyncio.sleep(0.3)
    await asyncio.wait_for(model.close(), 20)
    with pytest.raises(ModelError, match="closed before it answered"):
        await call
