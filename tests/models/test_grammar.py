"""Grammars allow exactly the replies of a form."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from isogloss.errors import DataError
from isogloss.models.grammar import grammar_of
from isogloss.records import AnswerForm


def language(grammar: str) -> list[str]:
    """Every text a grammar allows (of the few constructions that are used), each as often as it can be derived."""
    rules = dict(line.split(" ::= ") for line in grammar.splitlines())

    def texts(rule: str) -> list[str]:
        found = []
        for alternative in rules[rule].split(" | "):
            literal, _, more = alternative.partition(' ("/" ')
            start = texts(literal) if literal in rules else [re.fullmatch(r'"(.*)"', literal)[1]]
            found += start
            if more:
                found += [f"{text}/{rest}" for text in start for rest in texts(more.removesuffix(")?"))]
        return found

    return texts("root")


@pytest.mark.parametrize("n_options", [1, 2, 5, 11])
@pytest.mark.parametrize("max_chosen", [None, 1, 2, 3, 50])
def test_a_number_list_is_ascending_without_repeats_and_not_too_long(n_options: int, max_chosen: int | None) -> None:
    form = AnswerForm(kind="number_list", n_options=n_options, max_chosen=max_chosen)
    most = min(max_chosen or n_options, n_options)
    wanted = ["/".join(map(str, c)) for k in range(1, most + 1) for c in combinations(range(1, n_options + 1), k)]
    assert sorted(language(grammar_of(form) or "")) == sorted(wanted)


def test_rules_grow_with_the_options_and_not_faster() -> None:
    assert len((grammar_of(AnswerForm(kind="number_list", n_options=114)) or "").splitlines()) == 115
    limited = grammar_of(AnswerForm(kind="number_list", n_options=114, max_chosen=3)) or ""
    assert len(limited.splitlines()) == 1 + 3 * 114


def test_choices_are_taken_literally() -> None:
    assert grammar_of(AnswerForm(kind="one_of", choices=("Sí", "No"))) == 'root ::= "Sí" | "No"'
    assert grammar_of(AnswerForm(kind="one_of", choices=('a"b', "c\\d"))) == 'root ::= "a\\"b" | "c\\\\d"'


def test_letters_and_free_text() -> None:
    assert grammar_of(AnswerForm(kind="letter", n_options=3)) == 'root ::= "A" | "B" | "C"'
    assert grammar_of(AnswerForm(kind="text")) is None


def test_rows_are_a_list_of_objects_with_the_keys_in_order() -> None:
    assert (grammar_of(AnswerForm(kind="rows", choices=("group", "claim"), n_options=3)) or "").splitlines() == [
        'root ::= "[" row (", " row){0,2} "]"',
        r'row ::= "{" "\"group\": " text ", " "\"claim\": " text "}"',
        r'text ::= "\"" [^"\\\x00-\x1F\x7F]{1,240} "\""',
    ]
    assert (grammar_of(AnswerForm(kind="rows", choices=("a",), n_options=1)) or "").startswith('root ::= "[" row "]"')


@pytest.mark.parametrize(
    "form",
    [
        AnswerForm(kind="one_of"),
        AnswerForm(kind="rows", choices=("group",)),
        AnswerForm(kind="rows", n_options=3),
        AnswerForm(kind="letter", n_options=27),
        AnswerForm(kind="number_list"),
        AnswerForm(kind="number_list", n_options=3, max_chosen=0),
    ],
)
def test_a_form_with_nothing_to_choose_is_an_error(form: AnswerForm) -> None:
    with pytest.raises(DataError):
        grammar_of(form)
