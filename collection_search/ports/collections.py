"""Ports of the collections' content and of the whole storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..errors import UnknownCollectionError
from ..text.loose_keys import similar_keys
from ..text.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..contracts.collection import (
        Chunk,
        CollectionInfo,
        Compaction,
        Deleted,
        Document,
        Filters,
        PendingChunk,
        PendingVectors,
        QuestionRecord,
        StoredChunk,
        StoredDocument,
        TenantScope,
        Vectors,
    )
    from ..contracts.crawl_record import CrawlRecord
    from ..contracts.stored_lists import DocumentAges, DocumentPage
    from .comparisons import ComparisonStore
    from .gates import GateStore
    from .ledger import Ledger
    from .staging import StagingStore


class CollectionStore(Protocol):
    """The collections' content; no read or write crosses a tenant or collection."""

    def replace_document(
        self, scope: TenantScope, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of the one with the same `url_key`, in one transaction.

        It is stored even if another document has the same text.
        """
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
        """Return the documents at these addresses with their chunks, in this order, each once.

        An address is a document's `url_key`, or the key of one of its further URLs.
        """
        ...

    def hashes(self, scope: TenantScope) -> dict[str, str]:
        """Return the hash of each page's text by `url_key`.

        Pages that were ingested or imported at several addresses of one text come with each.
        """
        ...

    def pages_at(self, scope: TenantScope, url_keys: Sequence[str]) -> dict[str, str]:
        """Return the key of the page at each of these addresses, without unknown ones.

        That is the address itself if it was ingested, else the key of the document that it leads
        to.
        """
        ...

    def embedder(self, scope: TenantScope) -> str | None:
        """Return the fingerprint of the embedder that filled the collection, or None."""
        ...

    def bind_embedder(self, scope: TenantScope, fingerprint: str) -> None:
        """Store the embedder of an empty collection; ConfigError when another one filled it.

        A collection that was filled without a model stays without one.
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
        """Store vectors of another embedder beside those in use, one per unchanged chunk."""
        ...

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Replace all vectors by the prepared ones, in one transaction.

        Returns False without a change when a chunk has no prepared vector. A fingerprint of None
        deletes the vectors: the collection is then searched by words. Claimed pages return to the
        queue. Raises StoreError when the collection does not exist.
        """
        ...

    def collections(self, tenant_id: str) -> list[CollectionInfo]:
        """Return the tenant's collections by name."""
        ...

    def freshness(self, tenant_id: str) -> dict[str, DocumentAges]:
        """Return by collection when its documents were stored or found unchanged.

        Collections without documents are not among them.
        """
        ...

    def documents(
        self, scope: TenantScope, *, search: str = "", offset: int = 0, limit: int = 50
    ) -> DocumentPage:
        """Return a part of the documents by `url_key`, without their texts.

        With `search` those alone whose title or URL contains each of its words, in any case.
        """
        ...

    def runs(self, scope: TenantScope) -> list[str]:
        """Return the ids of the runs that brought the documents, sorted."""
        ...

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete a document with all data of its page; False when it does not exist.

        The collection's crawls remember the page among those that they may not bring back.
        Where another address has the same text, the text stays as that of the other page.
        """
        ...

    def delete_documents(self, scope: TenantScope, url_keys: Sequence[str]) -> list[str]:
        """Delete these documents, each as `delete_document` does; return the keys of known ones.

        This is faster than one by one, since the word index is written anew only once.
        """
        ...

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it had.

        It is gone for everybody at once, and its name is free. This returns when all of it is
        erased; other writers wait for short steps only. What an interrupted deletion has left is
        erased by the next one, by `compact` and by `Ledger.sweep`.
        """
        ...

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is stored for a tenant, as `delete_collection` does."""
        ...

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long.

        A document is used when it is stored or found unchanged, a question when it is asked, a
        crawl when it is run. Old dead and retired rows, staged texts, sessions and closed gates go,
        too. Collections and unfinished pages stay.
        """
        ...

    def compact(self) -> Compaction:
        """Finish interrupted deletions and give the free space to the system.

        Raises StoreError when there is no room for a copy that this needs.
        """
        ...

    def remember_question(self, scope: TenantScope, record: QuestionRecord) -> None:
        """Store a question of the collection, or its new result, with the times it was asked.

        The pages that were deleted one by one are the store's own; those that the question brings
        again are no longer among them.
        """
        ...

    def refresh_question(
        self, scope: TenantScope, record: QuestionRecord, *, asked_at: float
    ) -> bool:
        """Store the new result of a question that a refresh has asked again.

        False, and nothing is stored, where it was forgotten or asked anew since `asked_at`, its
        `last_asked_at` when the refresh began. Deleted pages stay deleted, a review stays in force,
        and of a reviewed question no page counts that was not approved.
        """
        ...

    def amend_question(self, scope: TenantScope, question: str, facts: Mapping[str, Any]) -> bool:
        """Store these fields of a question's record, and leave the others; False if it is unknown.

        Its times stay.
        """
        ...

    def find_question(self, scope: TenantScope, question: str) -> QuestionRecord | None:
        """Return a question of the collection, or None."""
        ...

    def questions(self, scope: TenantScope) -> list[QuestionRecord]:
        """Return the collection's questions, the first asked first."""
        ...

    def forget_question(self, scope: TenantScope, question: str) -> bool:
        """Delete a question, not its pages; False when it is not known."""
        ...

    def remember_crawl(self, scope: TenantScope, record: CrawlRecord) -> None:
        """Store a crawl of the collection, or the rules and pages of its last run.

        The times of the runs and the pages that were deleted one by one are the store's own.
        """
        ...

    def refresh_crawl(self, scope: TenantScope, record: CrawlRecord) -> bool:
        """Store the pages of a crawl that a refresh has repeated.

        False, and nothing is stored, where it was forgotten or run anew since its `last_run_at`.
        """
        ...

    def crawls(self, scope: TenantScope) -> list[CrawlRecord]:
        """Return the collection's crawls, the first one first."""
        ...

    def forget_crawl(self, scope: TenantScope, starts: Sequence[str]) -> bool:
        """Delete a crawl, not its pages; False when it is not known."""
        ...

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the documents by `url_key` as rows of `collection_search.contracts.export_row`.

        They have no times, attempts or ids that differ by run.
        """
        ...


@runtime_checkable
class Storage(Protocol):
    """Staged texts, ledger, collections, gates and comparisons in one database."""

    @property
    def staging(self) -> StagingStore:
        """Return the store of texts that wait to be ingested."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Return the ledger of pages to ingest."""
        ...

    @property
    def collections(self) -> CollectionStore:
        """Return the collections' content."""
        ...

    @property
    def gates(self) -> GateStore:
        """Return the reviews that runs have asked for."""
        ...

    @property
    def comparisons(self) -> ComparisonStore:
        """Return the runs that were ranked by two profiles."""
        ...

    def close(self) -> None:
        """Release unused resources; the next call opens them again."""
        ...


def require_collection(collections: CollectionStore, scope: TenantScope) -> CollectionInfo:
    """Return the collection's figures. Blocks. Raises UnknownCollectionError."""
    known = {info.collection: info for info in collections.collections(scope.tenant_id)}
    if (info := known.get(scope.collection)) is not None:
        return info
    told = f"Known: {', '.join(known)}." if known else "It has none yet: ingest pages first."
    raise UnknownCollectionError(
        f"Tenant {scope.tenant_id!r} has no collection {scope.collection!r}. {told}",
        collection=scope.collection,
        known=list(known),
        tenant_id=scope.tenant_id,
    )


def find_page(collections: CollectionStore, scope: TenantScope, url: str) -> str:
    """Return the key of the page that a person means by the URL. Blocks.

    A URL of which nothing is known means the one known page whose URL differs in scheme, `www.`,
    final slash or index page alone. Otherwise it means itself. Raises InvalidUrlError.
    """
    key = url_key(url)
    if (page := collections.pages_at(scope, [key]).get(key)) is not None:
        return page
    pages = set(collections.pages_at(scope, similar_keys(url)).values())
    return pages.pop() if len(pages) == 1 else key
