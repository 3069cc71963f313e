"""The user's own marks of reasoning, and what any study's rules see of a reply that holds some."""

from __future__ import annotations

import pytest

from isogloss.errors import SettingError
from isogloss.records import Condition, Dataset, Item, Message, Prompt, Response, Status
from isogloss.study import Coder, Settings, Study
from isogloss.text import REASONING_TAGS, Reading, part, read_tag, split_reasoning


def load(source: object, settings: object) -> Dataset:
    return Dataset(name="one", items=(ITEM,))


ITEM = Item(id="1", text="¿Palta?")
SEEN: list[str | None] = []


def read(item: Item, condition: Condition, response: Response) -> Reading:
    SEEN.append(response.text)
    return Reading(Status.OK, response.text)


STUDY = Study(
    name="echo",
    version="1",
    title="Echo",
    settings=Settings,
    load=load,
    conditions=lambda dataset, settings, seed: ((item, Condition()) for item in dataset.items),
    ask=lambda item, condition, dataset, settings: Prompt.make([Message(role="user", content=item.text)]),
    coders=lambda condition: [Coder("echo.a@1", "a", read), Coder("echo.b@1", "b", read)],
    estimate=lambda answers, dataset, settings, seed: [],
)


def answers(text: str | None, tags: tuple = REASONING_TAGS, **fields: object) -> list[tuple]:
    response = Response(prompt_id="p", model="m", **{"status": Status.OK, "text": text, **fields})
    SEEN.clear()
    return [(a.status, a.value, a.note) for a in STUDY.code(ITEM, Condition(), response, tags)]


@pytest.mark.parametrize(
    ("given", "tag"),
    [
        ("cavil", "cavil"),
        (" inner-voice ", "inner-voice"),
        ("seed:think", "seed:think"),
        ("{{|}}", ("{{", "}}")),
        ("<start>|</start>", ("<start>", "</start>")),
        ("<|think_start|>|<|think_end|>", ("<|think_start|>", "<|think_end|>")),
        ("<|channel>thought|<channel|>", ("<|channel>thought", "<channel|>")),
        ("思考：|回答：", ("思考：", "回答：")),
        (["<a|>", "<|a>"], ("<a|>", "<|a>")),
    ],
)
def test_a_tag_is_a_name_or_a_pair_of_marks(given: object, tag: object) -> None:
    assert read_tag(given) == tag


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("<think>", "give the name alone, 'think'"),
        ("<|think|>", "give the name alone, 'think'"),
        ("two words", "give 'NAME' or 'OPEN|CLOSE'"),
        ("", "give 'NAME' or 'OPEN|CLOSE'"),
        ("<a|<b|<c", "give 'NAME' or 'OPEN|CLOSE'"),
        ("<a>|", "2 characters or more"),
        ("x|y", "2 characters or more"),
        ("##|##", "another closing one"),
        (7, "give 'NAME' or 'OPEN|CLOSE'"),
        (["<a>"], "give 'NAME' or 'OPEN|CLOSE'"),
        (["<a>", 1], "give 'NAME' or 'OPEN|CLOSE'"),
    ],
)
def test_a_malformed_tag_is_one_line(given: object, hint: str) -> None:
    with pytest.raises(SettingError) as error:
        read_tag(given)
    assert repr(given) in str(error.value)
    assert hint in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("tag", "text", "split"),
    [
        ("inner-voice", "<inner-voice>B?</inner-voice>A", ("B?", "A", True)),
        ("inner-voice", "<INNER-VOICE>B?</Inner-Voice>A", ("B?", "A", True)),
        ("inner-voice", "<inner>B</inner>A", ("", "<inner>B</inner>A", True)),
        (("{{", "}}"), "{{B?}}A", ("B?", "A", True)),
        (("wait:", "so:"), "Wait: B? So: A", ("B?", "A", True)),
        (("<think>", "<answer>"), "<think>B?<answer>A", ("B?", "A", True)),
        (("<think>", "<answer>"), "<think>B?</think>A", ("B?", "A", True)),
        (("<go>", "</think>"), "<go>B?</think>A", ("B?", "A", True)),
        (("<go>", "</think>"), "<think>B?</think>A", ("B?", "A", True)),
        (("<a>", "</a>"), "<a>B?", ("B?", "", False)),
        (("<a>", "</a>"), "B?</a>A", ("B?", "A", True)),
    ],
)
def test_own_marks_join_the_known_ones(tag: object, text: str, split: tuple[str, str, bool]) -> None:
    assert split_reasoning(text, (*REASONING_TAGS, tag)) == split


def test_one_mark_may_end_two_kinds_and_the_longer_of_two_is_taken() -> None:
    tags = (("<a>", "<end>"), ("<a>b", "<stop>"), ("<c>", "<end>"))
    assert split_reasoning("<a>x<end>A", tags) == ("x", "A", True)
    assert split_reasoning("<c>x<end>A", tags) == ("x", "A", True)
    assert split_reasoning("<a>bx<end>y<stop>A", tags) == ("x<end>y", "A", True)


def test_every_rule_of_a_study_sees_the_answer_only() -> None:
    assert answers("<think>B? No.</think>\n\nA") == [(Status.OK, "A", "")] * 2
    assert SEEN == ["A", "A"]
    assert answers("  A\n") == [(Status.OK, "  A\n", "")] * 2  # nothing set aside: untouched


def test_reasoning_without_end_is_truncated_and_no_rule_reads_it() -> None:
    assert answers("<think>B? No, A") == [(Status.TRUNCATED, None, "reasoning never ends")] * 2
    assert SEEN == []


def test_reasoning_and_nothing_else_is_unparsed() -> None:
    assert answers("<think>A</think>\n") == [(Status.UNPARSED, None, "nothing after the reasoning")] * 2
    assert SEEN == []


def test_the_tags_given_are_the_tags_that_hold() -> None:
    reply = "<cavil>B</cavil>A"
    assert answers(reply) == [(Status.OK, reply, "")] * 2
    assert answers(reply, (*REASONING_TAGS, "cavil")) == [(Status.OK, "A", "")] * 2
    assert answers("<think>B</think>A", ()) == [(Status.OK, "<think>B</think>A", "")] * 2


def test_a_response_that_is_not_ok_keeps_its_status_and_words() -> None:
    cut = answers("<think>B", status=Status.TRUNCATED)
    failed = answers(None, status=Status.FAILED, error="HTTP 500")
    assert cut == [(Status.TRUNCATED, None, "")] * 2
    assert failed == [(Status.FAILED, None, "HTTP 500")] * 2
    assert SEEN == []


def test_probabilities_and_empty_replies_go_to_the_rules_as_they_are() -> None:
    answers("")
    assert SEEN == ["", ""]
    response = Response(prompt_id="p", model="m", status=Status.OK, candidate_logprobs=(-1.0,))
    SEEN.clear()
    with pytest.raises(ValueError, match="value exactly when"):  # this toy study has no rule for them
        STUDY.code(ITEM, Condition(), response)
    assert SEEN == [None]


def test_parting_twice_is_parting_once() -> None:
    """Readers part once more what a study has parted."""
    for text in ("<think>x</think>B", "x</think>B", "[THINK]x[/THINK] B", "B"):
        answer, outcome = part(text)
        assert outcome is None
        assert part(answer) == (answer, None)
