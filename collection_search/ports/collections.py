"""Ports of the collections' content and of the whole storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..errors import UnknownCollectionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..contracts.collection import (
        Chunk,
        CollectionInfo,
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
    from .gates import GateStore
    from .ledger import Ledger, StagingStore


class CollectionStore(Protocol):
    """The collections' content; no read or write crosses a tenant or collection."""

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
        """Return these documents with their chunks, in this order, without unknown ones."""
        ...

    def hashes(self, scope: TenantScope) -> dict[str, str]:
        """Return the hash of each document's text by `url_key`."""
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

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete a document with all data of its page; False when it does not exist."""
        ...

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it had."""
        ...

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is stored for a tenant."""
        ...

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long.

        A document is used when it is stored or found unchanged, a question when it is asked. Old
        dead and retired rows, staged texts, sessions and closed gates go, too. Collections and
        unfinished pages stay.
        """
        ...

    def remember_question(self, scope: TenantScope, record: QuestionRecord) -> None:
        """Store a question of the collection, or its new result, with the times it was asked."""
        ...

    def questions(self, scope: TenantScope) -> list[QuestionRecord]:
        """Return the collection's questions, the first asked first."""
        ...

    def forget_question(self, scope: TenantScope, question: str) -> bool:
        """Delete a question, not its pages; False when it is not known."""
        ...

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the documents by `url_key` as rows of `collection_search.contracts.export_row`.

        They have no times, attempts or ids that differ by run.
        """
        ...


@runtime_checkable
class Storage(Protocol):
    """Staged texts, ledger, collections and gates in one database."""

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
    )
