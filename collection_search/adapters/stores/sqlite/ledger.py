"""What should be ingested and what is, one row per (tenant, collection, url_key)."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from ....records import Claim, RowState, RowStatus, TenantScope, Ticket, TicketStatus
from ....text import plain
from .collections import collection_id
from .documents import put_document, rows_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from ....records import Chunk, Document, IngestionItem, IngestionRequest
    from .database import Database

_PUT_BACK = "state = 'waiting', owner = NULL"
_IS_MINE = "id = ? AND fence = ? AND state = 'working'"
_IS_DUE = "state IN ('waiting', 'working') AND due <= ?"

_ACCEPT = """
    INSERT INTO ledger (collection_id, url_key, url, title, content_ref, provenance, state)
    VALUES (:collection, :url_key, :url, :title, :content_ref, :provenance,
            CASE WHEN :content_ref IS NULL THEN 'to_fetch' ELSE 'waiting' END)
    ON CONFLICT (collection_id, url_key) DO UPDATE SET
        url = excluded.url, title = excluded.title, provenance = excluded.provenance,
        content_ref = coalesce(excluded.content_ref, content_ref),
        state = CASE WHEN coalesce(excluded.content_ref, content_ref) IS NULL
                     THEN 'to_fetch' ELSE 'waiting' END,
        owner = NULL, due = 0, attempts = 0, error = NULL, fence = fence + 1
    WHERE state = 'dead'
       OR (excluded.content_ref IS NOT NULL AND excluded.content_ref IS NOT content_ref)
"""
"""A page that is known with the same text, or comes without one, stays as it is."""

_NEXT = f"""
    SELECT ledger.*, collections.tenant_id, collections.name AS collection
    FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE {_IS_DUE} AND attempts < ? ORDER BY attempts, ledger.id LIMIT 1
"""
"""Rows that failed before come last, so that a bad page never holds up the others."""

_STATUS = """
    SELECT collections.name AS collection, ledger.*
    FROM tickets
    JOIN collections ON collections.id = tickets.collection_id
    LEFT JOIN ticket_rows ON ticket_rows.ticket_id = tickets.id
    LEFT JOIN ledger ON ledger.id = ticket_rows.row_id
    WHERE tickets.id = ? AND collections.tenant_id = ?
    ORDER BY ticket_rows.position
"""


class SQLiteLedger:
    """The ledger: implements `collection_search.ports.Ledger`."""

    def __init__(
        self, database: Database, *, clock: Callable[[], float], max_attempts: int
    ) -> None:
        self._database = database
        self._clock = clock
        self._max_attempts = max_attempts

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction; one already stored with the same text stays so."""
        scope, ticket_id = request.scope, f"ticket-{uuid.uuid4().hex}"
        shared = {
            "question": request.question,
            "run_id": request.run_id,
            "trace_id": request.trace_id,
            "ticket_id": ticket_id,
        }
        with self._database.write() as connection:
            collection = collection_id(connection, scope)
            connection.execute("INSERT INTO tickets VALUES (?, ?)", (ticket_id, collection))
            connection.executemany(
                _ACCEPT, [_accepted(collection, item, shared) for item in request.items]
            )
            connection.executemany(
                "INSERT OR IGNORE INTO ticket_rows (ticket_id, position, row_id)"
                " SELECT ?, ?, id FROM ledger WHERE collection_id = ? AND url_key = ?",
                [
                    (ticket_id, position, collection, item.url_key)
                    for position, item in enumerate(request.items)
                ],
            )
        return Ticket(
            ticket_id=ticket_id,
            tenant_id=scope.tenant_id,
            collection=scope.collection,
            count=len({item.url_key for item in request.items}),
        )

    def claim(self, owner: str, *, lease_s: float) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None."""
        now = self._clock()
        due = now, self._max_attempts
        with self._database.read() as connection:  # an idle worker keeps nobody from writing
            if connection.execute(_NEXT, due).fetchone() is None:
                return None
        with self._database.write() as connection:
            row = connection.execute(_NEXT, due).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE ledger SET state = 'working', owner = ?, due = ?,"
                " attempts = attempts + 1, fence = fence + 1 WHERE id = ?",
                (owner, now + lease_s, row["id"]),
            )
        return _claimed(row)

    def renew(self, claim: Claim, *, lease_s: float) -> bool:
        """Extend the lease; False when another worker has taken the row over."""
        return self._change(claim, "due = ?", self._clock() + lease_s)

    def finish(self, claim: Claim, document: Document, chunks: Sequence[Chunk]) -> bool:
        """Replace the document's chunks and mark the row stored, in one transaction.

        False, and nothing written, when another worker has taken the row over.
        """
        rows = rows_of(document, chunks)
        with self._database.write() as connection:
            done = "state = 'stored', owner = NULL, error = NULL"
            if not _changed(connection, claim, done):
                return False
            put_document(connection, collection_id(connection, claim.scope), rows)
        return True

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> None:
        """Return the row to the queue after `retry_in_s`, or bury it when that is None.

        The last attempt buries it too.
        """
        if retry_in_s is None or claim.attempts >= self._max_attempts:
            self._change(claim, "state = 'dead', owner = NULL, error = ?", plain(error))
        else:
            due = self._clock() + retry_in_s
            self._change(claim, f"{_PUT_BACK}, due = ?, error = ?", due, plain(error))

    def release(self, claim: Claim) -> None:
        """Give the row back untouched, so that the next worker need not wait for the lease."""
        self._change(claim, f"{_PUT_BACK}, due = 0, attempts = attempts - 1")

    def sweep(self, *, is_gone: Callable[[str], bool] = lambda _: False) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are buried.
        """
        with self._database.read() as connection:
            owners = connection.execute("SELECT DISTINCT owner FROM ledger WHERE state = 'working'")
            gone = [(row["owner"],) for row in owners if is_gone(row["owner"])]
            overdue = connection.execute(
                f"SELECT 1 FROM ledger WHERE {_IS_DUE} AND (state = 'working' OR attempts >= ?)",
                (self._clock(), self._max_attempts),
            ).fetchone()
        return self._swept(gone) if gone or overdue else 0

    def _swept(self, gone: Sequence[tuple[str]]) -> int:
        now = self._clock()
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE ledger SET due = 0 WHERE state = 'working' AND owner = ?", gone
            )
            buried = connection.execute(
                "UPDATE ledger SET state = 'dead', owner = NULL, error = coalesce(error,"
                " 'Every worker that took this page stopped without an answer.')"
                f" WHERE {_IS_DUE} AND attempts >= ?",
                (now, self._max_attempts),
            ).rowcount
            returned = connection.execute(
                f"UPDATE ledger SET {_PUT_BACK} WHERE state = 'working' AND due <= ?", (now,)
            ).rowcount
        return buried + returned

    def pending_in_s(self) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done."""
        with self._database.read() as connection:
            due = connection.execute(
                "SELECT min(due) FROM ledger WHERE state IN ('waiting', 'working')"
            ).fetchone()[0]
        return None if due is None else max(0.0, due - self._clock())

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        with self._database.read() as connection:
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
            rows=rows,
        )

    def _change(self, claim: Claim, change: str, *values: float | str) -> bool:
        with self._database.write() as connection:
            return _changed(connection, claim, change, *values)


def _changed(
    connection: sqlite3.Connection, claim: Claim, change: str, *values: float | str
) -> bool:
    """Change the row if it is still this worker's; the fence tells."""
    statement = f"UPDATE ledger SET {change} WHERE {_IS_MINE}"
    return connection.execute(statement, (*values, claim.row_id, claim.fence)).rowcount == 1


def _accepted(collection: int, item: IngestionItem, shared: dict[str, Any]) -> dict[str, Any]:
    provenance = {**{key: value for key, value in shared.items() if value}, **item.provenance}
    return {
        "collection": collection,
        "url_key": item.url_key,
        "url": item.url,
        "title": plain(item.title),
        "content_ref": item.content_ref,
        "provenance": json.dumps(provenance),
    }


def _claimed(row: sqlite3.Row) -> Claim:
    return Claim(
        row_id=row["id"],
        scope=TenantScope(row["tenant_id"], row["collection"]),
        url=row["url"],
        url_key=row["url_key"],
        title=row["title"],
        content_ref=row["content_ref"],
        provenance=json.loads(row["provenance"]),
        attempts=row["attempts"] + 1,
        fence=row["fence"] + 1,
    )


def _row_status(row: sqlite3.Row) -> RowStatus:
    return RowStatus(
        url=row["url"],
        title=row["title"],
        state=row["state"],
        attempts=row["attempts"],
        error=row["error"],
    )


def _count(rows: Sequence[RowStatus], *states: RowState) -> int:
    return sum(row.state in states for row in rows)
