"""Bridges between synchronous and asynchronous code."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 64
"""Blocking calls of one event loop at once; the loop's own pool has as few as six threads."""

COMPUTING: Final = 2
"""Computing calls at once: each further one delays the event loop more."""

_lock = threading.Lock()
_portal: tuple[int, asyncio.AbstractEventLoop, threading.Thread] | None = None
_blocked: set[asyncio.AbstractEventLoop | None] = set()
_waiting: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("bridge_waiting")
_computing: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("bridge_computing")


def run_blocking(call: Coroutine[Any, Any, T]) -> T:
    """Return the coroutine's result, run on one background loop shared by the whole process.

    Works inside a running event loop too, which it blocks. Context variables reach the coroutine;
    an interrupt cancels it.
    """
    loop, thread = _portal_loop()
    if threading.current_thread() is thread:
        call.close()
        raise RuntimeError("A blocking function was called on its own event loop: await it.")
    try:
        blocked = asyncio.get_running_loop()
    except RuntimeError:
        blocked = None
    _blocked.add(blocked)
    future = asyncio.run_coroutine_threadsafe(call, loop)
    try:
        return future.result()
    finally:
        future.cancel()
        _blocked.discard(blocked)


def is_blocked(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the loop is blocked by a call of `run_blocking`."""
    return loop in _blocked


def blocking(call: Callable[P, Coroutine[Any, Any, T]], name: str) -> Callable[P, T]:
    """Return the coroutine function as one that blocks: same arguments, types and documentation.

    >>> async def adouble(number: int) -> int:
    ...     return 2 * number
    >>> blocking(adouble, "double")(4)
    8
    """

    @functools.wraps(call)
    def blocked(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(call(*args, **kwargs))

    blocked.__name__ = blocked.__qualname__ = name
    blocked.__signature__ = inspect.signature(call)  # type: ignore[attr-defined]
    del blocked.__wrapped__  # who unwraps it would await it
    return blocked


async def run_on_portal(call: Coroutine[Any, Any, T]) -> T:
    """Return the coroutine's result, run on the background loop that `run_blocking` uses.

    All loops of a process share it. Context variables and cancellation reach the coroutine.
    """
    return await on_loop(_portal_loop()[0], call)


async def on_loop(loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, T]) -> T:
    """Return the coroutine's result, run on that loop, which must be running."""
    if loop is asyncio.get_running_loop():
        return await call
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop))


async def offload(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a blocking call, run in a thread; context variables reach it."""
    return await _in_thread(_waiting, THREADS, functools.partial(call, *args, **kwargs))


async def offload_apart(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the same; who is cancelled meanwhile does not wait for the thread, which goes on."""
    this = functools.partial(call, *args, **kwargs)
    return await _in_thread(_waiting, THREADS, this, is_apart=True)


async def compute(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a call that computes for milliseconds, run in a thread as by `offload`.

    Few of them run at a time, so that the event loop stays responsive.
    """
    return await _in_thread(_computing, COMPUTING, functools.partial(call, *args, **kwargs))


async def _in_thread(
    limiters: anyio.lowlevel.RunVar[anyio.CapacityLimiter],
    threads: int,
    call: Callable[[], T],
    *,
    is_apart: bool = False,
) -> T:
    try:
        limiter = limiters.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(threads)
        limiters.set(limiter)
    return await anyio.to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=is_apart)


def _run_for_good(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for ever, also after a task that ends in SystemExit and so stops it."""
    while True:
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


def _portal_loop() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    global _portal  # noqa: PLW0603 - one loop per process; a forked child needs its own
    with _lock:
        if _portal is None or _portal[0] != os.getpid():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=_run_for_good, args=(loop,), name="collection-search", daemon=True
            )
            thread.start()
            _portal = os.getpid(), loop, thread
        return _portal[1], _portal[2]
