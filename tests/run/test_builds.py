"""Constructions: done once, done again only where something changed, and nothing lost whatever happens."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from isogloss import api
from isogloss.annotation import Form
from isogloss.construction import Requests, Sheet
from isogloss.errors import AbilityError, DataError, ModelError, SettingError, StoreError
from isogloss.models import ScriptedModel
from isogloss.models.scripted import Play
from isogloss.records import Price, Rating, Response, Sampling, Status
from isogloss.run.ask_for_build import EngineAsk
from isogloss.run.asking import Informant
from isogloss.run.breaker import Patience
from isogloss.run.budget import Budget
from isogloss.run.build import loads_of
from isogloss.run.build_folder import BuildFolder
from isogloss.run.plan import prompt_tokens
from isogloss.run.tokens import Range
from isogloss.store import Ledger

sys.path.append(str(Path(__file__).parent.parent))

import sayings
from sayings import CONSTRUCTION, SAYINGS, STUDY, prompts_of

QUICK = Patience(first=0.05, longest=0.1, total=0.6)


class Teller(ScriptedModel):
    """Tells the sayings in turn, a round further on each time; counts what it is asked and may fail."""

    def __init__(self, name: str = "scripted/teller") -> None:
        super().__init__(name, lambda prompt: "")
        self.asked: Counter[tuple[str, int]] = Counter()
        self.failing: set[str] = set()
        self.fatal = False

    async def ask(self, prompt, sampling, repeat) -> Response:
        text = prompt.messages[0].content
        self.asked[text, repeat] += 1
        if self.fatal:
            raise ModelError("no quota left")
        if text in self.failing:
            return Response(
                prompt_id=prompt.id, model=self.name, repeat=repeat, status=Status.FAILED, error="HTTP 500: oops"
            )
        number = int(text.split()[1].strip("?")) + repeat - 1
        return Response(
            prompt_id=prompt.id, model=self.name, revision=self.revision, repeat=repeat, status=Status.OK,
            text=SAYINGS[number % len(SAYINGS)],
        )  # fmt: skip


class Bench:
    """One construction in a folder, its model and what was said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.model = Teller()
        self.config = {"name": "x", "models": ["scripted/teller"], "prompts": 5, "raters": ["a1", "a2"]}
        self.warnings: list[str] = []
        self.study = STUDY

    def write(self, **settings: object) -> Path:
        self.config |= settings
        path = self.folder / "config.toml"
        path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in self.config.items()))
        return path

    def build(self, *, skip_people: bool = False, models=None, **settings: object) -> api.Build:
        return api.build_dataset(
            self.study, self.write(**settings), out=self.out, models=models or {"scripted/teller": self.model},
            skip_people=skip_people, warn=self.warnings.append, patience=QUICK,
        )  # fmt: skip

    def made(self, **terms: object) -> list[str]:
        return self.build(**terms).summary.made

    def rows(self, table: str) -> list[dict[str, object]]:
        return BuildFolder(self.out).read_table(table)

    def rate(self, values: dict[str, tuple[int, ...]]) -> None:
        BuildFolder(self.out).add_ratings(
            [
                Rating(task="judge", item_id=item, rater=f"a{k}", values={"value": value})
                for item, given in values.items()
                for k, value in enumerate(given, start=1)
            ]
        )

    def rate_all(self) -> None:
        self.rate({"late-is-late": (5, 4), "rain-makes-friends": (1, 2), "a-full-net-is-heavy": (3, 3),
                   "the-coast-waits": (2, 2)})  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_it_goes_on_until_people_are_waited_for_and_from_there_to_the_end(bench):
    first = bench.build().summary
    assert first.steps == {"collect": "done", "fold": "done", "judge": "waiting", "count": "to do"}
    assert first.waiting == "'judge' waits for a1, a2; see 'isogloss annotate status'"
    assert first.tables == {"collected": 5, "sayings": 4, "folds": 1}
    assert not first.complete
    bench.rate_all()
    second = bench.build().summary
    assert second.steps == dict.fromkeys(("collect", "fold", "judge", "count"), "done")
    assert second.made == ["judge", "count"]
    assert second.complete
    assert second.asked == 0
    assert [(row["id"], row["mean"], row["kept"]) for row in bench.rows("judged")] == [
        ("a-full-net-is-heavy", 3.0, True), ("late-is-late", 4.5, True), ("rain-makes-friends", 1.5, False),
        ("the-coast-waits", 2.0, False),
    ]  # fmt: skip
    assert (bench.out / "dataset" / "sayings.txt").read_text() == "A full net is heavy\nLate is late\n"


def test_a_second_time_nothing_is_asked_and_no_table_is_written(bench):
    bench.build(skip_people=True)
    asked = bench.model.asked.copy()
    before = {path: path.stat().st_ino for path in (bench.out / "tables").iterdir()}
    assert len(before) == 5
    assert bench.made(skip_people=True) == []
    assert bench.model.asked == asked
    assert {path: path.stat().st_ino for path in (bench.out / "tables").iterdir()} == before


def test_a_table_is_one_json_object_a_line(bench):
    bench.build()
    text = (bench.out / "tables" / "sayings.jsonl").read_text(encoding="utf-8")
    assert text.splitlines()[0] == '{"id": "a-full-net-is-heavy", "text": "A full net is heavy"}'
    assert text.endswith("\n")


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        ({"prompts": 6}, ["collect", "fold"]),  # six prompts tell the same sayings: what comes after stays
        ({"prompts": 2}, ["collect", "fold", "judge", "count"]),
        ({"shortest": 13}, ["fold", "judge", "count"]),
        ({"least": 1.0}, ["judge", "count"]),
        ({"least": 1.8}, ["judge", "count"]),
        ({"least": 1.99}, ["judge", "count"]),
        ({"name": "another"}, []),
    ],
)
def test_a_change_does_again_what_depends_on_it_and_no_more(bench, settings, made):
    bench.build()
    bench.rate_all()
    bench.build()
    assert bench.made(**settings) == made
    assert bench.made() == []


def test_a_file_that_is_read_counts_by_its_content(bench):
    stop = bench.folder / "stop.txt"
    stop.write_text("The coast waits")
    bench.build(stop="stop.txt")
    stop.touch()
    assert bench.made() == []
    stop.write_text("Rain makes friends")
    assert bench.made() == ["fold"]
    assert len(bench.rows("sayings")) == 3


def test_a_file_laid_into_the_folder_counts_by_its_content(bench):
    steps = [replace(step, inputs=("notes.csv",)) if step.name == "fold" else step for step in CONSTRUCTION.steps]
    bench.study = replace(STUDY, construction=lambda: replace(CONSTRUCTION, steps=tuple(steps)))
    bench.build()
    notes = bench.out / "notes.csv"
    notes.write_text("rater\n")
    assert bench.made() == ["fold"]
    notes.touch()
    assert bench.made() == []
    notes.unlink()
    assert bench.made() == ["fold"]


def test_a_decision_in_a_review_file_is_taken_up(bench):
    bench.build()
    review = bench.out / "review" / "pairs.csv"
    lines = review.read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "row_id,text,decision"
    review.write_text("\n".join([*lines, ""]), encoding="utf-8")  # saved by a spreadsheet, nothing decided
    assert bench.made() == []
    review.write_text("\n".join([line + ("out" if line.startswith("late") else "") for line in lines]))
    assert bench.made() == ["fold"]
    assert [row["id"] for row in bench.rows("sayings")] == [
        "a-full-net-is-heavy", "rain-makes-friends", "the-coast-waits",
    ]  # fmt: skip


def test_a_rating_that_is_corrected_counts_and_its_step_is_done_again(bench):
    bench.build()
    bench.rate_all()
    bench.build()
    bench.rate({"the-coast-waits": (5, 5)})
    assert bench.made() == ["judge", "count"]
    assert bench.rows("counts") == [{"n": 3}]


def test_people_may_be_skipped_and_asked_after_all(bench):
    assert bench.made(skip_people=True) == ["collect", "fold", "judge", "count"]
    assert (bench.out / "dataset" / "sayings.txt").read_text().startswith("# nobody was asked")
    assert [one.n_rows for one in api.Build(bench.out, study=STUDY).people()] == [4, 4]
    assert bench.build().summary.steps == {"collect": "done", "fold": "done", "judge": "waiting", "count": "to do"}
    bench.rate_all()
    assert bench.made() == ["judge", "count"]


def test_what_is_gone_is_made_again(bench):
    bench.build(skip_people=True)
    (bench.out / "tables" / "folds.jsonl").unlink()
    assert bench.made(skip_people=True) == ["fold"]
    (bench.out / "dataset" / "sayings.txt").unlink()
    assert bench.made(skip_people=True) == ["count"]


def test_a_new_version_of_a_step_does_it_again(bench):
    bench.build()
    steps = [replace(step, version=2) if step.name == "fold" else step for step in CONSTRUCTION.steps]
    bench.study = replace(STUDY, construction=lambda: replace(CONSTRUCTION, steps=tuple(steps)))
    assert bench.made() == ["fold"]


def test_a_step_sees_only_the_tables_that_it_says_it_reads(bench):
    seen = []

    def count(workshop):
        seen.append(sorted(workshop.tables))
        return sayings.count(workshop)

    steps = [replace(step, make=count) if step.name == "count" else step for step in CONSTRUCTION.steps]
    bench.study = replace(STUDY, construction=lambda: replace(CONSTRUCTION, steps=tuple(steps)))
    bench.build(skip_people=True)
    assert seen == [["judged"]]


def test_a_step_that_makes_other_tables_than_it_says_is_named(bench):
    steps = [replace(step, writes=("sums",)) if step.name == "count" else step for step in CONSTRUCTION.steps]
    bench.study = replace(STUDY, construction=lambda: replace(CONSTRUCTION, steps=tuple(steps)))
    with pytest.raises(DataError, match="step 'count' makes counts; expected sums"):
        bench.build(skip_people=True)
    assert api.Build(bench.out, study=bench.study).steps["judge"] == "done"


# --- faults on the way ------------------------------------------------------------------------------------------------


def test_tables_half_renewed_are_never_taken_for_whole(bench, monkeypatch):
    bench.build()
    whole = BuildFolder.write_table

    def cut(self, name, rows):
        if name == "folds":
            raise StoreError("disk full")
        whole(self, name, rows)

    with monkeypatch.context() as patch:
        patch.setattr(BuildFolder, "write_table", cut)
        with pytest.raises(StoreError):
            bench.build(shortest=15)
    assert len(bench.rows("sayings")) < bench.rows("folds")[0]["n_kept"]
    assert bench.made(shortest=1) == ["fold"]  # though it was done with just this before the cut
    assert len(bench.rows("sayings")) == bench.rows("folds")[0]["n_kept"] == 4


def test_failed_calls_are_asked_again_by_the_next_command_and_no_others(bench):
    bench.model.failing = {"saying 2?", "saying 3?"}
    summary = bench.build(skip_people=True).summary
    assert summary.failed == {"collect": 2}
    assert set(summary.steps.values()) == {"done"}
    assert not summary.complete
    assert bench.warnings[-1].startswith("2 of 5 calls to scripted/teller failed (HTTP 500: oops)")
    bench.model.failing = set()
    bench.model.asked.clear()
    second = bench.build(skip_people=True).summary
    assert set(bench.model.asked) == {("saying 2?", 1), ("saying 3?", 1)}
    assert second.complete
    assert [row["text"] for row in bench.rows("collected")] == list(SAYINGS)
    assert bench.made(skip_people=True) == []


def test_a_call_that_always_fails_changes_nothing_after_it(bench):
    bench.model.failing = {"saying 2?"}
    bench.build(skip_people=True)
    assert bench.made(skip_people=True) == ["collect"]


def test_a_line_that_is_down_stops_the_step_and_the_same_command_goes_on(bench):
    bench.model.failing = {f"saying {k}?" for k in range(5)}
    summary = bench.build().summary
    assert summary.steps == {"collect": "stopped", "fold": "to do", "judge": "to do", "count": "to do"}
    assert "5 of 5 calls to scripted/teller failed" in summary.stopped
    assert not (bench.out / "tables").exists()
    bench.model.failing = set()
    assert bench.made() == ["collect", "fold"]


def test_a_model_without_quota_stops_the_step_with_its_words(bench):
    bench.model.fatal = True
    assert bench.build().summary.stopped == "scripted/teller: no quota left"


def test_a_fault_of_a_later_step_keeps_the_earlier_ones(bench):
    with pytest.raises(FileNotFoundError):
        bench.build(stop="none.txt")
    assert api.Build(bench.out, study=STUDY).steps["collect"] == "done"
    bench.model.asked.clear()
    (bench.folder / "none.txt").write_text("")
    assert bench.made() == ["fold"]
    assert not bench.model.asked


def test_a_damaged_table_is_named_with_what_to_do(bench):
    bench.build()
    (bench.out / "tables" / "sayings.jsonl").write_text('{"id": ')
    with pytest.raises(StoreError, match=r"sayings.jsonl can't be read: .*delete it, and the build makes it again"):
        bench.build()
    (bench.out / "tables" / "sayings.jsonl").unlink()
    assert bench.made() == ["fold"]


def test_a_second_process_is_told_so(bench):
    folder = BuildFolder(bench.out)
    with folder.locked(), pytest.raises(StoreError, match="in use by another isogloss process"):
        bench.build()
    assert bench.build().summary.waiting


def test_a_folder_of_a_run_or_of_another_study_is_left_alone(bench):
    bench.build()
    bench.study = replace(STUDY, name="proverbs")
    with pytest.raises(StoreError, match="holds a construction of 'sayings'; choose another --out"):
        bench.build()
    bench.out = bench.folder / "run"
    bench.out.mkdir()
    (bench.out / "run.json").write_text("{}")
    with pytest.raises(StoreError, match="holds a run; choose another --out"):
        bench.build()


def test_what_was_written_for_an_earlier_state_is_said_to_be_outdated(bench):
    bench.build(skip_people=True)
    assert bench.warnings == []
    bench.build()  # waits for people
    assert bench.warnings == [f"{bench.out / 'dataset'} is of an earlier state, and doesn't hold any more"]


def test_a_study_that_builds_nothing_says_so(bench):
    bench.study = replace(STUDY, construction=None)
    with pytest.raises(SettingError, match="study 'sayings' builds no data set"):
        bench.build()


FULL = """
import resource, sys
sys.path.append({tests!r})
from pathlib import Path
from isogloss import api
from isogloss.errors import StoreError
from sayings import STUDY
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
try:
    print("ok", api.build_dataset(STUDY, Path({config!r}), out={out!r}).summary.steps["fold"])
except StoreError as error:
    print("full", error)
"""


def test_on_a_full_disk_it_ends_in_one_line_and_later_goes_on(bench):
    config = bench.write(models=["scripted/random"], prompts=2000)

    def child(size: int) -> str:
        code = FULL.format(tests=str(Path(__file__).parent.parent), size=size, config=str(config), out=str(bench.out))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert child(size=300_000).startswith("full")
    with Ledger(bench.out / "ledger.sqlite") as ledger:
        n_held = ledger.n_responses()
    assert child(size=40_000).startswith("full")
    shutil.move(bench.out, bench.folder / "held")
    said = child(size=20_000)  # not even a ledger can be begun
    assert said.startswith("full"), said
    assert "rollback" not in said
    shutil.rmtree(bench.out)
    shutil.move(bench.folder / "held", bench.out)
    assert child(size=resource.RLIM_INFINITY) == "ok done\n"
    with Ledger(bench.out / "ledger.sqlite") as ledger:
        assert ledger.n_responses() == 2000
    assert n_held < 2000


# --- ratings ----------------------------------------------------------------------------------------------------------


def test_the_latest_rating_wins_and_a_torn_last_line_is_passed_over(tmp_path):
    folder = BuildFolder(tmp_path)
    one = Rating(task="judge", item_id="x", rater="a1", values={"value": 3})
    folder.add_ratings([one, one.model_copy(update={"rater": "a2"}), one.model_copy(update={"task": "other"})])
    with folder.ratings_file.open("ab") as file:
        file.write(one.model_dump_json().encode()[:40])
    assert [rating.rater for rating in folder.ratings("judge")] == ["a1", "a2"]
    folder.add_ratings([one.model_copy(update={"values": {"value": 5}})])
    assert {rating.rater: rating.values["value"] for rating in folder.ratings("judge")} == {"a1": 5, "a2": 3}


def test_a_whole_line_that_is_no_rating_is_named(tmp_path):
    folder = BuildFolder(tmp_path)
    folder.add_ratings([Rating(task="judge", item_id="x", rater="a1", values={"value": 3})])
    with folder.ratings_file.open("a") as file:
        file.write('{"task": "judge"}\n')
    with pytest.raises(StoreError, match=r"ratings.jsonl line 2 is no rating"):
        folder.ratings("judge")


# --- asking -----------------------------------------------------------------------------------------------------------


PROMPTS = prompts_of(sayings.Config(name="x", models=(), prompts=4))


def put(ledger: Ledger, model: Teller, **terms: object) -> EngineAsk:
    return EngineAsk(ledger, lambda name: Informant(model, 4, None), patience=QUICK, **terms)


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite", create=True) as opened:
        yield opened


def test_responses_come_in_the_order_of_the_prompts_and_equal_ones_are_asked_once(ledger):
    model = Teller()
    with put(ledger, model) as ask:
        found = ask([PROMPTS[2], PROMPTS[0], PROMPTS[2]], "scripted/teller")
    assert [response.text for response in found] == [SAYINGS[2], SAYINGS[0], SAYINGS[2]]
    assert model.asked == {("saying 0?", 1): 1, ("saying 2?", 1): 1}
    assert ask.n_asked == 2


def test_a_repeat_is_asked_by_itself(ledger):
    model = Teller()
    with put(ledger, model) as ask:
        assert [response.text for response in ask(PROMPTS, "m", repeat=3)] == [SAYINGS[k] for k in (2, 3, 4, 0)]
        assert {repeat for _, repeat in model.asked} == {3}
        ask(PROMPTS, "m", repeat=3)
        ask(PROMPTS[:2], "m", repeat=3)
        assert ask.n_asked == 4
        ask(PROMPTS[:2], "m", repeat=1)
    assert ask.n_asked == 6


def test_each_sampling_has_entries_of_its_own(ledger):
    model = Teller()
    with put(ledger, model) as ask:
        for temperature in (0.0, 1.0, 1.0):
            ask(PROMPTS, "m", sampling=Sampling(temperature=temperature))
    assert ask.n_asked == 8


def test_a_newer_revision_does_not_hide_what_an_older_one_answered(ledger):
    model = Teller()
    with put(ledger, model) as ask:
        ask(PROMPTS, "m")
        model.revision = "2"
        ask(PROMPTS[:1], "m", repeat=2)
        model.revision = None  # not told before it is opened
        assert [response.revision for response in ask(PROMPTS, "m")] == ["1"] * 4
    assert ask.n_asked == 5


def test_nothing_is_asked_of_no_prompts(ledger):
    with put(ledger, Teller()) as ask:
        assert ask([], "m") == []


def test_a_model_that_cannot_answer_is_told_before_it_is_asked(ledger):
    scored = [prompt.model_copy(update={"id": f"s{k}", "candidates": ("a", "b")}) for k, prompt in enumerate(PROMPTS)]
    model = Teller()
    with put(ledger, model) as ask:
        with pytest.raises(AbilityError, match="log-probabilities"):
            ask(scored, "m")
        assert not model.asked
        with pytest.raises(AbilityError, match="can't answer 4 of 8 prompts"):
            ask([*scored, *PROMPTS], "m")


def test_the_cap_on_the_cost_holds_over_all_that_is_asked(ledger):
    from isogloss.errors import IncompleteError
    from isogloss.records import Price

    class Paid(Teller):
        async def ask(self, prompt, sampling, repeat):
            found = await super().ask(prompt, sampling, repeat)
            return found.model_copy(update={"input_tokens": 1, "output_tokens": 1})

    model = Paid()
    model.local = False
    price = Price(input=0, output=1_000_000)  # a dollar a token out
    budget = Budget(8.0)
    sampling = Sampling(max_tokens=2)
    with EngineAsk(ledger, lambda name: Informant(model, 1, price), patience=QUICK, budget=budget) as ask:
        ask(PROMPTS, "m", sampling=sampling)
        assert ask.cost == 4.0
        with pytest.raises(IncompleteError, match=r"the cap of 8 US\$ is reached \(7 spent\)"):
            ask(PROMPTS, "m", repeat=2, sampling=sampling)
    assert ask.n_asked == 7
    assert ask.cost == 7.0


class Opened(Teller):
    """Notes when it is opened and closed."""

    def __init__(self, name: str, events: list[str], *, local: bool = True) -> None:
        super().__init__(name)
        self.local = local
        self.events = events

    async def open(self) -> None:
        self.events.append(f"open {self.name}")

    async def close(self) -> None:
        self.events.append(f"close {self.name}")


def test_a_model_of_this_machine_stays_open_over_rounds_and_is_closed_at_the_end(bench):
    events: list[str] = []
    bench.model = Opened("scripted/teller", events)
    assert bench.build(rounds=4).summary.asked == 20
    assert events == ["open scripted/teller", "close scripted/teller"]
    bench.build(rounds=4)
    assert len(events) == 2  # what is answered needs no model


def test_a_model_elsewhere_is_opened_for_each_round(bench):
    events: list[str] = []
    bench.model = Opened("scripted/teller", events, local=False)
    bench.build(rounds=2)
    assert events == ["open scripted/teller", "close scripted/teller"] * 2


def test_of_two_models_of_this_machine_one_is_open(bench):
    events: list[str] = []
    models = {name: Opened(name, events) for name in ("scripted/a", "scripted/b")}
    bench.config["models"] = list(models)
    bench.build(models=models, rounds=2)
    assert events == ["open scripted/a", "close scripted/a", "open scripted/b", "close scripted/b"]


@pytest.mark.parametrize("fault", [DataError("no"), KeyboardInterrupt()])
def test_a_model_is_closed_whatever_happens(ledger, fault):
    events: list[str] = []
    model = Opened("scripted/teller", events)

    def asks_and_fails():
        with put(ledger, model) as ask:
            ask(PROMPTS, "m")
            assert events == ["open scripted/teller"]
            raise fault

    with pytest.raises(type(fault)):
        asks_and_fails()
    assert events == ["open scripted/teller", "close scripted/teller"]


def test_trouble_with_first_replies_is_said_once_in_words_of_a_construction(bench):
    def cut_off(prompt, repeat):
        return Play(Status.TRUNCATED, "Late is")

    model = ScriptedModel.behaving("scripted/teller", cut_off)
    bench.build(models={"scripted/teller": model}, prompts=30, rounds=3)
    assert [line for line in bench.warnings if "first 20" in line] == [
        "20 of the first 20 replies of scripted/teller are truncated; the token limit may be too small, above all for "
        "a model that reasons: raise max_tokens of this step in the configuration"
    ]


def test_it_works_inside_a_running_event_loop(bench):
    async def notebook():
        return bench.build(rounds=3)

    assert asyncio.run(notebook()).summary.tables["collected"] == 15


# --- without doing anything -------------------------------------------------------------------------------------------


def test_a_preview_says_what_would_be_done_and_writes_nothing(bench):
    def preview(**terms):
        found = api.preview(STUDY, bench.write(), out=bench.out, **terms)
        return {one.step.name: (one.state, [load[:2] for load in one.loads]) for one in found}

    assert preview() == {
        "collect": ("to do", [("scripted/teller", 5)]), "fold": ("to do", []), "judge": ("waiting", []),
        "count": ("to do", []),
    }  # fmt: skip
    assert not bench.out.exists()
    bench.build()
    before = sorted(path for path in bench.out.rglob("*"))
    facts = (bench.out / "build.json").read_bytes()
    assert [state for state, _ in preview().values()] == ["done", "done", "waiting", "to do"]
    assert preview(skip_people=True)["judge"][0] == "to do"
    bench.rate_all()
    assert preview()["judge"][0] == "to do"
    assert sorted(path for path in bench.out.rglob("*")) in (before, sorted([*before, bench.out / "ratings.jsonl"]))
    assert (bench.out / "build.json").read_bytes() == facts


FORM = Form(task="none", title="", instructions=(), language="en", shown=(), fields=())


def test_a_step_that_a_model_or_people_do_says_so_and_one_that_cannot_tell_yet_has_no_load(bench):
    steps = [
        replace(step, sheet=lambda workshop: Sheet(FORM, {}), forecast=lambda workshop: None)
        if step.name == "collect"
        else step
        for step in CONSTRUCTION.steps
    ]
    assert [step.who for step in (*CONSTRUCTION.steps, steps[0])] == [
        "a model", "rule", "people", "rule", "a model or people",
    ]  # fmt: skip
    study = replace(STUDY, construction=lambda: replace(CONSTRUCTION, steps=tuple(steps)))
    assert api.preview(study, bench.write(), out=bench.out)[0].loads is None


def test_a_preview_adds_up_tokens_and_cost_by_model():
    prices = {"lab/a": Price(input=2.0, output=10.0)}
    requests = [
        Requests("lab/a", PROMPTS, 2, 50), Requests("lab/b", PROMPTS[:1], 3, None), Requests("lab/a", PROMPTS, 0, 50),
        Requests("lab/a", PROMPTS[:1], 1, 10),
    ]  # fmt: skip
    loads = loads_of(requests, prices.get)
    one = Range(6, 8, 10)  # "saying 0?": 9 characters, and 5 tokens around a message
    assert [prompt_tokens(prompt) for prompt in PROMPTS] == [one] * 4
    first, second = loads
    assert first[:4] == ("lab/a", 9, one.times(9), 8 * 50 + 10)
    assert first.cost == pytest.approx((90 * 2.0 + 410 * 10.0) / 1e6)
    assert second == ("lab/b", 3, one.times(3), 3 * 32_768, None)
    assert (first + second).cost is None


def test_the_report_shows_tables_of_steps_that_are_done(bench):
    bench.build(skip_people=True)
    text = api.Build(bench.out, study=STUDY).report().read_text(encoding="utf-8")
    assert "4 sayings of x." in text
    assert "Built without people." in text
    assert "scripted/teller (1)" in text
    bench.build(shortest=15)
    text = api.Build(bench.out, study=STUDY).report().read_text(encoding="utf-8")
    assert "3 sayings of x." in text
    assert "2 of 4 steps are done" in text
    assert "Built without people." not in text


def test_a_table_can_be_taken_as_a_frame(bench):
    assert list(bench.build().table("sayings").columns) == ["id", "text"]
    with pytest.raises(SettingError, match="no table named 'saying'; did you mean 'sayings'"):
        api.Build(bench.out, study=STUDY).table("saying")
