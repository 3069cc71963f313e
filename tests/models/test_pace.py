"""The pace of a model: no place is lost, no minute holds too much, and the window follows what the provider bears."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from isogloss.models.model import CalledOffError
from isogloss.models.pace import FIRST_WINDOW, Pace, Throttle
from isogloss.records import Prompt, Sampling, Status

GREEDY = Sampling(max_tokens=5)


class LeapingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock leaps to the next timer instead of waiting, so that an hour takes no time."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def leap(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        return runner.run(work())


def now() -> float:
    return asyncio.get_running_loop().time()


async def enter(pace: Pace, n_characters: int = 1) -> float:
    """Enter as a call does; the time of it."""
    if not pace.try_enter():
        await pace.enter(n_characters)
    return now()


def most_in_a_minute(times: list[float], amounts: list[float] | None = None) -> float:
    order = sorted(range(len(times)), key=lambda k: times[k])
    times = [times[k] for k in order]
    amounts = [1.0] * len(times) if amounts is None else [amounts[k] for k in order]
    return max(sum(amounts[k : bisect_left(times, start + 60)]) for k, start in enumerate(times))


# --- limits a minute --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_minute", [0.5, 1, 3, 10, 60, 500, 2000])
def test_no_minute_holds_more_requests_than_allowed_and_none_is_wasted(per_minute: float) -> None:
    n = int(per_minute * 5) + 2

    async def work() -> list[float]:
        pace = Pace(most=40, throttles=(Throttle(requests_per_minute=per_minute),))

        async def call() -> float:
            entered = await enter(pace)
            await asyncio.sleep(0.5)
            pace.answered(10)
            return entered

        return list(await asyncio.gather(*(call() for _ in range(n))))

    times = leap(work)
    assert most_in_a_minute(times) <= max(1, per_minute)
    assert (n - 1) / max(times) * 60 >= 0.97 * per_minute


def test_requests_are_spread_over_the_minute() -> None:
    async def work() -> list[float]:
        pace = Pace(most=30, throttles=(Throttle(requests_per_minute=600),))
        return list(await asyncio.gather(*(enter(pace) for _ in range(30))))

    times = leap(work)
    assert sum(moment == 0 for moment in times) == 10
    assert sum(moment < 1.0 for moment in times) <= 20  # ten at once, and ten a second


def test_tokens_are_limited_by_what_a_request_came_to_before() -> None:
    real = 200

    async def work() -> list[float]:
        pace = Pace(most=4, throttles=(Throttle(tokens_per_minute=6000),))

        async def call() -> float:
            entered = await enter(pace, 30)
            await asyncio.sleep(1)
            pace.answered(real)
            return entered

        return list(await asyncio.gather(*(call() for _ in range(150))))

    times = leap(work)[4:]  # of the first, only the characters are known
    assert most_in_a_minute(times, [real] * len(times)) <= 6000
    assert len(times) * real / (max(times) - min(times)) * 60 >= 0.9 * 6000


def test_a_request_larger_than_a_minute_goes_and_is_paid_for_after() -> None:
    async def work() -> list[float]:
        pace = Pace(most=4, throttles=(Throttle(tokens_per_minute=1000),))
        return [await enter(pace, 9000), await enter(pace, 30)]

    first, second = leap(work)
    assert first == 0
    assert 180 < second < 190  # 3,008 tokens


@pytest.mark.parametrize("own", [None, 60])
def test_two_models_share_a_throttle(own: float | None) -> None:
    async def work() -> tuple[list[float], list[float]]:
        shared = Throttle(requests_per_minute=90)

        async def ask(n: int, throttles: tuple[Throttle, ...]) -> list[float]:
            pace = Pace(most=8, throttles=throttles)

            async def call() -> float:
                entered = await enter(pace)
                await asyncio.sleep(0.3)
                pace.answered(None)
                return entered

            return list(await asyncio.gather(*(call() for _ in range(n))))

        slow = (shared,) if own is None else (Throttle(requests_per_minute=own), shared)
        a, b = await asyncio.gather(ask(200, slow), ask(200, (shared,)))
        return a, b

    a, b = leap(work)
    assert most_in_a_minute(a + b) <= 90
    assert most_in_a_minute(a) <= (own or 90)
    until = min(max(a), max(b))
    n_a, n_b = sum(t <= until for t in a), sum(t <= until for t in b)
    assert (n_a + n_b) / until * 60 >= 0.95 * 90  # while both ask, nothing of the limit is wasted
    assert min(n_a, n_b) >= 90  # and neither waits for the other's end


def test_a_minute_holds_no_more_when_everybody_was_told_to_wait() -> None:
    async def work() -> list[float]:
        pace = Pace(most=32, throttles=(Throttle(requests_per_minute=60),))

        async def call(k: int) -> float:
            entered = await enter(pace)
            await asyncio.sleep(0.2)
            pace.crowded(45.0) if k == 5 else pace.answered(None)
            return entered

        return list(await asyncio.gather(*(call(k) for k in range(200))))

    assert most_in_a_minute(leap(work)) <= 60


# --- the window -------------------------------------------------------------------------------------------------------


async def test_the_good_path_never_waits() -> None:
    pace = Pace(most=3)
    assert [pace.try_enter() for _ in range(4)] == [True, True, True, False]
    pace.answered(None)
    assert pace.try_enter()


async def test_places_are_given_in_the_order_of_coming_and_nobody_slips_in_between() -> None:
    pace = Pace(most=1)
    assert pace.try_enter()
    order: list[int] = []

    async def call(k: int) -> None:
        await enter(pace)
        order.append(k)
        await asyncio.sleep(0)
        pace.answered(None)

    calls = [asyncio.create_task(call(k)) for k in range(5)]
    await asyncio.sleep(0)
    pace.answered(None)
    assert not pace.try_enter()  # the place is already that of the first in line
    await asyncio.gather(*calls)
    assert order == [0, 1, 2, 3, 4]
    assert pace.n_under_way == 0


async def test_a_place_handed_to_a_call_that_is_cancelled_goes_on_to_the_next() -> None:
    pace = Pace(most=1)
    assert pace.try_enter()
    first, second = (asyncio.create_task(enter(pace)) for _ in range(2))
    await asyncio.sleep(0)
    pace.answered(None)  # hands the place to the first, which hasn't run yet
    first.cancel()
    await asyncio.wait_for(second, 1)
    assert first.cancelled()
    assert pace.n_under_way == 1


def test_no_place_is_lost_whatever_is_cancelled() -> None:
    chance = random.Random(7)

    async def work() -> tuple[int, int, bool]:
        throttle = Throttle(requests_per_minute=3000, tokens_per_minute=100_000)
        pace = Pace(most=7, throttles=(throttle,))
        most_seen = 0

        async def call() -> None:
            nonlocal most_seen
            await enter(pace, chance.randrange(100))
            most_seen = max(most_seen, pace.n_under_way)
            try:
                await asyncio.sleep(chance.random())
            except asyncio.CancelledError:
                pace.lost()
                raise
            match chance.randrange(10):
                case 0:
                    pace.crowded(chance.choice([None, 0.3]))
                case 1:
                    pace.lost()
                case _:
                    pace.answered(chance.randrange(50))

        tasks = [asyncio.create_task(call()) for _ in range(2000)]
        while not all(task.done() for task in tasks):
            for task in chance.sample(tasks, 20):
                if chance.random() < 0.2:
                    task.cancel()
            await asyncio.sleep(chance.random() * 0.2)
        pace.window = 7
        await asyncio.wait_for(asyncio.gather(*(enter(pace) for _ in range(7))), 200)
        return most_seen, pace.n_under_way, pace.try_enter()

    assert leap(work) == (7, 7, False)


async def test_the_window_grows_with_answers_to_what_is_allowed() -> None:
    pace = Pace(most=100)
    assert pace.window == FIRST_WINDOW
    for _ in range(100):
        assert pace.try_enter()
        pace.answered(None)
    assert pace.window == 100


def test_the_window_shrinks_once_for_refusals_at_one_time_and_grows_slowly_after() -> None:
    async def work() -> list[int]:
        pace = Pace(most=32)
        windows = [pace.window]
        for refusals in (1, 5, 1):
            await asyncio.sleep(10)
            for _ in range(refusals):
                assert pace.try_enter()
                pace.crowded(None)
            windows.append(pace.window)
        for _ in range(3):
            await asyncio.sleep(1)
            for _ in range(9):
                assert pace.try_enter()
                pace.answered(None)
            windows.append(pace.window)
        return windows

    assert leap(work) == [32, 16, 8, 4, 5, 6, 7]


def test_where_one_at_a_time_is_too_much_everybody_pauses_longer_and_longer() -> None:
    async def work() -> tuple[list[float], float]:
        pace, waits = Pace(most=1), []
        for _ in range(9):
            before = now()
            waits.append(round(await enter(pace) - before, 1))
            await asyncio.sleep(0.1)
            pace.crowded(None)
        await enter(pace)
        pace.answered(None)
        assert pace.try_enter()
        pace.crowded(None)
        before = now()
        return waits, await enter(pace) - before

    waits, after_an_answer = leap(work)
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert round(after_an_answer, 1) == 1


def test_a_wait_the_provider_asks_for_holds_for_everybody() -> None:
    async def work() -> list[float]:
        pace = Pace(most=8)
        await enter(pace)
        pace.crowded(7.0)
        return list(await asyncio.gather(*(enter(pace) for _ in range(4))))

    assert leap(work) == [7.0] * 4


# --- calling off ------------------------------------------------------------------------------------------------------


def test_whoever_waits_when_the_asking_is_called_off_is_told_so_at_once() -> None:
    async def work() -> tuple[list[bool], float, int, bool]:
        pace = Pace(most=3, throttles=(Throttle(requests_per_minute=1),))
        await enter(pace)
        waiting = [asyncio.create_task(enter(pace)) for _ in range(9)]  # two for the minute, seven for a place
        await asyncio.sleep(1)
        pace.call_off()
        told = await asyncio.gather(*waiting, enter(pace), pace.sleep(5), return_exceptions=True)
        ended = now()
        under_way = pace.n_under_way
        pace.crowded(None)
        pace.resume()
        return [isinstance(word, CalledOffError) for word in told], ended, under_way, pace.n_under_way == 0

    assert leap(work) == ([True] * 11, 1, 1, True)


async def test_called_off_calls_under_way_end_and_no_other_begins(server: Any, connect: Any, prompt: Prompt) -> None:
    server.latency = 0.3
    server.plan = ["ok", "500"]
    model = await connect(pace=Pace(most=2), first_wait=30.0)
    good, bad, late = (asyncio.create_task(model.ask(prompt, GREEDY, k)) for k in (1, 2, 3))
    while server.hits < 3:  # the third takes the place of the first or the second
        await asyncio.sleep(0.01)
    model.call_off()
    ended = await asyncio.wait_for(asyncio.gather(good, bad, late, return_exceptions=True), 2)
    assert [getattr(response, "status", None) for response in ended] == [Status.OK, None, Status.OK]
    assert isinstance(ended[1], CalledOffError)
    with pytest.raises(CalledOffError):
        await model.ask(prompt, GREEDY, 4)
    assert server.hits == 3
    await model.close()
    await model.open()
    assert (await model.ask(prompt, GREEDY, 4)).status is Status.OK


# --- with a server ----------------------------------------------------------------------------------------------------


async def test_a_call_that_waits_for_its_next_try_holds_no_place(server: Any, connect: Any, prompt: Prompt) -> None:
    server.plan = ["500"]
    model = await connect(pace=Pace(most=1), first_wait=0.3)
    slow = asyncio.create_task(model.ask(prompt, GREEDY, 1))
    while server.hits == 0 or model.pace.n_under_way:
        await asyncio.sleep(0.005)
    began = time.perf_counter()
    assert (await model.ask(prompt, GREEDY, 2)).status is Status.OK
    assert time.perf_counter() - began < 0.25
    assert not slow.done()
    assert (await slow).n_tries == 2


async def test_every_way_a_request_ends_gives_its_place_back(server: Any, connect: Any, prompt: Prompt) -> None:
    model = await connect(pace=Pace(most=1), timeout=0.3, tries=2)
    for fault in ("ok", "429", "500", "cut", "hang", "html", "content filter", "too long"):
        server.plan = [fault]
        await model.ask(prompt, GREEDY, 1)
        assert model.pace.n_under_way == 0, fault
    server.plan = ["bad key"]
    with pytest.raises(Exception, match="the key isn't accepted"):
        await model.ask(prompt, GREEDY, 1)
    server.plan = ["hang"]
    task = asyncio.create_task(model.ask(prompt, GREEDY, 1))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.pace.n_under_way == 0


async def test_a_window_finds_what_the_server_bears(server: Any, connect: Any, prompt: Prompt, wire: str) -> None:
    server.under_way, server.latency = 4, 0.02
    model = await connect(wire, pace=Pace(most=32, calm=0.1), tries=30, longest_wait=0.05)
    gate = asyncio.Semaphore(32)

    async def call(k: int) -> Any:
        async with gate:
            return await model.ask(prompt, GREEDY, k)

    responses = await asyncio.gather(*(call(k) for k in range(1, 350)))
    assert {response.status for response in responses} == {Status.OK}
    assert server.most_seen <= 4
    assert model.pace.n_crowded == server.n_over
    late = [response.n_tries for response in responses[200:]]
    assert statistics.mean(late) < 1.6


async def test_a_server_with_a_limit_a_minute_never_says_no_to_a_pace_that_knows_it(
    server: Any, connect: Any, prompt: Prompt
) -> None:
    server.per_minute = 120
    model = await connect(pace=Pace(most=16, throttles=(Throttle(requests_per_minute=1200),)))
    began = time.perf_counter()
    responses = await asyncio.gather(*(model.ask(prompt, GREEDY, k) for k in range(1, 61)))
    assert 1.8 < time.perf_counter() - began < 5  # twenty at once, then twenty a second
    assert {response.n_tries for response in responses} == {1}
    assert all((response.seconds or 0) < 1 for response in responses)  # what was waited for the limit isn't the call's
