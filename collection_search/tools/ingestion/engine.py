"""In-process workers that turn ledger rows into searchable documents."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import weakref
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...errors import (
    CollectionSearchError,
    ConfigError,
    ExtractionError,
    FetchError,
    IngestError,
)
from ...runtime.concurrency import offload, run_blocking
from ...runtime.spans import NULL_SINK
from ...settings.embedders import MissingEmbedderError
from ...text.redaction import told
from .embedders import Embedders
from .leases import ClaimsInHand, netloc
from .ownership import is_gone
from .pipeline import PageWork, has_vanished, is_gone_for_good, postponed_s, trace_of
from .task_group import Shift

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...context import SearchContext
    from ...contracts.collection import TenantScope
    from ...contracts.ingestion import Claim
    from ...ports import Embedder, PageReader, Span, SpanSink, Storage
    from ...settings import Settings

    ReaderSource = Callable[[], Awaitable[PageReader]]

logger = logging.getLogger(__name__)

PERMANENT: Final = (ConfigError, ExtractionError, IngestError)
"""Failures that another attempt would only repeat."""
BACKOFF_S: Final = 1.0
"""First delay before another attempt; it doubles with every attempt."""
MAX_BACKOFF_S: Final = 60.0
_ALLOWED: Final = (
    ". A page of your own network needs its host:port in the setting fetch_allowed, such as"
    " wiki.intra:443."
)
IDLE_S: Final = 0.25
"""How often an engine without work looks at the ledger."""
BUSY_S: Final = 0.05
"""How often it looks while all rows are of hosts that other processes ask."""
STAGED_FOR_S: Final = 86_400.0
"""How long a text that nothing needs stays staged."""
GOODBYE_S: Final = 5.0
"""How long work that was called off may take to end."""


class IngestionEngine:
    """Claims pages, fetches those without a text, and chunks, embeds and stores them.

    At most `fetch_at_once` pages are in hand, and `ingest_workers` of them past fetching. A row is
    taken only when there is room for it, so nothing queues up in memory, and the engine rests when
    the ledger has nothing left. A process may end at any time, and the next one continues.
    Without a `reader` pages that have to be fetched are left to others.
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
        self._shift: Shift | None = None
        self._in_hand = self._nothing_in_hand()
        self._wakes = 0
        self.failure: Exception | None = None
        """Why the work stopped since the last start; its pages stay in the ledger."""
        self.buried = 0
        """Pages that this engine gave up."""
        self.burial: str | None = None
        """The first of them, with its cause."""
        self.add_embedder(embedder)

    def add_embedder(self, embedder: Embedder | None, payer: SearchContext | None = None) -> None:
        """Make a model available to the collections that it filled; `payer` has its books."""
        self._embedders.add(embedder, payer)

    def equip(self, *, reader: ReaderSource | None = None, sink: SpanSink | None = None) -> None:
        """Take another reader of pages, or another sink, where one is given."""
        self._source = reader or self._source
        self._sink = sink or self._sink

    @property
    def fetches(self) -> bool:
        """Tell whether this engine gets pages from the web."""
        return self._source is not None

    def embedder_of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None when words suffice. Raises ConfigError."""
        return self._embedders.of(scope)

    def start(self) -> None:
        """See that the work goes on; it ends by itself when everything is done.

        Work that is being stopped is not resumed: other work begins when it has ended.
        """
        with self._lock:
            self.failure = None
            self._wakes += 1
            before = self._thread
            if before is None or not before.is_alive() or not self._in_hand.is_open:
                self._in_hand = self._nothing_in_hand()
                self._thread = threading.Thread(
                    target=self._run, args=(self._in_hand, before), name="ingest", daemon=True
                )
                self._thread.start()
            elif self._shift is not None:
                self._shift.wake()

    def drain(self, *, timeout_s: float | None = None) -> bool:
        """Work until the ledger has nothing left; False when the time was too short.

        Pages that other processes work on are waited for: they may come back. Raises StoreError.
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
        """Take no further rows, finish those in hand, and give back what is not done in time."""
        with self._lock:
            thread, shift, in_hand = self._thread, self._shift, self._in_hand
        in_hand.close()
        if thread is not None and shift is not None:
            shift.wake()
            thread.join(timeout_s)
        in_hand.give_back(in_hand.all())
        if thread is not None and shift is not None and thread.is_alive():
            shift.cancel()
            thread.join(GOODBYE_S)

    def _nothing_in_hand(self) -> ClaimsInHand:
        return ClaimsInHand(self._store.ledger, lease_s=self._settings.ingest_lease_s)

    def _run(self, in_hand: ClaimsInHand, before: threading.Thread | None) -> None:
        """Work on the background loop, where hosts keep their turns from one start to the next."""
        if before is not None:
            before.join()
        with suppress(CancelledError):
            run_blocking(self._serve(in_hand))

    async def _serve(self, in_hand: ClaimsInHand) -> None:
        shift = self._shift = Shift(self._settings.ingest_workers, in_hand)
        heart = asyncio.create_task(self._beat(in_hand))
        try:
            await offload(self._store.staging.prune, STAGED_FOR_S)
            await self._dispatch(shift)
        except Exception as error:  # noqa: BLE001 - who waits for the work gets it
            logger.warning("the ingestion stopped: %s", _cause(error))
            self.failure = error
        finally:
            heart.cancel()
            await offload(in_hand.close)  # from here on a start begins other work
            held = in_hand.all()
            await shift.end()
            await offload(in_hand.give_back, held)

    async def _dispatch(self, shift: Shift) -> None:
        """Hand out rows as long as there are any; end when nobody asked for more meanwhile."""
        work = PageWork(self._store, self._settings, self._embedders, shift.slots)
        most = self._settings.ingest_workers
        most = max(most, self._settings.fetch_at_once) if self.fetches else most
        while shift.in_hand.is_open:
            wakes = self._wakes
            shift.begin()
            claim = None
            if shift.has_room(most):
                claim = await offload(shift.in_hand.take, fetch=self.fetches)
            if claim is not None:
                reader = None
                if claim.content_ref is None and self._source is not None:
                    reader = await self._source()
                shift.take(self._attempt(claim, work, reader, shift.in_hand))
                continue
            rest_s = await offload(self._rest)
            if rest_s is None and not shift.tasks and self._leaves(shift, wakes):
                return
            await shift.pause(IDLE_S if rest_s is None or shift.tasks else rest_s)
        await shift.finish()

    def _rest(self) -> float | None:
        """Return how long to wait for rows that may come back; None when there are none."""
        ledger = self._store.ledger
        if ledger.sweep(is_gone=is_gone):
            return 0.0
        pending_in_s = ledger.pending_in_s(fetch=True) if self.fetches else ledger.pending_in_s()
        return None if pending_in_s is None else min(max(pending_in_s, BUSY_S), IDLE_S)

    def _leaves(self, shift: Shift, wakes: int) -> bool:
        """End the work, unless somebody asked for it, or stopped it, since it looked."""
        with self._lock:
            if self._wakes != wakes or not shift.in_hand.is_open:
                return False
            self._thread = None
            return True

    async def _attempt(
        self, claim: Claim, work: PageWork, reader: PageReader | None, in_hand: ClaimsInHand
    ) -> None:
        """Ingest one page; whatever goes wrong becomes the row's cause."""
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
            in_hand.done(claim)

    async def _failed(self, claim: Claim, error: Exception, span: Span) -> None:
        cause, ledger = _cause(error), self._store.ledger
        span.set({"reason": error.reason if isinstance(error, FetchError) else None})
        if has_vanished(claim, error):
            span.set({"changed": True})
            await offload(ledger.retire, claim, cause, is_final=is_gone_for_good(error))
        elif (in_s := postponed_s(error)) is not None:
            await offload(ledger.postpone, claim, in_s, cause)
        else:
            span.fail(type(error).__name__, cause)
            await offload(self._fail, claim, error)

    def _fail(self, claim: Claim, error: Exception) -> None:
        """Leave the row to another attempt; give it up where none is left or would help."""
        is_over = claim.attempts >= self._settings.ingest_max_attempts
        retry_in_s: float | None = None
        if not is_over and not _is_lasting(error):
            retry_in_s = min(MAX_BACKOFF_S, self._backoff_s * 2 ** (claim.attempts - 1))
        if self._store.ledger.fail(claim, _cause(error), retry_in_s=retry_in_s):
            with self._lock:
                self.buried += 1
                self.burial = self.burial or f"{claim.url}: {_cause(error)}"

    async def _beat(self, in_hand: ClaimsInHand) -> None:
        """Keep the leases of all pages in hand alive."""
        while True:
            await asyncio.sleep(self._settings.ingest_lease_s / 3)
            await offload(in_hand.renew)


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


def _is_lasting(error: Exception) -> bool:
    if isinstance(error, FetchError):
        return not error.retryable
    return isinstance(error, PERMANENT) and not isinstance(error, MissingEmbedderError)


def _cause(error: Exception) -> str:
    if isinstance(error, FetchError):
        way_out = _ALLOWED if error.reason in {"blocked_address", "blocked_host"} else ""
        return told(f"{error.reason}: {error}{way_out}")
    said = str(error) if isinstance(error, CollectionSearchError) else repr(error)
    return told(said)


# An engine that nobody holds does no work: its thread holds it.
_engines: weakref.WeakValueDictionary[int, IngestionEngine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()
