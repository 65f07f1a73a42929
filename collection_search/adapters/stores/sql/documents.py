"""Documents and chunks as rows: written and read."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from ....contracts.collection import Chunk, Document
from ....contracts.ingestion import Fetched
from ....errors import StoreError
from ....ranking.lexicon import index_text
from ....text.clean import to_unicode
from ....text.urls import url_key
from .vector_blobs import from_blob, to_blob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connection import Connection, Row

PAGE_COLUMNS: Final = """url, url_key, title, content_hash, provenance, (
    SELECT json_group_array(url) FROM (
        SELECT url FROM addresses INDEXED BY addresses_by_document
        WHERE addresses.collection_id = documents.collection_id
            AND document_key = documents.url_key ORDER BY url)) AS also_at"""
COLUMNS: Final = f"documents.id, {PAGE_COLUMNS}"
_WRITE: Final = """
    INSERT INTO documents (collection_id, url_key, url, title, content_hash, provenance, stored_at,
        revision)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (collection_id, url_key) DO UPDATE SET url = excluded.url, title = excluded.title,
        content_hash = excluded.content_hash, provenance = excluded.provenance,
        stored_at = excluded.stored_at, revision = excluded.revision
"""
"""Keeps the row that there is, since addresses lead to it."""
_LED_TO: Final = """collection_id = :collection AND url_key IN (:key, (
    SELECT document_key FROM addresses WHERE collection_id = :collection AND url_key = :key))"""
"""Chooses the document of a page, which another address of it may have."""


ChunkRow: TypeAlias = tuple[int, int, int, bytes | None, str, str | None, int | None, str | None]


@dataclass(frozen=True)
class DocumentRows(ABC):
    """The rows of a document, made before the database is locked; an engine writes the chunks."""

    document: tuple[str, ...]
    chunks: list[ChunkRow]
    words: list[tuple[str, str]]
    """Stems of the title and of the text, for each chunk."""
    vector_bytes: int | None
    """Size of each chunk's vector; None without vectors."""
    also_at: list[tuple[str, str]]
    """Key and URL of each further address."""

    @classmethod
    def of(cls, document: Document, chunks: Sequence[Chunk]) -> Self:
        """Return the rows of a document. Raises StoreError when its vectors do not match."""
        title = to_unicode(document.title)
        chunks = sorted(chunks, key=attrgetter("ordinal"))
        parts = [_chunk_row(chunk) for chunk in chunks]
        sizes = {None if (blob := part[3]) is None else len(blob) for part in parts}
        if len(sizes) > 1:
            raise StoreError(
                f"The vectors of {document.url} differ in size or are missing in part."
            )
        stems = index_text(title)
        provenance = to_json(document.provenance)
        return cls(
            document=(document.url_key, document.url, title, document.content_hash, provenance),
            chunks=parts,
            words=[(stems, index_text(to_unicode(chunk.whole_text))) for chunk in chunks],
            vector_bytes=next(iter(sizes), None),
            also_at=[(url_key(url), url) for url in document.also_at],
        )

    @abstractmethod
    def write_chunks(self, connection: Connection, collection: int, document: int) -> None:
        """Write the chunks of a new document, so that they are found by words and vectors."""


def _chunk_row(chunk: Chunk) -> ChunkRow:
    headings = _headings_json(chunk.headings) if chunk.headings else None
    text, vector = to_unicode(chunk.text), to_blob(chunk.vector)
    header = to_unicode(chunk.table_header) if chunk.table_header else None
    return chunk.ordinal, chunk.start, chunk.end, vector, text, headings, chunk.page, header


@lru_cache(maxsize=64)
def _headings_json(headings: tuple[str, ...]) -> str:
    """Return the headings as JSON; neighbouring chunks have the same."""
    return to_json(headings)


def to_json(value: Any) -> str:
    """Return JSON that every database reads: NaN becomes null, broken surrogates become "?".

    >>> to_json({"score": float("nan"), "rank": 1})
    '{"score": null, "rank": 1}'
    """
    return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return to_unicode(value)
    if isinstance(value, Mapping):
        return {to_unicode(str(key)): _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


def fetch_provenance(fetched: Fetched) -> dict[str, Any]:
    """Return the facts of a fetch that a document's provenance has."""
    facts = {
        "fetched_at": format_time(fetched.fetched_at),
        "final_url": fetched.final_url,
        "canonical_url": fetched.canonical_url,
        "page_kind": fetched.kind,
        "truncated_at_page": fetched.truncated_at_page,
    }
    return {key: value for key, value in facts.items() if value is not None}


def fetch_facts_of(fetched: str | None) -> dict[str, Any]:
    """Return the same facts of a fetch that a ledger row has as JSON."""
    return fetch_provenance(Fetched(**json.loads(fetched))) if fetched else {}


def format_time(seconds: float) -> str:
    """Return a Unix time as ISO 8601.

    >>> format_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def insert_document(
    connection: Connection, collection: int, rows: DocumentRows, stored_at: float
) -> None:
    """Write a document over the one with its key, within the caller's transaction."""
    _check_vectors(connection, collection, rows)
    revision = mark_changed(connection, collection)
    connection.execute(_WRITE, (collection, *rows.document, stored_at, revision))
    document = connection.execute(
        "SELECT id FROM documents WHERE collection_id = ? AND url_key = ?",
        (collection, rows.document[0]),
    ).fetchone()["id"]
    connection.execute("DELETE FROM chunks WHERE document_id = ?", (document,))
    rows.write_chunks(connection, collection, document)


def _check_vectors(connection: Connection, collection: int, rows: DocumentRows) -> None:
    """Raise StoreError unless the vectors fit the collection's embedder."""
    embedder = embedder_of(connection, collection)
    if rows.chunks and (embedder is None) != (rows.vector_bytes is None):
        needed = "no vectors" if embedder is None else f"vectors of {embedder}"
        raise StoreError(f"The collection takes {needed}: a document came with others.")
    known = connection.execute(
        "SELECT length(vector), name FROM chunks JOIN documents ON documents.id = document_id"
        " JOIN collections ON collections.id = collection_id WHERE collection_id = ? LIMIT 1",
        (collection,),
    ).fetchone()
    if known and rows.chunks and known[0] != rows.vector_bytes:
        raise StoreError(
            f"{embedder} changed the size of its vectors. Embed the collection anew:"
            f" collection-search collections reembed {known['name']!r}; or use another one."
        )


def text_hash_of(
    connection: Connection, collection: int | None, key: str, *, is_own: bool = False
) -> str | None:
    """Return the hash of the text that is stored for a page, None without one.

    With `is_own` a document that another page has does not count.
    """
    where = "collection_id = :collection AND url_key = :key" if is_own else _LED_TO
    of = {"collection": collection, "key": key}
    row = connection.execute(f"SELECT content_hash FROM documents WHERE {where}", of).fetchone()
    return None if row is None else str(row["content_hash"])


def documents_at(
    connection: Connection, collection: int | None, keys: Sequence[str]
) -> dict[str, str]:
    """Return the key of the document that each of these addresses leads to."""
    rows = connection.execute(
        "SELECT url_key, url_key AS document_key FROM documents"
        " WHERE collection_id = :collection AND url_key IN (SELECT value FROM json_each(:keys))"
        " UNION ALL SELECT url_key, document_key FROM addresses"
        " WHERE collection_id = :collection AND url_key IN (SELECT value FROM json_each(:keys))",
        {"collection": collection, "keys": json.dumps([*keys])},
    )
    return {row["url_key"]: row["document_key"] for row in rows}


def mark_checked(connection: Connection, collection: int | None, key: str, now: float) -> None:
    """Write the time at which the page was found unchanged."""
    connection.execute(
        "UPDATE documents SET stored_at = :now,"
        f" provenance = json_set(provenance, '$.checked_at', :time) WHERE {_LED_TO}",
        {"collection": collection, "key": key, "now": now, "time": format_time(now)},
    )


def embedder_of(connection: Connection, collection: int) -> str | None:
    """Return the fingerprint of the collection's embedder."""
    row = connection.execute("SELECT embedder FROM collections WHERE id = ?", (collection,))
    return row.fetchone()["embedder"]  # type: ignore[no-any-return]


def mark_changed(connection: Connection, collection: int) -> int:
    """Count a change, so that every process looks for it before the next search; return the count.

    Documents whose chunks are written get it as their revision.
    """
    connection.execute("UPDATE collections SET changes = changes + 1 WHERE id = ?", (collection,))
    counted = connection.execute("SELECT changes FROM collections WHERE id = ?", (collection,))
    return int(counted.fetchone()["changes"])


def read_document(row: Row) -> Document:
    """Return the document of a row that has its columns."""
    provenance, also_at = json.loads(row["provenance"]), tuple(json.loads(row["also_at"]))
    named = row["url"], row["url_key"], row["title"], row["content_hash"]
    return Document(*named, provenance, also_at)


def read_chunk(row: Row) -> Chunk:
    """Return the chunk of a row that has its columns."""
    vector = from_blob(row["vector"])
    headings = tuple(json.loads(row["headings"])) if row["headings"] else ()
    place = row["start"], row["end"]
    page, header = row["page"], row["table_header"]
    return Chunk(row["ordinal"], row["text"], *place, vector, headings, page, header)


def read_chunks(connection: Connection, document: int) -> list[Chunk]:
    """Return a document's chunks in order."""
    rows = connection.execute(
        "SELECT * FROM chunks WHERE document_id = ? ORDER BY ordinal", (document,)
    )
    return [read_chunk(row) for row in rows]
