"""How replies are read: strict and lenient beside each other, and probabilities of replies."""

from __future__ import annotations

import json
import math

import pytest

from isogloss.records import Condition, Item, Option, Response, Status
from isogloss.studies import get

STUDY = get("lexicon")
OPTIONS = tuple(Option(id=f"bus.{k}", text=f"word {k}") for k in range(1, 15))
BUS = Item(id="bus", text="Vehículo grande.", options=OPTIONS)
YES_NO = Condition(country="CL", language="es", format="yes_no", option="bus.1")
CHOICE = Condition(country="CL", language="es", format="multiple_choice", order=tuple(o.id for o in OPTIONS))


def codes(condition, text=None, *, logprobs=None, status=Status.OK):
    response = Response(prompt_id="p", model="m", status=status, text=text, candidate_logprobs=logprobs)
    return {answer.reading: answer for answer in STUDY.code(BUS, condition, response)}


def logprob(condition, *shares):
    condition = condition.model_copy(update={"reading": "logprob"})
    return codes(condition, logprobs=tuple(math.log(share) for share in shares))["logprob"]


@pytest.mark.parametrize(
    ("condition", "coders"),
    [
        (YES_NO, ["lexicon.yes_no.strict@1", "lexicon.yes_no.lenient@1"]),
        (CHOICE, ["lexicon.numbers.strict@1", "lexicon.numbers.lenient@1"]),
        (YES_NO.model_copy(update={"reading": "logprob"}), ["lexicon.yes_no.logprob@1"]),
        (CHOICE.model_copy(update={"reading": "logprob"}), ["lexicon.numbers.logprob@1"]),
    ],
)
def test_each_question_has_its_versioned_coders(condition, coders):
    assert [coder.name for coder in STUDY.coders(condition)] == coders


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("Sí.", True, True),
        ("SI", True, True),
        ("si, se usa", None, True),
        ("Si\u0301", True, True),
        ("«Sí»", True, True),
        ("No.", False, False),
        ("no sé", None, None),
        ('Notoriamente se usa "auto"', None, None),
        ("Sí y no", None, None),
        ("Depende", None, None),
    ],
)
def test_yes_and_no_are_read_as_in_case_4(text, strict, lenient):
    answers = codes(YES_NO, text)
    assert (answers["strict"].value, answers["lenient"].value) == (strict, lenient)
    assert all((answer.value is None) == (answer.status is not Status.OK) for answer in answers.values())


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("1/3/12", (1, 3, 12), (1, 3, 12)),
        ("3/1/12", (3, 1, 12), (3, 1, 12)),
        ("1, 3 y 12", None, (1, 3, 12)),
        ("1 / 3", (1, 3), (1, 3)),
        ("0/4", None, None),
        ("15", None, None),
        ("1-3", None, None),
        ("1/3/12 (auto, carro)", None, (1, 3, 12)),
    ],
)
def test_numbers_are_read_as_in_case_5(text, strict, lenient):
    answers = codes(CHOICE, text)
    assert (answers["strict"].value, answers["lenient"].value) == (strict, lenient)


def test_a_number_named_twice_counts_once_with_a_note():
    answer = codes(CHOICE, "1/3/3")["lenient"]
    assert set(answer.value) == {1, 3}
    assert answer.note


def test_numbers_are_limited_by_the_options_shown():
    three = CHOICE.model_copy(update={"order": CHOICE.order[:3]})
    assert codes(three, "4")["lenient"].value is None
    assert codes(three, "3")["strict"].value == (3,)


def test_the_language_of_the_wording_decides_which_words_mean_yes():
    portuguese = YES_NO.model_copy(update={"language": "pt"})
    assert codes(portuguese, "Sim")["strict"].value is True
    assert codes(YES_NO, "Sim")["strict"].value is None


@pytest.mark.parametrize("status", [Status.REFUSED, Status.BLOCKED, Status.TRUNCATED, Status.FAILED])
def test_a_response_that_is_not_ok_keeps_its_status(status):
    for condition in (YES_NO, CHOICE):
        assert {answer.status for answer in codes(condition, "Sí", status=status).values()} == {status}


def test_empty_text_is_unparsed():
    for condition in (YES_NO, CHOICE):
        assert {answer.status for answer in codes(condition, "").values()} == {Status.UNPARSED}


# --- probabilities


def test_the_graded_answer_is_the_share_of_yes():
    assert logprob(YES_NO, 0.03, 0.01).value == pytest.approx(0.75)
    assert logprob(YES_NO, 1e-300, 1e-300).value == pytest.approx(0.5)


def test_options_above_an_even_share_are_chosen_and_all_shares_noted():
    three = CHOICE.model_copy(update={"order": ("bus.2", "bus.1", "bus.3")})
    answer = logprob(three, 0.05, 0.04, 0.01)
    assert answer.value == (1, 2)
    assert json.loads(answer.note) == {"bus.2": 0.5, "bus.1": 0.4, "bus.3": 0.1}


def test_even_shares_choose_nothing_which_is_an_answer():
    two = CHOICE.model_copy(update={"order": ("bus.1", "bus.2")})
    answer = logprob(two, 0.5, 0.5)
    assert (answer.status, answer.value) == (Status.OK, ())


def test_probabilities_that_are_missing_or_too_few_are_unparsed():
    condition = YES_NO.model_copy(update={"reading": "logprob"})
    assert codes(condition, "Sí")["logprob"].note == "no probabilities came back"
    assert codes(condition, logprobs=(-1.0,))["logprob"].note == "1 probabilities for 2 candidates"
