"""Deletions of collections and tenants, and of what has not been used for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import Deleted
from ..sql.collection_ids import find_id
from ..sql.ledger_statements import HAS_DOCUMENT
from ..sql.staging import NEEDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....contracts.collection import TenantScope
    from ..sql.connection import Connection

_MINE: Final = "collection_id IN (SELECT id FROM collections WHERE tenant_id = :tenant)"
_BESIDE: Final = ("sessions", "gates", "comparisons")
"""What runs leave beside a collection, by the collection's name."""
_UNUSED: Final = f"staged WHERE tenant_id = :tenant AND NOT {NEEDED}"
_IS_BUSY: Final = """EXISTS (
    SELECT 1 FROM ledger WHERE ledger.collection_id = documents.collection_id
        AND ledger.url_key = documents.url_key AND state IN ('waiting', 'to_fetch', 'working'))"""


def erase_collection(connection: Connection, scope: TenantScope) -> int:
    """Delete a collection with all that belongs to it; return how many documents it had."""
    of: dict[str, Any] = {"tenant": scope.tenant_id, "name": scope.collection}
    of["id"] = find_id(connection, scope)
    documents = _count(connection, "documents WHERE collection_id = :id", of)
    texts = _refs(connection, of)
    _delete(connection, "collections WHERE id = :id", of)
    for table in _BESIDE:
        _delete(connection, f"{table} WHERE tenant_id = :tenant AND collection = :name", of)
    _delete(connection, f"{_UNUSED} AND content_ref = ANY(:texts)", {**of, "texts": texts})
    return documents


def erase_tenant(connection: Connection, tenant_id: str) -> Deleted:
    """Delete everything that is stored for a tenant; return the counts."""
    of = {"tenant": tenant_id}
    owned, mine = "WHERE tenant_id = :tenant", f"WHERE {_MINE}"
    counts = Deleted(
        collections=_count(connection, f"collections {owned}", of),
        documents=_count(connection, f"documents {mine}", of),
        pages=_count(connection, f"ledger {mine}", of),
        texts=_count(connection, f"staged {owned}", of)
        + _count(connection, f"sessions {owned}", of),
        questions=_count(connection, f"questions {mine}", of),
        crawls=_count(connection, f"crawls {mine}", of),
        gates=_count(connection, f"gates {owned}", of),
        comparisons=_count(connection, f"comparisons {owned}", of),
    )
    for table in ("collections", *_BESIDE, "staged"):
        _delete(connection, f"{table} {owned}", of)
    return counts


def erase_unused(
    connection: Connection, tenant_id: str, now: float, older_than_s: float
) -> Deleted:
    """Delete what has not been used for that long; return the counts."""
    of = {"tenant": tenant_id, "before": now - older_than_s}
    owned = "WHERE tenant_id = :tenant AND"
    sessions = _delete(connection, f"sessions {owned} created_at <= :before", of)
    gates = _delete(connection, f"gates {owned} state = 'closed' AND changed_at <= :before", of)
    pages = _delete(
        connection,
        f"ledger WHERE {_MINE} AND state IN ('dead', 'retired') AND changed_at <= :before",
        of,
    )
    old = f"{_MINE} AND stored_at <= :before AND NOT {_IS_BUSY}"
    connection.execute(
        "UPDATE collections SET changes = changes + 1 WHERE id IN"
        f" (SELECT collection_id FROM documents WHERE {old})",
        of,
    )
    pages += _delete(
        connection,
        "ledger WHERE state = 'stored' AND (collection_id, url_key) IN"
        f" (SELECT collection_id, url_key FROM documents WHERE {old})",
        of,
    )
    documents = _delete(connection, f"documents WHERE {old}", of)
    pages += _delete(
        connection, f"ledger WHERE {_MINE} AND state = 'stored' AND NOT {HAS_DOCUMENT}", of
    )
    _delete(
        connection,
        f"tickets WHERE {_MINE} AND NOT EXISTS"
        " (SELECT 1 FROM ticket_rows WHERE ticket_id = tickets.id)",
        of,
    )
    return Deleted(
        documents=documents,
        pages=pages,
        texts=sessions + _delete(connection, f"{_UNUSED} AND staged_at <= :before", of),
        questions=_delete(connection, f"questions WHERE {_MINE} AND last_asked_at <= :before", of),
        crawls=_delete(connection, f"crawls WHERE {_MINE} AND last_run_at <= :before", of),
        gates=gates,
        comparisons=_delete(connection, f"comparisons {owned} compared_at <= :before", of),
    )


def _refs(connection: Connection, of: Mapping[str, Any]) -> list[str]:
    """Return the references to staged texts of a collection and of what belongs to it."""
    rows = connection.execute(
        "SELECT content_ref FROM ledger WHERE collection_id = :id"
        " UNION SELECT extracted_ref FROM ledger WHERE collection_id = :id"
        " UNION SELECT content_ref FROM session_candidates JOIN sessions"
        " ON sessions.id = session_id"
        " WHERE tenant_id = :tenant AND collection = :name"
        " UNION SELECT content_ref FROM gate_contents JOIN gates ON gates.id = gate"
        " WHERE tenant_id = :tenant AND collection = :name",
        of,
    )
    return [row["content_ref"] for row in rows if row["content_ref"]]


def _count(connection: Connection, what: str, of: Mapping[str, Any]) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}", of).fetchone()[0])


def _delete(connection: Connection, what: str, of: Mapping[str, Any]) -> int:
    return connection.execute(f"DELETE FROM {what}", of).rowcount
