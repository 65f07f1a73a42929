"""Tickets: which pages an accepted ingestion is about, and where they stand."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from ....contracts.ingestion import RowState, RowStatus, Ticket, TicketStatus

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ....contracts.collection import TenantScope

_STATUS: Final = """
    SELECT collections.name AS collection, ledger.*
    FROM tickets
    JOIN collections ON collections.id = tickets.collection_id
    LEFT JOIN ticket_rows ON ticket_rows.ticket_id = tickets.id
    LEFT JOIN ledger ON ledger.id = ticket_rows.row_id
    WHERE tickets.id = ? AND collections.tenant_id = ?
    ORDER BY ticket_rows.position
"""


def new_ticket_id() -> str:
    """Return an id that no other ticket has."""
    return f"ticket-{uuid.uuid4().hex}"


def put_ticket(
    connection: sqlite3.Connection,
    ticket_id: str,
    scope: TenantScope,
    collection: int,
    keys: Sequence[str],
) -> Ticket:
    """Write a ticket for these pages, in this order, and return it."""
    connection.execute("INSERT INTO tickets VALUES (?, ?)", (ticket_id, collection))
    connection.executemany(
        "INSERT INTO ticket_rows (ticket_id, position, row_id)"
        " SELECT ?, ?, id FROM ledger WHERE collection_id = ? AND url_key = ?",
        [(ticket_id, position, collection, key) for position, key in enumerate(keys)],
    )
    return Ticket(
        ticket_id=ticket_id,
        tenant_id=scope.tenant_id,
        collection=scope.collection,
        count=len(keys),
    )


def ticket_status(
    connection: sqlite3.Connection, tenant_id: str, ticket_id: str
) -> TicketStatus | None:
    """Return where a ticket of this tenant stands, or None when there is none."""
    found = connection.execute(_STATUS, (ticket_id, tenant_id)).fetchall()
    if not found:
        return None
    rows = [_row_status(row) for row in found if row["id"] is not None]
    return TicketStatus(
        ticket_id=ticket_id,
        collection=found[0]["collection"],
        count=len(rows),
        stored=_count(rows, "stored"),
        pending=_count(rows, "waiting", "working"),
        to_fetch=_count(rows, "to_fetch"),
        failed=_count(rows, "dead"),
        retired=_count(rows, "retired"),
        rows=rows,
    )


def _row_status(row: sqlite3.Row) -> RowStatus:
    return RowStatus(
        url=row["url"],
        url_key=row["url_key"],
        title=row["title"],
        state=row["state"],
        attempts=row["attempts"],
        error=row["error"],
        change=row["change"] if row["state"] in {"stored", "retired"} else None,
    )


def _count(rows: Sequence[RowStatus], *states: RowState) -> int:
    return sum(row.state in states for row in rows)
