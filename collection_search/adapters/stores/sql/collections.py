"""The collections of a tenant, but for search and deletion: every call is one transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ....contracts.collection import StoredDocument
from ....contracts.embedded_text import told_apart
from ....contracts.export_row import export_row
from ....errors import ConfigError
from . import addresses, crawls, documents, listing, questions, reembedding
from .collection_ids import ensure_id, find_id, require_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ....contracts.collection import (
        Chunk,
        CollectionInfo,
        Document,
        PendingChunk,
        PendingVectors,
        QuestionRecord,
        TenantScope,
        Vectors,
    )
    from ....contracts.crawl_record import CrawlRecord
    from ....contracts.stored_lists import DocumentAges, DocumentPage
    from .connection import Database
    from .documents import DocumentRows


class SQLCollections:
    """The collections' content; an engine adds its search and its deletions."""

    def __init__(
        self, database: Database, rows: type[DocumentRows], *, clock: Callable[[], float]
    ) -> None:
        self._database = database
        self._rows = rows
        self._clock = clock

    def replace_document(
        self, scope: TenantScope, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of the one with the same `url_key`, in one transaction."""
        rows = self._rows.of(document, chunks)
        with self._database.write(scope) as connection:
            addresses.put_document(connection, ensure_id(connection, scope), rows, self._clock())

    def get(self, scope: TenantScope, url_keys: Sequence[str]) -> list[StoredDocument]:
        """Return the documents at these addresses with their chunks, in this order, each once."""
        found = {}
        with self._database.read(scope) as connection:
            collection = find_id(connection, scope)
            led = documents.documents_at(connection, collection, url_keys)
            for row in connection.execute(
                f"SELECT {documents.COLUMNS} FROM documents WHERE collection_id = ?"
                " AND url_key IN (SELECT value FROM json_each(?))",
                (collection, json.dumps([*led.values()])),
            ):
                chunks = documents.read_chunks(connection, row["id"])
                found[row["url_key"]] = StoredDocument(documents.read_document(row), chunks)
        keys = dict.fromkeys(led[key] for key in url_keys if key in led)
        return [found[key] for key in keys]

    def hashes(self, scope: TenantScope) -> dict[str, str]:
        """Return the hash of each page's text by `url_key`."""
        with self._database.read(scope) as connection:
            return listing.read_hashes(connection, find_id(connection, scope))

    def pages_at(self, scope: TenantScope, url_keys: Sequence[str]) -> dict[str, str]:
        """Return the key of the page at each of these addresses, without unknown ones."""
        with self._database.read(scope) as connection:
            collection = find_id(connection, scope)
            led = documents.documents_at(connection, collection, url_keys)
            rows = connection.execute(
                "SELECT url_key FROM ledger WHERE collection_id = ?"
                " AND url_key IN (SELECT value FROM json_each(?))",
                (collection, json.dumps([*url_keys])),
            )
            return {**led, **{row["url_key"]: row["url_key"] for row in rows}}

    def embedder(self, scope: TenantScope) -> str | None:
        """Return the fingerprint of the embedder that filled the collection, or None."""
        with self._database.read(scope) as connection:
            collection = find_id(connection, scope)
            return None if collection is None else documents.embedder_of(connection, collection)

    def bind_embedder(self, scope: TenantScope, fingerprint: str) -> None:
        """Store the embedder of an empty collection; ConfigError when another one filled it."""
        bound = self.embedder(scope) or self._bind(scope, fingerprint)
        if bound is not None and bound != fingerprint:
            filled, other = told_apart(bound, fingerprint)
            raise ConfigError(
                f"Collection {scope.collection!r} was filled with the embedder {filled}, which"
                f" {other} cannot continue. Choose {filled}, another collection, or embed"
                f" this one anew: collection-search collections reembed {scope.collection!r}."
            )

    def _bind(self, scope: TenantScope, fingerprint: str) -> str | None:
        with self._database.write(scope) as connection:
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
        with self._database.write(scope) as connection:
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
        with self._database.write(scope) as connection:
            collection = find_id(connection, scope)
            reembedding.store_prepared(connection, collection, fingerprint, chunks, vectors)

    def change_embedder(self, scope: TenantScope, fingerprint: str | None) -> bool:
        """Put the prepared vectors, or none, in the place of all others, in one transaction."""
        with self._database.write(scope) as connection:
            collection = require_id(connection, scope)
            return reembedding.swap_vectors(connection, collection, fingerprint)

    def collections(self, tenant_id: str) -> list[CollectionInfo]:
        """Return the tenant's collections by name."""
        with self._database.read(tenant_id) as connection:
            return listing.list_infos(connection, tenant_id)

    def freshness(self, tenant_id: str) -> dict[str, DocumentAges]:
        """Return by collection when its documents were stored or found unchanged."""
        with self._database.read(tenant_id) as connection:
            return listing.read_freshness(connection, tenant_id)

    def documents(
        self, scope: TenantScope, *, search: str = "", offset: int = 0, limit: int = 50
    ) -> DocumentPage:
        """Return a part of the documents by `url_key`, without their texts."""
        with self._database.read(scope) as connection:
            return listing.list_documents_page(
                connection, find_id(connection, scope), search=search, offset=offset, limit=limit
            )

    def runs(self, scope: TenantScope) -> list[str]:
        """Return the ids of the runs that brought the documents, sorted."""
        with self._database.read(scope) as connection:
            return listing.list_run_ids(connection, find_id(connection, scope))

    def remember_question(self, scope: TenantScope, record: QuestionRecord) -> None:
        """Store a question of the collection, or its new result, with the times it was asked."""
        with self._database.write(scope) as connection:
            collection = ensure_id(connection, scope)
            questions.remember_question(connection, collection, record, self._clock())

    def refresh_question(
        self, scope: TenantScope, record: QuestionRecord, *, asked_at: float
    ) -> bool:
        """Store the new result of a question that a refresh has asked again; False if none may."""
        with self._database.write(scope) as connection:
            collection = find_id(connection, scope)
            return questions.refresh_question(
                connection, collection, record, self._clock(), asked_at=asked_at
            )

    def amend_question(self, scope: TenantScope, question: str, facts: Mapping[str, Any]) -> bool:
        """Store these fields of a question beside the others; False when it is not known."""
        with self._database.write(scope) as connection:
            return questions.amend_question(connection, find_id(connection, scope), question, facts)

    def find_question(self, scope: TenantScope, question: str) -> QuestionRecord | None:
        """Return a question of the collection, or None."""
        with self._database.read(scope) as connection:
            return questions.find_question(connection, find_id(connection, scope), question)

    def questions(self, scope: TenantScope) -> list[QuestionRecord]:
        """Return the collection's questions, the first asked first."""
        with self._database.read(scope) as connection:
            return questions.list_questions(connection, find_id(connection, scope))

    def forget_question(self, scope: TenantScope, question: str) -> bool:
        """Delete a question, not its pages; False when it is not known."""
        with self._database.write(scope) as connection:
            return questions.forget_question(connection, find_id(connection, scope), question)

    def remember_crawl(self, scope: TenantScope, record: CrawlRecord) -> None:
        """Store a crawl of the collection, or the rules of its last run."""
        with self._database.write(scope) as connection:
            crawls.remember_crawl(connection, ensure_id(connection, scope), record, self._clock())

    def refresh_crawl(self, scope: TenantScope, record: CrawlRecord) -> bool:
        """Store the pages of a crawl that a refresh has repeated; False if none may."""
        with self._database.write(scope) as connection:
            return crawls.refresh_crawl(
                connection, find_id(connection, scope), record, self._clock()
            )

    def crawls(self, scope: TenantScope) -> list[CrawlRecord]:
        """Return the collection's crawls, the first one first."""
        with self._database.read(scope) as connection:
            return crawls.list_crawls(connection, find_id(connection, scope))

    def forget_crawl(self, scope: TenantScope, starts: Sequence[str]) -> bool:
        """Delete a crawl, not its pages; False when it is not known."""
        with self._database.write(scope) as connection:
            return crawls.forget_crawl(connection, find_id(connection, scope), starts)

    def export(self, scope: TenantScope) -> Iterator[dict[str, Any]]:
        """Yield the documents by `url_key`, without times, attempts and ids that differ by run."""
        with self._database.read(scope) as connection:
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
