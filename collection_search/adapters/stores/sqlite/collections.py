"""Documents and chunks: written in one transaction, found by words and by vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....errors import ConfigError, StoreError
from ....lexicon import match_query
from ....records import CollectionInfo, StoredChunk
from . import reembedding
from .documents import (
    chunk_of,
    document_of,
    embedder_of,
    exported,
    mark_changed,
    part_of,
    put_document,
    rows_of,
)
from .staging import forget
from .vectors import VectorCache, fused

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from ....records import Chunk, Document, PendingChunk, PendingVectors, TenantScope, Vectors
    from .database import Database

WORD_POOL: Final = 1000
"""Chunks whose words are compared when vectors order them too."""

_INFO = """
    SELECT name AS collection, embedder,
        (SELECT count(*) FROM documents WHERE collection_id = collections.id) AS documents,
        (SELECT count(*) FROM chunks JOIN documents ON documents.id = document_id
         WHERE collection_id = collections.id) AS chunks,
        (SELECT count(*) FROM ledger WHERE collection_id = collections.id
         AND state NOT IN ('stored', 'dead')) AS waiting,
        (SELECT count(*) FROM ledger WHERE collection_id = collections.id
         AND state = 'dead') AS failed
    FROM collections WHERE tenant_id = ? ORDER BY name
"""


class SQLiteCollections:
    """The collections' content: implements `collection_search.ports.CollectionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vectors = VectorCache()

    def replace_document(
        self, scope: TenantScope, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of the one with the same `url_key`, in one transaction."""
        rows = rows_of(document, chunks)
        with self._database.write() as connection:
            put_document(connection, collection_id(connection, scope), rows)

    def search(
        self, scope: TenantScope, question: str, *, vector: Vectors | None = None, limit: int = 40
    ) -> list[StoredChunk]:
        """Return chunks that share words with the question or lie near `vector`, best first.

        By words alone it is BM25, with a vector 0.7 z(cosine) + 0.3 z(BM25).
        """
        words = match_query(question)
        with self._database.read() as connection:
            collection = _found(connection, scope)
            if collection is None:
                return []
            pool = limit if vector is None else max(limit, WORD_POOL)
            scores = _by_words(connection, collection, words, pool)
            if vector is not None:
                cosines = self._vectors.cosines(connection, collection, vector)
                scores = fused(scores, cosines, limit)
            chunks = _chunks(connection, collection, scores)
        chunks.sort(key=lambda found: (-found.score, found.document.url_key, found.chunk.ordinal))
        return chunks[:limit]

    def embedder(self, scope: TenantScope) -> str | None:
        """Return the fingerprint of the embedder that filled the collection, or None."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT embedder FROM collections WHERE tenant_id = ? AND name = ?",
                (scope.tenant_id, scope.collection),
            ).fetchone()
        return None if row is None else row["embedder"]

    def bind_embedder(self, scope: TenantScope, fingerprint: str) -> None:
        """Remember the embedder of an empty collection; ConfigError when another one filled it.

        One that was filled without a model stays so.
        """
        bound = self.embedder(scope)
        if bound is None:
            bound = self._bind(scope, fingerprint)
        if bound not in {None, fingerprint}:
            raise ConfigError(
                f"Collection {scope.collection!r} was filled with the embedder {bound}, which"
                f" {fingerprint} cannot continue. Choose {bound}, another collection, or embed"
                f" this one anew: collection-search collections reembed {scope.collection!r}."
            )

    def _bind(self, scope: TenantScope, fingerprint: str) -> str | None:
        with self._database.write() as connection:
            collection = collection_id(connection, scope)
            connection.execute(
                "UPDATE collections SET embedder = ? WHERE id = ? AND embedder IS NULL"
                " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection_id = collections.id)",
                (fingerprint, collection),
            )
            return embedder_of(connection, collection)

    def pending_vectors(
        self, scope: TenantScope, fingerprint: str, *, limit: int = 64
    ) -> PendingVectors:
        """Return at most `limit` chunks that have no vector of another embedder prepared yet."""
        with self._database.write() as connection:
            return reembedding.pending(connection, _found(connection, scope), fingerprint, limit)

    def prepare_vectors(
        self,
        scope: TenantScope,
        fingerprint: str,
        chunks: Sequence[PendingChunk],
        vectors: Vectors,
    ) -> None:
        """Keep vectors of another embedder beside those in use, one per chunk."""
        with self._database.write() as connection:
            collection = _found(connection, scope)
            reembedding.prepare(connection, collection, fingerprint, chunks, vectors)

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Put the prepared vectors, or none, in the place of all others, in one transaction."""
        with self._database.write() as connection:
            collection = _found(connection, scope)
            if collection is None:
                raise StoreError(f"There is no collection {scope.collection!r} any more.")
            return reembedding.change(connection, collection, fingerprint)

    def collections(self, tenant_id: str) -> list[CollectionInfo]:
        """Return the tenant's collections by name."""
        with self._database.read() as connection:
            rows = connection.execute(_INFO, (tenant_id,)).fetchall()
        return [CollectionInfo(**row) for row in rows]

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete one document with all that is known of its page; False when there was none."""
        with self._database.write() as connection:
            collection = _found(connection, scope)
            page = collection, url_key
            refs = connection.execute(
                "SELECT content_ref FROM ledger WHERE collection_id = ? AND url_key = ?", page
            ).fetchall()
            connection.execute("DELETE FROM ledger WHERE collection_id = ? AND url_key = ?", page)
            forget(connection, scope.tenant_id, [row["content_ref"] for row in refs])
            deleted = connection.execute(
                "DELETE FROM documents WHERE collection_id = ? AND url_key = ?", page
            ).rowcount
            mark_changed(connection, collection)
        return deleted > 0

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with its ledger rows; return how many documents it held."""
        with self._database.write() as connection:
            collection = _found(connection, scope)
            of = (collection,)
            held = connection.execute(
                "SELECT count(*) FROM documents WHERE collection_id = ?", of
            ).fetchone()[0]
            refs = connection.execute(
                "SELECT content_ref FROM ledger WHERE collection_id = ?", of
            ).fetchall()
            connection.execute("DELETE FROM collections WHERE id = ?", of)
            forget(connection, scope.tenant_id, [row["content_ref"] for row in refs])
        return int(held)

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the documents by `url_key`, without times, attempts and ids that differ by run."""
        with self._database.read() as connection:
            documents = connection.execute(
                "SELECT * FROM documents WHERE collection_id = ? ORDER BY url_key",
                (_found(connection, scope),),
            )
            for row in documents:
                yield exported(connection, row)


def collection_id(connection: sqlite3.Connection, scope: TenantScope) -> int:
    """Return the id of the collection, made now if it is new."""
    key = scope.tenant_id, scope.collection
    connection.execute("INSERT OR IGNORE INTO collections (tenant_id, name) VALUES (?, ?)", key)
    found = _found(connection, scope)
    if found is None:
        raise StoreError(f"Collection {scope.collection!r} could not be made.")
    return found


def _found(connection: sqlite3.Connection, scope: TenantScope) -> int | None:
    row = connection.execute(
        "SELECT id FROM collections WHERE tenant_id = ? AND name = ?",
        (scope.tenant_id, scope.collection),
    ).fetchone()
    return None if row is None else int(row["id"])


def _by_words(
    connection: sqlite3.Connection, collection: int, words: str, limit: int
) -> dict[int, float]:
    """Return BM25 by chunk id, higher is better.

    The token only narrows the search; whose chunks they are is checked on the rows.
    """
    if not words:
        return {}
    rows = connection.execute(
        "SELECT rowid, -bm25(chunk_words, 0, 2, 1) AS score FROM chunk_words"
        " WHERE chunk_words MATCH ? ORDER BY score DESC LIMIT ?",
        (f"part : {part_of(collection)} AND {{title body}} : ({words})", limit),
    )
    return {row["rowid"]: row["score"] for row in rows}


def _chunks(
    connection: sqlite3.Connection, collection: int, scores: Mapping[int, float]
) -> list[StoredChunk]:
    rows = connection.execute(
        "SELECT chunks.*, url, url_key, title, content_hash, provenance"
        " FROM chunks JOIN documents ON documents.id = document_id"
        f" WHERE collection_id = ? AND chunks.id IN ({', '.join('?' * len(scores))})",
        (collection, *scores),
    )
    return [StoredChunk(document_of(row), chunk_of(row), scores[row["id"]]) for row in rows]
