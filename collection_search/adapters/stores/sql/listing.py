"""Lists of collections and documents, without their texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ....contracts.collection import CollectionInfo
from ....contracts.stored_lists import DocumentAges, DocumentPage, ListedDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connection import Connection

_INFO: Final = """
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
_FRESHNESS: Final = """
    SELECT name, min(stored_at) AS oldest, max(stored_at) AS newest
    FROM collections JOIN documents ON collection_id = collections.id
    WHERE tenant_id = ? GROUP BY collections.id
"""
_LISTED: Final = """
    SELECT url, url_key, title, is_pdf, stored_at, provenance,
        (SELECT count(*) FROM chunks WHERE document_id = documents.id) AS chunks
    FROM documents WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY url_key
"""
_RUNS: Final = """
    SELECT DISTINCT json_extract(provenance, '$.run_id') AS run_id FROM documents
    WHERE collection_id = ? AND json_extract(provenance, '$.run_id') IS NOT NULL
    ORDER BY run_id
"""
_HASHES: Final = """
    SELECT url_key, content_hash FROM documents WHERE collection_id = :collection
    UNION ALL SELECT addresses.url_key, content_hash FROM addresses
    LEFT JOIN ledger ON ledger.collection_id = addresses.collection_id
        AND ledger.url_key = addresses.url_key
    JOIN documents ON documents.collection_id = addresses.collection_id
        AND documents.url_key = document_key
    WHERE addresses.collection_id = :collection
        AND (ledger.id IS NOT NULL OR kind = 'equal_text')
"""


def list_infos(connection: Connection, tenant_id: str) -> list[CollectionInfo]:
    """Return the tenant's collections by name."""
    return [CollectionInfo(**row) for row in connection.execute(_INFO, (tenant_id,))]


def read_freshness(connection: Connection, tenant_id: str) -> dict[str, DocumentAges]:
    """Return the freshness of the tenant's collections by name, without empty ones."""
    rows = connection.execute(_FRESHNESS, (tenant_id,))
    return {row["name"]: DocumentAges(row["oldest"], row["newest"]) for row in rows}


def list_documents_page(
    connection: Connection,
    collection: int | None,
    *,
    search: str,
    offset: int,
    limit: int,
) -> DocumentPage:
    """Return a part of the documents by `url_key`; the database cannot fold the case of a text."""
    ids = list(_matching(connection, collection, search.casefold().split()))
    rows = connection.execute(_LISTED, (json.dumps(ids[offset : offset + limit]),))
    return DocumentPage(
        len(ids),
        [
            ListedDocument(
                url=row["url"],
                url_key=row["url_key"],
                title=row["title"],
                is_pdf=bool(row["is_pdf"]),
                stored_at=row["stored_at"],
                chunks=row["chunks"],
                provenance=json.loads(row["provenance"]),
            )
            for row in rows
        ],
    )


def read_hashes(connection: Connection, collection: int | None) -> dict[str, str]:
    """Return the hash of each page's text by `url_key`, those at further addresses included."""
    rows = connection.execute(_HASHES, {"collection": collection})
    return {row["url_key"]: row["content_hash"] for row in rows}


def list_run_ids(connection: Connection, collection: int | None) -> list[str]:
    """Return the ids of the runs that brought documents, sorted."""
    return [str(row["run_id"]) for row in connection.execute(_RUNS, (collection,))]


def _matching(connection: Connection, collection: int | None, words: list[str]) -> Iterator[int]:
    """Yield the ids of the documents whose title or URL has all of the words."""
    if not words:
        query = "SELECT id FROM documents WHERE collection_id = ? ORDER BY url_key"
        yield from (row["id"] for row in connection.execute(query, (collection,)))
        return
    query = "SELECT id, url, title FROM documents WHERE collection_id = ? ORDER BY url_key"
    for row in connection.execute(query, (collection,)):
        text = f"{row['title']}\n{row['url']}".casefold()
        if all(word in text for word in words):
            yield row["id"]
