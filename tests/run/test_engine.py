"""The engine asks what is due, keeps all of it, and says how it ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import pytest

from isogloss import api
from isogloss.errors import AbilityError, ModelError, SettingError, StoreError
from isogloss.models import Abilities, ScriptedModel
from isogloss.records import Condition, Dataset, Item, Message, Prompt, Response, Status
from isogloss.run.breaker import Patience
from isogloss.run.folder import RunFolder
from isogloss.store import Ledger
from isogloss.study import Coder, Settings, Study
from isogloss.text import Reading


class CountSettings(Settings):
    n: int = 40
    scored: bool = False


def load(source, settings):
    return Dataset(name="numbers", items=tuple(Item(id=str(k), text=f"number {k}") for k in range(settings.n)))


def ask(item, condition, dataset, settings):
    candidates = ("yes", "no") if settings.scored else ()
    return Prompt.make([Message(role="user", content=item.text)], candidates=candidates)


STUDY = Study(
    name="count",
    version="1",
    title="Numbers",
    settings=CountSettings,
    load=load,
    conditions=lambda dataset, settings, seed: ((item, Condition(format="f")) for item in dataset.items),
    ask=ask,
    coders=lambda condition: [Coder("count@1", "strict", lambda item, condition, r: Reading(Status.OK, r.text))],
    estimate=lambda answers, dataset, settings, seed: [],
)


class Recorder(ScriptedModel):
    """Counts what it is asked; replies may be made to fail by plan."""

    def __init__(
        self, *, failing: int = 0, fatal_after: int | None = None, hanging_after: int | None = None, delay: float = 0.0
    ) -> None:
        super().__init__("scripted/recorder", lambda prompt: "yes", delay=delay)
        self.asked: Counter[str] = Counter()
        self.failing = failing
        self.fatal_after = fatal_after
        self.hanging_after = hanging_after
        self.n_now = self.most_at_once = 0

    async def ask(self, prompt, sampling, repeat) -> Response:
        self.asked[prompt.id] += 1
        n = self.asked.total()
        if self.fatal_after is not None and n > self.fatal_after:
            raise ModelError("no quota left")
        if self.hanging_after is not None and n > self.hanging_after:
            await asyncio.sleep(600)
        self.n_now += 1
        self.most_at_once = max(self.most_at_once, self.n_now)
        await asyncio.sleep(0)
        self.n_now -= 1
        if n <= self.failing:
            return Response(
                prompt_id=prompt.id, model=self.name, repeat=repeat, status=Status.FAILED, error="503 busy", n_tries=4
            )
        return await super().ask(prompt, sampling, repeat)


def put(model, out, *, n=40, repeats=1, warn=None, connections=4, patience=None, **settings):
    job = api.prepare(STUDY, "", models=[model.name], settings={"n": n, **settings}, repeats=repeats)
    return api.ask(
        job, out, models=[model], max_connections=connections, warn=warn or (lambda text: None), patience=patience
    )


def test_everything_is_asked_once_and_at_most_so_many_at_a_time(tmp_path):
    model = Recorder()
    summary = put(model, tmp_path / "run")
    assert (summary.prompts, summary.asked, summary.cached, summary.statuses) == (40, 40, 0, {"ok": 40})
    assert set(model.asked.values()) == {1}
    assert model.most_at_once <= 4
    assert summary.complete
    assert summary.cost == 0.0


def test_a_second_time_nothing_is_asked_and_the_model_is_not_even_opened(tmp_path):
    put(Recorder(), tmp_path / "run")

    class Shut(Recorder):
        async def open(self):
            raise AssertionError("opened")

    assert put(Shut(), tmp_path / "run").asked == 0


def test_repeats_are_asked_each_and_later_ones_join(tmp_path):
    model = Recorder()
    put(model, tmp_path / "run", repeats=2)
    assert set(model.asked.values()) == {2}
    assert put(model, tmp_path / "run", repeats=3).asked == 40
    assert put(model, tmp_path / "run", repeats=3).asked == 0


def test_calls_that_failed_in_passing_are_asked_once_more_at_the_end(tmp_path):
    model = Recorder(failing=5)
    summary = put(model, tmp_path / "run")
    assert (summary.asked, summary.statuses) == (45, {"ok": 40})
    assert summary.complete


def test_what_goes_on_failing_is_left_for_the_same_command(tmp_path):
    class Deaf(Recorder):
        deaf = True

        async def ask(self, prompt, sampling, repeat):
            if self.deaf and prompt.messages[0].content in ("number 7", "number 20"):
                self.failing = 10_000
            response = await super().ask(prompt, sampling, repeat)
            self.failing = 0
            return response

    model = Deaf()
    first = put(model, tmp_path / "run", connections=1)
    assert first.statuses == {"failed": 2, "ok": 38}
    assert model.asked.total() == 42  # each of the two twice
    assert not first.complete
    model.deaf = False
    second = put(model, tmp_path / "run", connections=1)
    assert (second.asked, second.cached, second.statuses) == (2, 38, {"ok": 40})


def test_a_fault_that_every_call_would_meet_ends_it_and_keeps_what_came(tmp_path):
    model = Recorder(fatal_after=10)
    summary = put(model, tmp_path / "run")
    assert summary.stopped == ("scripted/recorder: no quota left",)
    assert summary.statuses["ok"] == 10
    model.fatal_after = None
    assert put(model, tmp_path / "run").asked == 30


def test_when_all_calls_fail_asking_pauses_and_at_last_ends(tmp_path):
    model = Recorder(failing=10_000)
    summary = put(model, tmp_path / "run", n=500, patience=Patience(0.05, 0.05, 0.3))
    assert model.asked.total() < 40
    assert "no call got through for 0 s, the last with: 503 busy" in summary.stopped[0]


def test_early_trouble_is_warned_of(tmp_path):
    warnings: list[str] = []
    put(Recorder(failing=3), tmp_path / "run", warn=warnings.append)
    assert warnings == [
        "3 of the first 20 replies of scripted/recorder are failed; they are asked again by the same command"
    ]


def test_replies_that_no_rule_reads_are_warned_of_early(tmp_path):
    class Mumbling(Recorder):
        async def ask(self, prompt, sampling, repeat):
            response = await super().ask(prompt, sampling, repeat)
            return response.model_copy(update={"text": "mumble"}) if self.asked.total() % 4 == 0 else response

    def read(item, condition, response):
        return Reading(Status.OK, "yes") if response.text == "yes" else Reading(Status.UNPARSED, None, "no yes")

    study = replace(STUDY, coders=lambda condition: [Coder("count@1", "strict", read)])
    warnings: list[str] = []
    model = Mumbling()
    job = api.prepare(study, "", models=[model.name])
    api.ask(job, tmp_path / "run", models=[model], max_connections=1, warn=warnings.append)
    assert warnings == [
        "5 of the first 20 replies of scripted/recorder are unparsed; "
        "see why with 'isogloss invalid RUN', or stop here and change the wording"
    ]


def test_models_that_cannot_do_it_are_told_before_anything_is_asked(tmp_path):
    model = Recorder()
    with pytest.raises(AbilityError, match="can't give log-probabilities"):
        put(model, tmp_path / "a", scored=True)
    model.abilities = Abilities(grammar=False)
    with pytest.raises(AbilityError, match="leave out constrained=true"):
        put(model, tmp_path / "b", constrained="true")
    assert not model.asked


def test_a_folder_takes_only_the_run_it_holds(tmp_path):
    put(Recorder(), tmp_path / "run")
    with pytest.raises(SettingError, match=r"another setting temperature \(0.0, not 1.0\); choose another --out"):
        put(Recorder(), tmp_path / "run", temperature=1)
    with pytest.raises(SettingError, match=r"another (data digest|setting n) "):
        put(Recorder(), tmp_path / "run", n=41)


def test_two_processes_never_ask_in_one_folder(tmp_path):
    with RunFolder(tmp_path / "run").locked(), pytest.raises(StoreError, match="in use by another isogloss process"):
        put(Recorder(), tmp_path / "run")


async def test_it_works_inside_a_running_event_loop(tmp_path):
    assert put(Recorder(), tmp_path / "run").asked == 40


def test_a_full_disk_stops_the_run_and_keeps_what_was_committed(tmp_path, monkeypatch):
    real = Ledger.append
    n_calls = 0

    def filling(self, rows):
        nonlocal n_calls
        n_calls += 1
        if n_calls > 2:
            raise StoreError("ledger.sqlite: database or disk is full; make room")
        real(self, rows)

    monkeypatch.setattr(Ledger, "append", filling)
    model = Recorder()
    with pytest.raises(StoreError, match="disk is full"):
        put(model, tmp_path / "run")
    monkeypatch.undo()
    again = put(model, tmp_path / "run")
    assert again.cached > 0
    assert again.statuses == {"ok": 40}
    assert model.asked.total() <= 40 + 4 * 2


CHILD = """
import sys
sys.path[:0] = [{tests!r}]
from test_engine import Recorder, put
from isogloss.errors import IncompleteError
try:
    summary = put(Recorder(delay=0.03), {out!r}, n=200)
    print(summary.asked, *summary.stopped)
except IncompleteError as error:
    print("cut", error)
"""


def child(out, until: int, code: str = CHILD) -> subprocess.Popen[str]:
    """A run in another process, under way: the ledger holds `until` replies."""
    code = code.format(tests=os.path.dirname(__file__), out=str(out))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    ledger = RunFolder(out).ledger_file
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
        if ledger.exists():
            try:
                with Ledger(ledger) as opened:
                    if opened.n_responses() >= until:
                        return process
            except StoreError:
                continue
    process.kill()
    printed, _ = process.communicate()
    raise AssertionError(f"the child did not get to {until} replies: {printed}")


CHILD_THAT_HANGS = CHILD.replace("delay=0.03", "delay=0.03, hanging_after=10")


def test_a_second_ctrl_c_does_not_wait_for_calls_in_flight(tmp_path):
    process = child(tmp_path / "run", until=8, code=CHILD_THAT_HANGS)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out.startswith("cut stopped without waiting")
    assert put(Recorder(), tmp_path / "run", n=200).cached == 10


def test_killed_half_way_only_calls_in_flight_are_asked_again(tmp_path):
    out = tmp_path / "run"
    for n_held in (8, 32, 56):
        process = child(out, until=n_held)
        process.kill()
        process.communicate()
        time.sleep(0.05)
    summary = put(Recorder(), out, n=200)
    assert summary.statuses == {"ok": 200}
    assert summary.cached >= 56
    with RunFolder(out).ledger() as ledger:
        assert ledger.n_responses() == 200


def test_run_json_says_what_was_asked_and_with_which_versions(tmp_path):
    put(Recorder(), tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert facts["spec"]["settings"] == {"n": 40, "scored": False}
    assert facts["spec"]["data_digest"].startswith("b2:")
    assert {"isogloss", "python"} <= set(facts["versions"])


def test_what_a_provider_refused_is_kept_with_the_run(tmp_path):
    class Picky(Recorder):
        remarks = ("temperature was refused and is left out",)

    put(Picky(), tmp_path / "run")
    put(Picky(), tmp_path / "run", repeats=2)
    assert RunFolder(tmp_path / "run").facts()["remarks"] == {
        "scripted/recorder": ["temperature was refused and is left out"]
    }


def test_a_damaged_run_json_is_said_in_one_line(tmp_path):
    put(Recorder(), tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match=r"run.json can't be read"):
        put(Recorder(), tmp_path / "run")


class TooLong(Recorder):
    """Can't take some prompts, however often."""

    async def ask(self, prompt, sampling, repeat) -> Response:
        self.asked[prompt.id] += 1
        text = prompt.messages[0].content
        if not text.endswith(self.ending):
            return await super().ask(prompt, sampling, repeat)
        words = f"{len(text)} tokens are more than the model's context of 4"
        return Response(
            prompt_id=prompt.id, model=self.name, repeat=repeat, status=Status.FAILED, error=words, final=True
        )


def test_what_no_other_try_can_mend_is_settled_and_leaves_the_run_complete(tmp_path):
    model, warned = TooLong(), []
    model.ending = "5"
    summary = put(model, tmp_path / "run", warn=warned.append)
    assert (summary.asked, summary.statuses, summary.n_final) == (40, {"failed": 4, "ok": 36}, 4)
    assert summary.complete
    assert not summary.is_hopeless
    assert summary.final == (
        "4 calls can't be answered by scripted/recorder, and aren't asked again: 8 tokens are more than the model's "
        "context of 4",
    )
    assert warned == ["2 of the first 20 prompts can't be answered by scripted/recorder: 8 tokens are more than the "
                      "model's context of 4"]  # fmt: skip
    again = put(model, tmp_path / "run")
    assert (again.asked, again.cached, again.n_final) == (0, 40, 4)
    assert again.complete
    model.ending = "none"
    assert put(model, tmp_path / "run", repeats=2).statuses == {"failed": 4, "ok": 76}


def test_a_run_of_which_nothing_can_be_answered_is_hopeless(tmp_path):
    model = TooLong()
    model.ending = ""
    summary = put(model, tmp_path / "run")
    assert summary.is_hopeless
    assert summary.complete


def test_a_run_folder_that_says_nothing_can_be_asked_ends_with_a_line(tmp_path):
    model = Recorder()
    job = api.prepare(STUDY, "", models=[model.name], settings={"n": 40})
    folder = RunFolder(tmp_path / "run")
    folder.begin(job.spec)
    with folder.ledger(create=True) as ledger:
        ledger.arm(model.name, model.revision, job.spec.sampling, {"chat": False, "logprobs": True})
    summary = put(model, tmp_path / "run")
    assert (summary.asked, summary.statuses, summary.complete) == (0, {}, False)
    assert "nothing was asked of 40 prompts" in summary.stopped[0]


def test_a_model_that_turns_out_to_be_of_another_kind_is_asked_nothing(tmp_path):
    class Changing(Recorder):
        async def open(self):
            self.abilities = Abilities(chat=False, logprobs=True)

    model = Changing()
    with pytest.raises(ModelError, match="turned out to be another kind of model"):
        put(model, tmp_path / "run")
    assert not model.asked
