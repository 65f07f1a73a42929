"""In-process workers that turn ledger rows into searchable documents."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ..bridge import run_blocking
from ..errors import (
    CollectionSearchError,
    ConfigError,
    ExtractionError,
    IngestError,
    ModelError,
    StoreError,
)
from ..masking import told
from ..records import Chunk, Document
from ..resolve import remembered_embedder
from ..text import chunk_spans
from .ownership import is_gone, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..ports import Embedder, Storage
    from ..records import Claim, TenantScope, Vectors
    from ..settings import Settings

logger = logging.getLogger(__name__)

PERMANENT: Final = (ConfigError, ExtractionError, IngestError)
"""Failures that another attempt would only repeat."""
BACKOFF_S: Final = 0.5
"""First delay before another attempt; it doubles with every attempt."""
MAX_BACKOFF_S: Final = 60.0
IDLE_S: Final = 0.25
"""How often a worker without work looks at the ledger."""
STAGED_FOR_S: Final = 86_400.0
"""How long a text that nothing needs stays staged."""


class _MissingEmbedderError(ConfigError):
    """This process lacks the collection's embedder; another worker may have it."""


class IngestionEngine:
    """At most `ingest_workers` threads that claim, chunk, embed and store.

    A worker takes a row only when it is free, so nothing queues up in memory, and ends when the
    ledger has nothing left. Threads are daemons: a process may end at any time, and the next one
    continues.
    """

    def __init__(
        self,
        store: Storage,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        backoff_s: float = BACKOFF_S,
    ) -> None:
        self._store = store
        self._settings = settings
        self._embedders: dict[str, Embedder] = {}
        self._backoff_s = backoff_s
        self._lock = threading.Lock()
        self._claiming = threading.Lock()
        self._workers: set[threading.Thread] = set()
        self._working: dict[tuple[int, int], Claim] = {}
        self._wakes = 0
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        """Why a worker stopped since the last start; its page stays in the ledger."""
        self.buried = 0
        """Pages that this engine gave up."""
        self.burial: str | None = None
        """The first of them, with its cause."""
        self.add_embedder(embedder)

    def add_embedder(self, embedder: Embedder | None) -> None:
        """Make a model available to the collections that it filled."""
        if embedder is not None:
            self._embedders[embedder.fingerprint] = embedder

    def embedder_of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None when words suffice. Raises ConfigError."""
        fingerprint = self._store.collections.embedder(scope)
        if fingerprint is None:
            return None
        if known := self._embedders.get(fingerprint):
            return known
        try:
            embedder = remembered_embedder(self._settings, fingerprint)
        except ConfigError as error:  # a key is missing here, but perhaps not elsewhere
            raise _MissingEmbedderError(str(error)) from error
        if embedder is not None:
            self.add_embedder(embedder)
            return embedder
        given = ", ".join(self._embedders) or "lexical"
        raise _MissingEmbedderError(
            f"Collection {scope.collection!r} was filled with the embedder {fingerprint}, but the"
            f" setting embeddings says {given}. Set it to {fingerprint}, use another collection, or"
            " embed this one anew:"
            f" collection-search collections reembed {scope.collection!r}."
        )

    def start(self) -> None:
        """See that the workers run; they end by themselves when everything is done."""
        self._stopping.clear()
        with self._lock:
            self.failure = None
            self._wakes += 1
            self._workers = {worker for worker in self._workers if worker.is_alive()}
            while len(self._workers) < self._settings.ingest_workers:
                worker = threading.Thread(target=self._work, name="ingest", daemon=True)
                self._workers.add(worker)
                worker.start()

    def drain(self, *, timeout_s: float | None = None) -> bool:
        """Work until the ledger has nothing left; False when the time was too short.

        Pages that other processes work on are waited for: they may come back. Raises StoreError.
        """
        self.start()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while workers := self._running():
            left = IDLE_S if deadline is None else min(IDLE_S, deadline - time.monotonic())
            if left <= 0:
                return False
            workers[0].join(left)
        if self.failure is not None:
            raise self.failure
        return True

    def stop(self, *, timeout_s: float = 25.0) -> None:
        """Take no further rows, finish those in hand, and give back what is not done in time."""
        with self._claiming:
            self._stopping.set()
        deadline = time.monotonic() + timeout_s
        for worker in self._running():
            worker.join(max(0.0, deadline - time.monotonic()))
        for claim in list(self._working.values()):
            self._store.ledger.release(claim)

    def _running(self) -> list[threading.Thread]:
        with self._lock:
            return [worker for worker in self._workers if worker.is_alive()]

    def _work(self) -> None:
        try:
            self._store.staging.prune(STAGED_FOR_S)
            while not self._stopping.is_set():
                wakes = self._wakes
                if claim := self._claim():
                    self._attempt(claim)
                elif not self._rest() and self._leaves(wakes):
                    return
        except Exception as error:  # noqa: BLE001 - who waits for the work gets it
            logger.warning("an ingestion worker stopped: %s", _cause(error))
            self.failure = error

    def _claim(self) -> Claim | None:
        """Take a row unless stopped; a stop waits for it, so it sees every row in hand."""
        owner = this_process()
        with self._claiming:
            if self._stopping.is_set():
                return None
            claim = self._store.ledger.claim(owner, lease_s=self._settings.ingest_lease_s)
            if claim is not None:  # who lost the row may still be busy with it, hence the fence
                self._working[claim.row_id, claim.fence] = claim
            return claim

    def _rest(self) -> bool:
        """Wait for rows that may come back; False when there are none."""
        ledger = self._store.ledger
        if ledger.sweep(is_gone=is_gone):
            return True
        pending_in_s = ledger.pending_in_s()
        if pending_in_s is not None:
            self._stopping.wait(min(max(pending_in_s, 0.01), IDLE_S))
        return pending_in_s is not None

    def _leaves(self, wakes: int) -> bool:
        """End this worker, unless somebody asked for work since it looked."""
        with self._lock:
            if self._wakes != wakes:
                return False
            self._workers.discard(threading.current_thread())
            return True

    def _attempt(self, claim: Claim) -> None:
        """Ingest one page; whatever goes wrong becomes the row's cause."""
        with self._in_hand(claim):
            try:
                self._ingest(claim)
            except Exception as error:  # noqa: BLE001 - the ledger keeps the cause
                self._fail(claim, error)

    def _fail(self, claim: Claim, error: Exception) -> None:
        """Leave the row to another attempt; bury it where none is left or would help."""
        is_over = claim.attempts >= self._settings.ingest_max_attempts
        retry_in_s: float | None = None
        is_lasting = isinstance(error, PERMANENT) and not isinstance(error, _MissingEmbedderError)
        if not is_over and not is_lasting:
            retry_in_s = min(MAX_BACKOFF_S, self._backoff_s * 2 ** (claim.attempts - 1))
        self._store.ledger.fail(claim, _cause(error), retry_in_s=retry_in_s)
        if retry_in_s is None:
            with self._lock:
                self.buried += 1
                self.burial = self.burial or f"{claim.url}: {_cause(error)}"

    @contextmanager
    def _in_hand(self, claim: Claim) -> Iterator[None]:
        """Keep the lease alive while the page is worked on."""
        done = threading.Event()

        def beat() -> None:
            lease_s = self._settings.ingest_lease_s
            with suppress(StoreError):  # the lease then runs out, as if this process had died
                while not done.wait(lease_s / 3) and self._store.ledger.renew(
                    claim, lease_s=lease_s
                ):
                    pass

        heart = threading.Thread(target=beat, name="ingest-heartbeat", daemon=True)
        heart.start()
        try:
            yield
        finally:
            del self._working[claim.row_id, claim.fence]
            done.set()
            heart.join()

    def _ingest(self, claim: Claim) -> None:
        text = self._text(claim)
        document = Document(
            url=claim.url,
            url_key=claim.url_key,
            title=claim.title,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            provenance=claim.provenance,
        )
        if not self._store.ledger.finish(claim, document, self._chunks(claim, text)):
            logger.info("another worker took over %s", claim.url)

    def _text(self, claim: Claim) -> str:
        ref = claim.content_ref
        text = self._store.staging.get(claim.scope.tenant_id, ref) if ref else None
        if text is None:
            raise IngestError("The page's text is no longer staged. Search for it again.")
        return text

    def _chunks(self, claim: Claim, text: str) -> list[Chunk]:
        size, overlap = self._settings.chunk_chars, self._settings.chunk_overlap_chars
        spans = chunk_spans(text, size=size, overlap=overlap)
        if not spans:
            raise ExtractionError("The page holds no text.")
        parts = [text[start:end] for start, end in spans]
        vectors = self._vectors(claim.scope, parts)
        return [
            Chunk(ordinal, part, start, end, None if vectors is None else vectors[ordinal])
            for ordinal, (part, (start, end)) in enumerate(zip(parts, spans, strict=True))
        ]

    def _vectors(self, scope: TenantScope, texts: Sequence[str]) -> Vectors | None:
        embedder = self.embedder_of(scope)
        if embedder is None:
            return None
        vectors = run_blocking(embedder.embed(texts)).vectors
        if len(vectors) != len(texts):
            raise ModelError(
                f"{embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts."
            )
        return vectors


def engine_of(
    store: Storage, settings: Settings, embedder: Embedder | None = None
) -> IngestionEngine:
    """Return the process's one engine for this store, so that its workers stay bounded."""
    with _engines_lock:
        engine = _engines.get(id(store)) or IngestionEngine(store, settings)
        _engines[id(store)] = engine
    engine.add_embedder(embedder)
    return engine


def _cause(error: Exception) -> str:
    said = str(error) if isinstance(error, CollectionSearchError) else repr(error)
    return told(said)


# An engine that nobody holds has no running worker: its threads hold it.
_engines: weakref.WeakValueDictionary[int, IngestionEngine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()
