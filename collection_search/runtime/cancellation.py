"""Tells the end of a caller from the failure of what it called."""

from __future__ import annotations

import asyncio


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


def _is_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return False
    return task is not None and task.cancelling() > 0
