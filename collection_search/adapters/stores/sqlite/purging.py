"""Deletion of what a tenant has not used for long."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import Deleted
from ..sql.ledger_statements import HAS_DOCUMENT
from ..sql.staging import NEEDED
from .removal import mark_trace
from .space import ROWS, RowGroup, delete_group, rested

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .database import Database

_MINE: Final = "collection_id IN (SELECT id FROM collections WHERE tenant_id = :tenant)"
_IS_BUSY: Final = """EXISTS (
    SELECT 1 FROM ledger WHERE ledger.collection_id = documents.collection_id
        AND ledger.url_key = documents.url_key AND state IN ('waiting', 'to_fetch', 'working')
)"""
_SESSIONS: Final = RowGroup("sessions", "id", "tenant_id = :tenant AND created_at <= :before", 8)
_GATES: Final = RowGroup(
    "gates", "id", "tenant_id = :tenant AND state = 'closed' AND changed_at <= :before", 16
)
_LOST: Final = RowGroup(
    "ledger", "id", f"{_MINE} AND state IN ('dead', 'retired') AND changed_at <= :before"
)
_OLD: Final = f"{_MINE} AND stored_at <= :before AND NOT {_IS_BUSY}"
_LEFT_BEHIND: Final = RowGroup(
    "ledger", "id", f"{_MINE} AND state = 'stored' AND NOT {HAS_DOCUMENT}"
)
_TICKETS: Final = RowGroup(
    "tickets",
    "id",
    f"{_MINE} AND NOT EXISTS (SELECT 1 FROM ticket_rows WHERE ticket_id = tickets.id)",
)
_TEXTS: Final = RowGroup(
    "staged", "id", f"tenant_id = :tenant AND staged_at <= :before AND NOT {NEEDED}", 64
)
_QUESTIONS: Final = RowGroup("questions", "id", f"{_MINE} AND last_asked_at <= :before")
_COMPARISONS: Final = RowGroup(
    "comparisons", "id", "tenant_id = :tenant AND compared_at <= :before", 16
)
_CRAWLS: Final = RowGroup("crawls", "id", f"{_MINE} AND last_run_at <= :before")


def purge_rows(
    database: Database, tenant_id: str, now: float, older_than_s: float
) -> tuple[list[int], Deleted]:
    """Delete what has not been used for that long, in short transactions.

    Returns what `removal.erase` has to finish, and the counts.
    """
    of = {"tenant": tenant_id, "before": now - older_than_s, "now": now}
    begun: list[int] = []

    def deleted(group: RowGroup) -> int:
        return sum(delete_group(database, group, of))

    sessions, gates, pages = deleted(_SESSIONS), deleted(_GATES), deleted(_LOST)
    documents, rows = _delete_documents(database, of, begun)
    pages += rows + deleted(_LEFT_BEHIND)
    deleted(_TICKETS)
    texts = sessions + deleted(_TEXTS)
    return begun, Deleted(
        documents=documents,
        pages=pages,
        texts=texts,
        questions=deleted(_QUESTIONS),
        crawls=deleted(_CRAWLS),
        gates=gates,
        comparisons=deleted(_COMPARISONS),
    )


def _delete_documents(
    database: Database, of: Mapping[str, Any], begun: list[int]
) -> tuple[int, int]:
    """Delete old documents with their ledger rows, or their texts would count as stored."""
    documents = rows = 0
    for ids in list(_batches(database, of)):
        batch = {**of, "keys": json.dumps(ids)}
        chosen = f"id IN (SELECT value FROM json_each(:keys)) AND {_OLD}"
        pairs = f"SELECT collection_id, url_key FROM documents WHERE {chosen}"
        with rested(), database.write() as connection:
            connection.enable_secure_delete()
            if not begun:
                begun.append(mark_trace(connection, of["tenant"], of["now"]))
            connection.execute(
                "UPDATE collections SET changes = changes + 1 WHERE id IN"
                f" (SELECT collection_id FROM ({pairs}))",
                batch,
            )
            rows += connection.execute(
                "DELETE FROM ledger WHERE state = 'stored'"
                f" AND (collection_id, url_key) IN ({pairs})",
                batch,
            ).rowcount
            documents += connection.execute(f"DELETE FROM documents WHERE {chosen}", batch).rowcount
    return documents, rows


def _batches(database: Database, of: Mapping[str, Any]) -> Iterator[list[int]]:
    """Yield the ids of old documents, as many at a time as have few enough chunks."""
    with database.read() as connection:
        found = connection.execute(
            "SELECT id, (SELECT count(*) FROM chunks WHERE document_id = documents.id)"
            f" FROM documents WHERE {_OLD}",
            of,
        ).fetchall()
    batch: list[int] = []
    size = 0
    for document, chunks in found:
        if batch and size + chunks > ROWS:
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += chunks + 1
    if batch:
        yield batch
