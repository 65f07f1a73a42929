"""The collections of a PostgreSQL database: their search, and deletions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....contracts.collection import Compaction
from ..sql.collection_ids import find_id, require_id
from ..sql.collections import SQLCollections
from ..sql.page_removal import AT_ONCE, delete_by_hand
from ..sql.reembedding import swap_vectors
from .chunk_search import find_chunks
from .document_rows import PostgresRows, copy_vectors
from .filters import build_filter
from .removal import erase_collection, erase_tenant, erase_unused
from .vector_index import INDEX_FROM, VectorIndex, VectorIndexes
from .word_search import CollectionSizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....contracts.collection import Deleted, Filters, StoredChunk, TenantScope, Vectors
    from ..sql.connection import Connection
    from .database import PostgresDatabase


class PostgresCollections(SQLCollections):
    """The collections' content: implements `collection_search.ports.CollectionStore`."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        clock: Callable[[], float],
        index_from: int = INDEX_FROM,
    ) -> None:
        super().__init__(database, PostgresRows, clock=clock)
        self.vector_indexes = VectorIndexes(database, index_from)
        self._sizes = CollectionSizes()

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
        with self._database.read(scope) as connection:
            collection = find_id(connection, scope)
            if collection is None:
                build_filter(filters)
                return []
            found = find_chunks(
                connection, self._sizes, collection, question, vector, limit=limit, filters=filters
            )
            is_due = vector is not None and self._needs_index(connection, collection, vector.size)
        if is_due:
            self.vector_indexes.build_in_background()
        return found

    def _needs_index(self, connection: Connection, collection: int, dimensions: int) -> bool:
        index = VectorIndex(collection, dimensions)
        if index.is_valid(connection):
            return False
        return index.is_due(connection, self.vector_indexes.index_from)

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Put the prepared vectors, or none, in the place of all others, in one transaction."""
        with self._database.write(scope) as connection:
            collection = require_id(connection, scope)
            if not swap_vectors(connection, collection, fingerprint):
                return False
            copy_vectors(connection, collection)
        return True

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete one document with all that is known of its page; False when there was none."""
        return bool(self.delete_documents(scope, [url_key]))

    def delete_documents(self, scope: TenantScope, url_keys: Sequence[str]) -> list[str]:
        """Delete these documents, each as `delete_document` does; return the keys of known ones."""
        deleted = list[str]()
        keys = list(dict.fromkeys(url_keys))
        for first in range(0, len(keys), AT_ONCE):
            with self._database.write(scope) as connection:
                some, collection = keys[first : first + AT_ONCE], find_id(connection, scope)
                deleted += delete_by_hand(connection, scope, collection, some)
        return deleted

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it had."""
        with self._database.write(None) as connection:
            return erase_collection(connection, scope)

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is stored for a tenant."""
        with self._database.write(None) as connection:
            return erase_tenant(connection, tenant_id)

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long."""
        with self._database.write(None) as connection:
            return erase_unused(connection, tenant_id, self._clock(), older_than_s)

    def compact(self) -> Compaction:
        """Do nothing: the server's own vacuum makes deleted rows room for new ones."""
        with self._database.read(None) as connection:
            query = "SELECT pg_database_size(current_database())"
            size = int(connection.execute(query).fetchone()[0])
        return Compaction(bytes_before=size, bytes_after=size)
