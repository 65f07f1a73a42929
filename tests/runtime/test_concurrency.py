"""From sync to async and back."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading

import pytest

from collection_search.runtime.concurrency import offload, run_blocking, run_on_portal

VALUE: contextvars.ContextVar[str] = contextvars.ContextVar("value", default="unset")


async def read() -> tuple[str, str]:
    return VALUE.get(), threading.current_thread().name


def test_context_reaches_the_background_loop() -> None:
    """Context variables of the caller are seen by the coroutine."""
    VALUE.set("seen")
    value, thread = run_blocking(read())
    assert value == "seen"
    assert thread != threading.current_thread().name


async def test_it_works_inside_a_running_loop() -> None:
    """A running loop is blocked, not broken."""
    assert run_blocking(read())


def test_exceptions_come_through() -> None:
    """What the coroutine raises is what the caller gets."""

    async def fail() -> None:
        raise KeyError("cause")

    with pytest.raises(KeyError, match="cause"):
        run_blocking(fail())


def test_a_coroutine_that_ends_the_program_ends_only_its_caller() -> None:
    """The loop outlives SystemExit, which it would otherwise end with, and serves the next."""

    async def leave() -> None:
        await asyncio.gather(asyncio.sleep(0), asyncio.to_thread(sys.exit, 3))

    with pytest.raises(SystemExit):
        run_blocking(leave())
    assert run_blocking(read())


def test_calling_the_sync_face_from_the_async_one_is_refused() -> None:
    """A deadlock is an error instead."""

    async def nested() -> None:
        run_blocking(read())

    with pytest.raises(RuntimeError, match="await it"):
        run_blocking(nested())


async def test_offload_keeps_the_loop_free_and_the_context() -> None:
    """Many blocking calls run side by side, each with the caller's context variables."""
    VALUE.set("kept")
    barrier = threading.Barrier(16, timeout=60)

    def blocking(number: int) -> tuple[int, str]:
        barrier.wait()
        return number, VALUE.get()

    results = await asyncio.gather(*(offload(blocking, n) for n in range(16)))
    assert results == [(n, "kept") for n in range(16)]


async def test_loops_meet_on_the_background_loop() -> None:
    """Whoever asks, the work is done there, in the context of the caller."""

    async def nested() -> tuple[str, str]:
        return await run_on_portal(read())

    VALUE.set("seen")
    value, thread = await run_on_portal(nested())
    assert (value, thread) == run_blocking(read())
    assert thread != threading.current_thread().name


async def test_a_cancelled_caller_ends_the_work_on_the_background_loop() -> None:
    """Else what nobody waits for would go on."""
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    caller = asyncio.ensure_future(run_on_portal(work()))
    assert await offload(begun.wait, 60)
    caller.cancel()
    assert await offload(ended.wait, 60)
    assert caller.cancelled()
