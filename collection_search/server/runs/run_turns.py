"""Turns of a tenant's runs: so many at once, the others wait in order."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turns:
    """At most `most` runs of one tenant at once; for one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free: dict[str, asyncio.Semaphore] = {}
        self._waiting: set[str] = set()

    @asynccontextmanager
    async def of(self, tenant: str, run_id: str) -> AsyncIterator[None]:
        """Wait for the run's turn, and keep it until the block ends."""
        free = self._free.setdefault(tenant, asyncio.Semaphore(self._most))
        self._waiting.add(run_id)
        try:
            await free.acquire()
        finally:
            self._waiting.discard(run_id)
        try:
            yield
        finally:
            free.release()

    def is_waiting(self, run_id: str) -> bool:
        """Return whether the run has not had its turn."""
        return run_id in self._waiting
