"""The ledger keeps everything once, and never lets go of it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from isogloss.errors import StoreError
from isogloss.records import Condition, Dataset, Item, Message, Prompt, Response, Sampling, Status
from isogloss.store import Ledger, Row

ABLE = {"chat": True, "logprobs": False}


def prompt(text: str, **kinds: object) -> Prompt:
    return Prompt.make([Message(role="user", content=text)], **kinds)


def reply(of: Prompt, *, status: Status = Status.OK, repeat: int = 1, **more: object) -> Response:
    return Response(
        prompt_id=of.id, model="x/y", repeat=repeat, status=status, text="hi" if status is Status.OK else None, **more
    )


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite", create=True) as opened:
        yield opened


QUESTIONS = [("a", Condition(country="CL"), prompt("one")), ("b", Condition(country="PE"), prompt("two")),
             ("c", Condition(country="PE"), prompt("one"))]  # fmt: skip


def test_questions_with_the_same_words_share_a_prompt(ledger):
    plan = ledger.add_plan("p", QUESTIONS)
    assert (plan.n_questions, plan.n_chat, plan.n_scored) == (3, 2, 0)
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    due = list(ledger.due(plan, arm, 1))
    assert [d.prompt for d in due] == [QUESTIONS[0][2], QUESTIONS[1][2]]
    ledger.append([Row(arm.id, due[0].seq, due[0].attempt, reply(due[0].prompt))])
    asked = list(ledger.asked(plan, arm, 1))
    assert [(a.item_id, a.response.status) for a in asked] == [
        ("a", Status.OK), ("b", Status.MISSING), ("c", Status.OK),
    ]  # fmt: skip


def test_only_what_is_missing_or_failed_is_due(ledger):
    plan = ledger.add_plan("p", QUESTIONS)
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    first, second = ledger.due(plan, arm, 1)
    ledger.append([
        Row(arm.id, first.seq, 1, reply(first.prompt)),
        Row(arm.id, second.seq, 1, reply(second.prompt, status=Status.FAILED, error="503")),
    ])  # fmt: skip
    [again] = ledger.due(plan, arm, 1)
    assert (again.seq, again.attempt) == (second.seq, 2)
    assert ledger.standing(plan, arm, 1) == {Status.OK: 1, Status.FAILED: 1}
    ledger.append([Row(arm.id, again.seq, 2, reply(again.prompt))])
    assert not list(ledger.due(plan, arm, 1))
    assert ledger.standing(plan, arm, 1) == {Status.OK: 2}
    assert ledger.n_responses() == 3


def test_repeats_and_samplings_are_entries_of_their_own(ledger):
    plan = ledger.add_plan("p", QUESTIONS)
    cold, warm = (ledger.arm("x/y", None, Sampling(temperature=t), ABLE) for t in (0.0, 0.7))
    due = next(ledger.due(plan, cold, 1))
    ledger.append([Row(cold.id, due.seq, 1, reply(due.prompt))])
    assert len(list(ledger.due(plan, cold, 1))) == 1
    assert len(list(ledger.due(plan, cold, 2))) == 2
    assert len(list(ledger.due(plan, warm, 1))) == 2


def test_a_grown_plan_asks_only_what_is_new(ledger):
    small = ledger.add_plan("small", QUESTIONS[:1])
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    [due] = ledger.due(small, arm, 1)
    ledger.append([Row(arm.id, due.seq, 1, reply(due.prompt))])
    large = ledger.add_plan("large", QUESTIONS)
    assert [d.prompt for d in ledger.due(large, arm, 1)] == [QUESTIONS[1][2]]
    assert ledger.standing(large, arm, 1) == {Status.OK: 1, Status.MISSING: 1}
    assert ledger.standing(small, arm, 1) == {Status.OK: 1}


def test_scored_prompts_go_only_to_models_that_give_log_probabilities(ledger):
    scored = prompt("one", candidates=("Sí", "No"))
    plan = ledger.add_plan("p", [*QUESTIONS[:1], ("a", Condition(reading="logprob"), scored)])
    chats = ledger.arm("x/y", None, Sampling(), ABLE)
    both = ledger.arm("x/z", "rev", Sampling(), {"chat": True, "logprobs": True})
    assert [len(list(ledger.due(plan, arm, 1))) for arm in (chats, both)] == [1, 2]
    due = list(ledger.due(plan, both, 1))[1]
    ledger.append([Row(both.id, due.seq, 1, Response(prompt_id=scored.id, model="x/z", status=Status.OK,
                                                     candidate_logprobs=(-0.5, -1.25)))])  # fmt: skip
    assert list(ledger.asked(plan, both, 1))[1].response.candidate_logprobs == (-0.5, -1.25)
    assert len(list(ledger.asked(plan, chats, 1))) == 1


def test_a_plan_is_written_whole_or_not_at_all(ledger):
    def broken():
        yield QUESTIONS[0]
        raise ValueError

    with pytest.raises(ValueError):
        ledger.add_plan("p", broken())
    assert ledger.plan("p") is None
    assert ledger.add_plan("p", QUESTIONS).n_questions == 3


def test_data_set_comes_back_as_it_was(ledger):
    dataset = Dataset(
        name="d", items=(Item(id="a", text="ñandú \u2028"),), tables={"places": ({"code": "NA", "latitude": 1.5},)}
    )
    ledger.add_dataset(dataset, dataset.digest)
    ledger.add_dataset(dataset, dataset.digest)
    assert ledger.dataset(dataset.digest) == dataset


def test_it_can_be_read_while_a_run_writes(ledger):
    plan = ledger.add_plan("p", QUESTIONS)
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    due = next(ledger.due(plan, arm, 1))
    with Ledger(ledger.path) as reader:
        assert reader.standing(plan, arm, 1) == {Status.MISSING: 2}
        ledger.append([Row(arm.id, due.seq, 1, reply(due.prompt))])
        assert reader.standing(plan, arm, 1) == {Status.OK: 1, Status.MISSING: 1}


@pytest.mark.parametrize("change", ["DELETE FROM responses", "UPDATE responses SET text = 'other'"])
def test_responses_can_neither_be_deleted_nor_changed(ledger, change):
    plan = ledger.add_plan("p", QUESTIONS)
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    due = next(ledger.due(plan, arm, 1))
    ledger.append([Row(arm.id, due.seq, 1, reply(due.prompt))])
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="the ledger only grows"):
        connection.execute(change)
    connection.close()


def test_a_ledger_from_a_newer_version_is_left_alone(tmp_path):
    Ledger(tmp_path / "l", create=True).close()
    connection = sqlite3.connect(tmp_path / "l")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer isogloss"):
        Ledger(tmp_path / "l")


def test_another_programs_database_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / "l")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        Ledger(tmp_path / "l", create=True)


def test_an_empty_file_is_made_a_ledger_only_when_asked_to(tmp_path):
    (tmp_path / "l").touch()
    with pytest.raises(StoreError, match="ended before it began"):
        Ledger(tmp_path / "l")
    Ledger(tmp_path / "l", create=True).close()
    Ledger(tmp_path / "l").close()


def test_many_may_make_the_same_ledger_at_once(tmp_path):
    def make(k: int) -> int:
        with Ledger(tmp_path / "l", create=True) as ledger:
            return ledger.n_responses()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(40))) == [0] * 40


def test_missing_and_damaged_files_are_said_in_one_line(tmp_path):
    with pytest.raises(StoreError, match="no ledger at"):
        Ledger(tmp_path / "none")
    (tmp_path / "text").write_text("not a database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(StoreError, match="damaged or no ledger"):
        Ledger(tmp_path / "text")


def test_a_full_disk_is_said_in_one_line_and_earlier_rows_are_kept(ledger):
    plan = ledger.add_plan("p", [(str(k), Condition(), prompt(str(k))) for k in range(50)])
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    due = list(ledger.due(plan, arm, 1))
    ledger.append([Row(arm.id, due[0].seq, 1, reply(due[0].prompt))])
    (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match="make room and run the same command again"):
        ledger.append([Row(arm.id, d.seq, 1, reply(d.prompt, error="x" * 10_000)) for d in due[1:]])
    assert ledger.standing(plan, arm, 1) == {Status.OK: 1, Status.MISSING: 49}


def test_a_fault_that_no_other_try_can_mend_is_settled_and_told(ledger):
    plan = ledger.add_plan("p", QUESTIONS)
    arm = ledger.arm("x/y", None, Sampling(), ABLE)
    first, second = ledger.due(plan, arm, 1)
    ledger.append([
        Row(arm.id, first.seq, 1, reply(first.prompt, status=Status.FAILED, error="too long", final=True)),
        Row(arm.id, second.seq, 1, reply(second.prompt, status=Status.FAILED, error="503")),
    ])  # fmt: skip
    assert [due.seq for due in ledger.due(plan, arm, 1)] == [second.seq]
    assert ledger.standing(plan, arm, 1) == {Status.FAILED: 2}
    assert ledger.final_faults(plan, arm, 1) == {"too long": 1}
    assert ledger.final_faults(plan, arm, 2) == {}
    assert [asked.response.final for asked in ledger.asked(plan, arm, 1)] == [True, False, True]


def test_an_arm_scores_whatever_way_its_model_scores(ledger):
    for ability in ("logprobs", "next_sentence", "nsp_trained"):
        assert ledger.arm(ability, None, Sampling(), {"chat": False, ability: True}).scores
    assert not ledger.arm("x/y", None, Sampling(), {"chat": True, "masked": True}).scores
