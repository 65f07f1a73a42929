"""News of changes within the process: who waits for a run is woken when it changes."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Changes:
    """One event per run that somebody waits for; for one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}
        self.is_closed = False

    def next(self, run_id: str) -> asyncio.Event:
        """Return what the next change sets; ask before the run is read, and nothing is missed."""
        event = self._waiting.setdefault(run_id, asyncio.Event())
        if self.is_closed:
            event.set()
        return event

    def tell(self, run_id: str) -> None:
        """Wake all who wait for the run."""
        if event := self._waiting.pop(run_id, None):
            event.set()

    def close(self) -> None:
        """Wake everybody for good: the server stops."""
        self.is_closed = True
        for run_id in list(self._waiting):
            self.tell(run_id)


async def wait_for(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until the event is set, or for so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
