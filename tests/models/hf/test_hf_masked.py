"""Masked models: pseudo-log-likelihoods, tokens that two sentences share, and the next-sentence head, by hand."""

from __future__ import annotations

import asyncio
import difflib
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.errors import AbilityError, DataError, ModelError
from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.hf.masked import shared_places
from isogloss.records import AnswerForm, Message, Prompt, Sampling, Status

Tiny = Callable[..., Path]
Opened = Callable[..., Awaitable[HfModel]]

CASES = [
    ("¿Se usa la palabra coche en España?", (" Sí", " No", " No, no se usa")),
    ("La niña lee un libro.", (" El perro duerme en el jardín.", " The world turns.")),
    ("Hello wor", ("ld", "ks", "d")),  # one word with what stands before
    ("", ("El perro duerme en el jardín.", "La niña lee.")),
]
PAIRS = [
    ("El perro duerme en el jardín.", "La niña duerme en el jardín."),
    ("The girl works with her friends.", "The girl walks and talks with her friends."),
    ("No, no se usa.", "Sí, se usa en Chile, no en México."),
]


def text_prompt(context: str, candidates: tuple[str, ...], kind: Any = None) -> Prompt:
    form = None if kind is None else AnswerForm(kind=kind)
    return Prompt.make([Message(role="text", content=context)], candidates=candidates, form=form)


def logprob_of(bare: Any, ids: list[int], place: int, mask: int) -> float:
    """log p of one token of a sequence, masked, from a pass of its own."""
    import torch

    masked = torch.tensor([[*ids[:place], mask, *ids[place + 1 :]]])
    with torch.no_grad():
        return float(bare(masked).logits[0, place].log_softmax(-1)[ids[place]])


@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-r"])
async def test_a_candidate_has_the_sum_over_its_tokens_masked_in_turn_in_one_text_with_the_context(
    shape: str, transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    folder = tiny(shape)
    model = await opened(folder, batch_size=4)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    responses = await asyncio.gather(*(model.ask(text_prompt(*case), Sampling(), 1) for case in CASES))
    for (context, candidates), response in zip(CASES, responses, strict=True):
        texts = [tokenizer(context)["input_ids"][:-1], *(tokenizer(context + c)["input_ids"] for c in candidates)]
        first = 0
        while all(len(ids) > first for ids in texts) and len({ids[first] for ids in texts}) == 1:
            first += 1
        for k, ids in enumerate(texts[1:]):
            places = range(first, len(ids) - 1)
            expected = sum(logprob_of(bare, ids, place, tokenizer.mask_token_id) for place in places)
            assert (response.candidate_logprobs or ())[k] == pytest.approx(expected, abs=1e-4), (context, k)
            assert (response.candidate_tokens or ())[k] == len(places)


@pytest.mark.parametrize("shape", ["bert", "xlm-r"])
async def test_a_leading_space_counts_for_nothing(shape: str, tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny(shape))
    with_space, without = [
        await model.ask(text_prompt("", (space + "La niña lee.",)), Sampling(), 1) for space in (" ", "")
    ]
    assert with_space.candidate_logprobs == without.candidate_logprobs


# --- shared tokens ----------------------------------------------------------------------------------------------------


def test_shared_places_are_the_longest_runs_of_equal_tokens() -> None:
    #          [CLS] the man is late [SEP]        [CLS] the old woman is late [SEP]
    first, second = (1, 10, 11, 12, 13, 2), (1, 10, 20, 21, 12, 13, 2)
    assert shared_places(first, second) == ((0, 1, 3, 4, 5), (0, 1, 4, 5, 6))
    assert shared_places((1, 2), (3, 4)) == ((), ())
    assert shared_places((5,) * 300, (5,) * 300)[0] == tuple(range(300))  # a token that is everywhere counts, too


@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-r"])
async def test_tokens_that_both_sentences_share_are_masked_one_at_a_time(
    shape: str, transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    folder = tiny(shape)
    model = await opened(folder, batch_size=5)
    assert model.abilities.shared_tokens
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    prompts = [text_prompt("", pair, "shared_tokens") for pair in PAIRS]
    responses = await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts))
    for pair, response in zip(PAIRS, responses, strict=True):
        a, b = (tokenizer(sentence)["input_ids"] for sentence in pair)
        equal = [op for op in difflib.SequenceMatcher(None, a, b).get_opcodes() if op[0] == "equal"]
        in_a = [k for op in equal for k in range(op[1], op[2])][1:-1]  # without start and end token
        in_b = [k for op in equal for k in range(op[3], op[4])][1:-1]
        assert 0 < len(in_a) == len(in_b) < min(len(a), len(b)) - 2
        sums = [
            sum(logprob_of(bare, ids, place, tokenizer.mask_token_id) for place in places)
            for ids, places in ((a, in_a), (b, in_b))
        ]
        assert response.candidate_logprobs == pytest.approx(sums, abs=1e-4)
        assert response.candidate_tokens == (len(in_a), len(in_b))


async def test_sentences_that_share_nothing_have_sums_of_0_as_in_the_original_script(
    tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny("bert"))
    response = await model.ask(text_prompt("", ("Chile", "palta"), "shared_tokens"), Sampling(), 1)
    assert response.status is Status.OK
    assert (response.candidate_logprobs, response.candidate_tokens) == ((0.0, 0.0), (0, 0))


# --- next sentence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bert-pretraining", "bert-next"])
async def test_the_next_sentence_head_gives_the_log_odds_that_a_candidate_follows(
    shape: str, transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    import torch

    folder = tiny(shape)
    model = await opened(folder, batch_size=2)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForNextSentencePrediction.from_pretrained(folder).eval()
    cases = [(context, candidates) for context, candidates in CASES if context]
    prompts = [text_prompt(*case, "next_sentence") for case in cases]
    responses = await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts))
    for (context, candidates), response in zip(cases, responses, strict=True):
        expected = []
        for candidate in candidates:
            first, second = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (context, candidate))
            ids = [2, *first, 3, *second, 3]
            segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            with torch.no_grad():
                p = bare(torch.tensor([ids]), token_type_ids=torch.tensor([segments])).logits[0].double().softmax(-1)[0]
            expected.append(float((p / (1 - p)).log()))
        assert response.candidate_logprobs == pytest.approx(expected, abs=1e-4)
        assert response.candidate_tokens is None


async def test_a_model_saved_with_both_heads_does_both_and_holds_its_body_once(
    transformers: Any, tiny: Tiny, opened: Opened
) -> None:
    folder = tiny("bert-pretraining")
    model = await opened(folder)
    assert model.abilities.masked
    assert model.abilities.next_sentence
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bare = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    ids = tokenizer("Hello world")["input_ids"]
    expected = sum(logprob_of(bare, ids, place, tokenizer.mask_token_id) for place in range(1, len(ids) - 1))
    response = await model.ask(text_prompt("", ("Hello world",)), Sampling(), 1)
    assert response.candidate_logprobs == pytest.approx((expected,), abs=1e-4)
    assert model._session is not None
    loaded = model._session._loaded
    held = {id(weight) for part in (loaded.model, loaded.pair_head) for weight in part.parameters()}
    whole = transformers.AutoModelForPreTraining.from_pretrained(folder)
    assert len(held) == sum(1 for _ in whole.parameters())


@pytest.mark.parametrize(
    ("shape", "architectures", "told"),
    [
        ("bert-pretraining", None, (True, True, True)),
        ("bert-pretraining", ["BertForMaskedLM"], (True, True, True)),  # as the first BERT models are saved
        ("bert-next", None, (False, False, True)),
        ("bert", None, (True, True, False)),
        ("bert", ["BertForPreTraining"], (True, True, False)),  # the weights have the last word
        ("roberta", None, (True, True, False)),
    ],
)
async def test_what_heads_there_are_is_told_from_config_and_names_of_weights_before_loading(
    shape: str, architectures: list[str] | None, told: tuple[bool, ...], tiny: Tiny, tmp_path: Path, opened: Opened
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny(shape), folder)
    if architectures is not None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "architectures": architectures}))
    before = open_model(f"hf/{folder}", environment={}).abilities
    assert (before.masked, before.shared_tokens, before.next_sentence) == told
    assert before.logprobs == told[0]
    assert (await opened(folder)).abilities == before


async def test_without_readable_weights_the_architecture_tells(tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("bert-pretraining"), folder)
    (folder / "model.safetensors").write_bytes(b"garbage")
    model = open_model(f"hf/{folder}", environment={})
    assert model.abilities.next_sentence
    with pytest.raises(ModelError, match="can't be loaded"):
        await model.open()


# --- what a model can't do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kind", "context", "words"),
    [
        ("gpt2", "next_sentence", "Sí.", "has no next-sentence head"),
        ("bert", "next_sentence", "Sí.", "has no next-sentence head"),
        ("gpt2", "shared_tokens", "", "is no masked model"),
        ("bert-next", "shared_tokens", "", "is no masked model"),
        ("bert-next", None, "", "has a next-sentence head only"),
    ],
)
async def test_a_model_without_what_a_prompt_asks_is_refused_by_name(
    shape: str, kind: str | None, context: str, words: str, tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny(shape))
    with pytest.raises(AbilityError, match=words):
        await model.ask(text_prompt(context, ("No", "Sí"), kind), Sampling(), 1)


@pytest.mark.parametrize("shape", ["bert", "bert-next"])
async def test_a_masked_model_writes_no_text(shape: str, tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny(shape))
    with pytest.raises(AbilityError, match="writes no text"):
        await model.ask(text_prompt("Sí", ()), Sampling(), 1)


@pytest.mark.parametrize(
    ("kind", "context", "candidates"),
    [
        ("next_sentence", "", ("No", "Sí")), ("next_sentence", "Sí", ()), ("shared_tokens", "Sí", ("No", "Sí")),
        ("shared_tokens", "", ("No",)), ("shared_tokens", "", ("No", "Sí", "No")),
    ],
)  # fmt: skip
async def test_a_prompt_that_lacks_a_part_is_an_error(
    kind: str, context: str, candidates: tuple[str, ...], tiny: Tiny, opened: Opened
) -> None:
    model = await opened(tiny("bert-pretraining"))
    with pytest.raises(DataError, match=r"is of candidates after a text|are of two candidates after an empty text"):
        await model.ask(text_prompt(context, candidates, kind), Sampling(), 1)
