"""What a server process does beside its requests: runs, ingestion, deadlines, figures."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from ..errors import CollectionSearchError
from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from ..runtime.gc import relieve_collector
from ..settings.adapter_factory import adapter_of
from ..text.redaction import error_message
from ..tools.ingest import engine_for
from .backlog_watch import watch_backlog
from .runs.run_tasks import RENEW_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from fastapi import FastAPI

    from ..context import SearchContext
    from ..tools.ingest import IngestionEngine
    from .runs.manager import RunManager

SWEEP_S: Final = 60.0
"""Interval between two looks at the deadlines of gates; what no page needs any more goes then."""
STOP_S: Final = 10.0
"""How long pages that are being ingested may take when the server stops."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def serve_runs(app: FastAPI) -> AsyncIterator[None]:
    """Open what the routes need, as `app.state.runs`, and close it when the server stops.

    Runs that the last process left are resumed. Raises ConfigError, StoreError.
    """
    base: SearchContext = app.state.context
    settings = await offload(base.using)
    base = app.state.context = base.model_copy(update={"settings": settings})
    async with AsyncExitStack() as stack:
        checkpoints = await adapter_of(settings, "checkpoints", settings.engine)
        saver = await stack.enter_async_context(checkpoints.open())
        store = await adapter_of(settings, "runs", settings.engine)
        manager = await offload(_manager, base, store, saver)
        app.state.runs = manager
        stack.push_async_callback(manager.close)
        await manager.tasks.renew()
        engine = await _start_workers(base)
        if engine is not None:
            stack.push_async_callback(offload, engine.stop, timeout_s=STOP_S)
        stack.push_async_callback(app.state.tasks.close)
        app.state.tasks.begin(_sweep(manager, engine), name="sweep")
        app.state.tasks.begin(_keep_lease(manager), name="lease")
        app.state.tasks.begin(_watch_runs(manager), name="runs")
        if engine is not None:
            app.state.tasks.begin(_watch_pages(engine), name="pages")
        app.state.tasks.begin(watch_backlog(base), name="backlog")
        if app.state.owns_process and settings.relieve_collector:
            await offload(relieve_collector)
        yield


def close_streams(app: FastAPI) -> None:
    """End the open streams of events, so that a server that stops need not wait for them."""
    if (manager := getattr(app.state, "runs", None)) is not None:
        manager.changes.close()


def _manager(base: SearchContext, store: Any, saver: Any) -> RunManager:
    """Compile the graphs; their imports block."""
    from .runs.graph_runs import compile_graphs
    from .runs.manager import RunManager

    return RunManager(base, store, compile_graphs(saver))


async def _start_workers(base: SearchContext) -> IngestionEngine | None:
    """Start the ingestion of the pages that wait; None, with a warning, where it cannot work."""
    try:
        engine = await engine_for(base)
        await offload(engine.start)
    except CollectionSearchError as error:
        logger.warning("No page is ingested: %s", error_message(error))
        return None
    return engine


async def _sweep(manager: RunManager, engine: IngestionEngine | None) -> None:
    """Sweep from time to time; what fails is logged, and the next sweep tries again."""
    while True:
        await _attempt("deadlines of gates", manager.sweep_gates())
        if engine is not None:
            await _attempt("workers", offload(engine.start))
        await asyncio.sleep(SWEEP_S)


async def _keep_lease(manager: RunManager) -> None:
    """Keep the lease on this server's runs, however long anything else takes."""
    while True:
        await _attempt("lease", manager.tasks.renew())
        await asyncio.sleep(RENEW_S)


async def _watch_runs(manager: RunManager) -> None:
    """Go on with the runs that nobody executes.

    Other servers have left them, or another program has decided their gates.
    """
    while True:
        await _attempt("runs of ended processes", manager.tasks.recover())
        await _attempt("decided reviews", manager.resume_decided())
        await asyncio.sleep(RENEW_S)


async def _watch_pages(engine: IngestionEngine) -> None:
    """Go on with the pages that nobody works on: those of an ended server, after its lease."""
    while True:
        await _attempt("pages of ended processes", offload(engine.resume))
        await asyncio.sleep(RENEW_S)


async def _attempt(subject: str, work: Coroutine[Any, Any, Any]) -> None:
    """Await a part of a sweep. Its failure must not end the sweeps to come."""
    try:
        await work
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, f"the server's sweep of {subject} failed", error)
