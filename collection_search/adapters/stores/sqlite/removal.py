"""What is deleted, and all that goes with it, within the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import Deleted
from .documents import delete_page
from .staging import NEEDED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from ....contracts.collection import TenantScope

_MINE: Final = "collection_id IN (SELECT id FROM collections WHERE tenant_id = :tenant)"
_CANDIDATES: Final = "session_candidates JOIN sessions ON sessions.id = session_id"
_IS_BUSY: Final = """EXISTS (
    SELECT 1 FROM ledger WHERE ledger.collection_id = documents.collection_id
        AND ledger.url_key = documents.url_key AND state IN ('waiting', 'to_fetch', 'working')
)"""
_HAS_DOCUMENT: Final = """EXISTS (
    SELECT 1 FROM documents WHERE documents.collection_id = ledger.collection_id
        AND documents.url_key = ledger.url_key
)"""


def delete_document_rows(
    connection: sqlite3.Connection, scope: TenantScope, collection: int | None, url_key: str
) -> bool:
    """Delete a document with its ledger row, staged text and candidates."""
    enable_secure_delete(connection)
    page = {"collection": collection, "key": url_key}
    refs = connection.execute(
        "SELECT content_ref FROM ledger WHERE collection_id = :collection AND url_key = :key"
        f" UNION SELECT content_ref FROM {_CANDIDATES}"
        " WHERE tenant_id = :tenant AND collection = :name AND url_key = :key",
        {**page, "tenant": scope.tenant_id, "name": scope.collection},
    ).fetchall()
    connection.execute(
        "DELETE FROM ledger WHERE collection_id = :collection AND url_key = :key", page
    )
    connection.execute(
        "DELETE FROM session_candidates WHERE url_key = :key AND session_id IN"
        " (SELECT id FROM sessions WHERE tenant_id = :tenant AND collection = :name)",
        {"key": url_key, "tenant": scope.tenant_id, "name": scope.collection},
    )
    _forget(connection, scope.tenant_id, [row["content_ref"] for row in refs])
    deleted = delete_page(connection, collection, url_key) > 0
    if deleted:
        _forget_words(connection)
    return deleted


def delete_collection_rows(
    connection: sqlite3.Connection, scope: TenantScope, collection: int | None
) -> int:
    """Delete a collection with all that belongs to it; return how many documents it held."""
    enable_secure_delete(connection)
    of = {"collection": collection, "tenant": scope.tenant_id, "name": scope.collection}
    held = _count(connection, "documents WHERE collection_id = :collection", of)
    refs = connection.execute(
        "SELECT content_ref FROM ledger WHERE collection_id = :collection"
        f" UNION SELECT content_ref FROM {_CANDIDATES}"
        " WHERE tenant_id = :tenant AND collection = :name",
        of,
    ).fetchall()
    connection.execute("DELETE FROM collections WHERE id = :collection", of)
    connection.execute("DELETE FROM sessions WHERE tenant_id = :tenant AND collection = :name", of)
    _forget(connection, scope.tenant_id, [row["content_ref"] for row in refs])
    if held:
        _forget_words(connection)
    return held


def delete_tenant_rows(connection: sqlite3.Connection, tenant_id: str) -> Deleted:
    """Delete everything that is kept for a tenant."""
    enable_secure_delete(connection)
    of = {"tenant": tenant_id}
    counts = Deleted(
        collections=_count(connection, "collections WHERE tenant_id = :tenant", of),
        documents=_count(connection, f"documents WHERE {_MINE}", of),
        pages=_count(connection, f"ledger WHERE {_MINE}", of),
        texts=_count(connection, "staged WHERE tenant_id = :tenant", of)
        + _count(connection, "sessions WHERE tenant_id = :tenant", of),
        questions=_count(connection, f"questions WHERE {_MINE}", of),
    )
    for table in ("collections", "sessions", "staged"):
        connection.execute(f"DELETE FROM {table} WHERE tenant_id = :tenant", of)
    if counts.documents:
        _forget_words(connection)
    return counts


def purge_rows(connection: sqlite3.Connection, tenant_id: str, before: float) -> Deleted:
    """Delete what has not been used since `before`."""
    enable_secure_delete(connection)
    of = {"tenant": tenant_id, "before": before}
    connection.execute("UPDATE collections SET changes = changes + 1 WHERE tenant_id = :tenant", of)
    sessions = _delete(
        connection, "sessions WHERE tenant_id = :tenant AND created_at <= :before", of
    )
    pages = _delete(
        connection,
        f"ledger WHERE {_MINE} AND state IN ('dead', 'retired') AND changed_at <= :before",
        of,
    )
    documents = _delete(
        connection, f"documents WHERE {_MINE} AND stored_at <= :before AND NOT {_IS_BUSY}", of
    )
    pages += _delete(
        connection, f"ledger WHERE {_MINE} AND state = 'stored' AND NOT {_HAS_DOCUMENT}", of
    )
    connection.execute(
        f"DELETE FROM tickets WHERE {_MINE}"
        " AND NOT EXISTS (SELECT 1 FROM ticket_rows WHERE ticket_id = tickets.id)",
        of,
    )
    texts = _delete(
        connection,
        f"staged WHERE tenant_id = :tenant AND staged_at <= :before AND NOT {NEEDED}",
        of,
    )
    questions = _delete(connection, f"questions WHERE {_MINE} AND last_asked_at <= :before", of)
    if documents:
        _forget_words(connection)
    return Deleted(documents=documents, pages=pages, texts=texts + sessions, questions=questions)


def enable_secure_delete(connection: sqlite3.Connection) -> None:
    """Make this connection fill with zeros what it deletes."""
    connection.execute("PRAGMA secure_delete = ON")


def _forget_words(connection: sqlite3.Connection) -> None:
    """Write the word index anew: until then it holds the words of what was deleted."""
    connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")


def _forget(connection: sqlite3.Connection, tenant_id: str, refs: Iterable[str | None]) -> None:
    """Drop the texts that only deleted rows needed."""
    connection.executemany(
        f"DELETE FROM staged WHERE tenant_id = ? AND content_ref = ? AND NOT {NEEDED}",
        [(tenant_id, ref) for ref in refs if ref],
    )


def _count(connection: sqlite3.Connection, what: str, of: Mapping[str, Any]) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}", of).fetchone()[0])


def _delete(connection: sqlite3.Connection, what: str, of: Mapping[str, Any]) -> int:
    return connection.execute(f"DELETE FROM {what}", of).rowcount
