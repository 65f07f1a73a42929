"""The collections of a tenant: every read and write is one transaction."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....contracts.collection import CollectionInfo, StoredDocument
from ....contracts.export_row import export_row
from ....errors import ConfigError, StoreError
from ....ranking.lexicon import match_query
from . import documents, questions, reembedding, removal
from .chunk_search import find_chunks
from .collection_ids import ensure_id, find_id
from .filters import build_filter

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from ....contracts.collection import (
        Chunk,
        Deleted,
        Document,
        Filters,
        PendingChunk,
        PendingVectors,
        QuestionRecord,
        StoredChunk,
        TenantScope,
        Vectors,
    )
    from .database import Database
    from .vector_cache import VectorCache

_INFO = """
    SELECT name AS collection, embedder,
        (SELECT count(*) FROM documents WHERE collection_id = collections.id) AS documents,
        (SELECT count(*) FROM chunks JOIN documents ON documents.id = document_id
         WHERE collection_id = collections.id) AS chunks,
        (SELECT count(*) FROM ledger WHERE collection_id = collections.id
         AND state IN ('waiting', 'to_fetch', 'working')) AS waiting,
        (SELECT count(*) FROM ledger WHERE collection_id = collections.id
         AND state = 'dead') AS failed
    FROM collections WHERE tenant_id = ? ORDER BY name
"""


class SQLiteCollections:
    """The collections' content: implements `collection_search.ports.CollectionStore`."""

    def __init__(
        self, database: Database, *, clock: Callable[[], float], vectors: VectorCache
    ) -> None:
        self._database = database
        self._clock = clock
        self._vectors = vectors

    def replace_document(
        self, scope: TenantScope, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of the one with the same `url_key`, in one transaction."""
        rows = documents.build_rows(document, chunks)
        with self._database.write() as connection:
            documents.put_document(connection, ensure_id(connection, scope), rows, self._clock())

    def search(
        self,
        scope: TenantScope,
        question: str,
        *,
        vector: Vectors | None = None,
        limit: int = 40,
        filters: Filters | None = None,
    ) -> list[StoredChunk]:
        """Return the best chunks by BM25, with a vector by 0.7 z(cosine) + 0.3 z(BM25)."""
        words, cache = match_query(question), self._vectors
        with cache.reading(self._database) as connection:
            collection = find_id(connection, scope)
            if collection is None:
                build_filter(0, filters)
                return []
            return find_chunks(
                connection, collection, words, vector, cache=cache, limit=limit, filters=filters
            )

    def get(self, scope: TenantScope, url_keys: Sequence[str]) -> list[StoredDocument]:
        """Return these documents with their chunks, in this order; unknown ones are left out."""
        found = {}
        with self._database.read() as connection:
            for row in connection.execute(
                f"SELECT {documents.COLUMNS} FROM documents WHERE collection_id = ?"
                " AND url_key IN (SELECT value FROM json_each(?))",
                (find_id(connection, scope), json.dumps([*url_keys])),
            ):
                chunks = documents.read_chunks(connection, row["id"])
                found[row["url_key"]] = StoredDocument(documents.read_document(row), chunks)
        return [found[key] for key in dict.fromkeys(url_keys) if key in found]

    def hashes(self, scope: TenantScope) -> dict[str, str]:
        """Return the hash of each document's text by `url_key`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url_key, content_hash FROM documents WHERE collection_id = ?",
                (find_id(connection, scope),),
            )
            return {row["url_key"]: row["content_hash"] for row in rows}

    def embedder(self, scope: TenantScope) -> str | None:
        """Return the fingerprint of the embedder that filled the collection, or None."""
        with self._database.read() as connection:
            collection = find_id(connection, scope)
            return None if collection is None else documents.embedder_of(connection, collection)

    def bind_embedder(self, scope: TenantScope, fingerprint: str) -> None:
        """Store the embedder of an empty collection; ConfigError when another one filled it."""
        bound = self.embedder(scope) or self._bind(scope, fingerprint)
        if bound not in {None, fingerprint}:
            raise ConfigError(
                f"Collection {scope.collection!r} was filled with the embedder {bound}, which"
                f" {fingerprint} cannot continue. Choose {bound}, another collection, or embed"
                f" this one anew: collection-search collections reembed {scope.collection!r}."
            )

    def _bind(self, scope: TenantScope, fingerprint: str) -> str | None:
        with self._database.write() as connection:
            collection = ensure_id(connection, scope)
            connection.execute(
                "UPDATE collections SET embedder = ? WHERE id = ? AND embedder IS NULL"
                " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection_id = collections.id)",
                (fingerprint, collection),
            )
            return documents.embedder_of(connection, collection)

    def pending_vectors(
        self, scope: TenantScope, fingerprint: str, *, limit: int = 64
    ) -> PendingVectors:
        """Return at most `limit` chunks that have no vector of another embedder prepared yet."""
        with self._database.write() as connection:
            return reembedding.find_pending(
                connection, find_id(connection, scope), fingerprint, limit
            )

    def prepare_vectors(
        self,
        scope: TenantScope,
        fingerprint: str,
        chunks: Sequence[PendingChunk],
        vectors: Vectors,
    ) -> None:
        """Store vectors of another embedder beside those in use, one per chunk."""
        with self._database.write() as connection:
            collection = find_id(connection, scope)
            reembedding.store_prepared(connection, collection, fingerprint, chunks, vectors)

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Put the prepared vectors, or none, in the place of all others, in one transaction."""
        with self._database.write() as connection:
            collection = find_id(connection, scope)
            if collection is None:
                raise StoreError(f"There is no collection {scope.collection!r} any more.")
            return reembedding.swap_vectors(connection, collection, fingerprint)

    def collections(self, tenant_id: str) -> list[CollectionInfo]:
        """Return the tenant's collections by name."""
        with self._database.read() as connection:
            rows = connection.execute(_INFO, (tenant_id,)).fetchall()
        return [CollectionInfo(**row) for row in rows]

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete one document with all that is known of its page; False when there was none."""
        with self._deletion() as connection:
            return removal.delete_document_rows(
                connection, scope, find_id(connection, scope), url_key
            )

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it had."""
        with self._deletion() as connection:
            return removal.delete_collection_rows(connection, scope, find_id(connection, scope))

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is stored for a tenant."""
        with self._deletion() as connection:
            return removal.delete_tenant_rows(connection, tenant_id)

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long."""
        with self._deletion() as connection:
            return removal.purge_rows(connection, tenant_id, self._clock() - older_than_s)

    @contextmanager
    def _deletion(self) -> Iterator[sqlite3.Connection]:
        with self._database.write() as connection:
            yield connection
        self._vectors.forget_deleted(self._database)
        self._database.truncate_log()

    def remember_question(self, scope: TenantScope, record: QuestionRecord) -> None:
        """Store a question of the collection, or its new result, with the times it was asked."""
        with self._database.write() as connection:
            questions.remember_question(
                connection, ensure_id(connection, scope), record, self._clock()
            )

    def questions(self, scope: TenantScope) -> list[QuestionRecord]:
        """Return the collection's questions, the first asked first."""
        with self._database.read() as connection:
            return questions.list_questions(connection, find_id(connection, scope))

    def forget_question(self, scope: TenantScope, question: str) -> bool:
        """Delete a question, not its pages; False when it is not known."""
        with self._database.write() as connection:
            return questions.forget_question(connection, find_id(connection, scope), question)

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the documents by `url_key`, without times, attempts and ids that differ by run."""
        with self._database.read() as connection:
            collection = find_id(connection, scope)
            if collection is None:
                return
            embedder = documents.embedder_of(connection, collection)
            rows = connection.execute(
                f"SELECT {documents.COLUMNS} FROM documents"
                " WHERE collection_id = ? ORDER BY url_key",
                (collection,),
            )
            for row in rows:
                chunks = documents.read_chunks(connection, row["id"])
                yield export_row(documents.read_document(row), chunks, embedder)
