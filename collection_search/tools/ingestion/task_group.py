"""One stretch of an engine's work: the pages in hand, and how it pauses and ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from .leases import ClaimsInHand


class Shift:
    """The tasks of one stretch of work and their claims, on its loop."""

    def __init__(self, workers: int, in_hand: ClaimsInHand) -> None:
        self.in_hand = in_hand
        self.tasks: set[asyncio.Task[None]] = set()
        self.slots = asyncio.Semaphore(workers)
        self._root = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def begin(self) -> None:
        """Forget who is done, and raise what went wrong with the ledger."""
        self._woken.clear()
        for task in [task for task in self.tasks if task.done()]:
            self.tasks.remove(task)
            task.result()

    def has_room(self, most: int) -> bool:
        """Tell whether another page may be taken in hand."""
        return len(self.tasks) < most and not self.slots.locked()

    def take(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the work on a page."""
        self.tasks.add(asyncio.create_task(work))

    async def pause(self, seconds: float) -> None:
        """Wait that long, or until a page is done or somebody wakes us."""
        woken = asyncio.create_task(self._woken.wait())
        try:
            waiting = {woken, *self.tasks}
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    async def finish(self) -> None:
        """Wait for all pages in hand."""
        await asyncio.gather(*self.tasks)

    async def end(self) -> None:
        """Call off what is still in hand."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def wake(self) -> None:
        """End a pause, from any thread."""
        self._loop.call_soon_threadsafe(self._woken.set)

    def cancel(self) -> None:
        """Call off everything, from any thread."""
        if self._root is not None:
            self._loop.call_soon_threadsafe(self._root.cancel)
