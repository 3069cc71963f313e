"""Runs through batch APIs: every prompt is answered once and paid once, whatever goes wrong in between.

Run as a script this file is the child process that the kill tests kill.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from isogloss.errors import ModelError, StoreError
from isogloss.models import open_model
from isogloss.models.batches import KEPT_SECONDS
from isogloss.models.retry import RetryPolicy
from isogloss.models.settings import ModelSettings
from isogloss.records import Condition, Message, Price, Prompt, Sampling
from isogloss.run.batch import Waits, ask_in_batches, collect_open_batches
from isogloss.run.budget import Budget, most_cost, spent
from isogloss.run.progress import Stop
from isogloss.store import Ledger
from isogloss.store.batches import Batches


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"isogloss_tests_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SERVER = _load(Path(__file__).parent.parent / "models" / "batch_server.py")
Fate = SERVER.Fate
WAITS = Waits(first=0.01, longest=0.02, settling=0.1, appearing=5.0, silence=5.0, hearing=0.01)
QUICK = RetryPolicy(tries=3, first_wait=0.001)
PRICE = Price(input=2.0, output=8.0)
SAMPLING = Sampling(max_tokens=16)
PROVIDERS = ["openai", "anthropic"]


def questions(n: int):
    """Prompts whose items are named as people name them: long, with spaces, slashes and accents."""
    for k in range(n):
        name = f"es-CL/Cultura de la vida cotidiana y las fiestas populares/Cueca chilena/q{k:04}/rep"
        yield name, Condition(), Prompt.make([Message(role="user", content=f"¿{k}? {name}")])


class Run:
    """One run folder, asked in one or more commands."""

    def __init__(self, folder: Path, url: str, provider: str, *, n: int = 10, repeats: int = 1) -> None:
        self.n, self.repeats, self.provider = n, repeats, provider
        self.url = url if provider == "openai" else url.removesuffix("/v1")
        self.file = folder / "ledger.sqlite"
        self.warnings: list[str] = []
        self.told: list[str] = []
        self.kept: Counter[str] = Counter()
        self.stop = Stop()

    def model(self):
        return open_model(
            f"{self.provider}/m",
            environment={f"{self.provider.upper()}_API_KEY": SERVER.KEY},
            settings=ModelSettings(base_url=self.url, first_wait=0.001, tries=3),
        )

    def prepared(self, ledger: Ledger, model):
        plan = ledger.plan("p") or ledger.add_plan("p", questions(self.n))
        return plan, ledger.arm(model.name, None, SAMPLING, model.abilities.model_dump())

    def keep(self, responses, price: str) -> None:
        self.kept.update(response.status.value for response in responses)

    async def ask(self, **options):
        self.stop = options.pop("stop", None) or Stop()
        model = self.model()
        await model.open()
        try:
            with Ledger(self.file, create=True) as ledger:
                plan, arm = self.prepared(ledger, model)
                return await ask_in_batches(
                    ledger, plan, model, arm, SAMPLING, self.repeats,
                    **{"price": PRICE, "kept": self.keep, "tell": self.told.append, "warn": self.warnings.append,
                       "stop": self.stop, "waits": WAITS, "policy": QUICK, **options},
                )  # fmt: skip
        finally:
            await model.close()

    async def collect(self, budget=None) -> int:
        model = self.model()
        await model.open()
        with Ledger(self.file) as ledger:
            _, arm = self.prepared(ledger, model)
            n = await collect_open_batches(
                ledger, model, arm, SAMPLING, kept=self.keep, warn=self.warnings.append, policy=QUICK, budget=budget
            )
        await model.close()
        return n

    def rows(self, columns: str = "prompt, repeat, attempt, status, text, error"):
        connection = sqlite3.connect(self.file)
        found = connection.execute(f"SELECT {columns} FROM responses ORDER BY prompt, repeat, attempt").fetchall()
        connection.close()
        return found

    def states(self) -> list[str]:
        connection = sqlite3.connect(self.file)
        found = [state for (state,) in connection.execute("SELECT state FROM batches ORDER BY id")]
        connection.close()
        return found

    def due(self) -> int:
        with Ledger(self.file) as ledger:
            [arm] = ledger.arms()
            return sum(1 for repeat in range(1, self.repeats + 1) for _ in ledger.due(ledger.plan("p"), arm, repeat))

    def check_all_answered_once(self, server) -> None:
        """Every prompt has one good response, to just that prompt, and was paid for once in each repeat."""
        connection = sqlite3.connect(self.file)
        good = connection.execute(
            "SELECT p.content, r.text, r.repeat FROM responses AS r JOIN prompts AS p ON p.seq = r.prompt "
            "WHERE r.status = 'ok'"
        ).fetchall()
        connection.close()
        assert len(good) == self.n * self.repeats
        for content, text, _ in good:
            assert text == f"re: {Prompt.model_validate_json(content).messages[-1].content}"
        assert len({(content, repeat) for content, _, repeat in good}) == self.n * self.repeats
        assert set(server.paid.values()) == {self.repeats}
        assert server.paid.total() == self.n * self.repeats


@pytest.fixture
async def server():
    running = SERVER.BatchServer()
    await running.start()
    yield running
    await running.stop()


@pytest.fixture(params=PROVIDERS)
def provider(request) -> str:
    return request.param


# --- all is well ------------------------------------------------------------------------------------------------------


async def test_one_prompt_is_asked_live_and_the_rest_comes_back_in_a_batch_at_its_price(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider, repeats=2)
    assert await run.ask() == (0, "")
    run.check_all_answered_once(server)
    assert (server.n_live, len(server.batches)) == (1, 1)
    assert run.kept == {"ok": 20}
    assert "1 batch at the provider: 0 of 19 requests done" in run.told
    assert run.told[-1] == ""
    assert run.states() == ["ended"]
    with Ledger(run.file) as ledger:
        found = {part.price: (part.n_calls, part.input_tokens, part.output_tokens) for part in ledger.spending()}
        assert found == {PRICE: (1, 24, 2), PRICE.in_batch: (19, 19 * 24, 19 * 2)}
        assert spent(ledger, {}) == pytest.approx((24 * 2 + 2 * 8) / 1e6 * (1 + 19 / 2))


async def test_a_second_command_finds_nothing_to_do(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider)
    await run.ask()
    hits = server.n_hits.copy()
    assert await run.ask() == (0, "")
    assert server.n_hits == hits


async def test_long_names_become_short_ids_and_find_back(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider)
    await run.ask()
    [batch] = server.batches.values()
    for request in batch.requests:
        assert re.fullmatch(r"[0-9a-f]{24}", request["custom_id"])
    run.check_all_answered_once(server)


async def test_batches_are_split_by_number_and_by_size(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider, n=21)
    await run.ask(most_requests=8)
    assert [len(batch.requests) for batch in server.batches.values()] == [8, 8, 4]
    other = Run(tmp_path / "b", server.url, provider, n=21)
    other.file.parent.mkdir()
    server.batches.clear()
    server.paid.clear()
    await other.ask(most_bytes=2000)
    sizes = [len(batch.requests) for batch in server.batches.values()]
    assert sum(sizes) == 20
    assert 2 < max(sizes) < 10
    other.check_all_answered_once(server)


async def test_parameters_refused_live_are_left_out_of_the_batch(server, tmp_path):
    server.refuses = {"temperature", "max_tokens"}
    run = Run(tmp_path, server.url, "openai")
    await run.ask()
    [batch] = server.batches.values()
    assert {frozenset(request["body"]) for request in batch.requests} == {
        frozenset({"model", "messages", "max_completion_tokens"})
    }
    run.check_all_answered_once(server)


async def test_a_parameter_refused_only_in_the_batch_is_left_out_of_the_next(server, tmp_path):
    server.fates = [Fate(n_done=0, refused="Unsupported parameter: 'temperature' is not supported with this model.")]
    run = Run(tmp_path, server.url, "openai")
    assert await run.ask() == (0, "")
    first, second = server.batches.values()
    assert all("temperature" in request["body"] for request in first.requests)
    assert not any("temperature" in request["body"] for request in second.requests)
    run.check_all_answered_once(server)


# --- what fails before anything is handed in --------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "words"), [("unknown model", "no such model"), ("quota", "quota")])
async def test_what_every_call_would_meet_ends_it_before_a_batch(server, tmp_path, fault, words):
    server.faults = {"live": [fault]}
    run = Run(tmp_path, server.url, "openai")
    with pytest.raises(ModelError, match=words):
        await run.ask()
    assert not server.batches
    assert not server.n_hits["upload"]


async def test_when_live_calls_fail_nothing_is_put_into_a_batch(server, provider, tmp_path):
    server.faults = {"live": ["500"] * 99}
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError, match="3 calls failed before anything was put into a batch, the last with: HTTP 50"):
        await run.ask()
    assert not server.batches


async def test_what_cannot_be_handed_in_stays_due(server, provider, tmp_path):
    server.faults = {"upload": ["500"] * 9, "create": ["401"]}
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError):
        await run.ask()
    assert run.states() == ["given up"]
    server.faults.clear()
    await run.ask()
    run.check_all_answered_once(server)


# --- what comes back badly --------------------------------------------------------------------------------------------


async def test_completed_with_nothing_but_an_error_file_says_what_most_requests_met(server, provider, tmp_path):
    server.fates = [Fate(n_done=0, refused="The model `m` can't be used with the Batch API.")]
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError, match=r"9 of the 9 requests of batch \w+ failed, with: .*can't be used with the B"):
        await run.ask()
    assert len(server.batches) == 1
    assert run.kept == {"ok": 1, "failed": 9}
    assert run.due() == 9  # the same command tries again


async def test_of_an_expired_batch_what_was_done_is_kept_and_the_rest_is_handed_in_again(server, provider, tmp_path):
    server.fates = [Fate(end="expired", n_done=61)]
    run = Run(tmp_path, server.url, provider, n=101)
    assert await run.ask() == (0, "")
    assert [len(batch.requests) for batch in server.batches.values()] == [100, 39]
    run.check_all_answered_once(server)
    rows = run.rows("attempt, status, COUNT(*)")
    assert rows
    statuses = Counter((attempt, status) for attempt, status in run.rows("attempt, status"))
    assert statuses == {(1, "ok"): 62, (1, "failed"): 39, (2, "ok"): 39}
    assert "39 of the 100 requests of batch" in run.warnings[0]
    assert run.warnings[0].endswith("; they are handed in again")


async def test_what_fails_for_passing_reasons_is_handed_in_three_times_in_one_command(server, provider, tmp_path):
    server.fates = [Fate(n_done=5, refused="overloaded", code=500) for _ in range(3)]
    run = Run(tmp_path, server.url, provider, n=21)
    await run.ask()
    assert [len(batch.requests) for batch in server.batches.values()] == [20, 15, 10]
    assert run.due() == 5
    await run.ask()
    run.check_all_answered_once(server)


async def test_what_would_fail_again_is_not_handed_in_again(server, provider, tmp_path):
    server.fates = [Fate(n_done=7, refused="prompt is too long", code=400)]
    run = Run(tmp_path, server.url, provider)
    assert await run.ask() == (0, "")
    assert len(server.batches) == 1
    assert run.kept == {"ok": 8, "failed": 2}
    assert "2 of the 9 requests" in run.warnings[0]
    assert run.warnings[0].endswith("prompt is too long")


async def test_a_fresh_batch_may_be_unknown_for_a_while(server, provider, tmp_path):
    server.faults = {"look": ["404", "404"], "results": ["404"]}
    run = Run(tmp_path, server.url, provider)
    await run.ask()
    run.check_all_answered_once(server)
    assert len(server.batches) == 1


async def test_a_batch_unknown_for_long_asks_for_the_right_key(server, provider, tmp_path):
    server.faults = {"look": ["404"] * 99}
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError, match=r"knows no batch .* which 9 prompts wait for; is the key that of the"):
        await run.ask(waits=WAITS._replace(appearing=0.05))
    server.faults.clear()
    await run.ask()
    run.check_all_answered_once(server)


async def test_results_that_are_gone_after_a_month_are_asked_for_anew(server, tmp_path):
    server.fates = [Fate(n_looks=99)]
    run = Run(tmp_path, server.url, "openai")
    await stop_after_the_first_batch(run)
    connection = sqlite3.connect(run.file)
    with connection:
        connection.execute("UPDATE batches SET created_at = created_at - ?", (KEPT_SECONDS,))
    connection.close()
    server.forgotten = set(server.batches)
    await run.ask(waits=WAITS._replace(appearing=0.05))
    assert any("are gone; its 9 prompts are asked again" in text for text in run.warnings)
    assert run.states() == ["given up", "ended"]


async def test_a_batch_refused_as_a_whole_says_why_and_its_prompts_stay_due(server, tmp_path):
    errors = (("invalid_json_line", "This line is not parseable as valid JSON."),) * 2
    server.fates = [Fate(end="failed", errors=errors)]
    run = Run(tmp_path, server.url, "openai")
    with pytest.raises(ModelError, match=r"failed as a whole: This line is not parseable as valid JSON. \(invalid_js"):
        await run.ask()
    assert run.states() == ["given up"]
    assert run.due() == 9
    await run.ask()
    run.check_all_answered_once(server)


async def test_where_too_much_is_enqueued_fewer_are_handed_in_at_a_time(server, provider, tmp_path):
    server.fates = [Fate(enqueued=5) for _ in range(9)]
    run = Run(tmp_path, server.url, provider, n=21)
    assert await run.ask() == (0, "")
    run.check_all_answered_once(server)
    assert max(len(batch.requests) for batch in server.batches.values() if batch.fate.end != "failed") == 5
    assert "a batch of 20 requests is too much for the provider" in run.warnings[0]
    assert "going on with 10 a batch" in run.warnings[0]


async def test_where_too_much_is_enqueued_others_are_waited_for_first(server, provider, tmp_path):
    server.fates = [Fate(n_looks=3), Fate(enqueued=1)]
    run = Run(tmp_path, server.url, provider, n=21)
    assert await run.ask(most_requests=10) == (0, "")
    run.check_all_answered_once(server)
    assert run.warnings == []


async def test_where_not_even_one_request_fits_it_ends_in_words(server, provider, tmp_path):
    server.fates = [Fate(enqueued=0) for _ in range(9)]
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError, match="not even one request fits in a batch just now"):
        await run.ask()


@pytest.mark.parametrize("wrong", ["cut once", "lacks once"])
async def test_results_that_lack_lines_are_fetched_again_before_anything_is_paid_twice(
    server, provider, tmp_path, wrong
):
    server.fates = [Fate(lines=(wrong,))]
    run = Run(tmp_path, server.url, provider)
    await run.ask()
    run.check_all_answered_once(server)
    assert len(server.batches) == 1


@pytest.mark.parametrize("wrong", ["cut", "lacks"])
async def test_a_request_whose_line_never_comes_is_failed_and_handed_in_again(server, provider, tmp_path, wrong):
    server.fates = [Fate(lines=(wrong,))]
    run = Run(tmp_path, server.url, provider)
    assert await run.ask() == (0, "")
    assert [len(batch.requests) for batch in server.batches.values()] == [9, 1]
    assert run.kept == {"ok": 10, "failed": 1}
    [(words,)] = [row for row in run.rows("error") if row[0]]
    assert words == "no line came back for this request"


@pytest.mark.parametrize("wrong", ["foreign", "doubled"])
async def test_lines_that_are_none_of_ours_or_come_twice_change_nothing(server, provider, tmp_path, wrong):
    server.fates = [Fate(lines=(wrong,))]
    run = Run(tmp_path, server.url, provider)
    await run.ask(chunk=2)
    run.check_all_answered_once(server)
    assert run.kept == {"ok": 10}


async def test_faults_while_looking_are_outlived(server, provider, tmp_path):
    server.faults = {"look": ["503"] * 7, "results": ["cut", "500"]}
    run = Run(tmp_path, server.url, provider)
    await run.ask()
    run.check_all_answered_once(server)


async def test_silence_ends_the_asking_but_not_the_batch(server, provider, tmp_path):
    server.faults = {"look": ["503"] * 999}
    run = Run(tmp_path, server.url, provider)
    with pytest.raises(ModelError, match=r"no word of the batches .* the same command looks again"):
        await run.ask(waits=WAITS._replace(silence=0.05))
    server.faults.clear()
    await run.ask()
    run.check_all_answered_once(server)


# --- stopped and taken up again ---------------------------------------------------------------------------------------


async def stop_after_the_first_batch(run: Run, **options):
    stop = Stop()
    tell = options.pop("tell", lambda text: stop("stopped by Ctrl-C") if text else None)
    return await run.ask(stop=stop, tell=tell, **options)


async def test_stopping_leaves_batches_at_the_provider_and_says_how_to_go_on(server, provider, tmp_path):
    server.fates = [Fate(n_looks=2)]
    run = Run(tmp_path, server.url, provider, n=101)
    n_under_way, words = await stop_after_the_first_batch(run, most_requests=40)
    assert n_under_way == 40
    assert words == (
        "stopped by Ctrl-C; 1 batch with 40 prompts under way at the provider; "
        "give the same command again to take in what comes of it"
    )
    assert run.due() == 60
    assert await run.ask(most_requests=40) == (0, "")
    run.check_all_answered_once(server)


async def test_a_run_without_batches_takes_in_what_has_ended_and_leaves_the_rest_alone(server, provider, tmp_path):
    server.fates = [Fate(n_looks=2), Fate(n_looks=1)]
    run = Run(tmp_path, server.url, provider, n=11)
    n_told = 0

    def tell(text: str) -> None:
        nonlocal n_told
        n_told += 1
        if n_told == 2:
            run.stop("stopped by Ctrl-C")

    await run.ask(tell=tell, most_requests=5)
    assert run.due() == 0
    assert await run.collect() == 5
    assert run.kept == {"ok": 6}
    assert await run.collect() == 0
    assert await run.collect() == 0
    assert run.kept == {"ok": 11}
    run.check_all_answered_once(server)


async def test_a_run_without_batches_only_warns_of_what_is_wrong_with_them(server, provider, tmp_path):
    server.fates = [Fate(n_done=0, refused="not for batches")]
    run = Run(tmp_path, server.url, provider)
    await stop_after_the_first_batch(run)
    assert await run.collect() == 0
    assert "9 of the 9 requests" in run.warnings[0]
    assert run.due() == 9


@pytest.mark.parametrize("fault", ["cut", "503"])
async def test_a_creation_whose_reply_is_lost_is_found_and_not_made_twice(server, provider, tmp_path, fault):
    server.faults = {"created": [fault]}
    run = Run(tmp_path, server.url, provider)
    assert await run.ask() == (0, "")
    assert len(server.batches) == 1
    run.check_all_answered_once(server)


@pytest.mark.parametrize("fault", ["cut", "503"])
async def test_a_creation_that_came_to_nothing_is_made_once_that_is_certain(server, provider, tmp_path, fault):
    server.faults = {"create": [fault]}
    run = Run(tmp_path, server.url, provider)
    assert await run.ask() == (0, "")
    run.check_all_answered_once(server)
    assert run.states() == ["given up", "ended"]


async def test_of_anthropic_batches_alike_ours_is_known_by_the_ids_in_it(server, tmp_path):
    run = Run(tmp_path, server.url, "anthropic")
    server.faults = {"created": ["cut"]}
    other = Run(tmp_path / "other", server.url, "anthropic")
    other.file.parent.mkdir()
    server.fates = [Fate(n_looks=3), Fate(n_looks=2)]
    asking = asyncio.create_task(run.ask(waits=WAITS._replace(first=0.2, longest=0.2)))
    while not server.batches:
        await asyncio.sleep(0.01)
    await other.ask()  # of the same size, made later, and so the first that is found
    assert await asking == (0, "")
    assert len(server.batches) == 2
    assert set(server.paid.values()) == {2}
    for each in (run, other):
        assert each.kept == {"ok": 10}


async def test_two_lost_batches_of_one_size_are_not_mistaken_for_each_other(server, tmp_path):
    server.faults = {"created": ["cut", "cut"]}
    server.fates = [Fate(n_looks=1), Fate(n_looks=40)]
    run = Run(tmp_path, server.url, "anthropic", n=11)
    assert await run.ask(most_requests=5) == (0, "")
    assert len(server.batches) == 2
    run.check_all_answered_once(server)


# --- money ------------------------------------------------------------------------------------------------------------


async def test_a_cap_on_the_cost_stops_handing_in_and_a_higher_one_goes_on(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider, n=50)
    first, with_all = Budget(0.001), Budget(1.0)
    n_under_way, words = await run.ask(budget=first)
    assert n_under_way == 0
    assert re.fullmatch(r"the cap of 0.001 US\$ is reached \(0.000\d+ spent\)", words)
    n_kept = run.kept["ok"]
    assert 1 < n_kept < 50
    assert await run.ask(budget=with_all) == (0, "")
    run.check_all_answered_once(server)
    assert 0.0005 < first.spent <= 0.001
    assert with_all.left == pytest.approx(1.0 - with_all.spent)


async def test_a_run_without_batches_keeps_money_for_those_under_way(server, provider, tmp_path):
    server.fates = [Fate(n_looks=30)]
    run = Run(tmp_path, server.url, provider)
    await stop_after_the_first_batch(run)
    budget = Budget(1.0)
    n_under_way = await run.collect(budget)
    with Ledger(run.file) as ledger:
        batch = next(iter(Batches(ledger).open()))
        most = sum(most_cost(prompt, SAMPLING, PRICE.in_batch) for prompt in Batches(ledger).prompts(batch))
    assert n_under_way == batch.n == 9
    assert budget.left == pytest.approx(1.0 - most)
    assert not await budget.reserve(1.0 - most / 2)  # what is under way doesn't come back by waiting
    while await run.collect(budget := Budget(1.0)):
        pass
    assert budget.left == pytest.approx(1.0 - budget.spent)
    assert budget.spent > 0


async def test_an_unknown_price_stays_unknown(server, provider, tmp_path):
    run = Run(tmp_path, server.url, provider)
    await run.ask(price=None)
    with Ledger(run.file) as ledger:
        [part] = ledger.spending()
        assert (part.price, part.cost, part.n_calls) == (None, None, 10)


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_prompts_in_open_batches_are_not_due_in_their_repeat(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        plan = ledger.add_plan("p", questions(3))
        arm = ledger.arm("openai/m", None, SAMPLING, {"chat": True, "logprobs": False})
        first, *_ = ledger.due(plan, arm, 1)
        batches = Batches(ledger)
        batch = batches.record(arm, "a", [("x", 1, first.seq, 1)], price="", created_at=0.0)
        assert [due.seq for due in ledger.due(plan, arm, 1)] == [2, 3]
        assert [due.seq for due in ledger.due(plan, arm, 2)] == [1, 2, 3]
        batch = batches.running(batch, "batch_1")
        assert batches.open(arm) == [batch] == batches.open()
        assert len(list(ledger.due(plan, arm, 1))) == 2
        batches.end(batch)
        assert len(list(ledger.due(plan, arm, 1))) == 3
        assert batches.open() == []
        with pytest.raises(StoreError):
            batches.record(arm, "a", [], price="", created_at=0.0)


# --- killed -----------------------------------------------------------------------------------------------------------


async def child(folder: Path, url: str, provider: str, chunk: int, dies_after: int) -> None:
    """One command; kills itself once that many groups of responses are committed."""
    run = Run(folder, url, provider, n=40, repeats=2)
    n_groups = 0

    def kept(responses, price: str) -> None:
        nonlocal n_groups
        n_groups += 1
        if n_groups == dies_after:
            os.kill(os.getpid(), signal.SIGKILL)

    await run.ask(kept=kept, chunk=chunk, most_requests=30)


async def start(run: Run, server, *, chunk: int = 1000, dies_after: int = 0) -> asyncio.subprocess.Process:
    arguments = [str(run.file.parent), server.url, run.provider, str(chunk), str(dies_after)]
    return await asyncio.create_subprocess_exec(sys.executable, __file__, *arguments)


POINTS = {
    "before it is created": {"upload": ["hold"], "create": ["hold"]},
    "between its creation and our note": {"created": ["hold"]},
    "between the second creation and our note": {"created": ["", "hold"]},
    "while it is looked at": {"look": ["", "hold"]},
    "before its results are read": {"results": ["hold"]},
    "while its results are read": {"results half": ["hold"]},
    "while a second file is read": {"results half": ["", "hold"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
async def test_killed_anywhere_every_prompt_is_answered_and_paid_once(server, provider, tmp_path, point):
    server.faults = {name: list(planned) for name, planned in POINTS[point].items()}
    server.fates = [Fate(n_looks=2) for _ in range(3)]
    run = Run(tmp_path, server.url, provider, n=40, repeats=2)
    process = await start(run, server)
    await asyncio.wait_for(server.reached.wait(), 60)
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    server.faults.clear()
    assert await run.ask(most_requests=30) == (0, "")
    run.check_all_answered_once(server)


@pytest.mark.slow
@pytest.mark.parametrize("dies_after", [1, 2, 3, 5, 9])
async def test_killed_between_two_commits_no_response_is_lost_or_doubled(server, provider, tmp_path, dies_after):
    server.fates = [Fate(n_looks=2) for _ in range(3)]
    run = Run(tmp_path, server.url, provider, n=40, repeats=2)
    process = await start(run, server, chunk=7, dies_after=dies_after)
    assert await process.wait() == -signal.SIGKILL
    n_kept = len(run.rows())
    assert 1 <= n_kept < 80
    assert await run.ask(most_requests=30, chunk=7) == (0, "")
    run.check_all_answered_once(server)
    assert run.kept["ok"] == 80 - n_kept


if __name__ == "__main__":
    folder, url, provider_name, chunk, dies_after = sys.argv[1:]
    asyncio.run(child(Path(folder), url, provider_name, int(chunk), int(dies_after)))
