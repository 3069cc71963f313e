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
    ("En México se dice ", ("aguacate", "palta")),  # the space before the candidate is the context's
    ("Sí.\n", ("No", "¡Olé, mañana! 🥑")),  # a character in several tokens
    ("", ("La niña lee un libro.", "El perro duerme en el jardín y la niña lee.", " El perro duerme")),  # whole texts
]


def text_prompt(context: str, candidates: tuple[str, ...]) -> Prompt:
    return Prompt.make([Message(role="text", content=context)], candidates=candidates)


def own_from(tokenizer: Any, context: str, candidates: tuple[str, ...]) -> int:
    """How many tokens the context has alone and before every candidate."""
    texts = [tokenizer(context + more, add_special_tokens=False)["input_ids"] for more in ("", *candidates)]
    n = 0
    while all(len(ids) > n for ids in texts) and len({ids[n] for ids in texts}) == 1:
        n += 1
    return n


def alone(
    transformers: Any, folder: Path, context: str, candidates: tuple[str, ...], start: list[int]
) -> list[tuple[float, int]]:
    """Each candidate's sum, from one full sequence a candidate without any padding, and the number of its tokens."""
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    first, found = len(start) + own_from(tokenizer, context, candidates), []
    if first == 0:  # nothing before the first token: the tokenizer's own start token gives it a probability
        start = [tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id]
        first = 1
    for candidate in candidates:
        ids = start + tokenizer(context + candidate, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        found.append((math.fsum(float(logprobs[k - 1, ids[k]]) for k in range(first, len(ids))), len(ids) - first))
    return found


@pytest.mark.parametrize(
    ("shape", "start", "packs"),
    [
        ("gpt2", [], True),
        ("no-start", [], True),
        ("llama", [1], True),
        ("unigram", [0], True),
        ("mistral", [1], True),
        ("bloom", [], False),
    ],
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
        sums, n_tokens = zip(*alone(transformers, folder, context, candidates, start), strict=True)
        assert response.candidate_logprobs == pytest.approx(sums, abs=1e-4), context
        assert response.candidate_tokens == n_tokens


@pytest.mark.parametrize("shape", ["llama", "unigram"])
async def test_a_whole_text_has_the_probability_of_its_beginning_and_of_what_follows(
    shape: str, tiny: Tiny, opened: Opened
) -> None:
    """log p(context) + log p(candidate | context) = log p(both), where no token is of both."""
    model = await opened(tiny(shape))
    context, candidates = "La niña lee un libro.", (" El perro duerme.", " No, no se usa.")
    given = await model.ask(text_prompt(context, candidates), Sampling(), 1)
    whole = await model.ask(text_prompt("", (context, *(context + c for c in candidates))), Sampling(), 1)
    assert given.candidate_logprobs is not None
    assert whole.candidate_logprobs is not None
    before, *both = whole.candidate_logprobs
    assert [before + logprob for logprob in given.candidate_logprobs] == pytest.approx(both, abs=1e-4)
    assert whole.candidate_tokens is not None
    n_before, *n_both = whole.candidate_tokens
    assert [n - n_before for n in n_both] == list(given.candidate_tokens or ())


@pytest.mark.parametrize(
    ("shape", "words"),
    [("gpt2", "'<|end|>', its start token"), ("no-start", "'<|end|>', its end token"), ("llama", "")],
)
async def test_what_stands_before_a_whole_text_is_remarked_where_the_tokenizer_puts_nothing(
    shape: str, words: str, tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny(shape))
    await model.ask(text_prompt("", ("La niña lee.", "El perro duerme.")), Sampling(), 1)
    started = [remark for remark in model.remarks if "whose first token is scored" in remark]
    assert len(started) == bool(words)
    assert all(words in remark for remark in started)


async def test_candidates_rank_as_whole_texts_do_even_where_one_is_joined_to_the_context(
    tiny: Tiny, opened: Opened
) -> None:
    """ "wor" + "ld" is one token and "wor" + "ks" another: what they hold of the context counts for every candidate."""
    model = await opened(tiny("llama"))
    context, candidates = "Hello wor", ("ld", "ks", "d", "🥑")
    given = await model.ask(text_prompt(context, candidates), Sampling(), 1)
    whole = await model.ask(text_prompt("", tuple(context + c for c in candidates)), Sampling(), 1)
    assert given.candidate_logprobs is not None
    assert whole.candidate_logprobs is not None
    differences = [a - b for a, b in zip(whole.candidate_logprobs, given.candidate_logprobs, strict=True)]
    assert differences == pytest.approx([differences[0]] * 4, abs=1e-4)


def test_a_joint_token_belongs_to_the_candidates(transformers: Any, tiny: Tiny) -> None:
    """ "wor" and "ld" are one token together, and none of the two alone."""
    from isogloss.models.hf.prompts import Renderer

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny("gpt2"))
    renderer = Renderer(tokenizer, has_template=False)
    both, apart = renderer.joined("the wor", ("ld", " dog")), renderer.joined("the wor", (" dog",))
    assert both.start < apart.start == len(renderer.tokens("the wor"))
    assert [tokenizer.decode(tokens[both.start :]) for tokens in both.tokens] == [" world", " wor dog"]
    assert tokenizer.decode(apart.tokens[0][apart.start :]) == " dog"


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
    expected = [logprob for logprob, _ in alone(transformers, folder, context, ("Sí", "No"), [1])]
    assert response.candidate_logprobs == pytest.approx(expected, abs=1e-4)


async def test_candidates_share_the_context_and_their_beginnings_in_one_row(tiny: Tiny, opened: Opened) -> None:
    """114 numbers in digits: the context and no more than 12 further tokens."""
    from isogloss.models.hf.scoring import ScoreTask, _packed_row

    answers = tuple(tuple(map(int, str(n))) for n in range(1, 115))
    row = _packed_row(ScoreTask((50, 51, 52), answers))
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
    assert failed.final
    assert not failed.is_due_again
    assert fine.status is Status.OK
