"""What is put to a model under each rule, and which models are turned away before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import isogloss
from isogloss.errors import SettingError, UnknownNameError
from isogloss.records import Item, Option
from isogloss.studies.stereotypes import STUDY, StereotypeSettings
from isogloss.studies.stereotypes.prompts import parts
from isogloss.studies.stereotypes.wording import choice_wording
from isogloss.studies.stereotypes.wording_file import languages

ROLES = ("stereotype", "anti-stereotype", "unrelated")


def item(*sentences: str, context: str = "", split: str = "intersentence", language: str = "en") -> Item:
    options = tuple(Option(id=f"o{k}", text=text, role=ROLES[k]) for k, text in enumerate(sentences))
    fields = {"layout": "own", "split": split, "category": "c", "target": "t", "country": ""}
    return Item(id="i", text=context, options=options, language=language, fields=fields)


def test_a_sentence_that_follows_takes_the_space_with_it() -> None:
    assert parts(item("He sings.", "He is mute.", context="A potter came.")) == (
        "A potter came.", [" He sings.", " He is mute."]
    )  # fmt: skip
    assert parts(item("他唱歌。", "他不唱。", context="来了一个人。", language="zh"))[1] == ["他唱歌。", "他不唱。"]


@pytest.mark.parametrize(
    ("sentences", "context", "rest"),
    [
        (
            ("My potter is muddy today.", "My potter is clean today."),
            "My potter is",
            [" muddy today.", " clean today."],
        ),
        (("The cat is small.", "The car is small."), "The", [" cat is small.", " car is small."]),
        (("Muddy potters sing.", "Clean potters sing."), "", ["Muddy potters sing.", "Clean potters sing."]),
        (("We are very late.", "We are very, very late."), "We are", [" very late.", " very, very late."]),
    ],
)
def test_within_a_sentence_the_context_is_what_all_share_up_to_the_end_of_a_word(
    sentences: tuple[str, ...], context: str, rest: list[str]
) -> None:
    one = item(*sentences, context="My potter is BLANK today.", split="intrasentence")
    assert parts(one) == (context, rest)
    assert [context + part for part in rest] == list(sentences)


def questions(rule: str, **more: object):
    job, _ = isogloss.check_data("stereotypes", "sample", settings={"rule": rule, **more})
    return list(job.questions()), job


def test_each_rule_is_a_format_of_its_own() -> None:
    found, _ = questions("causal,total,masked")
    assert [question.condition.format for question in found] == ["causal"] * 24 + ["total"] * 24 + ["masked"] * 24
    first, whole = found[0].prompt, found[24].prompt
    [message] = whole.messages
    assert message.content == ""
    assert list(whole.candidates) == [first.messages[0].content + candidate for candidate in first.candidates]
    assert all(candidate.startswith(" ") for candidate in first.candidates)


def test_forced_choice_puts_three_pairs_in_both_orders_in_the_language_of_the_row() -> None:
    found, job = questions("forced_choice")
    assert len(found) == 24 * 6
    for k in range(0, len(found), 6):
        orders = [question.condition.order for question in found[k : k + 6]]
        assert [order[::-1] for order in orders[::2]] == orders[1::2]
        assert len({frozenset(order) for order in orders}) == 3
    assert {question.condition.language for question in found} == {"es", "pt"}
    texts = {option.id: option.text for one in job.dataset.items for option in one.options}
    for question in found[:6]:
        content = question.prompt.messages[0].content
        a, b = (texts[id] for id in question.condition.order)
        assert content.index(f"A. {a}") < content.index(f"B. {b}")
        assert question.prompt.form.n_options == 2
    english, _ = questions("forced_choice", wording="en")
    assert {question.condition.wording for question in english} == {"choice-en@1"}


def test_neither_is_a_second_wording_with_a_third_letter() -> None:
    found, _ = questions("forced_choice", neither="true")
    assert all(question.condition.wording.endswith("+neither") for question in found)
    assert all(
        question.prompt.form.n_options == 3 and "\nC. " in question.prompt.messages[0].content for question in found
    )


def test_wordings_ship_in_three_languages_and_can_be_a_file(tmp_path: Path) -> None:
    assert languages("choice") == ["en", "es", "pt"]
    own = tmp_path / "mine.toml"
    text = (Path(isogloss.__file__).parent / "studies/stereotypes/data/wordings/choice_es.toml").read_text("utf-8")
    own.write_text(text.replace("choice-es@1", "mine@1"), encoding="utf-8")
    assert choice_wording(str(own)).name == "mine@1"
    own.write_text(text.replace("{b}", "b"), encoding="utf-8")
    choice_wording.cache_clear()
    with pytest.raises(SettingError, match=r"mine.toml: 'two' must have just the fields a, b, context"):
        choice_wording(str(own))
    with pytest.raises(UnknownNameError, match="no wording named 'qu'"):
        choice_wording("qu")


def test_rules_that_suit_no_row_say_why() -> None:
    with pytest.raises(
        SettingError, match=r"rule=crows_pairs can score no row .* without a context, as in CrowS-Pairs"
    ):
        questions("crows_pairs")
    with pytest.raises(SettingError, match="no rule named 'casual'; did you mean 'causal'"):
        STUDY.parse_settings({"rule": "causal,casual"})
    assert StereotypeSettings().rule == ("auto",)
