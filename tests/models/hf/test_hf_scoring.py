"""Log-probabilities of candidates: those of plain full sequences computed one by one, in every shape of model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.models.hf import HfModel
from isogloss.models.hf.scoring import UNPACKED
from isogloss.records import Message, Prompt, Sampling, Status

Tiny = Callable[..., Path]
Opened = Callable[..., Awaitable[HfModel]]

CASES = [
    ("¿Se usa la palabra coche en España?", (" Sí", " No", " No, no se usa")),
    ("En Chile se dice", (" palta", " aguacate", " palta y aguacate")),
    ("Hello wor", ("ld", "ks", "d")),  # the tokenizer may join the two
    ("Responda: ", ("Sí", "1", "10", "11", "111")),
    ("E", ("l perro", "l libro")),  # not even the first token is the context's own
    ("The girl", (" walks and talks with her friends",)),
]


def text_prompt(context: str, candidates: tuple[str, ...]) -> Prompt:
    return Prompt.make([Message(role="text", content=context)], candidates=candidates)


def alone(transformers: Any, folder: Path, context: str, candidate: str, start: list[int]) -> tuple[float, int]:
    """The sum for one candidate from one full sequence without any padding, and the number of its tokens."""
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    before = tokenizer(context, add_special_tokens=False)["input_ids"]
    both = tokenizer(context + candidate, add_special_tokens=False)["input_ids"]
    common = 0
    while common < len(before) and common < len(both) and before[common] == both[common]:
        common += 1
    ids = start + both
    first = len(start) + common
    if first == 0:  # nothing before the first token: the tokenizer's own start token gives it a probability
        ids, first = [tokenizer.bos_token_id, *ids], 1
    with torch.no_grad():
        logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return math.fsum(float(logprobs[k - 1, ids[k]]) for k in range(first, len(ids))), len(ids) - first


@pytest.mark.parametrize(
    ("shape", "start", "packs"),
    [("gpt2", [], True), ("llama", [1], True), ("mistral", [1], True), ("bloom", [], False)],
)
async def test_sums_are_those_of_full_sequences_one_by_one(
    shape: str, start: list[int], packs: bool, transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    folder = tiny(shape)
    model = await opened(folder)
    assert (UNPACKED not in model.remarks) == packs
    responses = await asyncio.gather(*(model.ask(text_prompt(*case), Sampling(), 1) for case in CASES))
    for (context, candidates), response in zip(CASES, responses, strict=True):
        assert response.status is Status.OK
        assert response.rendered is None
        assert response.candidate_logprobs is not None
        for k, candidate in enumerate(candidates):
            expected, n_tokens = alone(transformers, folder, context, candidate, start)
            assert response.candidate_logprobs[k] == pytest.approx(expected, abs=1e-4), (context, candidate)
            assert response.candidate_tokens is not None
            assert response.candidate_tokens[k] == n_tokens


def test_a_joint_token_belongs_to_the_candidate(transformers: Any, tiny: Tiny) -> None:
    """ "wor" and "ld" are one token together, and none of the two alone."""
    from isogloss.models.hf.prompts import Renderer

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny("gpt2"))
    renderer = Renderer(tokenizer, has_template=False)
    joined, apart = renderer.joined("the wor", ("ld", " dog"))
    n_alone = len(renderer.tokens("the wor"))
    assert joined.start < n_alone == apart.start
    assert tokenizer.decode(joined.tokens[joined.start :]) == " world"
    assert tokenizer.decode(apart.tokens[apart.start :]) == " dog"


async def test_a_context_longer_than_the_window_is_scored_in_full_sequences(
    transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    """Our mask would let tokens see farther back than the model does."""
    folder = tiny("mistral")
    model = await opened(folder)
    context = "El perro duerme en el jardín y la niña lee un libro. " * 3
    response = await model.ask(text_prompt(context, ("Sí", "No")), Sampling(), 1)
    assert response.input_tokens is not None
    assert response.input_tokens > 16
    for logprob, candidate in zip(response.candidate_logprobs or (), ("Sí", "No"), strict=True):
        assert logprob == pytest.approx(alone(transformers, folder, context, candidate, [1])[0], abs=1e-4)


async def test_candidates_share_the_context_and_their_beginnings_in_one_row(tiny: Tiny, opened: Opened) -> None:
    """114 numbers in digits: the context and no more than 12 further tokens."""
    from isogloss.models.hf.scoring import ScoreTask, _packed_row

    answers = tuple(tuple(map(int, str(n))) for n in range(1, 115))
    row = _packed_row(ScoreTask((50, 51, 52), answers, (0,) * 114))
    assert row.ids[:3] == (50, 51, 52)
    assert len(row.ids) - 3 == len({a[:k] for a in answers for k in range(1, len(a))}) == 11
    assert len(row.targets) == sum(map(len, answers))


@pytest.mark.parametrize("shape", ["gpt2", "bloom"])
async def test_of_whole_answers_one_that_begins_longer_ones_does_not_get_their_share(
    shape: str, tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny(shape))  # without a chat template, a chat message is its text and a line break
    plain = await model.ask(text_prompt("¿Cuáles?\n", ("7", "7 ", "7 8", "7 8 ", "7 8 9", "3")), Sampling(), 1)
    chat = Prompt.make([Message(role="user", content="¿Cuáles?")], candidates=("7", "7 8", "7 8 9", "3"))
    whole = await model.ask(chat, Sampling(), 1)
    assert plain.candidate_logprobs is not None
    assert whole.candidate_logprobs is not None
    assert plain.candidate_tokens is not None
    # here the space is a token of its own, and leads on from "7" to "7 8"
    assert [n - plain.candidate_tokens[0] for n in plain.candidate_tokens[:5]] == [0, 1, 2, 3, 4]
    p = [math.exp(logprob) for logprob in plain.candidate_logprobs]
    expected = [p[0] - p[1], p[2] - p[3], p[4], p[5]]
    assert [math.exp(v) for v in whole.candidate_logprobs] == pytest.approx(expected, rel=1e-4)


async def test_a_batch_gives_the_numbers_of_single_calls(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("llama"), batch_size=3)
    prompts = [text_prompt(*case) for case in CASES]
    together = await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts))
    for prompt, response in zip(prompts, together, strict=True):
        single = await model.ask(prompt, Sampling(), 1)
        assert response.candidate_logprobs == pytest.approx(single.candidate_logprobs, abs=1e-5)


async def test_without_a_chat_template_messages_are_plain_text_and_it_is_remarked(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2"))
    chat = Prompt.make([Message(role="user", content="¿Se usa?")], candidates=("Sí", "No"))
    response = await model.ask(chat, Sampling(), 1)
    assert response.rendered == "¿Se usa?\n"
    assert any("no chat template" in remark for remark in model.remarks)
    plain = await model.ask(text_prompt("¿Se usa?\n", ("Sí", "No")), Sampling(), 1)
    assert response.candidate_logprobs == plain.candidate_logprobs


async def test_a_prompt_that_does_not_fit_fails_alone_and_with_words(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2"))
    long, short = text_prompt("perro " * 200, (" Sí",)), text_prompt("perro", (" Sí",))
    failed, fine = await asyncio.gather(model.ask(long, Sampling(), 1), model.ask(short, Sampling(), 1))
    assert failed.status is Status.FAILED
    assert "more than the model's context of 128" in (failed.error or "")
    assert fine.status is Status.OK


# --- masked models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bert", "roberta"])
async def test_a_masked_model_gives_the_sum_over_its_tokens_masked_in_turn(
    shape: str, transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    import torch

    folder = tiny(shape)
    model = await opened(folder, batch_size=4)
    assert model.abilities.masked
    assert not model.abilities.chat
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    cases = [*CASES, ("", ("El perro duerme en el jardín.", "La niña lee."))]
    responses = await asyncio.gather(*(model.ask(text_prompt(*case), Sampling(), 1) for case in cases))
    for (context, candidates), response in zip(cases, responses, strict=True):
        before = tokenizer(context)["input_ids"][:-1]
        for k, candidate in enumerate(candidates):
            ids = tokenizer(context + candidate)["input_ids"]
            first = next(j for j, token in enumerate(ids) if j >= len(before) or token != before[j])
            total = 0.0
            for place in range(first, len(ids) - 1):
                masked = torch.tensor([ids])
                masked[0, place] = tokenizer.mask_token_id
                with torch.no_grad():
                    total += float(bare(masked).logits[0, place].log_softmax(-1)[ids[place]])
            assert response.candidate_logprobs is not None
            assert response.candidate_logprobs[k] == pytest.approx(total, abs=1e-4), (context, candidate)
            assert (response.candidate_tokens or ())[k] == len(ids) - 1 - first
