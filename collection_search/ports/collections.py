"""The collections' content, and the one database of everything that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..errors import InputError

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
    from .ledger import Ledger, StagingStore


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
        the SHA-256 of all of that: see `collection_search.contracts.export_row`.
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


def require_collection(collections: CollectionStore, scope: TenantScope) -> None:
    """Raise InputError naming the tenant's collections, unless this is one of them. Blocks."""
    names = [info.collection for info in collections.collections(scope.tenant_id)]
    if scope.collection not in names:
        known = f"Known: {', '.join(names)}." if names else "It has none yet: ingest pages first."
        raise InputError(
            f"Tenant {scope.tenant_id!r} has no collection {scope.collection!r}. {known}"
        )
