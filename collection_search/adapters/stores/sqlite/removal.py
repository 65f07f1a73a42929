"""Deletions of documents, collections and tenants with everything that belongs to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import Deleted
from .documents import delete_page
from .ledger_statements import HAS_DOCUMENT
from .staging import NEEDED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from ....contracts.collection import TenantScope

_MINE: Final = "collection_id IN (SELECT id FROM collections WHERE tenant_id = :tenant)"
_ITS_SESSIONS: Final = "sessions WHERE tenant_id = :tenant AND collection = :name"
_ITS_GATES: Final = "gates WHERE tenant_id = :tenant AND collection = :name"
_CONTENTS: Final = f"gate_contents WHERE gate IN (SELECT id FROM {_ITS_GATES})"
_CANDIDATES: Final = f"session_candidates WHERE session_id IN (SELECT id FROM {_ITS_SESSIONS})"
_IS_BUSY: Final = """EXISTS (
    SELECT 1 FROM ledger WHERE ledger.collection_id = documents.collection_id
        AND ledger.url_key = documents.url_key AND state IN ('waiting', 'to_fetch', 'working')
)"""


def delete_document_rows(
    connection: sqlite3.Connection, scope: TenantScope, collection: int | None, url_key: str
) -> bool:
    """Delete a document with its ledger row, staged text and candidates."""
    enable_secure_delete(connection)
    of = _names(scope, collection) | {"key": url_key}
    rows = "ledger WHERE collection_id = :collection AND url_key = :key"
    candidates = f"{_CANDIDATES} AND url_key = :key"
    refs = _refs(connection, (rows, candidates), of)
    _delete(connection, rows, of)
    _delete(connection, candidates, of)
    _delete_unused_texts(connection, scope.tenant_id, refs)
    deleted = delete_page(connection, collection, url_key) > 0
    if deleted:
        _rewrite_word_index(connection)
    return deleted


def delete_collection_rows(
    connection: sqlite3.Connection, scope: TenantScope, collection: int | None
) -> int:
    """Delete a collection with all that belongs to it; return how many documents it had."""
    enable_secure_delete(connection)
    of = _names(scope, collection)
    documents = _count(connection, "documents WHERE collection_id = :collection", of)
    rows = "ledger WHERE collection_id = :collection"
    refs = _refs(connection, (rows, _CANDIDATES, _CONTENTS), of)
    _delete(connection, "collections WHERE id = :collection", of)
    _delete(connection, _ITS_SESSIONS, of)
    _delete(connection, _ITS_GATES, of)
    _delete_unused_texts(connection, scope.tenant_id, refs)
    if documents:
        _rewrite_word_index(connection)
    return documents


def delete_tenant_rows(connection: sqlite3.Connection, tenant_id: str) -> Deleted:
    """Delete everything that is stored for a tenant."""
    enable_secure_delete(connection)
    of = {"tenant": tenant_id}
    counts = Deleted(
        collections=_count(connection, "collections WHERE tenant_id = :tenant", of),
        documents=_count(connection, f"documents WHERE {_MINE}", of),
        pages=_count(connection, f"ledger WHERE {_MINE}", of),
        texts=_count(connection, "staged WHERE tenant_id = :tenant", of)
        + _count(connection, "sessions WHERE tenant_id = :tenant", of),
        questions=_count(connection, f"questions WHERE {_MINE}", of),
        gates=_count(connection, "gates WHERE tenant_id = :tenant", of),
    )
    for table in ("collections", "sessions", "gates", "staged"):
        _delete(connection, f"{table} WHERE tenant_id = :tenant", of)
    if counts.documents:
        _rewrite_word_index(connection)
    return counts


def purge_rows(connection: sqlite3.Connection, tenant_id: str, before: float) -> Deleted:
    """Delete what has not been used since `before`."""
    enable_secure_delete(connection)
    of = {"tenant": tenant_id, "before": before}
    connection.execute("UPDATE collections SET changes = changes + 1 WHERE tenant_id = :tenant", of)
    old = "sessions WHERE tenant_id = :tenant AND created_at <= :before"
    sessions = _delete(connection, old, of)
    old = "gates WHERE tenant_id = :tenant AND state = 'closed' AND changed_at <= :before"
    gates = _delete(connection, old, of)
    old = f"ledger WHERE {_MINE} AND state IN ('dead', 'retired') AND changed_at <= :before"
    pages = _delete(connection, old, of)
    documents = _delete(
        connection, f"documents WHERE {_MINE} AND stored_at <= :before AND NOT {_IS_BUSY}", of
    )
    pages += _delete(
        connection, f"ledger WHERE {_MINE} AND state = 'stored' AND NOT {HAS_DOCUMENT}", of
    )
    empty = "NOT EXISTS (SELECT 1 FROM ticket_rows WHERE ticket_id = tickets.id)"
    _delete(connection, f"tickets WHERE {_MINE} AND {empty}", of)
    old = f"staged WHERE tenant_id = :tenant AND staged_at <= :before AND NOT {NEEDED}"
    texts = _delete(connection, old, of)
    questions = _delete(connection, f"questions WHERE {_MINE} AND last_asked_at <= :before", of)
    if documents:
        _rewrite_word_index(connection)
    texts += sessions
    return Deleted(documents=documents, pages=pages, texts=texts, questions=questions, gates=gates)


def enable_secure_delete(connection: sqlite3.Connection) -> None:
    """Make this connection overwrite with zeros what it deletes."""
    connection.execute("PRAGMA secure_delete = ON")


def _rewrite_word_index(connection: sqlite3.Connection) -> None:
    """Write the word index anew: the old one contains the words of what was deleted."""
    connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")


def _names(scope: TenantScope, collection: int | None) -> dict[str, Any]:
    return {"collection": collection, "tenant": scope.tenant_id, "name": scope.collection}


def _refs(connection: sqlite3.Connection, tables: Sequence[str], of: Mapping[str, Any]) -> set[str]:
    """Return the references to staged texts in these rows."""
    query = " UNION ".join(f"SELECT content_ref FROM {rows}" for rows in tables)
    return {row["content_ref"] for row in connection.execute(query, of) if row["content_ref"]}


def _delete_unused_texts(
    connection: sqlite3.Connection, tenant_id: str, refs: Iterable[str]
) -> None:
    connection.executemany(
        f"DELETE FROM staged WHERE tenant_id = ? AND content_ref = ? AND NOT {NEEDED}",
        [(tenant_id, ref) for ref in refs],
    )


def _count(connection: sqlite3.Connection, what: str, of: Mapping[str, Any]) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}", of).fetchone()[0])


def _delete(connection: sqlite3.Connection, what: str, of: Mapping[str, Any]) -> int:
    return connection.execute(f"DELETE FROM {what}", of).rowcount
