"""The ingestion engine: workers of this process that ingest the rows of the ledger."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...ports.ledger import SOON_S
from ...runtime.concurrency import offload, run_blocking
from ...runtime.spans import NULL_SINK
from ...settings.page_rules import proxy_id
from .criteria_models import CriteriaModels
from .embedders import Embedders
from .failures import BACKOFF_S, cause_of
from .leases import Leases
from .ownership import is_gone
from .page_attempts import NetworkWatch, PageAttempts
from .pipeline import PageWork
from .store_retry import StoreRetry
from .task_group import PageTaskGroup
from .watchers import Watchers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...context import SearchContext
    from ...contracts.collection import TenantScope
    from ...contracts.ingestion import Claim
    from ...contracts.page import PageRules
    from ...ports import Embedder, PageReader, SpanSink, Storage
    from ...settings import Settings
    from .watchers import PageListener, PauseListener

    ReaderSource = Callable[[PageRules | None], Awaitable[PageReader]]

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
        self._criteria_models = CriteriaModels(settings)
        self._sources: dict[str, ReaderSource] = {}
        """By the proxy of their settings."""
        self._sink = sink
        self._backoff_s = backoff_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tasks: PageTaskGroup | None = None
        self._leases = self._new_leases()
        self.watchers = Watchers()
        self._retry: StoreRetry | None = None
        self._wakes = 0
        self._network = NetworkWatch()
        self._failure: Exception | None = None
        self.add_embedder(embedder)
        self.equip(reader=reader)

    def add_embedder(self, embedder: Embedder | None, payer: SearchContext | None = None) -> None:
        """Add an embedder for the collections that it filled; `payer` pays, for judging too."""
        self._embedders.add(embedder, payer)
        self._criteria_models.add(payer)

    def equip(
        self,
        *,
        reader: ReaderSource | None = None,
        settings: Settings | None = None,
        sink: SpanSink | None = None,
        on_page_done: PageListener | None = None,
        on_pause: PauseListener | None = None,
    ) -> None:
        """Replace the reader of pages, the sink or a listener, where one is given.

        The `settings` of the reader name its proxy: there is one reader for each.

        The engine's threads call the listeners for each page that was stored, retired or failed,
        and for each pause: they must be quick and may not raise.
        """
        if reader is not None:
            proxy = proxy_id(settings or self._settings)
            others = {name: one for name, one in self._sources.items() if name != proxy}
            self._sources = {**others, proxy: reader}
        self._sink = sink or self._sink
        self.watchers.on_page_done = on_page_done or self.watchers.on_page_done
        self.watchers.on_pause = on_pause or self.watchers.on_pause

    @property
    def failure(self) -> Exception | None:
        """The error that stopped the work since the last start, or of a store that fails for long.

        Pages stay in the ledger.
        """
        return self._failure or (self._retry.failure if self._retry else None)

    @property
    def is_at_work(self) -> bool:
        """Return whether pages are left that this engine may work on, now or later."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def fetches(self) -> bool:
        """Return whether this engine fetches pages."""
        return bool(self._sources)

    @property
    def proxies(self) -> list[str]:
        """The proxies behind which this engine fetches pages, as `proxy_id` names them."""
        return [*self._sources]

    def embedder_of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None for a lexical one. Raises ConfigError."""
        return self._embedders.of(scope)

    def start(self) -> None:
        """Start the work, or continue it; it ends when everything is done.

        New work begins after work that is being stopped.
        """
        with self._lock:
            self._failure = None
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

    def resume(self) -> None:
        """Start the work where pages wait that nobody here works on; one query where none does.

        Other processes may have accepted them, or have ended. Raises StoreError.
        """
        if not self.is_at_work and self._pending_in_s() is not None:
            self.start()

    def drain(self, *, timeout_s: float | None = None) -> bool:
        """Work until no page is left; return False when the time was too short.

        This includes pages that other processes work on. False also when no page is due within
        `SOON_S`: see `Ledger.put_off`. Raises StoreError.
        """
        self.start()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (thread := self._thread) is not None and thread.is_alive():
            left = IDLE_S if deadline is None else min(IDLE_S, deadline - time.monotonic())
            if left <= 0 or self.is_put_off():
                return False
            thread.join(left)
            if self.failure is not None:
                raise self.failure
        if self.failure is not None:
            raise self.failure
        return True

    def is_put_off(self) -> bool:
        """Return whether pages are left, but none is due within `SOON_S`. Raises StoreError."""
        pending_in_s = self._pending_in_s()
        return pending_in_s is not None and pending_in_s > SOON_S

    def stop(self, *, timeout_s: float = 25.0) -> bool:
        """Claim no further rows, finish the current ones, and release those not done in time.

        Return whether all were done in time.
        """
        with self._lock:
            thread, tasks, leases = self._thread, self._tasks, self._leases
        leases.close()
        if thread is not None and tasks is not None:
            tasks.wake()
            thread.join(timeout_s)
        unfinished = leases.all()
        leases.release(unfinished)
        if thread is not None and tasks is not None and thread.is_alive():
            tasks.cancel()
            thread.join(SHUTDOWN_GRACE_S)
        return not unfinished

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
        retry = self._retry = StoreRetry(lambda: leases.is_open, self.watchers.tell)
        heartbeat = asyncio.create_task(self._heartbeat(leases))
        try:
            await retry.call(self._store.staging.prune, STAGED_FOR_S)
            await self._dispatch(tasks, retry)
        except Exception as error:  # noqa: BLE001 - `drain` and `wait` raise it
            logger.warning("the ingestion stopped: %s", cause_of(error))
            with self._lock:  # a start comes before, and is told of it, or after, and begins anew
                leases.is_open, self._failure = False, error
        finally:
            heartbeat.cancel()
            await offload(leases.close)  # after an error; a later start begins new work
            unfinished = leases.all()
            await tasks.cancel_pages()
            await offload(leases.release, unfinished)
            self.watchers.tell()

    async def _dispatch(self, tasks: PageTaskGroup, retry: StoreRetry) -> None:
        """Start the work on rows as long as there are any, or `start` is called meanwhile."""
        attempts = self._new_attempts(tasks.slots, retry)
        most = self._settings.ingest_workers
        most = max(most, self._settings.fetch_at_once) if self.fetches else most
        while tasks.leases.is_open:
            wakes = self._wakes
            tasks.discard_done()
            claim = None
            if tasks.has_room(most):
                claim = await retry.call(
                    tasks.leases.claim, fetch=self.fetches, proxies=self.proxies
                )
            if claim is not None:
                tasks.start(attempts.run(claim, await self._reader_of(claim), tasks.leases))
                continue
            rest_s = await retry.call(self._rest)
            if rest_s is None and not tasks.running and self._end_unless_woken(tasks.leases, wakes):
                return
            await tasks.rest(IDLE_S if rest_s is None or tasks.running else rest_s)
        await tasks.wait_until_done()

    def _rest(self) -> float | None:
        """Return how long to wait for rows that are not ready; None when there are none."""
        if self._store.ledger.sweep(is_gone=is_gone):
            return 0.0
        pending_in_s = self._pending_in_s()
        return None if pending_in_s is None else min(max(pending_in_s, BUSY_S), IDLE_S)

    def _pending_in_s(self) -> float | None:
        ledger = self._store.ledger
        if not self.fetches:
            return ledger.pending_in_s()
        return ledger.pending_in_s(fetch=True, proxies=self.proxies)

    def _new_attempts(self, slots: asyncio.Semaphore, retry: StoreRetry) -> PageAttempts:
        """Return what works on pages with all that the engine has now."""
        ports = (self._store, self._settings, self._embedders, slots, retry)
        work = PageWork(*ports, self._criteria_models, self._sink, self.watchers.tell)
        return PageAttempts(work, self._sink, self.watchers, self._backoff_s, self._network)

    async def _reader_of(self, claim: Claim) -> PageReader | None:
        """Return the reader of the page's proxy, by default the last one; None for a staged text.

        Raises ConfigError where it cannot be made.
        """
        if not claim.needs_fetch or not self._sources:
            return None
        rules, last = claim.rules, [*self._sources.values()][-1]
        source = last if rules is None else self._sources.get(rules.proxy, last)
        return await source(rules)

    def _end_unless_woken(self, leases: Leases, wakes: int) -> bool:
        """Return whether the work ends; not after `start` or `stop` was called meanwhile.

        A later start has leases and a thread of its own, which waits for this one.
        """
        with self._lock:
            if self._wakes != wakes or not leases.is_open:
                return False
            leases.close()
            return True

    async def _heartbeat(self, leases: Leases) -> None:
        """Renew the leases of all pages that are worked on."""
        while True:
            await asyncio.sleep(self._settings.ingest_lease_s / 3)
            await offload(leases.renew)
