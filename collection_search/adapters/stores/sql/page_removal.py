"""Deletion of single pages with everything that belongs to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .addresses import delete_page
from .documents import to_json
from .page_relations import find_ways
from .staging import delete_unused_texts, dropping_kept_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ....contracts.collection import TenantScope
    from .connection import Connection

AT_ONCE: Final = 32
"""Pages that one transaction deletes: each question and crawl is written once for all of them."""
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
    connection: Connection, scope: TenantScope, collection: int | None, url_keys: Sequence[str]
) -> list[str]:
    """Delete pages with the addresses that lead to them, so that nothing brings them back.

    A fetch of one of these would store the same text again. Addresses of equal text keep theirs.
    Return the keys of the pages that were stored.
    """
    pages = {key: [*find_ways(connection, collection, key), key] for key in url_keys}
    _exclude(connection, collection, dict.fromkeys(key for keys in pages.values() for key in keys))
    return [
        page
        for page, keys in pages.items()
        if [_delete_rows(connection, scope, collection, key) for key in keys][-1]
    ]


def _exclude(connection: Connection, collection: int | None, url_keys: Iterable[str]) -> None:
    """Note with each question and crawl which of these pages are deleted, if they were there."""
    of = {"collection": collection}
    removed = [
        key for key in url_keys if connection.execute(_IS_KNOWN, of | {"key": key}).fetchone()[0]
    ]
    if not removed:
        return
    for table, column in _RECORDS.items():
        query = f"SELECT id, {column} AS record FROM {table} WHERE collection_id = :collection"
        for row in connection.execute(query, of).fetchall():
            record = json.loads(row["record"])
            before = record.get("removed", [])
            record["removed"] = list(dict.fromkeys((*before, *removed)))
            if len(record["removed"]) > len(before):
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
