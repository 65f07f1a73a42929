"""How long callbacks hold up an event loop."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from collection_search.runtime.concurrency import run_on_portal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_TICK_S: Final = 0.001


@asynccontextmanager
async def stalls(*, on_background: bool) -> AsyncIterator[dict[str, Any]]:
    """Measure how long this loop, or that of the background, was held up at most.

    Of all callbacks, in milliseconds: `held_ms` is what one computed, and `held_by` which;
    `blocked_ms` is how long one lasted, without its waiting for a core where the system tells: so
    with waiting for the interpreter, which other threads have. `stall_ms` is how late the loop came
    back by the clock: after a turn of many callbacks, and on a busy machine after other programs.
    """
    found: dict[str, Any] = {"held_ms": 0.0, "held_by": "", "blocked_ms": 0.0, "stall_ms": 0.0}
    is_over = asyncio.Event()

    async def watch() -> None:
        with _timed_callbacks(asyncio.get_running_loop(), found):
            while not is_over.is_set():  # of another loop, perhaps
                before = time.perf_counter()
                await asyncio.sleep(_TICK_S)
                late = time.perf_counter() - before - _TICK_S
                found["stall_ms"] = max(found["stall_ms"], late * 1000)

    watching = asyncio.ensure_future(run_on_portal(watch()) if on_background else watch())
    try:
        yield found
    finally:
        is_over.set()
        await watching


@contextmanager
def _timed_callbacks(loop: asyncio.AbstractEventLoop, found: dict[str, Any]) -> Iterator[None]:
    run = asyncio.Handle._run  # noqa: SLF001 - what the loop itself calls

    def timed(handle: asyncio.Handle) -> None:
        if handle._loop is not loop:  # type: ignore[attr-defined]  # noqa: SLF001
            run(handle)
            return
        waited, wall, cpu = waited_s(), time.perf_counter(), time.thread_time()
        run(handle)
        if asyncio.Handle._run is not timed:  # noqa: SLF001 - this one ended the measurement
            return
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        found["blocked_ms"] = max(found["blocked_ms"], (wall - waited_s() + waited) * 1000)
        if cpu * 1000 > found["held_ms"]:
            found.update(held_ms=cpu * 1000, held_by=_name(handle))

    with _core_waits() as waited_s:
        asyncio.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
        try:
            yield
        finally:
            asyncio.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001


@contextmanager
def _core_waits() -> Iterator[Callable[[], float]]:
    """Give what tells how long this thread was ready to run and had no core, in seconds."""
    path = Path("/proc/thread-self/schedstat")
    if not path.exists():
        yield lambda: 0.0
        return
    with path.open("rb", buffering=0) as schedule:
        yield lambda: int(os.pread(schedule.fileno(), 64, 0).split()[1]) / 1e9


def _name(handle: asyncio.Handle) -> str:
    """Return what was called: of a task, its coroutines down to what it waits for now."""
    task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
    if not isinstance(task, asyncio.Task):
        return repr(handle)
    names: list[str] = []
    coroutine: Any = task.get_coro()
    while hasattr(coroutine, "cr_await"):
        names.append(coroutine.__qualname__)
        coroutine = coroutine.cr_await
    return " > ".join(names)
