"""Chunks as rows of PostgreSQL: the text with its vector and its stems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..sql.documents import DocumentRows
from ..sql.vector_blobs import from_blob
from .words import index_stems

if TYPE_CHECKING:
    from ..sql.connection import Connection

_COPIED: Final = 1_000
"""Vectors that are read at once."""


class PostgresRows(DocumentRows):
    """The rows of a document in PostgreSQL."""

    def write_chunks(self, connection: Connection, collection: int, document: int) -> None:
        """Write the chunks of a new document, so that they are found by words and vectors."""
        rows = []
        for chunk, (title, body) in zip(self.chunks, self.words, strict=True):
            near, indexed = to_halfvec(chunk[3]), index_stems(title, body)
            rows.append((collection, document, *chunk, near, *indexed))
        connection.executemany(
            'INSERT INTO chunks (part, document_id, ordinal, start, "end", vector, text,'
            " headings, page, table_header, near, words, length)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )


def copy_vectors(connection: Connection, collection: int) -> None:
    """Write the vectors of a collection anew in half precision, for the search."""
    query = "SELECT id FROM chunks WHERE part = ? ORDER BY id"
    ids = [row["id"] for row in connection.execute(query, (collection,))]
    for first in range(0, len(ids), _COPIED):
        some = ids[first : first + _COPIED]
        rows = connection.execute("SELECT id, vector FROM chunks WHERE id = ANY(?)", (some,))
        connection.executemany(
            "UPDATE chunks SET near = ? WHERE id = ?",
            [(to_halfvec(row["vector"]), row["id"]) for row in rows.fetchall()],
        )


def to_halfvec(blob: bytes | None) -> str | None:
    """Return the literal of a stored vector in half precision."""
    vector = from_blob(blob)
    return None if vector is None else f"[{','.join(f'{value:.5g}' for value in vector.tolist())}]"
