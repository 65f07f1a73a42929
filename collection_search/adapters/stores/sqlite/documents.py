"""Documents and chunks as rows: written and read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import Chunk, Document
from ....errors import StoreError
from ....ranking.lexicon import index_changes, index_text
from ....text.clean import to_unicode
from .vector_blobs import from_blob, to_blob

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ....contracts.ingestion import Fetched

COLUMNS: Final = "documents.id, url, url_key, title, content_hash, provenance"
_DELETE: Final = "DELETE FROM documents WHERE collection_id = ? AND url_key = ?"


class DocumentRows(NamedTuple):
    """The rows of a document, made before the database is locked."""

    document: tuple[str, ...]
    chunks: list[tuple[int, int, int, bytes | None, str, str | None, int | None]]
    words: list[tuple[str, str]]
    vector_bytes: int | None
    """Size of each chunk's vector; None without vectors."""


def build_rows(document: Document, chunks: Sequence[Chunk]) -> DocumentRows:
    """Return the rows of a document. Raises StoreError when its vectors do not match."""
    title = to_unicode(document.title)
    parts = [_chunk_row(chunk) for chunk in sorted(chunks, key=attrgetter("ordinal"))]
    sizes = {None if (blob := part[3]) is None else len(blob) for part in parts}
    if len(sizes) > 1:
        raise StoreError(f"The vectors of {document.url} differ in size or are missing in part.")
    stems = index_text(title)
    provenance = to_json(document.provenance)
    return DocumentRows(
        document=(document.url_key, document.url, title, document.content_hash, provenance),
        chunks=parts,
        words=[(stems, index_text(part[4])) for part in parts],
        vector_bytes=next(iter(sizes), None),
    )


def _chunk_row(chunk: Chunk) -> tuple[int, int, int, bytes | None, str, str | None, int | None]:
    headings = to_json(chunk.headings) if chunk.headings else None
    text, vector = to_unicode(chunk.text), to_blob(chunk.vector)
    return chunk.ordinal, chunk.start, chunk.end, vector, text, headings, chunk.page


def stems_of(text: str, before: str) -> str:
    """Return the stems of a text for the word index; `before` are those of an earlier version."""
    return index_text(text) if index_changes(text) else before


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
    }
    return {key: value for key, value in facts.items() if value is not None}


def format_time(seconds: float) -> str:
    """Return a Unix time as ISO 8601.

    >>> format_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def put_document(
    connection: sqlite3.Connection, collection: int, rows: DocumentRows, stored_at: float
) -> None:
    """Replace a document within the caller's transaction."""
    _check_vectors(connection, collection, rows)
    connection.execute(_DELETE, (collection, rows.document[0]))
    document = connection.execute(
        "INSERT INTO documents"
        " (collection_id, url_key, url, title, content_hash, provenance, stored_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (collection, *rows.document, stored_at),
    ).lastrowid
    for chunk, words in zip(rows.chunks, rows.words, strict=True):
        row = connection.execute(
            'INSERT INTO chunks (document_id, ordinal, start, "end", vector, text, headings, page)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (document, *chunk),
        ).lastrowid
        connection.execute(
            "INSERT INTO chunk_words (rowid, part, title, body) VALUES (?, ?, ?, ?)",
            (row, collection_token(collection), *words),
        )
    mark_changed(connection, collection)


def _check_vectors(connection: sqlite3.Connection, collection: int, rows: DocumentRows) -> None:
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
    connection: sqlite3.Connection, collection: int | None, url_key: str
) -> str | None:
    """Return the hash of the text that is stored for a page, None without one."""
    row = connection.execute(
        "SELECT content_hash FROM documents WHERE collection_id = ? AND url_key = ?",
        (collection, url_key),
    ).fetchone()
    return None if row is None else str(row["content_hash"])


def mark_checked(
    connection: sqlite3.Connection, collection: int | None, url_key: str, now: float
) -> None:
    """Write the time at which the page was found unchanged."""
    connection.execute(
        "UPDATE documents SET stored_at = ?,"
        " provenance = json_set(provenance, '$.checked_at', ?)"
        " WHERE collection_id = ? AND url_key = ?",
        (now, format_time(now), collection, url_key),
    )


def delete_page(connection: sqlite3.Connection, collection: int | None, url_key: str) -> int:
    """Delete a document with its chunks; return the number of documents, 0 or 1."""
    deleted = connection.execute(_DELETE, (collection, url_key)).rowcount
    if deleted:
        mark_changed(connection, collection)
    return deleted


def embedder_of(connection: sqlite3.Connection, collection: int) -> str | None:
    """Return the fingerprint of the collection's embedder."""
    row = connection.execute("SELECT embedder FROM collections WHERE id = ?", (collection,))
    return row.fetchone()["embedder"]  # type: ignore[no-any-return]


def mark_changed(connection: sqlite3.Connection, collection: int | None) -> None:
    """Count a change, so that every process reloads the vectors of the collection."""
    connection.execute("UPDATE collections SET changes = changes + 1 WHERE id = ?", (collection,))


def collection_token(collection: int) -> str:
    """Return the token that every word row of the collection carries."""
    return f"c{collection}"


def read_document(row: sqlite3.Row) -> Document:
    """Return the document of a row that has its columns."""
    provenance = json.loads(row["provenance"])
    return Document(row["url"], row["url_key"], row["title"], row["content_hash"], provenance)


def read_chunk(row: sqlite3.Row) -> Chunk:
    """Return the chunk of a row that has its columns."""
    vector = from_blob(row["vector"])
    headings = tuple(json.loads(row["headings"])) if row["headings"] else ()
    place = row["start"], row["end"]
    return Chunk(row["ordinal"], row["text"], *place, vector, headings, row["page"])


def read_chunks(connection: sqlite3.Connection, document: int) -> list[Chunk]:
    """Return a document's chunks in order."""
    rows = connection.execute(
        "SELECT * FROM chunks WHERE document_id = ? ORDER BY ordinal", (document,)
    )
    return [read_chunk(row) for row in rows]
