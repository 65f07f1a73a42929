"""Managers of runs as those of several servers, with stores that fail on request."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Literal

from langgraph.checkpoint.memory import InMemorySaver
from support.scripted_world import INPUT, good_pages
from support.waiting import PATIENCE_S, wait_until_async

from collection_search import SearchContext
from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.errors import StoreError
from collection_search.server.runs import run_tasks
from collection_search.server.runs.graph_runs import compile_graphs
from collection_search.server.runs.manager import RunManager
from collection_search.testing import RecordingTrigger

if TYPE_CHECKING:
    from collection_search import Settings
    from collection_search.contracts.search import ProviderSearchResult
    from collection_search.contracts.server_run import ServerRun


class HeldAdapter:
    """A provider that answers once it is released."""

    provider_name = "held"

    def __init__(self) -> None:
        self.called, self.released = asyncio.Event(), asyncio.Event()
        self.given_up = 0

    def search(self, query: str, *, max_results: int) -> list[ProviderSearchResult]:
        raise NotImplementedError

    async def asearch(self, query: str, *, max_results: int) -> list[ProviderSearchResult]:
        self.called.set()
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return good_pages()


class FailingRuns(SQLiteRuns):
    """A store whose next writes of a status fail, and which can be held."""

    failures = 0
    refuses_output = False
    holds: Literal["get", "change"] | None = None
    """The method that waits, after its work and once, until it is released."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.held, self.released = threading.Event(), threading.Event()

    def get(self, tenant_id: str, run_id: str) -> ServerRun | None:
        found = super().get(tenant_id, run_id)
        self._hold("get")
        return found

    def change(self, tenant_id: str, run_id: str, change: Any, **conditions: Any) -> bool:
        if self.failures and "status" in change:
            self.failures -= 1
            raise StoreError("The disk is full.")
        if self.refuses_output and "output" in change:
            raise TypeError("The output is no JSON.")
        is_changed = super().change(tenant_id, run_id, change, **conditions)
        self._hold("change")
        return is_changed

    def _hold(self, method: str) -> None:
        if self.holds == method:
            self.holds = None
            self.held.set()
            self.released.wait(PATIENCE_S)


class FailingCheckpoints(InMemorySaver):
    """Checkpoints of a database that is down for the next writes, readings and deletions."""

    failures = 0
    failing_readings = 0
    failing_deletions = 0
    error: BaseException = StoreError("The database is down.", retryable=True)

    async def aput(self, *given: Any, **named: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise self.error
        return await super().aput(*given, **named)

    async def aget_tuple(self, config: Any) -> Any:
        if self.failing_readings:
            self.failing_readings -= 1
            raise self.error
        return await super().aget_tuple(config)

    async def adelete_thread(self, thread_id: str) -> None:
        if self.failing_deletions:
            self.failing_deletions -= 1
            raise self.error
        await super().adelete_thread(thread_id)


class Servers:
    """Managers on one data folder and the same checkpoints, as those of several servers."""

    def __init__(self, settings: Settings, adapter: Any) -> None:
        self.context = SearchContext(
            provider=adapter, settings=settings, trigger=RecordingTrigger()
        )
        self.checkpoints = FailingCheckpoints()
        self.store = FailingRuns(settings.runs_path)

    def start(self) -> RunManager:
        graphs = compile_graphs(self.checkpoints)
        return RunManager(self.context, self.store, graphs)

    async def reach(self, run_id: str, status: str) -> None:
        def has_reached() -> bool:
            return self.find(run_id).status == status

        await wait_until_async(has_reached)

    def find(self, run_id: str) -> ServerRun:
        run = self.store.get("local", run_id)
        assert run is not None
        return run

    async def are_clean(self) -> None:
        """Wait until nothing is left to be cleaned, and look at the checkpoints."""
        await wait_until_async(lambda: not self.store.unfinished())
        assert not self.checkpoints.storage
        assert not self.checkpoints.writes


async def begin(manager: RunManager) -> str:
    """Start a run and return its id."""
    return (await manager.start("local", "ann", "collection_search", INPUT)).run_id


async def sweep(manager: RunManager, times: int = 1) -> None:
    """Wait until no task is at work, and sweep; so many times."""
    for _ in range(times):
        await rest(manager)
        await manager.tasks.recover()
    await rest(manager)


async def rest(manager: RunManager) -> None:
    """Wait until no task of the manager is at work."""
    await wait_until_async(lambda: not manager.tasks._tasks)


def kill(manager: RunManager) -> None:
    """End a manager as a killed process does: it keeps its runs and does nothing more."""
    manager.tasks._is_closed = True
    run_tasks._living.discard(manager.tasks._owner)
