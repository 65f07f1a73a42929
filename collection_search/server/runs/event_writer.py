"""Events of a run on their way into the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ...contracts.server_run import RunEvent


class EventWriter:
    """Stores events beside the run, in order; those that come during a write are the next one.

    The run does not wait for its events. What `store` raises reaches the run at its next event, or
    when it waits for the last one.
    """

    def __init__(self, store: Callable[[Sequence[RunEvent]], Awaitable[None]]) -> None:
        self._store = store
        self._waiting: list[RunEvent] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, event: RunEvent) -> None:
        """Have an event stored. Raises what the last write raised."""
        self._waiting.append(event)
        if self._writing is not None and not self._writing.done():
            return
        if self._writing is not None:
            self._writing.result()
        self._writing = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Wait until all events are stored. Raises what a write raised."""
        if self._writing is not None:
            await self._writing

    async def stop(self) -> None:
        """Store nothing more; a write that has begun has ended when this returns."""
        self._waiting.clear()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _write(self) -> None:
        while self._waiting:
            events, self._waiting = self._waiting, []
            await self._store(events)
