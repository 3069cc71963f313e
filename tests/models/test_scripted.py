"""Informants of known behaviour keep to what they are known for."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from isogloss.errors import AbilityError, SettingError, UnknownNameError
from isogloss.models import ScriptedModel, open_model
from isogloss.models.scripted import REFUSALS
from isogloss.records import AnswerForm, Message, Prompt, Response, Sampling, Status

YES_NO = AnswerForm(kind="one_of", choices=("Sí", "No"))
SAMPLING = Sampling()


def make(text: str = "¿?", form: AnswerForm | None = YES_NO, **fields: object) -> Prompt:
    return Prompt.make([Message(role="user", content=text)], form=form, **fields)  # type: ignore[arg-type]


async def say(name: str, prompt: Prompt, repeat: int = 1, seed: int = 0) -> Response:
    model = open_model(f"scripted/{name}", environment={}, seed=seed)
    await model.open()
    response = await model.ask(prompt, SAMPLING, repeat)
    await model.close()
    assert response.model == f"scripted/{name}"
    return response


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        ("always-yes", YES_NO, "Sí"),
        ("always-yes", AnswerForm(kind="number_list", n_options=8), "1/2/3"),
        ("always-yes", AnswerForm(kind="number_list", n_options=2), "1/2"),
        ("always-yes", AnswerForm(kind="number_list", n_options=8, max_chosen=1), "1"),
        ("always-no", YES_NO, "No"),
        ("always-no", AnswerForm(kind="number_list", n_options=8), "8"),
        ("always-first", YES_NO, "Sí"),
        ("always-first", AnswerForm(kind="number_list", n_options=8), "1"),
        ("always-first", AnswerForm(kind="letter", n_options=4), "A"),
        ("empty", YES_NO, ""),
        ("refuses", YES_NO, REFUSALS["es"]),
        ("refuses-pt", YES_NO, REFUSALS["pt"]),
        ("refuses-en", YES_NO, REFUSALS["en"]),
    ],
)
async def test_habits(name: str, form: AnswerForm, text: str) -> None:
    response = await say(name, make(form=form))
    assert (response.status, response.text) == (Status.OK, text)


async def test_crashes_fails_and_truncated_is_cut() -> None:
    assert (await say("crashes", make())).status is Status.FAILED
    assert (await say("truncated", make())).status is Status.TRUNCATED


async def test_rambles_says_much_and_chooses_nothing() -> None:
    text = (await say("rambles", make())).text or ""
    assert len(text) > 100
    assert not any(character.isdigit() for character in text)
    assert not {"sí", "no"} & set(text.lower().replace(",", " ").replace(".", " ").split())


async def test_random_is_uniform_over_choices() -> None:
    counts = Counter([(await say("random", make(str(k)))).text for k in range(2000)])
    assert set(counts) == {"Sí", "No"}
    assert abs(counts["Sí"] - 1000) < 4 * 22.4  # four standard deviations of a fair coin


async def test_random_takes_each_number_half_the_time_and_never_none() -> None:
    form = AnswerForm(kind="number_list", n_options=5)
    lists = [[int(n) for n in (await say("random", make(str(k), form))).text.split("/")] for k in range(2000)]
    assert all(numbers == sorted(set(numbers)) for numbers in lists)
    counts = Counter(number for numbers in lists for number in numbers)
    assert all(abs(counts[k] / 2000 - 16 / 31) < 0.045 for k in range(1, 6))  # 1/2 given that some number is taken


async def test_random_heeds_the_most_that_may_be_chosen() -> None:
    form = AnswerForm(kind="number_list", n_options=300, max_chosen=3)
    numbers = [int(n) for n in (await say("random", make(form=form))).text.split("/")]
    assert len(numbers) == 3
    assert numbers == sorted(numbers)


async def test_random_depends_on_prompt_seed_and_repeat_only() -> None:
    form = AnswerForm(kind="number_list", n_options=40)
    first = (await say("random", make("a", form))).text
    assert (await say("random", make("a", form))).text == first
    others = [
        (await say("random", make("b", form))).text,
        (await say("random", make("a", form), repeat=2)).text,
        (await say("random", make("a", form), seed=1)).text,
    ]
    assert first not in others


async def test_random_is_the_same_on_every_machine() -> None:
    form = AnswerForm(kind="number_list", n_options=10)
    assert (await say("random", make("a", form))).text == "1/5/6/8/10"


async def test_perfect_gives_the_reference_and_fails_where_there_is_none() -> None:
    known, other = make("a"), make("b")
    model = open_model("scripted/perfect", environment={}, reference={known.id: "Sí"}.get)
    assert (await model.ask(known, SAMPLING, 1)).text == "Sí"
    assert (await model.ask(other, SAMPLING, 1)).status is Status.FAILED
    with pytest.raises(SettingError, match="right replies"):
        open_model("scripted/perfect", environment={})


async def test_slow_takes_its_time() -> None:
    started = time.perf_counter()
    response = await say("slow", make())
    assert time.perf_counter() - started >= 0.05
    assert response.text in ("Sí", "No")


async def test_a_function_of_ones_own_is_a_model() -> None:
    model = ScriptedModel("loud", lambda prompt: prompt.messages[-1].content.upper())
    assert model.name == "scripted/loud"
    assert (await model.ask(make("hola"), SAMPLING, 1)).text == "HOLA"
    with pytest.raises(AbilityError):
        await model.ask(make(candidates=("Sí", "No")), SAMPLING, 1)


def test_an_unknown_informant_gets_near_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'always-yes'"):
        open_model("scripted/allways-yes", environment={})
    with pytest.raises(UnknownNameError, match="refuses"):
        open_model("scripted/refuses-xx", environment={})
