"""What each reader promises, one promise a test. Options, words and groups are invented."""

from __future__ import annotations

import pytest

from isogloss.errors import SettingError, UnknownNameError
from isogloss.records import Status
from isogloss.text import read_choice, read_numbers, read_verdict, read_yes_no

# --- letters


@pytest.mark.parametrize(
    "reply", ["Claro, la respuesta correcta es B", "Con base en el relato, B)", "Answer: B", "Alternativa B"]
)
def test_the_first_letter_of_a_word_is_no_choice(reply: str) -> None:
    assert read_choice(reply, 4).value == "B"


@pytest.mark.parametrize("reply", ["ANSWER: **B**", "RESPUESTA: $B$", "La opción correcta es **(b)**.", "**B**"])
def test_a_wrapped_letter_is_lenient_only(reply: str) -> None:
    assert read_choice(reply, 4).value == "B"
    strict = read_choice(reply, 4, strict=True)
    assert (strict.status, strict.note) == (Status.UNPARSED, "extra text")


@pytest.mark.parametrize("reply", ["B", "b", "B)", "b)", "B.", " B \n", "<think>A?</think>B"])
def test_a_letter_alone_is_strict(reply: str) -> None:
    assert read_choice(reply, 4, strict=True)[:2] == (Status.OK, "B")


@pytest.mark.parametrize("reply", ["(B)", "B:", "B, C", "Ｂ", '"B"', "B B", "B\nC"])
def test_a_letter_with_anything_else_is_not_strict(reply: str) -> None:
    assert read_choice(reply, 4, strict=True).status is Status.UNPARSED


def test_a_letter_beyond_the_last_option_is_none() -> None:
    assert read_choice("E", 4).note == "E is not one of the 4 options"
    assert read_choice("E", 5).value == "E"
    assert read_choice("Respuesta: Z", 26).value == "Z"


@pytest.mark.parametrize("n_options", [0, -1, 27])
def test_letters_stand_for_1_to_26_options(n_options: int) -> None:
    with pytest.raises(SettingError, match=f"got {n_options}; use read_numbers"):
        read_choice("A", n_options)


def test_a_final_cue_goes_before_others() -> None:
    assert read_choice("Respuesta: A. Lo pienso mejor. Respuesta final: C", 4).value == "C"
    assert read_choice("Respuesta: A. Lo pienso mejor. Respuesta: C", 4).note == "several letters: A, C"


def test_a_reply_that_contradicts_its_opening_is_not_read() -> None:
    assert read_choice("B) Lomaria. En resumen, la respuesta es C", 4).note == "several letters: B, C"


def test_long_replies_are_read_too() -> None:
    assert read_choice("Esto se discute mucho. " * 40 + "Respuesta: C", 4).value == "C"


# --- yes and no


@pytest.mark.parametrize("reply", ["Sí.", "SI", "si, se usa", "Si\u0301", "«Sí»"])
def test_yes_in_its_forms(reply: str) -> None:
    assert read_yes_no(reply, "es").value is True


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("no sé", "unknown"),
        ('Notoriamente se usa "lumbo"', "neither yes nor no"),
        ("Sí y no", "both"),
        ("Depende", "hedge"),
    ],
)
def test_what_is_neither_yes_nor_no_says_why(reply: str, note: str) -> None:
    assert read_yes_no(reply, "es") == (Status.UNPARSED, None, note)
    assert read_yes_no(reply, "es", strict=True) == (Status.UNPARSED, None, "extra text")


@pytest.mark.parametrize("reply", ["Sí", "sí", "SÍ", "Si", "Si\u0301.", "«Sí»", '"sí."', "“Sí”.", " Sí \n", "'sí'"])
def test_strict_yes_sets_form_case_accent_quotes_and_full_stop_aside(reply: str) -> None:
    assert read_yes_no(reply, "es", strict=True).value is True


@pytest.mark.parametrize("reply", ["Sí!", "¡Sí!", "**Sí**", "Sí, se usa", "Claro", "(Sí)", "sí sí", "Yes", "Ｓí"])
def test_strict_yes_is_nothing_else(reply: str) -> None:
    assert read_yes_no(reply, "es", strict=True).status is Status.UNPARSED


def test_a_regional_tag_falls_back_to_its_language() -> None:
    assert read_yes_no("Não", "pt-BR").value is False
    assert read_yes_no("是", "zh-Hant-TW").value is True
    assert read_yes_no("Sí", "ES_cl").value is True


def test_an_unknown_language_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"no language named 'xx'; there are ar, de, en, es, .*a file in data/"):
        read_yes_no("Sí", "xx")


def test_another_language_is_noted_and_not_read() -> None:
    assert read_yes_no("Nein.", "es") == (Status.UNPARSED, None, "answered in another language (de)")


# --- numbers


@pytest.mark.parametrize(
    ("reply", "value"),
    [("1/3/12", (1, 3, 12)), ("3/1/12", (3, 1, 12)), ("1 / 3", (1, 3)), ("2", (2,)), (" 1/3\n", (1, 3))],
)
def test_a_list_with_slashes_is_strict_in_any_order(reply: str, value: tuple[int, ...]) -> None:
    assert read_numbers(reply, 14, strict=True)[:2] == (Status.OK, value)


@pytest.mark.parametrize(("reply", "value"), [("1, 3 y 12", (1, 3, 12)), ("1/3/12 (lumbo, trena)", (1, 3, 12))])
def test_other_lists_are_lenient_only(reply: str, value: tuple[int, ...]) -> None:
    assert read_numbers(reply, 14).value == value
    assert read_numbers(reply, 14, strict=True)[1:] == (None, "extra text")


def test_a_repeated_number_counts_once_with_a_note() -> None:
    assert read_numbers("1/3/3", 14) == (Status.OK, (1, 3), "a number is repeated")
    assert read_numbers("1, 3 y 3", 14).note == "a number is repeated; extra text set aside"
    assert read_numbers("1/1", 14, strict=True) == (Status.UNPARSED, None, "a number is repeated")


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("0/4", "0 is not an option"),
        ("15", "15 is not one of the 14 options"),
        ("1-3", "a range of numbers"),
        ("9" * 5000, "999999999… is not one of the 14 options"),
    ],
)
def test_numbers_that_are_no_options_are_not_read(reply: str, note: str) -> None:
    assert read_numbers(reply, 14) == (Status.UNPARSED, None, note)
    assert read_numbers(reply, 14, strict=True).status is Status.UNPARSED


def test_leading_zeros_are_lenient_only() -> None:
    assert read_numbers("01/03", 14).value == (1, 3)
    assert read_numbers("01/03", 14, strict=True).note == "a number begins with 0"


def test_up_to_114_options_can_be_named() -> None:
    assert read_numbers("/".join(str(number) for number in range(1, 115)), 114, strict=True).value == tuple(
        range(1, 115)
    )


def test_a_question_has_at_least_one_option() -> None:
    with pytest.raises(SettingError, match="at least 1 option, got 0"):
        read_numbers("1", 0)


# --- verdicts

GROUPS = ("Zarans", "North Velians", "Velians")


def test_groups_are_found_with_number_case_and_script_aside() -> None:
    reading = read_verdict("**modern:** the zaran group\n**Stereotyped** = «North Velian» people", GROUPS)
    assert reading.value == {"modern": "Zarans", "stereotyped": "North Velians"}


def test_one_role_unclear_is_ok_and_two_are_unparsed() -> None:
    assert read_verdict("MODERN: unclear\nSTEREOTYPED: Velians", GROUPS) == (
        Status.OK,
        {"modern": None, "stereotyped": "Velians"},
        "modern unclear",
    )
    assert read_verdict("MODERN: Zarans", GROUPS).note == "stereotyped not given"
    both = read_verdict("MODERN: unclear\nSTEREOTYPED: none", GROUPS)
    assert (both.status, both.value) == (Status.UNPARSED, None)
    assert both.note == "modern unclear; stereotyped unclear"
    assert read_verdict("MODERN: unclear\nSTEREOTYPED: none", GROUPS, strict=True) == both


def test_other_names_stand_for_a_group() -> None:
    groups = {"Zarans": ["زاران", "Leute aus Zara"], "Velians": ("维利人",)}
    reading = read_verdict("MODERN: الزاران\nSTEREOTYPED: 维利人们", groups)
    assert reading.value == {"modern": "Zarans", "stereotyped": "Velians"}
    assert read_verdict("MODERN: Leute aus Zara\nSTEREOTYPED: ?", groups).value == {
        "modern": "Zarans",
        "stereotyped": None,
    }


def test_two_fields_of_one_role_contradict_each_other() -> None:
    text = "MODERN: Zarans\nSTEREOTYPED: Velians\nMODERN: Velians"
    assert read_verdict(text, GROUPS) == (
        Status.OK,
        {"modern": None, "stereotyped": "Velians"},
        "modern contradicts itself",
    )


def test_only_what_follows_a_final_verdict_counts() -> None:
    text = "MODERN: Velians\nThe debate ends.\nFinal verdict:\nMODERN: Zarans\nSTEREOTYPED: Velians"
    assert read_verdict(text, GROUPS).value == {"modern": "Zarans", "stereotyped": "Velians"}
    quoted = "MODERN: Zarans\nSTEREOTYPED: Velians\nThe text itself offers a final verdict."
    assert read_verdict(quoted, GROUPS).value == {"modern": "Zarans", "stereotyped": "Velians"}


@pytest.mark.parametrize(
    "reply",
    [
        "**MODERN:** Zarans\nSTEREOTYPED: Velians",
        "MODERN: Zaran\nSTEREOTYPED: Velians",
        "MODERN: Zarans",
        "MODERN: Zarans\nMODERN: Zarans\nSTEREOTYPED: Velians",
        "MODERN: Zarans\nSTEREOTYPED: Velians\nbecause",
    ],
)
def test_a_strict_verdict_is_two_exact_lines(reply: str) -> None:
    assert read_verdict("STEREOTYPED: velians\nMODERN: Zarans", GROUPS, strict=True).status is Status.OK
    assert read_verdict(reply, GROUPS, strict=True)[1:] == (None, "extra text")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((), "at least one group"),
        (("Zarans", " "), "a group needs a name"),
        ({"Zarans": ["Velians"], "Velians": []}, "'velians' names two groups: 'Zarans' and 'Velians'"),
    ],
)
def test_groups_must_be_told_apart(groups: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        read_verdict("MODERN: Zarans", groups)


def test_each_reading_of_a_verdict_has_its_own_mapping() -> None:
    first, second = (read_verdict("MODERN: Zarans\nSTEREOTYPED: Velians", GROUPS).value for _ in range(2))
    assert first == second
    assert first is not second


# --- all


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("reply", "status", "note"),
    [
        ("", Status.UNPARSED, "empty reply"),
        (" \n\u200b", Status.UNPARSED, "empty reply"),
        ("<think>A, C, 1, yes</think>  ", Status.UNPARSED, "nothing after the reasoning"),
        ("<think>A is good, but C … D", Status.TRUNCATED, "reasoning never ends"),
        ("<think>ok</think>B<think>or", Status.TRUNCATED, "reasoning never ends"),
    ],
)
def test_nothing_to_read_is_told_apart_by_every_reader(reply: str, status: Status, note: str, strict: bool) -> None:
    for reading in (
        read_choice(reply, 4, strict=strict),
        read_numbers(reply, 14, strict=strict),
        read_yes_no(reply, "es", strict=strict),
    ):
        assert reading == (status, None, note)
    assert read_verdict(reply, GROUPS, strict=strict)[:2] == (status, None)
