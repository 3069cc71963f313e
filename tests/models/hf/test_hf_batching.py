"""Calls computed together: by length, in a thread of their own, and none suffers from another's fault."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from isogloss.errors import ModelError
from isogloss.models.hf.batching import Batcher, words_of
from isogloss.models.model import CalledOffError


class Word(NamedTuple):
    text: str
    group: tuple[str | int, ...]
    length: int


def ready(text: str) -> Word:
    if text == "unreadable":
        raise ValueError("can't be read")
    return Word(text, ("digit" if text.isdigit() else "word",), len(text))


Make = Callable[..., "Batcher[str, Word, str]"]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[tuple[Batcher[str, Word, str], ThreadPoolExecutor]] = []

    def batcher(compute: Callable[[Sequence[Word]], Sequence[str]], size: int = 4) -> Batcher[str, Word, str]:
        thread = ThreadPoolExecutor(1)
        made.append((Batcher("hf/m", prepare=ready, compute=compute, size=size, thread=thread), thread))
        return made[-1][0]

    yield batcher
    for batcher_made, thread in made:
        await batcher_made.close()
        thread.shutdown()


async def test_calls_are_computed_together_by_length_and_group(make: Make) -> None:
    seen: list[list[str]] = []

    def upper(words: Sequence[Word]) -> list[str]:
        seen.append([word.text for word in words])
        return [word.text.upper() for word in words]

    batcher = make(upper, size=2)
    outcomes = await asyncio.gather(*(batcher.put(word) for word in ("ccc", "a", "22", "bb", "1")))
    assert [outcome.result for outcome in outcomes] == ["CCC", "A", "22", "BB", "1"]
    assert seen == [["1", "22"], ["a", "bb"], ["ccc"]]


async def test_the_event_loop_stays_free_meanwhile(make: Make) -> None:
    go = threading.Event()

    def slow(words: Sequence[Word]) -> list[str]:
        assert go.wait(10)
        return [word.text for word in words]

    call = asyncio.create_task(make(slow).put("a"))
    await asyncio.sleep(0.05)
    assert not call.done()
    go.set()
    assert (await call).result == "a"


async def test_too_little_memory_halves_the_batch(make: Make) -> None:
    sizes: list[int] = []

    def narrow(words: Sequence[Word]) -> list[str]:
        sizes.append(len(words))
        if len(words) > 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        return [word.text for word in words]

    batcher = make(narrow)
    outcomes = await asyncio.gather(*(batcher.put(word) for word in "abcd"))
    assert [outcome.result for outcome in outcomes] == ["a", "b", "c", "d"]
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    assert outcomes[0].n_tries == 3


async def test_only_the_call_at_fault_fails(make: Make) -> None:
    def picky(words: Sequence[Word]) -> list[str]:
        if any(word.text == "bad" for word in words):
            raise IndexError("index out of range in self")
        return [word.text for word in words]

    batcher = make(picky)
    outcomes = await asyncio.gather(*(batcher.put(word) for word in ("a", "bad", "b", "unreadable")))
    assert [outcome.result for outcome in outcomes] == ["a", None, "b", None]
    assert [outcome.error for outcome in outcomes] == [
        "", "IndexError: index out of range in self", "", "can't be read",
    ]  # fmt: skip


async def test_an_unforeseen_fault_reaches_every_caller(make: Make) -> None:
    class OddError(Exception):
        pass

    def odd(words: Sequence[Word]) -> list[str]:
        raise OddError

    batcher = make(odd)
    faults = await asyncio.gather(*(batcher.put(word) for word in "ab"), return_exceptions=True)
    assert [type(fault) for fault in faults] == [OddError, OddError]


async def test_closing_tells_calls_that_wait_and_those_under_way(make: Make) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(words: Sequence[Word]) -> list[str]:
        started.set()
        assert go.wait(10)
        return [word.text for word in words]

    batcher = make(slow, size=1)
    under_way = [asyncio.create_task(batcher.put(word)) for word in "abc"]
    await asyncio.to_thread(started.wait, 10)
    waiting = asyncio.create_task(batcher.put("d"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(batcher.close())
    await asyncio.sleep(0)
    go.set()
    await closing
    for call in (*under_way, waiting):
        with pytest.raises(ModelError, match="hf/m was closed before it answered"):
            await call
    with pytest.raises(ModelError, match="closed"):
        await batcher.put("e")


async def test_called_off_the_batch_under_way_counts_and_the_rest_is_told(make: Make) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(words: Sequence[Word]) -> list[str]:
        started.set()
        assert go.wait(10)
        return [word.text for word in words]

    batcher = make(slow, size=2)
    under_way = [asyncio.create_task(batcher.put(word)) for word in "abc"]
    await asyncio.to_thread(started.wait, 10)
    waiting = asyncio.create_task(batcher.put("d"))
    await asyncio.sleep(0)
    batcher.call_off()
    go.set()
    assert [(await call).result for call in under_way[:2]] == ["a", "b"]
    for call in (under_way[2], waiting, asyncio.create_task(batcher.put("e"))):
        with pytest.raises(CalledOffError):
            await call


async def test_a_cancelled_call_harms_no_other(make: Make) -> None:
    batcher = make(lambda words: [word.text for word in words])
    first, second = asyncio.create_task(batcher.put("a")), asyncio.create_task(batcher.put("b"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).result == "b"


def test_words_for_a_fault_are_one_line() -> None:
    assert words_of(MemoryError()) == "not enough memory (MemoryError)"
    assert words_of(RuntimeError("a\n  b")) == "RuntimeError: a b"
    assert words_of(ValueError("told")) == "told"
    assert len(words_of(RuntimeError("x" * 1000))) == 300
