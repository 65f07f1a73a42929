"""The ingestion engine: workers of this process that ingest the rows of the ledger."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import weakref
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...contracts.ingestion import PageDone
from ...errors import FetchError
from ...runtime.concurrency import offload, run_blocking
from ...runtime.spans import NULL_SINK
from .embedders import Embedders
from .failures import (
    BACKOFF_S,
    cause_of,
    has_vanished,
    is_gone_for_good,
    postponed_s,
    retry_delay_s,
)
from .leases import Leases, netloc
from .ownership import is_gone
from .pipeline import PageWork, trace_of
from .task_group import PageTaskGroup
from .watchers import Watchers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...context import SearchContext
    from ...contracts.collection import TenantScope
    from ...contracts.ingestion import Claim
    from ...ports import Embedder, PageReader, Span, SpanSink, Storage
    from ...settings import Settings
    from .watchers import PageListener

    ReaderSource = Callable[[], Awaitable[PageReader]]

logger = logging.getLogger(__name__)

IDLE_S: Final = 0.25
"""Interval between two looks at the ledger without work."""
BUSY_S: Final = 0.05
"""The same while other processes work on the hosts of all rows."""
STAGED_FOR_S: Final = 86_400.0
"""Lifetime of a staged text that nothing needs."""
SHUTDOWN_GRACE_S: Final = 5.0
"""Time for cancelled work to end."""


class IngestionEngine:
    """Claims pages, fetches those without a text, and chunks, embeds and stores them.

    At most `fetch_at_once` pages are in progress, and `ingest_workers` of them after fetching. A
    row is claimed only when there is room for it, so there is no queue in memory. A process may end
    at any time; the next one continues. Without a `reader` it leaves pages to fetch to others.
    """

    def __init__(
        self,
        store: Storage,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        reader: ReaderSource | None = None,
        sink: SpanSink = NULL_SINK,
        backoff_s: float = BACKOFF_S,
    ) -> None:
        self._store = store
        self._settings = settings
        self._embedders = Embedders(store.collections, settings)
        self._source = reader
        self._sink = sink
        self._backoff_s = backoff_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tasks: PageTaskGroup | None = None
        self._leases = self._new_leases()
        self.watchers = Watchers()
        self._wakes = 0
        self.failure: Exception | None = None
        """The error that stopped the work since the last start; its pages stay in the ledger."""
        self.add_embedder(embedder)

    def add_embedder(self, embedder: Embedder | None, payer: SearchContext | None = None) -> None:
        """Add an embedder for the collections that it filled; `payer` records its cost."""
        self._embedders.add(embedder, payer)

    def equip(
        self,
        *,
        reader: ReaderSource | None = None,
        sink: SpanSink | None = None,
        on_page_done: PageListener | None = None,
    ) -> None:
        """Replace the reader of pages, the sink or the listener, where one is given.

        The engine's threads call the listener for each page that was stored, retired or failed: it
        must be quick and may not raise.
        """
        self._source = reader or self._source
        self._sink = sink or self._sink
        self.watchers.on_page_done = on_page_done or self.watchers.on_page_done

    @property
    def fetches(self) -> bool:
        """Return whether this engine fetches pages."""
        return self._source is not None

    def embedder_of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None for a lexical one. Raises ConfigError."""
        return self._embedders.of(scope)

    def start(self) -> None:
        """Start the work, or continue it; it ends when everything is done.

        New work begins after work that is being stopped.
        """
        with self._lock:
            self.failure = None
            self._wakes += 1
            before = self._thread
            if before is None or not before.is_alive() or not self._leases.is_open:
                self._leases = self._new_leases()
                self._thread = threading.Thread(
                    target=self._run, args=(self._leases, before), name="ingest", daemon=True
                )
                self._thread.start()
            elif self._tasks is not None:
                self._tasks.wake()

    def drain(self, *, timeout_s: float | None = None) -> bool:
        """Work until no page is left, and return False when the time was too short.

        This includes pages that other processes work on. Raises StoreError.
        """
        self.start()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (thread := self._thread) is not None and thread.is_alive():
            left = IDLE_S if deadline is None else min(IDLE_S, deadline - time.monotonic())
            if left <= 0:
                return False
            thread.join(left)
        if self.failure is not None:
            raise self.failure
        return True

    def stop(self, *, timeout_s: float = 25.0) -> None:
        """Claim no further rows, finish the current ones, and release those not done in time."""
        with self._lock:
            thread, tasks, leases = self._thread, self._tasks, self._leases
        leases.close()
        if thread is not None and tasks is not None:
            tasks.wake()
            thread.join(timeout_s)
        leases.release(leases.all())
        if thread is not None and tasks is not None and thread.is_alive():
            tasks.cancel()
            thread.join(SHUTDOWN_GRACE_S)

    def _new_leases(self) -> Leases:
        return Leases(self._store.ledger, lease_s=self._settings.ingest_lease_s)

    def _run(self, leases: Leases, before: threading.Thread | None) -> None:
        """Work on the background loop, which throttles hosts across starts."""
        if before is not None:
            before.join()
        with suppress(CancelledError):
            run_blocking(self._serve(leases))

    async def _serve(self, leases: Leases) -> None:
        tasks = self._tasks = PageTaskGroup(self._settings.ingest_workers, leases)
        heartbeat = asyncio.create_task(self._heartbeat(leases))
        try:
            await offload(self._store.staging.prune, STAGED_FOR_S)
            await self._dispatch(tasks)
        except Exception as error:  # noqa: BLE001 - `drain` and `wait` raise it
            logger.warning("the ingestion stopped: %s", cause_of(error))
            self.failure = error
        finally:
            heartbeat.cancel()
            await offload(leases.close)  # a later start begins new work
            unfinished = leases.all()
            await tasks.cancel_pages()
            await offload(leases.release, unfinished)
            self.watchers.tell()

    async def _dispatch(self, tasks: PageTaskGroup) -> None:
        """Start the work on rows as long as there are any, or `start` is called meanwhile."""
        work = PageWork(
            self._store, self._settings, self._embedders, tasks.slots, self.watchers.tell
        )
        most = self._settings.ingest_workers
        most = max(most, self._settings.fetch_at_once) if self.fetches else most
        while tasks.leases.is_open:
            wakes = self._wakes
            tasks.discard_done()
            claim = None
            if tasks.has_room(most):
                claim = await offload(tasks.leases.claim, fetch=self.fetches)
            if claim is not None:
                reader = None
                if claim.content_ref is None and self._source is not None:
                    reader = await self._source()
                tasks.start(self._attempt(claim, work, reader, tasks.leases))
                continue
            rest_s = await offload(self._rest)
            if rest_s is None and not tasks.running and self._leaves(tasks.leases, wakes):
                return
            await tasks.rest(IDLE_S if rest_s is None or tasks.running else rest_s)
        await tasks.wait_until_done()

    def _rest(self) -> float | None:
        """Return how long to wait for rows that are not ready; None when there are none."""
        ledger = self._store.ledger
        if ledger.sweep(is_gone=is_gone):
            return 0.0
        pending_in_s = ledger.pending_in_s(fetch=True) if self.fetches else ledger.pending_in_s()
        return None if pending_in_s is None else min(max(pending_in_s, BUSY_S), IDLE_S)

    def _leaves(self, leases: Leases, wakes: int) -> bool:
        """Return whether the work ends; not after `start` or `stop` was called meanwhile."""
        with self._lock:
            if self._wakes != wakes or not leases.is_open:
                return False
            self._thread = None
            return True

    async def _attempt(
        self, claim: Claim, work: PageWork, reader: PageReader | None, leases: Leases
    ) -> None:
        """Ingest one page; an error becomes the row's cause."""
        started = time.monotonic()
        try:
            with self._sink.span("ingest_document", trace=trace_of(claim)) as span:
                span.set({"host": netloc(claim.url), "attempt": claim.attempts})
                span.set({"is_refresh": claim.is_refresh, "is_fetched": reader is not None})
                try:
                    span.set(await work.ingest(claim, reader))
                except Exception as error:  # noqa: BLE001 - the ledger keeps the cause
                    await self._failed(claim, error, span)
                span.set({"latency_ms": round((time.monotonic() - started) * 1000, 3)})
        finally:
            leases.forget(claim)

    async def _failed(self, claim: Claim, error: Exception, span: Span) -> None:
        cause, ledger = cause_of(error), self._store.ledger
        span.set({"reason": error.reason if isinstance(error, FetchError) else None})
        if has_vanished(claim, error):
            span.set({"changed": True})
            if await offload(ledger.retire, claim, cause, is_final=is_gone_for_good(error)):
                self.watchers.tell(PageDone(claim, "gone", cause))
        elif (in_s := postponed_s(error)) is not None:
            await offload(ledger.postpone, claim, in_s, cause)
        else:
            span.fail(type(error).__name__, cause)
            retry_in_s = retry_delay_s(
                claim,
                error,
                max_attempts=self._settings.ingest_max_attempts,
                backoff_s=self._backoff_s,
            )
            if await offload(ledger.fail, claim, cause, retry_in_s=retry_in_s):
                self.watchers.tell(PageDone(claim, "failed", cause))

    async def _heartbeat(self, leases: Leases) -> None:
        """Renew the leases of all pages that are worked on."""
        while True:
            await asyncio.sleep(self._settings.ingest_lease_s / 3)
            await offload(leases.renew)


def engine_of(
    store: Storage,
    settings: Settings,
    embedder: Embedder | None = None,
    *,
    reader: ReaderSource | None = None,
    sink: SpanSink | None = None,
    payer: SearchContext | None = None,
) -> IngestionEngine:
    """Return the process's one engine for this store, so that its work stays bounded."""
    with _engines_lock:
        engine = _engines.get(id(store)) or IngestionEngine(store, settings)
        _engines[id(store)] = engine
    engine.add_embedder(embedder, payer)
    engine.equip(reader=reader, sink=sink)
    return engine


# A working engine is referenced by its thread.
_engines: weakref.WeakValueDictionary[int, IngestionEngine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()
