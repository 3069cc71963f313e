"""An outage is waited out, and no call starts that could break the cap on the cost."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from isogloss.errors import ModelError, SettingError
from isogloss.models import ScriptedModel
from isogloss.records import Condition, Message, Price, Prompt, Response, Sampling, Status
from isogloss.run.asking import Informant
from isogloss.run.breaker import Breaker, OutageError, Patience
from isogloss.run.budget import Budget, most_cost, spent, total_cost
from isogloss.run.execute import execute
from isogloss.run.progress import Progress, Stop
from isogloss.store import Ledger

QUICK = Patience(first=0.05, longest=0.1, total=0.6)
PRICE = Price(input=1_000_000, output=2_000_000)  # one dollar a token in, two a token out


class Paid(ScriptedModel):
    """A server's model as the engine sees it: 3 tokens in, 1 out; may be down between two calls."""

    def __init__(self, name: str = "scripted/paid", *, down: range = range(0), metered: bool = True, delay=0.002):
        super().__init__(name, lambda prompt: "yes")
        self.local = False
        self.down = down
        self.metered = metered
        self.n_calls = 0
        self.pause = delay
        self.asked: Counter[str] = Counter()

    async def ask(self, prompt, sampling, repeat) -> Response:
        n = self.n_calls
        self.n_calls += 1
        await asyncio.sleep(self.pause)
        if n in self.down:
            return Response(
                prompt_id=prompt.id, model=self.name, repeat=repeat, status=Status.FAILED, error="HTTP 503: busy",
                n_tries=4,
            )  # fmt: skip
        self.asked[prompt.id] += 1
        found = await super().ask(prompt, sampling, repeat)
        tokens = {"input_tokens": 3, "output_tokens": 1} if self.metered else {}
        return found.model_copy(update=tokens)


def questions(n):
    for k in range(n):
        yield f"i{k}", Condition(format="f"), Prompt.make([Message(role="user", content=f"number {k}")])


SAMPLING = Sampling(max_tokens=4)


def put(tmp_path, *models, n=40, warn=None, price=PRICE, **terms):
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        plan = ledger.plan("p") or ledger.add_plan("p", questions(n))
        informants = [Informant(model, 4, price) for model in models]
        progress = execute(
            ledger, plan, informants, SAMPLING, repeats=1, observe=lambda p: None,
            warn=warn or (lambda text: None), **terms,
        )  # fmt: skip
        return progress, ledger.spending(), Counter(t.status for t in ledger.tallies() for _ in range(t.n))


def test_an_outage_pauses_asking_and_what_failed_is_asked_again_after_it(tmp_path):
    model = Paid(down=range(10, 19))
    warnings: list[str] = []
    [progress], _, statuses = put(tmp_path, model, warn=warnings.append, patience=QUICK)
    assert statuses == {Status.OK: 40}
    assert progress.stopped == ""
    assert set(model.asked.values()) == {1}
    assert warnings[0].startswith("5 calls of scripted/paid in a row failed, the last with: HTTP 503: busy; paused")
    assert warnings[1] == "scripted/paid answers again; going on"


def test_patience_ends_and_the_same_command_goes_on(tmp_path):
    model = Paid(down=range(10, 10_000))
    [progress], _, statuses = put(tmp_path, model, patience=QUICK)
    assert statuses[Status.OK] == 10
    assert "no call got through for" in progress.stopped
    assert "the same command goes on" in progress.stopped
    assert model.n_calls < 10 + 4 + 4 + 15  # under way when it began, and trial calls: no run through all prompts
    model.down = range(0)
    [progress], _, statuses = put(tmp_path, model, patience=QUICK)
    assert statuses == {Status.OK: 40}


def test_while_one_model_is_down_another_goes_on(tmp_path):
    down, up = Paid("scripted/down", down=range(10_000)), Paid("scripted/up")
    progress, _, _ = put(tmp_path, down, up, patience=QUICK)
    assert [p.n_settled for p in progress] == [0, 40]
    assert "no call got through" in progress[0].stopped


def test_models_behind_servers_are_asked_at_once_and_those_here_one_after_another(tmp_path):
    order: list[str] = []

    class Watched(Paid):
        async def ask(self, prompt, sampling, repeat):
            order.append(self.name)
            return await super().ask(prompt, sampling, repeat)

    here = [Watched(f"scripted/here{k}") for k in (1, 2)]
    for model in here:
        model.local = True
    away = [Watched(f"scripted/away{k}") for k in (1, 2)]
    put(tmp_path, *here, *away)
    first = order[: len(order) // 4]
    assert {"scripted/away1", "scripted/away2", "scripted/here1"} <= set(first)
    assert max(k for k, name in enumerate(order) if name == "scripted/here1") < order.index("scripted/here2")


def test_a_model_that_cannot_be_made_ready_does_not_hold_up_the_others(tmp_path):
    class Shut(Paid):
        async def open(self):
            raise ModelError("scripted/shut: no weights")

    progress, _, _ = put(tmp_path, Shut("scripted/shut"), Paid("scripted/open"))
    assert [p.stopped for p in progress] == ["scripted/shut: no weights", ""]
    with pytest.raises(ModelError, match="no weights"):
        put(tmp_path, Shut("scripted/shut"))


def test_a_cap_is_never_broken_and_a_higher_one_goes_on(tmp_path):
    # a call costs 3 + 2 = 5 dollars, but could cost (8 to 9 bytes + 16) + 4 × 2 = 33 at most
    model = Paid()
    [progress], [part], statuses = put(tmp_path, model, budget=Budget(100.0))
    assert progress.stopped.startswith("the cap of 100 US$ is reached (")
    assert part.cost == progress.cost == 5.0 * statuses[Status.OK]
    assert 100 - 33 - 5 < part.cost <= 100
    [progress], [part], _ = put(tmp_path, model, budget=Budget(150.0, spent=part.cost))
    assert 150 - 33 - 5 < part.cost <= 150
    [progress], [part], statuses = put(tmp_path, model, budget=Budget(1000.0, spent=part.cost))
    assert progress.stopped == ""
    assert statuses == {Status.OK: 40}
    assert part.cost == 200.0
    assert set(model.asked.values()) == {1}


def test_the_cap_holds_over_all_models_together(tmp_path):
    _, spending, _ = put(tmp_path, Paid("scripted/a"), Paid("scripted/b"), budget=Budget(100.0))
    assert len(spending) == 2
    assert 60 < sum(part.cost for part in spending) <= 100


def test_a_call_without_token_counts_is_charged_as_the_most_it_can_cost(tmp_path):
    _, [part], statuses = put(tmp_path, Paid(metered=False), budget=Budget(100.0))
    assert (part.n_unmetered, part.cost) == (statuses[Status.OK], 0.0)
    assert statuses[Status.OK] == 3  # 33 dollars each at most


def test_over_several_commands_unmetered_calls_stay_charged_at_their_most(tmp_path):
    model = Paid(metered=False)
    put(tmp_path, model, budget=Budget(100.0))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        so_far = spent(ledger, {})
        assert so_far == 3 * most_cost(Prompt.make([Message(role="user", content="number 0")]), SAMPLING, PRICE)
        assert total_cost(ledger.spending()) is None  # unknown, and never 0
    [progress], _, _ = put(tmp_path, model, budget=Budget(100.0, spent=so_far))
    assert progress.n_asked == 0
    assert "the cap of 100 US$ is reached (96 spent)" in progress.stopped


def test_calls_made_before_their_price_was_known_count_at_todays(tmp_path):
    put(tmp_path, Paid(), n=4, price=None)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        [arm] = ledger.arms()
        assert spent(ledger, {arm.id: PRICE}) == 20.0
        with pytest.raises(SettingError, match="4 calls were made to a model whose price isn't known"):
            spent(ledger, {})


def test_after_a_call_that_cost_more_than_it_could_later_ones_reserve_as_much(tmp_path):
    class Verbose(Paid):
        async def ask(self, prompt, sampling, repeat):
            response = await super().ask(prompt, sampling, repeat)
            return response.model_copy(update={"output_tokens": 50})  # 4 were allowed: 103 dollars in place of 32

    _, [part], statuses = put(tmp_path, Verbose(), budget=Budget(1000.0))
    assert part.cost == 103.0 * statuses[Status.OK]
    assert 1000 - 103 < part.cost <= 1000


def test_money_set_aside_for_batches_is_no_call_that_is_waited_for(tmp_path):
    budget = Budget(100.0)
    budget.set_aside(90.0)
    [progress], _, statuses = put(tmp_path, Paid(), budget=budget)
    assert Status.OK not in statuses
    assert progress.stopped == "the cap of 100 US$ is reached (0 spent, 90 kept for batches under way)"
    budget.release(90.0, 40.0)
    assert budget.left == 60.0


def test_a_call_that_would_have_to_wait_too_long_counts_as_an_outage(tmp_path):
    class Later(Paid):
        async def ask(self, prompt, sampling, repeat):
            self.n_calls += 1
            return Response(
                prompt_id=prompt.id, model=self.name, repeat=repeat, status=Status.FAILED, passing=True,
                error="HTTP 429: daily limit; asks to wait 3600 s",
            )  # fmt: skip

    model = Later()
    [progress], _, _ = put(tmp_path, model, n=400, patience=QUICK)
    assert model.n_calls < 40
    assert "no call got through for" in progress.stopped


def test_no_price_means_no_cost_and_never_zero(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        plan = ledger.add_plan("p", questions(4))
        [progress] = execute(
            ledger, plan, [Informant(Paid())], Sampling(), repeats=1, observe=lambda p: None, warn=lambda text: None
        )
        assert progress.cost is None
        assert [part.cost for part in ledger.spending()] == [None]


def test_cached_tokens_and_batches_have_their_own_price():
    price = Price(input=2, output=8, cached=0.5)
    assert price.cost(1_000_000, 500_000, 400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8)
    assert price.in_batch.cost(1_000_000, 500_000, 400_000) == pytest.approx((0.6 * 2 + 0.4 * 0.5 + 0.5 * 8) / 2)
    assert Price(input=2, output=8).cost(10, 0, 10) == pytest.approx(2e-5)


def test_the_most_a_call_can_cost_counts_bytes():
    prompt = Prompt.make([Message(role="system", content="ñ"), Message(role="user", content="漢字")])
    assert most_cost(prompt, Sampling(max_tokens=10), Price(input=1e6, output=0)) == 2 + 6 + 2 * 16


async def test_one_worker_tries_while_all_others_wait():
    stop, progress = Stop(), Progress("m", 100)
    breaker = Breaker(progress, n_connections=3, patience=QUICK, stop=stop, warn=lambda text: None)
    for _ in range(4):
        breaker.failed("x")
    assert not breaker.is_open
    breaker.failed("x")
    assert breaker.is_open
    assert progress.waiting == "paused: x"
    first, second = asyncio.create_task(breaker.admit()), asyncio.create_task(breaker.admit())
    await asyncio.sleep(0.1)
    assert first.result() is True
    breaker.failed("was under way before")  # no trial, so nobody else may try yet
    await asyncio.sleep(0.1)
    assert not second.done()
    breaker.succeeded()
    assert await asyncio.wait_for(second, 0.5) is False
    assert progress.waiting == ""


async def test_a_request_to_stop_ends_the_pause():
    stop = Stop()
    breaker = Breaker(
        Progress("m", 100), n_connections=1, patience=Patience(first=60), stop=stop, warn=lambda text: None
    )
    for _ in range(5):
        breaker.failed("x")
    waiting = [asyncio.create_task(breaker.admit()) for _ in range(3)]
    await asyncio.sleep(0.05)
    stop("enough")
    await asyncio.wait_for(asyncio.gather(*waiting), 3)


async def test_an_outage_lasts_as_long_as_patience_and_then_is_an_end():
    breaker = Breaker(
        Progress("m", 100), n_connections=1, patience=Patience(0.01, 0.02, 0.1), stop=Stop(), warn=lambda text: None
    )
    for _ in range(5):
        breaker.failed("x")

    async def try_on():
        for _ in range(100):
            await breaker.admit()
            breaker.failed("still down", is_trial=True)

    with pytest.raises(OutageError, match="the last with: still down"):
        await try_on()
