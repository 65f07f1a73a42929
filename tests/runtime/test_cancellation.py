"""What ends a caller, and what is a failure of what it called."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest

from collection_search.runtime.cancellation import ends_caller, heed_cancellation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ENDS = [KeyboardInterrupt(), SystemExit(), GeneratorExit()]


@pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)
def test_an_interrupt_and_an_exit_end_the_caller(error: BaseException):
    """Also where a group has them beside a failure."""
    inner = BaseExceptionGroup("inner", [error])
    assert ends_caller(error)
    assert ends_caller(BaseExceptionGroup("two", [ValueError(), inner]))


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), BaseException()])
def test_anything_else_is_a_failure(error: BaseException):
    """Without an event loop nobody can be cancelled."""
    assert not ends_caller(error)
    assert not ends_caller(BaseExceptionGroup("two", [error, asyncio.CancelledError()]))


async def test_a_cancellation_ends_the_task_that_was_cancelled():
    """And it is a failure in the task that waits for another one."""

    async def judged() -> bool:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            return ends_caller(error) and ends_caller(BaseExceptionGroup("one", [error]))
        return False

    task = asyncio.create_task(judged())
    await asyncio.sleep(0)
    task.cancel()
    assert await task
    assert not ends_caller(asyncio.CancelledError())


async def test_a_deadline_ends_the_call_that_it_stops():
    """Though the task goes on after it."""
    judged = []

    async def stopped() -> None:
        async with asyncio.timeout(0):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError as error:
                judged.append(ends_caller(error))
                raise

    with pytest.raises(TimeoutError):
        await stopped()
    assert judged == [True]
    assert not ends_caller(asyncio.CancelledError())


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_cancellation_that_a_stream_suppresses_is_raised_at_its_end(is_cancelled: bool):
    """As LangGraph's does while it ends; what it yields afterwards arrives all the same."""

    async def stream() -> AsyncGenerator[int, None]:
        yield 1
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.001)
        yield 2

    async def read() -> None:
        async for number in heed_cancellation(stream()):
            read_numbers.append(number)
            if number == 1 and is_cancelled:
                asyncio.get_running_loop().call_soon(task.cancel)

    read_numbers: list[int] = []
    task = asyncio.create_task(read())
    await asyncio.wait([task])
    assert read_numbers == [1, 2]
    assert task.cancelled() == is_cancelled


async def test_an_earlier_cancellation_is_not_raised_again():
    """A caller that has decided to go on reads the stream to its end."""

    async def stream() -> AsyncGenerator[int, None]:
        yield 1

    async def read() -> list[int]:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return [number async for number in heed_cancellation(stream())]

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == [1]


async def test_a_scope_of_anyio_knows_its_own_cancellation():
    """Where the stream suppresses it and ends at once."""

    async def stream() -> AsyncGenerator[int, None]:
        yield 1
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(10)

    with anyio.move_on_after(0.01) as scope:
        async for _ in heed_cancellation(stream()):
            pass
    assert scope.cancelled_caught
