"""The task group of the pages that an engine works on at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from .leases import Leases


class PageTaskGroup:
    """The tasks of one start of the engine, with their leases, on one loop."""

    def __init__(self, workers: int, leases: Leases) -> None:
        self.leases = leases
        self.running: set[asyncio.Task[None]] = set()
        self.slots = asyncio.Semaphore(workers)
        self._root = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def discard_done(self) -> None:
        """Remove the tasks that are done. Raises an error of the ledger."""
        self._woken.clear()
        for task in [task for task in self.running if task.done()]:
            self.running.remove(task)
            task.result()

    def has_room(self, limit: int) -> bool:
        """Return whether the work on another page may begin."""
        return len(self.running) < limit and not self.slots.locked()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the work on a page."""
        self.running.add(asyncio.create_task(work))

    async def rest(self, seconds: float) -> None:
        """Wait for this time, or until a page is done or `wake` is called."""
        woken = asyncio.create_task(self._woken.wait())
        try:
            waiting = {woken, *self.running}
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    async def wait_until_done(self) -> None:
        """Wait for all pages."""
        await asyncio.gather(*self.running)

    async def cancel_pages(self) -> None:
        """Cancel the work on all pages and wait until it has ended."""
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)

    def wake(self) -> None:
        """End a rest, from any thread."""
        self._loop.call_soon_threadsafe(self._woken.set)

    def cancel(self) -> None:
        """Cancel the engine's own task, from any thread; it then cancels the pages."""
        if self._root is not None:
            self._loop.call_soon_threadsafe(self._root.cancel)
