"""Deletion of one page with everything that belongs to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .addresses import delete_page
from .documents import to_json
from .page_relations import find_ways
from .staging import delete_unused_texts, dropping_kept_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....contracts.collection import TenantScope
    from .connection import Connection

_RECORDS: Final = {"questions": "record", "crawls": "rules"}
"""What a refresh repeats, with the column of JSON."""
_IS_KNOWN: Final = """
    SELECT EXISTS (SELECT 1 FROM ledger
            WHERE collection_id = :collection AND url_key = :key AND state != 'retired')
        OR EXISTS (SELECT 1 FROM documents WHERE collection_id = :collection AND url_key = :key)
        OR EXISTS (SELECT 1 FROM addresses WHERE collection_id = :collection AND url_key = :key)
"""
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
        _exclude(connection, {"collection": collection, "key": page})
    return [_delete_rows(connection, scope, collection, page) for page in pages][-1]


def _exclude(connection: Connection, of: Mapping[str, Any]) -> None:
    """Note with each question and crawl that the page is deleted, if the collection has it."""
    if not connection.execute(_IS_KNOWN, of).fetchone()[0]:
        return
    for table, column in _RECORDS.items():
        query = f"SELECT id, {column} AS record FROM {table} WHERE collection_id = :collection"
        for row in connection.execute(query, of).fetchall():
            record = json.loads(row["record"])
            if of["key"] not in record.setdefault("removed", []):
                record["removed"].append(of["key"])
                change = f"UPDATE {table} SET {column} = ? WHERE id = ?"
                connection.execute(change, (to_json(record), row["id"]))


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
