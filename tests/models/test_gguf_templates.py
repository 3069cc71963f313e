"""Chat templates of models on this machine: known, kept as rendered, folded where they take no system text."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from isogloss.errors import DataError
from isogloss.models.folding import fold_system
from isogloss.models.gguf import GgufModel
from isogloss.models.weights import cache_folder
from isogloss.records import AnswerForm, Message, Prompt, Sampling, Status

pytestmark = [pytest.mark.asyncio(loop_scope="module")]

TURNS = "<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
WITH_SYSTEM = "{% for m in messages %}" + TURNS
DROPS = "{% for m in messages if m['role'] != 'system' %}" + TURNS
RAISES = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TURNS
FOLDS = (  # as Gemma's does
    "{% set first = messages[0]['content'] + '\\n\\n' if messages[0]['role'] == 'system' else '' %}"
    "{% for m in (messages[1:] if first else messages) %}{% if loop.first %}<{{ m['role'] }}>{{ first }}"
    "{{ m['content'] }}</s>{% else %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
FEW = Sampling(max_tokens=3)


def said(*turns: tuple[str, str], **fields: object) -> Prompt:
    return Prompt.make([Message(role=role, content=content) for role, content in turns], **fields)  # type: ignore[arg-type]


BRIEF = said(("system", "Be brief."), ("user", "Why?"))
RAW = "The capital of France is"


@asynccontextmanager
async def opened(name: str, chat_template: str | None = None) -> AsyncIterator[GgufModel]:
    """The embedded model with another chat template."""
    model = GgufModel(name, source="smollm2", cache_dir=cache_folder(os.environ), chat_template=chat_template)
    await model.open()
    try:
        yield model
    finally:
        await model.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(embedded: str) -> AsyncIterator[GgufModel]:
    async with opened(embedded) as own:
        yield own


@pytest.mark.parametrize(
    ("turns", "folded"),
    [
        ([("user", "U")], [("user", "U")]),
        ([("system", "S"), ("user", "U")], [("user", "S\n\nU")]),
        ([("system", "S")], [("user", "S")]),
        ([("system", "S"), ("system", "T"), ("user", "U")], [("user", "S\n\nT\n\nU")]),
        ([("system", "S"), ("assistant", "A"), ("user", "U")], [("user", "S"), ("assistant", "A"), ("user", "U")]),
        ([("user", "U"), ("assistant", "A"), ("system", "S"), ("user", "V")],
         [("user", "S\n\nU"), ("assistant", "A"), ("user", "V")]),
    ],
)  # fmt: skip
async def test_system_messages_go_before_the_first_of_the_user(
    turns: list[tuple[str, str]], folded: list[tuple[str, str]]
) -> None:
    messages = fold_system(said(*turns).messages)
    assert [(message.role, message.content) for message in messages] == folded


@pytest.mark.gguf
async def test_a_template_is_known_after_opening_and_a_prompt_kept_as_rendered(model: GgufModel) -> None:
    assert "<|im_start|>" in model.template
    response = await model.ask(BRIEF, FEW, 1)
    assert response.rendered == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert response.prompt_id == BRIEF.id
    assert model.remarks == ("its chat template puts a system message of its own before the question",)


@pytest.mark.gguf
@pytest.mark.parametrize("template", [DROPS, RAISES, FOLDS], ids=["drops", "raises", "folds"])
async def test_system_text_is_folded_where_the_template_has_no_place_for_it(embedded: str, template: str) -> None:
    async with opened(embedded, template) as model:
        assert model.template == template
        assert model.remarks == ()
        alone = await model.ask(said(("user", "Why?")), FEW, 1)
        assert (alone.status, alone.rendered) == (Status.TRUNCATED, "<user>Why?</s><assistant>")
        assert model.remarks == ()
        chat = await model.ask(BRIEF, FEW, 1)
        scored = await model.ask(said(("system", "Be brief."), ("user", "Why?"), candidates=("Yes", "No")), FEW, 1)
        assert chat.rendered == scored.rendered == "<user>Be brief.\n\nWhy?</s><assistant>"
        assert (chat.status, scored.status) == (Status.TRUNCATED, Status.OK)
        assert chat.input_tokens == scored.input_tokens  # the chat saw it so, too
        assert chat.prompt_id == BRIEF.id
        [remark] = model.remarks
        assert "stands before the first message of the user" in remark


@pytest.mark.gguf
async def test_a_template_with_a_system_role_is_left_to_put_it(embedded: str) -> None:
    async with opened(embedded, WITH_SYSTEM) as model:
        response = await model.ask(BRIEF, FEW, 1)
        assert response.rendered == "<system>Be brief.</s><user>Why?</s><assistant>"
        assert model.remarks == ()


@pytest.mark.gguf
async def test_what_a_template_turns_down_is_a_failed_call_in_its_words(embedded: str) -> None:
    once = (
        "{% for m in messages %}{% if loop.index > 1 %}{{ raise_exception('one turn only') }}"
        "{% endif %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    )
    async with opened(embedded, once) as model:
        response = await model.ask(said(("user", "U"), ("assistant", "A"), ("user", "V")), FEW, 1)
        assert response.status is Status.FAILED
        assert "one turn only" in (response.error or "")


@pytest.mark.gguf
async def test_weights_without_a_template_are_remarked_on(embedded: str, tmp_path: Path) -> None:
    known = cache_folder(os.environ) / "weights" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    weights = known.read_bytes()
    assert weights.count(b"tokenizer.chat_template") == 1
    (tmp_path / "x.gguf").write_bytes(weights.replace(b"tokenizer.chat_template", b"tokenizer.chat_t-mplate"))
    model = GgufModel("gguf/x", source=f"{tmp_path}/x.gguf", cache_dir=tmp_path)
    await model.open()
    assert "<|im_start|>" in (model.template or "")
    assert model.remarks == (
        "its weights carry no chat template; llama.cpp puts one on (ChatML) that it may never have met",
    )
    await model.close()
    (tmp_path / "x.gguf").unlink()


@pytest.mark.gguf
async def test_a_raw_text_is_continued_without_a_template(model: GgufModel) -> None:
    response = await model.ask(said(("text", RAW)), Sampling(max_tokens=2), 1)
    assert response.text == " Paris."
    assert response.status is Status.TRUNCATED
    assert (response.input_tokens, response.output_tokens, response.rendered) == (5, 2, None)


@pytest.mark.gguf
async def test_a_raw_text_can_be_held_to_a_form_and_ends_where_the_model_ends_it(model: GgufModel) -> None:
    form = AnswerForm(kind="one_of", choices=(" Lyon", " Paris"))
    held = await model.ask(said(("text", RAW), form=form), Sampling(max_tokens=20, constrained=True), 1)
    assert (held.status, held.text) == (Status.OK, " Paris")
    drawn = [await model.ask(said(("text", RAW)), Sampling(max_tokens=4, temperature=1.5, seed=7), 1) for _ in "ab"]
    assert drawn[0].text == drawn[1].text
    assert drawn[0].text != (await model.ask(said(("text", RAW)), Sampling(max_tokens=4), 1)).text


@pytest.mark.gguf
async def test_continuations_of_a_raw_text_are_scored_on_the_text_itself(model: GgufModel) -> None:
    """The probability of what greedy continuation writes is the product of two steps, each the most probable."""
    response = await model.ask(said(("text", RAW), candidates=(" Paris.", " Paris", " Berlin")), Sampling(), 1)
    assert response.status is Status.OK
    assert response.candidate_tokens == (2, 1, 1)
    assert response.rendered is None
    with_stop, without, berlin = map(math.exp, response.candidate_logprobs or ())
    assert with_stop + without > 0.3 > berlin > 0  # both begin with the same token
    templated = await model.ask(said(("user", RAW), candidates=(" Paris.", " Paris", " Berlin")), Sampling(), 1)
    assert templated.candidate_logprobs != response.candidate_logprobs
    assert templated.input_tokens > response.input_tokens


@pytest.mark.gguf
async def test_a_raw_text_stands_alone_and_is_not_empty_where_candidates_are_scored(model: GgufModel) -> None:
    with pytest.raises(DataError, match="'text' message stands alone in its prompt, got 2"):
        await model.ask(said(("text", "a"), ("user", "b")), FEW, 1)
    response = await model.ask(said(("text", ""), candidates=("a", "b")), FEW, 1)
    assert response.status is Status.FAILED
    assert "nothing stands before the candidates" in (response.error or "")
    assert response.final
