"""Any text at all: nothing raises, strict is never wider than lenient, readings keep their shape."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss.records import Answer, Status
from isogloss.text import (
    Reading,
    is_refusal,
    languages,
    normalise,
    read_choice,
    read_numbers,
    read_verdict,
    read_yes_no,
    split_reasoning,
    unwrap,
)

GROUPS = ("Western", "Arabs", "South Asians", "Indians")
LINES = (
    "A|b|B)|(c)|D.|1|3|12|0|15|/|,| y | or |-|. |: |?|Sí|no|sí|No.|Respuesta|respuesta final|answer|is|es|la|not",
    "**|$|\\boxed{|}|<think>|</think>|<answer>|</answer>|Depende|no sé|As an AI|I can't help|MODERN|STEREOTYPED",
    'opción|Western|unclear|(|)|"|答案是|نعم|١|हाँ|네| |a|e|final|carro|~~|```|①|1️⃣|¿|pero|[THINK]|si|if|porque|…',
    "South Asians|Arabs|uso|not",
)
PIECES = st.sampled_from(["\n", "|", *(piece for line in LINES for piece in line.split("|"))])
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(PIECES, max_size=14).map(" ".join),
)


def sound(strict: Reading, lenient: Reading) -> None:
    for reading in (strict, lenient):
        assert (reading.value is not None) == (reading.status is Status.OK)
        assert reading.status in (Status.OK, Status.UNPARSED, Status.REFUSED, Status.TRUNCATED)
        assert reading.status is Status.OK or reading.note
    if strict.status is Status.OK:
        assert lenient[:2] == strict[:2]
    assert (strict.status is Status.TRUNCATED) == (lenient.status is Status.TRUNCATED)


@given(TEXTS, st.integers(1, 26))
@settings(max_examples=300, deadline=None)
def test_choices(text: str, n_options: int) -> None:
    strict, lenient = read_choice(text, n_options, strict=True), read_choice(text, n_options)
    sound(strict, lenient)
    assert lenient.value is None or lenient.value in string.ascii_uppercase[:n_options]


@given(TEXTS, st.sampled_from(languages()))
@settings(max_examples=300, deadline=None)
def test_yes_and_no(text: str, language: str) -> None:
    strict, lenient = read_yes_no(text, language, strict=True), read_yes_no(text, language)
    sound(strict, lenient)
    assert lenient.value in (None, True, False)


@given(TEXTS, st.integers(1, 114))
@settings(max_examples=300, deadline=None)
def test_numbers(text: str, n_options: int) -> None:
    strict, lenient = read_numbers(text, n_options, strict=True), read_numbers(text, n_options)
    sound(strict, lenient)
    if isinstance(lenient.value, tuple):
        assert lenient.value
        assert len(set(lenient.value)) == len(lenient.value)
        assert all(isinstance(number, int) and 1 <= number <= n_options for number in lenient.value)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_verdicts(text: str) -> None:
    strict, lenient = read_verdict(text, GROUPS, strict=True), read_verdict(text, GROUPS)
    sound(strict, lenient)
    if isinstance(lenient.value, dict):
        assert list(lenient.value) == ["modern", "stereotyped"]
        assert set(lenient.value.values()) <= {*GROUPS, None}
        assert set(lenient.value.values()) != {None}


@given(st.permutations(range(1, 15)), st.integers(1, 14), st.sampled_from(["/", " / ", "/ "]))
def test_every_list_in_the_asked_form_is_read(order: list[int], length: int, separator: str) -> None:
    chosen = tuple(order[:length])
    for strict in (True, False):
        assert read_numbers(separator.join(map(str, chosen)), 14, strict=strict).value == chosen


@given(TEXTS)
@settings(deadline=None)
def test_written_forms_settle_and_refusals_are_decided(text: str) -> None:
    assert isinstance(is_refusal(text), bool)
    assert isinstance(unwrap(normalise(text)), str)
    split = split_reasoning(text)
    assert split.closed or split_reasoning(split.answer).closed


@given(st.text(max_size=40), st.sampled_from("ABCD"))
@settings(deadline=None)
def test_unclosed_reasoning_gives_no_value_whatever_is_in_it(text: str, letter: str) -> None:
    reply = f"<think>{text.replace('<', '').replace('[', '').replace('◁', '')} Answer: {letter}"
    assert (
        read_choice(reply, 4)
        == read_yes_no(reply, "es")
        == read_numbers(reply, 4)
        == (Status.TRUNCATED, None, "reasoning never ends")
    )


def test_readings_fit_into_answers() -> None:
    verdict = read_verdict("MODERN: Arabs", GROUPS)
    for status, value, note in (read_choice("B", 4), read_numbers("1/3", 4), read_yes_no("No", "es"), verdict):
        asked = {"item_id": "i", "prompt_id": "p", "model": "m", "repeat": 1, "coder": "c@1", "reading": "lenient"}
        answer = Answer(**asked, status=status, value=value, note=note)  # type: ignore[arg-type]
        assert answer.value == value
        assert type(answer.value) is type(value)
