"""Tickets: the pages of an accepted ingestion, and their state."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Final

from ....contracts.ingestion import RowStatus, Ticket, TicketStatus
from ....ports.ledger import SOON_S
from .ledger_statements import NEEDS_FETCH
from .pauses import causes_of, list_pauses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....contracts.collection import TenantScope
    from ....contracts.ingestion import Pause
    from .connection import Connection, Row

_STATUS: Final = f"""
    SELECT collections.name AS collection, embedder, ledger.id, url, url_key, title, state,
        attempts, error, due, host, {NEEDS_FETCH} AS needs_fetch,
        CASE WHEN state IN ('stored', 'retired') THEN change END AS change
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
    connection: Connection,
    ticket_id: str,
    scope: TenantScope,
    collection: int,
    keys: Sequence[str],
) -> Ticket:
    """Write a ticket for these pages, in this order, and return it."""
    connection.execute(
        "INSERT INTO tickets (id, collection_id) VALUES (?, ?)", (ticket_id, collection)
    )
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
    connection: Connection, tenant_id: str, ticket_id: str, now: float
) -> TicketStatus | None:
    """Return where a ticket of this tenant stands, or None when there is none."""
    found = connection.execute(_STATUS, (ticket_id, tenant_id)).fetchall()
    if not found:
        return None
    pauses = {pause.cause: pause for pause in list_pauses(connection, now)}
    rows = [_row_status(row, pauses, now) for row in found if row["id"] is not None]
    states = Counter(row.state for row in rows)
    return TicketStatus(
        ticket_id=ticket_id,
        collection=found[0]["collection"],
        count=len(rows),
        stored=states["stored"],
        pending=states["waiting"] + states["working"],
        to_fetch=states["to_fetch"],
        failed=states["dead"],
        retired=states["retired"],
        rows=rows,
    )


def _row_status(row: Row, pauses: Mapping[str, Pause], now: float) -> RowStatus:
    """Return a row's state, and until when its work waits."""
    status = RowStatus(**row)
    if status.state not in {"waiting", "to_fetch"}:
        return status
    causes = causes_of(row["host"], row["embedder"], needs_fetch=bool(row["needs_fetch"]))
    holding = [pauses[cause] for cause in causes if cause in pauses]
    longest = max(holding, key=lambda pause: pause.until, default=None)
    until, error = row["due"], status.error
    if longest is not None and longest.until > until:
        until, error = longest.until, error or longest.reason
    put_off_until = until if until > now + SOON_S else None
    return status.model_copy(update={"put_off_until": put_off_until, "error": error})
