"""Callers who ask the same share one call, and nobody's cancellation hurts the others."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from collection_search.resilience import SingleFlight


class Source:
    """A call that waits until it is told to end, and counts how often it began and was stopped."""

    def __init__(self) -> None:
        self.started = self.cancelled = 0
        self.go = asyncio.Event()
        self.is_running = asyncio.Event()

    async def __call__(self) -> list[int]:
        self.started += 1
        self.is_running.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return [self.started]


def ask(flights: SingleFlight[Any], source: Any, tenant: str = "t", key: str = "k") -> Any:
    return asyncio.ensure_future(flights.run(tenant, key, source))


async def settled() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_equal_questions_are_one_call() -> None:
    """All get the same object, and know whether they started the call."""
    flights, source = SingleFlight[list[int]](), Source()
    tasks = [ask(flights, source) for _ in range(5)]
    await source.is_running.wait()
    source.go.set()
    answers = await asyncio.gather(*tasks)
    assert [shared for _, shared in answers] == [False, True, True, True, True]
    assert all(answer is answers[0][0] for answer, _ in answers)
    assert source.started == 1


async def test_a_later_question_is_a_new_call() -> None:
    """It is no cache."""
    flights, source = SingleFlight[list[int]](), Source()
    source.go.set()
    assert await ask(flights, source) == ([1], False)
    assert await ask(flights, source) == ([2], False)


async def test_tenants_and_keys_do_not_share() -> None:
    """Not even the same question."""
    flights, source = SingleFlight[list[int]](), Source()
    tasks = [ask(flights, source, *place) for place in (("t", "k"), ("u", "k"), ("t", "l"))]
    source.go.set()
    assert [shared for _, shared in await asyncio.gather(*tasks)] == [False] * 3
    assert source.started == 3


async def test_the_first_may_be_cancelled() -> None:
    """The call goes on for the others."""
    flights, source = SingleFlight[list[int]](), Source()
    first, second = ask(flights, source), ask(flights, source)
    await source.is_running.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    source.go.set()
    assert await second == ([1], True)
    assert source.cancelled == 0


async def test_the_last_one_cancels_the_call() -> None:
    """It has ended when the caller has; whoever comes meanwhile starts anew."""
    flights, source = SingleFlight[list[int]](), Source()
    tasks = [ask(flights, source) for _ in range(3)]
    await source.is_running.wait()
    for task in tasks:
        task.cancel()
    newer = ask(flights, source)
    assert all(
        isinstance(end, asyncio.CancelledError)
        for end in await asyncio.gather(*tasks, return_exceptions=True)
    )
    assert source.cancelled == 1
    source.go.set()
    assert await newer == ([2], False)
    assert len(asyncio.all_tasks()) == 1


async def test_a_deadline_of_one_is_not_the_others() -> None:
    """A caller with less time leaves alone."""
    flights, source = SingleFlight[list[int]](), Source()
    patient = ask(flights, source)
    await source.is_running.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await flights.run("t", "k", source)
    source.go.set()
    assert await patient == ([1], False)


async def test_errors_are_shared() -> None:
    """All get the failure, and the next caller a new attempt."""
    flights: SingleFlight[None] = SingleFlight()
    go = asyncio.Event()

    async def fail() -> None:
        await go.wait()
        raise ZeroDivisionError

    tasks = [ask(flights, fail) for _ in range(3)]
    await settled()
    go.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, ZeroDivisionError) for end in ends)
    with pytest.raises(ZeroDivisionError):
        await ask(flights, fail)


@pytest.mark.slow
async def test_an_error_that_nobody_waits_for_is_no_noise() -> None:
    """A call that fails while it is cancelled is not reported as forgotten."""
    flights: SingleFlight[None] = SingleFlight()
    noise: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: noise.append(context))

    async def fail_when_stopped() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ZeroDivisionError from None

    task = ask(flights, fail_when_stopped)
    await settled()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gc.collect()
    assert noise == []


def test_every_loop_has_its_own() -> None:
    """The same object serves one loop after another."""
    flights, results = SingleFlight[list[int]](), []

    async def once() -> None:
        source = Source()
        source.go.set()
        results.append(await flights.run("t", "k", source))

    for _ in range(3):
        asyncio.run(once())
    assert results == [([1], False)] * 3
