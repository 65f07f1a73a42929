"""Deletion of one page with everything that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .addresses import delete_page
from .crawls import exclude_page
from .page_relations import find_ways
from .staging import delete_unused_texts, dropping_kept_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....contracts.collection import TenantScope
    from .connection import Connection

_ITS_SESSIONS: Final = "sessions WHERE tenant_id = :tenant AND collection = :name"
_CANDIDATES: Final = f"session_candidates WHERE session_id IN (SELECT id FROM {_ITS_SESSIONS})"


def delete_by_hand(
    connection: Connection, scope: TenantScope, collection: int | None, url_key: str
) -> bool:
    """Delete a page with the addresses that lead to it, so that nothing brings it back.

    A fetch of one of these would store the same text again. Addresses of equal text keep theirs.
    """
    pages = [*find_ways(connection, collection, url_key), url_key]
    for page in pages:
        exclude_page(connection, collection, page)
    return [_delete_rows(connection, scope, collection, page) for page in pages][-1]


def _delete_rows(
    connection: Connection, scope: TenantScope, collection: int | None, url_key: str
) -> bool:
    """Delete a document with its ledger row, staged text and candidates."""
    connection.enable_secure_delete()
    of = {
        "collection": collection,
        "tenant": scope.tenant_id,
        "name": scope.collection,
        "key": url_key,
    }
    rows = "ledger WHERE collection_id = :collection AND url_key = :key"
    candidates = f"{_CANDIDATES} AND url_key = :key"
    refs = _refs(connection, (rows, candidates), of)
    with dropping_kept_texts(connection, scope.tenant_id, rows, of):
        connection.execute(f"DELETE FROM {rows}", of)
    connection.execute(f"DELETE FROM {candidates}", of)
    delete_unused_texts(connection, scope.tenant_id, refs)
    return delete_page(connection, collection, url_key)


def _refs(connection: Connection, tables: Sequence[str], of: Mapping[str, Any]) -> set[str]:
    """Return the references to staged texts in these rows."""
    query = " UNION ".join(f"SELECT content_ref FROM {rows}" for rows in tables)
    return {row["content_ref"] for row in connection.execute(query, of) if row["content_ref"]}
