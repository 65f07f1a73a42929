"""New vectors for a collection: prepared beside the old ones, then swapped in at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import PendingChunk, PendingVectors
from .documents import mark_changed
from .ledger_statements import PUT_BACK
from .vector_blobs import to_blob

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....contracts.collection import Vectors
    from .connection import Connection

_CHUNKS: Final = (
    "chunks JOIN documents ON documents.id = document_id AND collection_id = :collection"
)
_TEXT: Final = "CASE WHEN table_header IS NULL THEN text ELSE table_header || '\n' || text END"
"""`Chunk.whole_text`."""
_PREPARED: Final = (
    "EXISTS (SELECT 1 FROM prepared_vectors WHERE chunk_id = chunks.id AND embedder = :embedder)"
)


def find_pending(
    connection: Connection, collection: int | None, embedder: str, limit: int
) -> PendingVectors:
    """Return the next chunks without a prepared vector of this embedder, and their number."""
    of = {"collection": collection, "embedder": embedder, "limit": limit}
    total, done = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {_PREPARED}) FROM {_CHUNKS}", of
    ).fetchone()
    rows = connection.execute(
        f"SELECT chunks.id, {_TEXT}, title FROM {_CHUNKS} WHERE NOT {_PREPARED} LIMIT :limit", of
    )
    return PendingVectors([PendingChunk(*row) for row in rows], total - int(done), total)


def store_prepared(
    connection: Connection,
    collection: int | None,
    embedder: str,
    chunks: Sequence[PendingChunk],
    vectors: Vectors,
) -> None:
    """Store the vectors until all are prepared.

    Skips chunks that are gone or have another text or title now: SQLite reuses ids. Deletes vectors
    of another size, which the embedder made before it changed.
    """
    of = {"collection": collection, "embedder": embedder}
    _drop_other_sizes(connection, of, 4 * vectors.shape[1])
    connection.executemany(
        "INSERT INTO prepared_vectors (chunk_id, embedder, vector)"
        f" SELECT chunks.id, :embedder, :vector FROM {_CHUNKS}"
        f" WHERE chunks.id = :key AND {_TEXT} = :text AND title = :title"
        " ON CONFLICT (chunk_id, embedder) DO UPDATE SET vector = excluded.vector",
        [
            {**of, **chunk._asdict(), "vector": to_blob(vector)}
            for chunk, vector in zip(chunks, vectors, strict=True)
        ],
    )


def _drop_other_sizes(connection: Connection, of: Mapping[str, Any], vector_bytes: int) -> None:
    """Delete the embedder's prepared vectors if they have another size."""
    known = connection.execute(
        f"SELECT length(prepared_vectors.vector) FROM {_CHUNKS}"
        " JOIN prepared_vectors ON chunk_id = chunks.id AND embedder = :embedder LIMIT 1",
        of,
    ).fetchone()
    if known and known[0] != vector_bytes:
        connection.execute(
            "DELETE FROM prepared_vectors WHERE embedder = :embedder"
            f" AND chunk_id IN (SELECT chunks.id FROM {_CHUNKS})",
            of,
        )


def swap_vectors(connection: Connection, collection: int, embedder: str | None) -> bool:
    """Replace all vectors by the prepared ones, or by none; False when some are missing.

    Claimed pages return to the queue, since their workers use the old embedder.
    """
    of = {"collection": collection, "embedder": embedder}
    missing = f"SELECT 1 FROM {_CHUNKS} WHERE NOT {_PREPARED} LIMIT 1"
    if embedder is not None and connection.execute(missing, of).fetchone():
        return False
    own = f"SELECT chunks.id FROM {_CHUNKS}"
    connection.execute(
        "UPDATE chunks SET vector ="
        " (SELECT vector FROM prepared_vectors WHERE chunk_id = chunks.id AND embedder = :embedder)"
        f" WHERE id IN ({own})",
        of,
    )
    connection.execute(f"DELETE FROM prepared_vectors WHERE chunk_id IN ({own})", of)
    connection.execute("UPDATE collections SET embedder = :embedder WHERE id = :collection", of)
    connection.execute(
        f"UPDATE ledger SET {PUT_BACK}, due = 0, attempts = attempts - 1"
        " WHERE collection_id = :collection AND state = 'working'",
        of,
    )
    connection.execute(
        "UPDATE documents SET revision = ? WHERE collection_id = ?",
        (mark_changed(connection, collection), collection),
    )
    return True
