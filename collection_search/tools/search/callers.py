"""How a search adapter is called: blocking or awaited, never for too long."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import Future
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ...resilience.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from anyio import CapacityLimiter
    from anyio.lowlevel import RunVar

    from ...ports.description import SearchDescription
    from ...ports.search_function import Asked

    Delays = Callable[[], Iterator[float]]

T = TypeVar("T")

GRACE_S: Final = 0.25
"""Additional time for an adapter with a timeout of its own."""
_FLIGHTS: Final[SingleFlight[Any]] = SingleFlight()
_FINISHING: Final[set[asyncio.Task[None]]] = set()
"""Calls that continue after their caller was cancelled."""
MAX_THREADS: Final = 512
"""Synchronous adapters that one event loop runs at a time; further calls wait for a thread."""


class BlockingCaller:
    """Calls an adapter in the caller's thread; its coroutines never suspend, see `run_to_end`."""

    def __init__(self, adapter: SearchDescription, sleep: Callable[[float], None]) -> None:
        self._search = adapter.search
        self._sleep = sleep
        self.counts = self._search.count_keyword is not None
        """Whether the adapter takes a number of results."""
        self.takes_turns = self._search.takes_turns
        """Whether the adapter waits for its `turn` before every request but the first."""

    async def search(
        self, asked: Asked, *, timeout_s: float, left_s: float, turn: Delays | None = None
    ) -> Any:
        """Return the adapter's answer. Raises TimeoutError when none came within `left_s`."""
        own = partial(_turned, turn, self._rest) if turn and self.takes_turns else None
        call = self._search.call(asked, timeout_s=timeout_s, turn=own)
        return call() if self._search.takes_timeout else _watched(call, left_s)

    async def _rest(self, seconds: float) -> None:
        """Wait as `sleep` does, on the loop of an adapter that is a coroutine inside."""
        from ...runtime.concurrency import offload

        await offload(self._sleep, seconds)

    async def work(self, call: Callable[[], T]) -> T:
        """Return what a call returns that may wait for a file."""
        return call()

    async def finish(self, call: Callable[[], None]) -> None:
        """Make a call that may wait for a file."""
        call()

    async def wait_for(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what a coroutine returns that may suspend, run on the background loop."""
        from ...runtime.concurrency import run_blocking

        return run_blocking(call())

    async def share(
        self,
        tenant_id: str,  # noqa: ARG002 - threads do not wait for one another
        key: str,  # noqa: ARG002
        call: Callable[[], Coroutine[Any, Any, T]],
    ) -> T:
        """Return what the call returns, made for this caller alone."""
        return await call()

    async def sleep(self, seconds: float) -> None:
        """Wait, and block the thread."""
        self._sleep(seconds)


class AwaitingCaller:
    """Awaits `asearch` where the adapter has it, else a thread that runs `search`."""

    def __init__(
        self, adapter: SearchDescription, sleep: Callable[[float], Awaitable[None]] | None = None
    ) -> None:
        asearch = adapter.asearch
        self._is_async = asearch is not None
        self._search = asearch or adapter.search
        self._sleep = sleep
        self.counts = self._search.count_keyword is not None
        self.takes_turns = self._search.takes_turns

    async def search(
        self, asked: Asked, *, timeout_s: float, left_s: float, turn: Delays | None = None
    ) -> Any:
        """Return the adapter's answer. Raises TimeoutError when none came within `left_s`.

        A cancelled coroutine ends; a thread is left to end by itself.
        """
        import anyio.to_thread

        own = partial(_turned, turn, self.sleep) if turn and self.takes_turns else None
        call = self._search.call(asked, timeout_s=timeout_s, turn=own)
        # An adapter with its own timeout may still return what it has found so far.
        most_s = left_s + GRACE_S if self._search.takes_timeout else left_s
        async with asyncio.timeout(most_s) as limit:
            if self._is_async:
                answer = await call()
            else:
                answer = await anyio.to_thread.run_sync(
                    call, limiter=_own_threads(), abandon_on_cancel=True
                )
        if limit.expired():  # the adapter did not let itself be cancelled
            raise TimeoutError
        return answer

    async def sleep(self, seconds: float) -> None:
        """Wait, and let other tasks run."""
        import anyio

        await (self._sleep or anyio.sleep)(seconds)

    async def work(self, call: Callable[[], T]) -> T:
        """Return what a call returns that may wait for a file, made in a thread."""
        from ...runtime.concurrency import offload

        return await offload(call)

    async def finish(self, call: Callable[[], None]) -> None:
        """Make the call in a thread, to its end even if the caller is cancelled."""
        task = asyncio.ensure_future(self.work(call))
        _FINISHING.add(task)
        task.add_done_callback(_FINISHING.discard)
        await asyncio.shield(task)

    async def wait_for(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what a coroutine returns that may suspend."""
        return await call()

    async def share(
        self, tenant_id: str, key: str, call: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        """Return what the call returns, which other tasks of this event loop may share."""
        answer: T
        answer, _ = await _FLIGHTS.run(tenant_id, key, call)
        return answer


AdapterCaller: TypeAlias = BlockingCaller | AwaitingCaller
"""Reaches the adapter and waits; the worker's logic is the same for both."""


async def _turned(turn: Delays, sleep: Callable[[float], Awaitable[None]]) -> None:
    for wait_s in turn():
        if wait_s > 0:
            await sleep(wait_s)


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends.

    >>> async def answer() -> int:
    ...     return 42
    >>> run_to_end(answer())
    42
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine of the blocking caller tried to wait")


def _watched(call: Callable[[], Any], left_s: float) -> Any:
    """Return the call's result, made in a thread that is abandoned after `left_s` seconds."""
    answer: Future[Any] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            answer.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            answer.set_exception(error)

    threading.Thread(target=work, name="web-search", daemon=True).start()
    return answer.result(timeout=left_s)


def _own_threads() -> CapacityLimiter:
    """Return the running event loop's limiter; the default one allows few threads."""
    import anyio

    limiter = _limiter_variable().get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(MAX_THREADS)
        _limiter_variable().set(limiter)
    return limiter


@cache
def _limiter_variable() -> RunVar[CapacityLimiter | None]:
    from anyio.lowlevel import RunVar

    return RunVar("collection_search.web_search_threads")
