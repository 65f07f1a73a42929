"""Chunks as rows of SQLite: the text with its vector, and its stems in the full-text index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sql.documents import DocumentRows
from .word_search import collection_token

if TYPE_CHECKING:
    from ..sql.connection import Connection


class SQLiteRows(DocumentRows):
    """The rows of a document in SQLite."""

    def write_chunks(self, connection: Connection, collection: int, document: int) -> None:
        """Write the chunks of a new document, so that they are found by words and vectors."""
        last = connection.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
        ids, part = range(last + 1, last + 1 + len(self.chunks)), collection_token(collection)
        connection.executemany(
            'INSERT INTO chunks (id, document_id, ordinal, start, "end", vector, text, headings,'
            " page, table_header) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(row, document, *chunk) for row, chunk in zip(ids, self.chunks, strict=True)],
        )
        connection.executemany(
            "INSERT INTO chunk_words (rowid, part, title, body) VALUES (?, ?, ?, ?)",
            [(row, part, *words) for row, words in zip(ids, self.words, strict=True)],
        )
