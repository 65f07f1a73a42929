"""Events of a run on their way into the store."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from ...contracts.server_run import RunEvent


class EventWriter:
    """Stores events beside the run, in order; those that come during a write are the next one."""

    def __init__(
        self, store: Callable[[Sequence[RunEvent]], Awaitable[None]], group: asyncio.TaskGroup
    ) -> None:
        self._store = store
        self._group = group
        self._waiting: list[RunEvent] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, event: RunEvent) -> None:
        """Have an event stored; the run does not wait for it."""
        self._waiting.append(event)
        if self._writing is None or self._writing.done():
            self._writing = self._group.create_task(self._write())

    async def flush(self) -> None:
        """Wait until nothing is being written."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        while self._waiting:
            events, self._waiting = self._waiting, []
            await self._store(events)


@asynccontextmanager
async def write_events(
    store: Callable[[Sequence[RunEvent]], Awaitable[None]],
) -> AsyncIterator[EventWriter]:
    """Open a writer. At the end all events are stored, also of a run that failed or was cancelled.

    What `store` raises interrupts the run at once, and is raised in its place.
    """
    failure = None
    try:
        async with asyncio.TaskGroup() as group:
            writer = EventWriter(store, group)
            try:
                yield writer
            finally:
                await writer.flush()
    except ExceptionGroup as failed:
        failure = failed.exceptions[0]
    if failure is None:
        return
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError
    raise failure
