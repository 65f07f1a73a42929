"""A document and its chunks as rows: written, read and exported."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....errors import StoreError
from ....lexicon import index_text
from ....records import Chunk, Document
from ....text import plain
from .vectors import from_blob, to_blob

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

RUN_IDS: Final = frozenset(
    {"invocation_id", "ingestion_run_id", "run_id", "ticket_id", "trace_id", "worker_call_id"}
)
"""Provenance that two runs with the same pages do not share; so are keys ending in `_at`, `_ms`."""


class Rows(NamedTuple):
    """A document as its rows, made before the database is locked."""

    document: tuple[str, ...]
    chunks: list[tuple[int, int, int, bytes | None, str]]
    words: list[tuple[str, str]]
    vector_bytes: int | None
    """Size of each chunk's vector; None without vectors."""


def rows_of(document: Document, chunks: Sequence[Chunk]) -> Rows:
    """Return the rows of a document. Raises StoreError when its vectors do not match."""
    title = plain(document.title)
    parts = [
        (c.ordinal, c.start, c.end, to_blob(c.vector), plain(c.text))
        for c in sorted(chunks, key=attrgetter("ordinal"))
    ]
    sizes = {None if blob is None else len(blob) for *_, blob, _ in parts}
    if len(sizes) > 1:
        raise StoreError(f"The vectors of {document.url} differ in size or are missing in part.")
    stems = index_text(title)
    return Rows(
        document=(
            document.url_key,
            document.url,
            title,
            document.content_hash,
            json.dumps(dict(document.provenance)),
        ),
        chunks=parts,
        words=[(stems, index_text(text)) for *_, text in parts],
        vector_bytes=next(iter(sizes), None),
    )


def put_document(connection: sqlite3.Connection, collection: int, rows: Rows) -> None:
    """Replace a document within the caller's transaction."""
    _check_vectors(connection, collection, rows)
    connection.execute(
        "DELETE FROM documents WHERE collection_id = ? AND url_key = ?",
        (collection, rows.document[0]),
    )
    document = connection.execute(
        "INSERT INTO documents (collection_id, url_key, url, title, content_hash, provenance)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (collection, *rows.document),
    ).lastrowid
    for chunk, words in zip(rows.chunks, rows.words, strict=True):
        row = connection.execute(
            'INSERT INTO chunks (document_id, ordinal, start, "end", vector, text)'
            " VALUES (?, ?, ?, ?, ?, ?)",
            (document, *chunk),
        ).lastrowid
        connection.execute(
            "INSERT INTO chunk_words (rowid, part, title, body) VALUES (?, ?, ?, ?)",
            (row, part_of(collection), *words),
        )
    mark_changed(connection, collection)


def _check_vectors(connection: sqlite3.Connection, collection: int, rows: Rows) -> None:
    """Raise StoreError unless the vectors are those that this collection needs."""
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


def embedder_of(connection: sqlite3.Connection, collection: int) -> str | None:
    """Return the fingerprint of the collection's embedder."""
    row = connection.execute("SELECT embedder FROM collections WHERE id = ?", (collection,))
    return row.fetchone()["embedder"]  # type: ignore[no-any-return]


def mark_changed(connection: sqlite3.Connection, collection: int | None) -> None:
    """Make every process load the collection's vectors anew."""
    connection.execute("UPDATE collections SET changes = changes + 1 WHERE id = ?", (collection,))


def part_of(collection: int) -> str:
    """Return the token that every word row of the collection carries."""
    return f"c{collection}"


def document_of(row: sqlite3.Row) -> Document:
    """Return the document of a row with its columns."""
    return Document(
        url=row["url"],
        url_key=row["url_key"],
        title=row["title"],
        content_hash=row["content_hash"],
        provenance=json.loads(row["provenance"]),
    )


def chunk_of(row: sqlite3.Row) -> Chunk:
    """Return the chunk of a row with its columns."""
    return Chunk(
        ordinal=row["ordinal"],
        text=row["text"],
        start=row["start"],
        end=row["end"],
        vector=from_blob(row["vector"]),
    )


def exported(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    """Return a document's row with its chunks in the canonical form."""
    document = document_of(row)
    chunks = connection.execute(
        "SELECT * FROM chunks WHERE document_id = ? ORDER BY ordinal", (row["id"],)
    )
    return {
        "url": document.url,
        "url_key": document.url_key,
        "title": document.title,
        "content_hash": document.content_hash,
        "provenance": {
            key: value
            for key, value in sorted(document.provenance.items())
            if key not in RUN_IDS and not key.endswith(("_at", "_ms"))
        },
        "chunks": [
            {
                "ordinal": chunk.ordinal,
                "start": chunk.start,
                "end": chunk.end,
                "text": chunk.text,
                "vector": None if chunk.vector is None else chunk.vector.tolist(),
            }
            for chunk in map(chunk_of, chunks)
        ],
    }
