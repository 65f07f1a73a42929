"""News of changes within the process: who waits for a run is woken when it changes."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Changes:
    """The events of those who wait for runs; for one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.is_closed = False

    @contextmanager
    def watch(self, run_id: str) -> Iterator[asyncio.Event]:
        """Yield what each change sets until the block ends.

        Clear it before the run is read, and nothing is missed.
        """
        event = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(event)
        try:
            yield event
        finally:
            watching = self._waiting[run_id]
            watching.discard(event)
            if not watching:
                del self._waiting[run_id]

    def tell(self, run_id: str) -> None:
        """Wake all who wait for the run."""
        for event in self._waiting.get(run_id, ()):
            event.set()

    def close(self) -> None:
        """Wake everybody for good: the server stops."""
        self.is_closed = True
        for run_id in self._waiting:
            self.tell(run_id)


async def wait_for(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until the event is set, or for so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
