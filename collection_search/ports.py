"""What the nodes and tools need from the outside world: one Protocol per need.

Search adapters and models may be asynchronous. Stores are synchronous and safe to call from
several threads: a coroutine reaches them through a worker thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from .contracts import SearchAdapterResponse
    from .options import SearchOptions
    from .pages import NotModified, ReadPage, Validators
    from .records import (
        Chunk,
        Claim,
        CollectionInfo,
        DeadLetter,
        Deleted,
        Document,
        Embedded,
        Fetched,
        Filters,
        IngestionRequest,
        PendingChunk,
        PendingVectors,
        QuestionRecord,
        StagedSession,
        StoredChunk,
        StoredDocument,
        TenantScope,
        Ticket,
        TicketStatus,
        Vectors,
    )

Scalar: TypeAlias = str | int | float | bool | None
SpanKind = Literal["span", "tool", "generation", "embedding", "retriever"]


@runtime_checkable
class BaseSearchAdapter(Protocol):
    """A search provider: the smallest thing that `WebSearchWorker` can use.

    Optional members that the worker looks for: `asearch` (a coroutine of the same form), a
    `timeout` keyword in seconds, `page_size` (rows of one billed request), and for older adapters
    `limit=` instead of `max_results=` and a `provider()` method instead of `provider_name`.
    """

    provider_name: str

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return the provider's rows for one query, best first.

        Raises a `SearchProviderError`; whether a retry helps is in its `retryable`.
        """
        ...


@runtime_checkable
class SupportsOptions(Protocol):
    """A search adapter that looks at options and says in `applied` what it made of each.

    The worker drops what does not fit afterwards, so that an adapter may leave an option out.
    """

    provider_name: str

    def search(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,
        options: SearchOptions | None = None,
    ) -> SearchAdapterResponse:
        """Return the same as `BaseSearchAdapter.search`."""
        ...


SearchAdapter = BaseSearchAdapter
"""Older name of the same protocol."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Queries that a model proposes for a question, with what the proposal cost."""

    queries: Sequence[str]
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class QueryModel(Protocol):
    """A chat model that turns a question into search queries."""

    model_name: str

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that places texts in a vector space."""

    fingerprint: str
    """Model id and dimension: equal fingerprints mean comparable vectors."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), d)` float32, unit length, in order. Raises `ModelError`."""
        ...


class StagingStore(Protocol):
    """Texts that a provider delivered, kept by content so that a run's state need not carry them.

    References are content hashes, private to their tenant.
    """

    def put(self, tenant_id: str, texts: Sequence[str]) -> list[str]:
        """Keep the texts in one transaction and return their references, in order."""
        ...

    def get(self, tenant_id: str, content_ref: str) -> str | None:
        """Return the text, or None when it is not (or no longer) staged for this tenant."""
        ...

    def prune(self, older_than_s: float) -> int:
        """Drop texts of that age that no ledger row and no session needs; return how many."""
        ...

    def open_session(
        self,
        scope: TenantScope,
        candidates: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
    ) -> str:
        """Keep acquired candidates, both JSON-plain, and return the session's id.

        Their texts stay staged as long as the session does.
        """
        ...

    def session(self, tenant_id: str, session_id: str) -> StagedSession | None:
        """Return a session of this tenant with its candidates, or None."""
        ...

    def sessions(self, tenant_id: str, collection: str | None = None) -> list[StagedSession]:
        """Return the tenant's sessions without their candidates, the youngest first."""
        ...

    def close_session(self, tenant_id: str, session_id: str) -> bool:
        """Delete a session; its texts go with the next `prune`. False when there was none."""
        ...


class Ledger(Protocol):
    """What should be ingested and what is: the truth that survives every crash.

    One row per (tenant, collection, url_key).
    """

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction.

        One already stored with the same text stays so, and one that was fetched whatever text
        comes: `refetch` renews it. Dead and retired ones begin anew.
        """
        ...

    def claim(
        self,
        owner: str,
        *,
        lease_s: float,
        fetch: bool = False,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None.

        With `fetch` one that has to be fetched as well, unless it is of a busy host (the URL's
        netloc). A claim without `content_ref` is to be fetched.
        """
        ...

    def renew(self, claim: Claim, *, lease_s: float) -> bool:
        """Extend the lease; False when another worker has taken the row over."""
        ...

    def finish(
        self,
        claim: Claim,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        fetched: Fetched | None = None,
    ) -> bool:
        """Replace the document's chunks and mark the row stored, in one transaction.

        The document has the claim's `url_key`. What `fetched` says is kept for the next
        conditional request and joins the document's provenance: `fetched_at` (ISO, UTC),
        `final_url`, `canonical_url`, `page_kind`.
        False, and nothing written, when another worker has taken the row over.
        """
        ...

    def unchanged(self, claim: Claim, fetched: Fetched) -> bool:
        """Mark the row stored again without touching its chunks.

        Keeps the validators that came, and those known where none came, and `checked_at` in the
        document's provenance. False when another worker has taken the row over, or when
        nothing is stored for the page.
        """
        ...

    def retire(self, claim: Claim, reason: str) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over."""
        ...

    def postpone(self, claim: Claim, in_s: float, reason: str) -> bool:
        """Return the row to the queue after `in_s` seconds; the attempt does not count.

        False when it was buried instead, since it was postponed too often in a row, or when
        another worker has taken it over.
        """
        ...

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> None:
        """Return the row to the queue after `retry_in_s`, or bury it when that is None."""
        ...

    def release(self, claim: Claim) -> None:
        """Give the row back untouched, so that the next worker need not wait for the lease."""
        ...

    def sweep(self, *, is_gone: Callable[[str], bool] = ...) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are buried.
        """
        ...

    def refetch(self, scope: TenantScope, *, url_keys: Sequence[str] | None = None) -> Ticket:
        """Put stored and retired pages, all or these, back to be fetched; what is stored stays.

        Pages that are being worked on or wait already are in the ticket, too.
        """
        ...

    def retry_failed(self, whose: TenantScope | str) -> int:
        """Give dead rows of a collection or a tenant all their attempts back; count them."""
        ...

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        ...

    def pending_in_s(self, *, fetch: bool = False) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done.

        Rows to fetch count with `fetch` only; one in another worker's hands counts always.
        """
        ...

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        ...


class CollectionStore(Protocol):
    """The collections' content: read and written per tenant and collection, never across."""

    def replace_document(
        self, scope: TenantScope, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of the one with the same `url_key`, in one transaction."""
        ...

    def search(
        self,
        scope: TenantScope,
        question: str,
        *,
        vector: Vectors | None = None,
        limit: int = 40,
        filters: Filters | None = None,
    ) -> list[StoredChunk]:
        """Return chunks that share words with the question or lie near `vector`, best first.

        Raises InputError for a filter that is unknown or has a value of another kind.
        """
        ...

    def get(self, scope: TenantScope, url_keys: Sequence[str]) -> list[StoredDocument]:
        """Return these documents with their chunks, in this order; those not stored are left out.

        A document's provenance and hash with a chunk's offsets say where each text comes from.
        """
        ...

    def hashes(self, scope: TenantScope) -> dict[str, str]:
        """Return the hash of each document's text by `url_key`."""
        ...

    def embedder(self, scope: TenantScope) -> str | None:
        """Return the fingerprint of the embedder that filled the collection, or None."""
        ...

    def bind_embedder(self, scope: TenantScope, fingerprint: str) -> None:
        """Remember the embedder of an empty collection; ConfigError when another one filled it.

        One that was filled without a model stays so.
        """
        ...

    def pending_vectors(
        self, scope: TenantScope, fingerprint: str, *, limit: int = 64
    ) -> PendingVectors:
        """Return at most `limit` chunks that have no vector of another embedder prepared yet."""
        ...

    def prepare_vectors(
        self,
        scope: TenantScope,
        fingerprint: str,
        chunks: Sequence[PendingChunk],
        vectors: Vectors,
    ) -> None:
        """Keep vectors of another embedder beside those in use, one per chunk.

        They outlive the process. That of a chunk which was replaced meanwhile is dropped.
        """
        ...

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Put the prepared vectors in the place of all others, in one transaction.

        False, and nothing changed, when a chunk has none prepared. None drops the vectors: the
        collection is searched by its words. Pages that a worker is busy with go back to the queue.
        Raises StoreError when there is no such collection.
        """
        ...

    def collections(self, tenant_id: str) -> list[CollectionInfo]:
        """Return the tenant's collections by name."""
        ...

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete one document with all that is known of its page; False when there was none."""
        ...

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it held."""
        ...

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is kept for a tenant."""
        ...

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long.

        Documents count from when they were stored or last found unchanged, questions from when
        they were last asked; then dead and retired rows, staged texts and sessions. Collections
        stay, and so do pages that wait or are being worked on.
        """
        ...

    def remember_question(self, scope: TenantScope, record: QuestionRecord) -> None:
        """Keep a question of the collection, or its new result, with the times it was asked."""
        ...

    def questions(self, scope: TenantScope) -> list[QuestionRecord]:
        """Return the collection's questions, the first asked first."""
        ...

    def forget_question(self, scope: TenantScope, question: str) -> bool:
        """Ask a question no more; False when it is not known. Its pages stay."""
        ...

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the canonical form: sorted, without times, attempts and ids that differ by run.

        Each row is one document with its chunks, the `embedder` of its vectors, and as `digest`
        the SHA-256 of all of that: see `collection_search.records.digest`.
        """
        ...


@runtime_checkable
class Storage(Protocol):
    """Staged texts, ledger and collections, kept in one database."""

    @property
    def staging(self) -> StagingStore:
        """Return the texts that wait to be ingested."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Return what should be ingested and what is."""
        ...

    @property
    def collections(self) -> CollectionStore:
        """Return the collections' content."""
        ...

    def close(self) -> None:
        """Give back what no call uses at the moment; the next call opens it again."""
        ...


@runtime_checkable
class IngestionTrigger(Protocol):
    """Starts the ingestion of chosen pages."""

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        ...


@dataclass(frozen=True, slots=True)
class TraceRef:
    """Which trace an observation belongs to when no span is open around it."""

    trace_id: str
    """Seed of the trace: the same text always gives the same trace."""
    trace_name: str = "collection_search"
    session_id: str | None = None
    tenant_id: str | None = None


class Span(Protocol):
    """One observation that is being made."""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Add scalar metadata; None values are left out."""
        ...

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Say what a model call consumed; kept by `generation` and `embedding` spans."""
        ...

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        ...


@runtime_checkable
class SpanSink(Protocol):
    """Where observations go."""

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> AbstractContextManager[Span]:
        """Open one observation, below the one that is open in this context.

        Must never fail the work that it observes; an exception passing through marks the span.
        """
        ...

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting, within `timeout_s`; for the end of a command, never in a run."""
        ...


@runtime_checkable
class PageReader(Protocol):
    """Reads pages of the web, politely and within limits; many calls may run at once."""

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return the page's text, or NotModified for who knows this version of the page.

        Known is a version by its validators, or else by the SHA-256 of its bytes. Raises
        FetchError: `retryable` and `retry_in_s` tell whether and when another attempt may help.
        """
        ...


@runtime_checkable
class SiteReader(Protocol):
    """A page reader that finds further pages of a site."""

    async def site(self, url: str, *, depth: int, max_pages: int) -> list[str]:
        """Return the URL and the pages of its site, in normal form, the nearest first.

        Links are followed over at most `depth` steps; the site's sitemaps count as one. What
        cannot be had is left out.
        """
        ...
