"""What ends a caller, and what is a failure of what it called."""

from __future__ import annotations

import asyncio

import pytest

from collection_search.runtime.cancellation import ends_caller

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
