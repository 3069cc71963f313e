"""Replies and their readings, line by line: the corpus of ours, and the reference data beside the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isogloss.records import Status
from isogloss.text import Reading, is_refusal, languages, read_choice, read_numbers, read_verdict, read_yes_no

HERE = Path(__file__).parent
GROUPS = ("Western", "Arabs", "South Asians", "Indians", "Africans")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read(row: dict[str, Any], *, strict: bool = False) -> Reading:
    match row["reader"]:
        case "choice":
            return read_choice(row["reply"], row["options"], strict=strict)
        case "numbers":
            return read_numbers(row["reply"], row["options"], strict=strict)
        case "yes_no":
            return read_yes_no(row["reply"], row["language"], strict=strict)
        case _:
            return read_verdict(row["reply"], GROUPS, strict=strict)


CORPUS = rows(HERE / "replies.jsonl")
REFUSALS = rows(HERE / "refusals.jsonl")


def name(row: dict[str, Any]) -> str:
    return f"{row.get('reader', '')}-{row.get('language', '')}-{row['reply'][:40]}"


@pytest.mark.parametrize("row", CORPUS, ids=name)
def test_each_reply_of_the_corpus_has_its_reading(row: dict[str, Any]) -> None:
    reading = read(row)
    value = tuple(row["value"]) if isinstance(row["value"], list) else row["value"]
    assert (str(reading.status), reading.value) == (row["status"], value)
    if "note" in row:
        assert reading.note == row["note"]


@pytest.mark.parametrize("row", CORPUS, ids=name)
def test_strict_is_never_wider_than_lenient(row: dict[str, Any]) -> None:
    strict = read(row, strict=True)
    if strict.status is Status.OK:
        assert read(row)[:2] == strict[:2]


def test_the_corpus_is_large_and_holds_every_language() -> None:
    assert len(CORPUS) >= 150
    assert {row["language"].split("-")[0] for row in CORPUS if "language" in row} >= set(languages())
    assert {row["language"] for row in REFUSALS if row["refuses"]} == set(languages())


@pytest.mark.parametrize("row", REFUSALS, ids=name)
def test_refusals_are_told_from_answers(row: dict[str, Any]) -> None:
    assert is_refusal(row["reply"], row["language"]) is row["refuses"]
    assert is_refusal(row["reply"]) is row["refuses"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("row", [row for row in REFUSALS if row["refuses"]], ids=name)
def test_every_reader_knows_a_refusal_in_every_language(row: dict[str, Any], strict: bool) -> None:
    reply = row["reply"]
    readings = [
        read_choice(reply, 4, strict=strict),
        read_choice(reply, 26, strict=strict),
        read_numbers(reply, 14, strict=strict),
        read_verdict(reply, GROUPS, strict=strict),
        *(read_yes_no(reply, language, strict=strict) for language in languages()),
    ]
    assert {(reading.status, reading.value) for reading in readings} == {(Status.REFUSED, None)}


def test_letters_are_read_as_in_the_reference_data(shared: Path) -> None:
    for row in rows(shared / "data/reply_parsing/mcq_letter_replies.jsonl"):
        assert read_choice(row["reply"], row["options"]).value == row["expected"], row


def test_yes_and_no_are_read_strictly_as_in_the_reference_data(shared: Path) -> None:
    for row in rows(shared / "data/reply_parsing/yes_no_replies_strict.jsonl"):
        assert read_yes_no(row["reply"], "es", strict=True).value is row["expected"], row


def test_number_lists_are_read_strictly_as_in_the_reference_data(shared: Path) -> None:
    for row in rows(shared / "data/reply_parsing/number_list_replies_strict.jsonl"):
        value = read_numbers(row["reply"], row["options"], strict=True).value
        assert (None if value is None else list(value)) == row["expected"], row  # type: ignore[arg-type]


def test_verdicts_are_read_as_in_the_reference_data(shared: Path) -> None:
    for row in rows(shared / "data/reply_parsing/debate_judge_replies.jsonl"):
        reading = read_verdict(row["reply"], GROUPS)
        named = {role: row[f"expected_{role}"] for role in ("modern", "stereotyped")}
        expected = {role: None if group == "unclear" else group for role, group in named.items()}
        if set(expected.values()) == {None}:
            assert reading[:2] == (Status.UNPARSED, None), row
        else:
            assert reading.value == {role: None if group == "unclear" else group for role, group in expected.items()}, (
                row
            )


@pytest.mark.parametrize(("file", "language"), [("es_pud_no_propn.txt", "es"), ("pt_pud_no_propn.txt", "pt")])
def test_ordinary_sentences_hold_no_answer(shared: Path, file: str, language: str) -> None:
    sentences = (shared / "data/sentence_pool" / file).read_text(encoding="utf-8").splitlines()
    for sentence in sentences[::3]:
        readings = (read_choice(sentence, 4), read_numbers(sentence, 114), read_yes_no(sentence, language))
        assert [reading.value for reading in readings] == [None] * 3, sentence
        assert not is_refusal(sentence), sentence
