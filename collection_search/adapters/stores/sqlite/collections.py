"""The collections of a SQLite file: their search, and deletions that leave nothing in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....contracts.collection import Compaction
from ..sql.collection_ids import find_id
from ..sql.collections import SQLCollections
from ..sql.page_removal import AT_ONCE, delete_by_hand
from . import removal, space
from .chunk_search import find_chunks
from .document_rows import SQLiteRows
from .filters import build_filter
from .purging import purge_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....contracts.collection import Deleted, Filters, StoredChunk, TenantScope, Vectors
    from .database import Database
    from .vector_cache import VectorCache


class SQLiteCollections(SQLCollections):
    """The collections' content: implements `collection_search.ports.CollectionStore`."""

    _database: Database

    def __init__(
        self, database: Database, *, clock: Callable[[], float], vectors: VectorCache
    ) -> None:
        super().__init__(database, SQLiteRows, clock=clock)
        self._vectors = vectors

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
        cache = self._vectors
        with cache.reading(self._database) as connection:
            collection = find_id(connection, scope)
            if collection is None:
                build_filter(0, filters)
                return []
            return find_chunks(
                connection, collection, question, vector, cache=cache, limit=limit, filters=filters
            )

    def delete_document(self, scope: TenantScope, url_key: str) -> bool:
        """Delete one document with all that is known of its page; False when there was none."""
        return bool(self.delete_documents(scope, [url_key]))

    def delete_documents(self, scope: TenantScope, url_keys: Sequence[str]) -> list[str]:
        """Delete these documents, each as `delete_document` does; return the keys of known ones."""
        begun: list[int] = []
        deleted = list[str]()
        keys = list(dict.fromkeys(url_keys))
        for first in range(0, len(keys), AT_ONCE):
            with space.rested(), self._database.write(scope) as connection:
                some, collection = keys[first : first + AT_ONCE], find_id(connection, scope)
                if known := delete_by_hand(connection, scope, collection, some):
                    deleted += known
                    begun.append(removal.mark_trace(connection, scope.tenant_id, self._clock()))
        self._erase(begun)
        return deleted

    def delete_collection(self, scope: TenantScope) -> int:
        """Delete a collection with all that belongs to it; return how many documents it had."""
        with self._database.write(scope) as connection:
            begun, documents = removal.mark_collection(
                connection, scope, find_id(connection, scope), self._clock()
            )
        self._erase(begun)
        return documents

    def delete_tenant(self, tenant_id: str) -> Deleted:
        """Delete everything that is stored for a tenant."""
        with self._database.write(tenant_id) as connection:
            begun, counts = removal.mark_tenant(connection, tenant_id, self._clock())
        self._erase(begun)
        return counts

    def purge(self, tenant_id: str, older_than_s: float) -> Deleted:
        """Delete what has not been used for that long."""
        begun, deleted = purge_rows(self._database, tenant_id, self._clock(), older_than_s)
        self._erase(begun)
        return deleted

    def compact(self) -> Compaction:
        """Give the free space of the file to the system, after finishing deletions."""
        with self._database.read(None) as connection:
            begun = removal.unfinished(connection, self._clock())
        self._erase(begun)
        before = space.size_of(self._database.path)
        for _ in space.rewrite_word_index(self._database):
            pass
        after = space.give_back(self._database)
        return Compaction(bytes_before=before, bytes_after=after)

    def _erase(self, begun: Sequence[int]) -> None:
        """Erase what these deletions and interrupted ones have marked, until it is done."""
        self._vectors.forget_deleted(self._database)
        with self._database.read(None) as connection:
            abandoned = removal.unfinished(connection, self._clock() - removal.ABANDONED_S)
        for _ in removal.erase(self._database, dict.fromkeys([*begun, *abandoned])):
            pass
        self._database.truncate_log()
