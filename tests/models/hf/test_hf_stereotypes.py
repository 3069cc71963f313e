"""The prompts of the stereotypes study on three shapes of model: whose tokens are whose, worked out otherwise."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.models.hf import HfModel
from isogloss.records import Condition, Dataset, Item, Option, Sampling, Status
from isogloss.studies.stereotypes import STUDY, StereotypeSettings

ROLES = ("stereotype", "anti-stereotype", "unrelated")
SENTENCES = {
    "intersentence": (
        "La niña lee un libro en el jardín.",
        ("El perro duerme.", "No se usa la palabra coche, por favor.", "The girl works and talks with her friends."),
    ),
    "intrasentence": (
        "La niña BLANK en el jardín.",
        ("La niña lee en el jardín.", "La niña duerme y se usa en el jardín.", "La niña legó en el jardín."),
    ),
}


def item_of(split: str) -> Item:
    context, sentences = SENTENCES[split]
    options = tuple(Option(id=role, text=text, role=role) for role, text in zip(ROLES, sentences, strict=True))
    fields = {"layout": "stereoset", "split": split, "category": "c", "target": "t", "country": ""}
    return Item(id=split, text=context, options=options, language="es", fields=fields)


def own_tokens(tokenizer: Any, text: str, start: int) -> tuple[list[int], list[int]]:
    """Tokens of a text, special ones included, and the places of those that end behind a character."""
    found = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids = list(found["input_ids"])
    places = [
        k
        for k, ((_, end), is_special) in enumerate(
            zip(found["offset_mapping"], found["special_tokens_mask"], strict=True)
        )
        if end > start and not (is_special and end == 0)
    ]
    return ids, places


def expected(transformers: Any, folder: Path, text: str, start: int, *, masked: bool) -> tuple[float, int]:
    """The sum over a text's tokens behind a character, token by token in plain sequences, and their number."""
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    maker = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    model = maker.from_pretrained(folder).eval()
    ids, places = own_tokens(tokenizer, text, start)
    if not masked and places[0] == 0:  # no start token of the tokenizer's own: the first token needs one
        ids, places = [tokenizer.bos_token_id, *ids], [place + 1 for place in places]
    found = []
    with torch.no_grad():
        for place in places:
            if masked:
                shown = [*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]]
                logits = model(torch.tensor([shown])).logits[0, place]
            else:
                logits = model(torch.tensor([ids[:place]])).logits[0, -1]
            found.append(float(logits.log_softmax(-1)[ids[place]]))
    return math.fsum(found), len(places)


@pytest.mark.parametrize("split", list(SENTENCES))
@pytest.mark.parametrize(
    ("shape", "rule"),
    [("gpt2", "causal"), ("gpt2", "total"), ("llama", "causal"), ("llama", "per_token"), ("bert", "masked")],
)
async def test_each_sentence_has_the_sum_over_its_own_tokens(
    shape: str, rule: str, split: str, transformers: Any, tiny: Callable[..., Path],
    opened: Callable[..., Awaitable[HfModel]],
) -> None:  # fmt: skip
    item = item_of(split)
    condition = Condition(language="es", format=rule, reading="logprob", order=ROLES)
    dataset, settings = Dataset(name="d", items=(item,)), StereotypeSettings(rule=(rule,))
    prompt = STUDY.ask(item, condition, dataset, settings)
    response = await (await opened(tiny(shape))).ask(prompt, Sampling(), 1)
    assert response.status is Status.OK, response.error
    [answer] = STUDY.code(item, condition, response)
    whole = rule in ("total", "per_token")
    for k, option in enumerate(item.options):
        text = option.text if split == "intrasentence" else f"{item.text} {option.text}"
        start = 0 if whole else len("La niña") if split == "intrasentence" else len(item.text)
        value, n = expected(transformers, tiny(shape), text, start, masked=rule == "masked")
        assert n > 1
        assert answer.value[k] == pytest.approx(value / n if rule == "per_token" else value, abs=2e-4)
