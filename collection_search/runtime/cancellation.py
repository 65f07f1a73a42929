"""Tells the end of a caller from the failure of what it called, and keeps it from being lost."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

T = TypeVar("T")


def ends_caller(error: BaseException) -> bool:
    """Return whether an error ends the caller itself: a real cancellation, an interrupt, an exit.

    A `CancelledError` in a task that nobody cancelled is a failure of what the task called.

    >>> ends_caller(KeyboardInterrupt()), ends_caller(asyncio.CancelledError())
    (True, False)
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(ends_caller, error.exceptions))
    if isinstance(error, asyncio.CancelledError):
        return _is_cancelled()
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def failure_of(error: BaseException) -> Exception:
    """Return the error of a call as a failure. Raises it where it ends the caller itself.

    >>> failure_of(asyncio.CancelledError())
    RuntimeError('the call ended with CancelledError')
    """
    if ends_caller(error):
        raise error
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"the call ended with {type(error).__name__}")


def _is_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return False
    return task is not None and task.cancelling() > 0


async def heed_cancellation(stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield what the stream yields. Raises CancelledError at its end where one was suppressed.

    At its end LangGraph 1.2 waits for a task that it has cancelled, and suppresses every
    CancelledError meanwhile: a host's cancellation and Ctrl-C were lost in that moment. One that
    the caller suppresses between two items is raised as well. An error of the stream goes first.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    async with aclosing(stream):
        async for item in stream:
            yield item
    if task is not None and task is asyncio.current_task() and task.cancelling() > before:
        await asyncio.sleep(0)  # a scope of anyio repeats its cancellation, and knows only that one
        raise asyncio.CancelledError
