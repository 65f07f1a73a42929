"""The ledger of pages to ingest, one row per (tenant, collection, url_key)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ....errors import StoreError
from ....ports.ledger import revisit_delay_s
from ....text.clean import to_unicode
from . import documents
from . import ledger_statements as sql
from .collection_ids import ensure_id, find_id
from .dead_letters import give_up, list_dead_letters, retry_dead_letters
from .ledger_records import build_claim, build_row, fetch_facts
from .ledger_writes import finish_row, gone_since, postponements, sweep, update_row
from .tickets import new_ticket_id, put_ticket, ticket_status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ....contracts.collection import Chunk, Document, TenantScope
    from ....contracts.ingestion import (
        Claim,
        DeadLetter,
        Fetched,
        IngestionRequest,
        PageChange,
        Ticket,
        TicketStatus,
    )
    from .database import Database

MAX_POSTPONEMENTS: Final = 100
"""Most postponements in a row; then the page is given up."""


class SQLiteLedger:
    """The ledger: implements `collection_search.ports.Ledger`."""

    def __init__(
        self, database: Database, *, clock: Callable[[], float], max_attempts: int
    ) -> None:
        self._database = database
        self._clock = clock
        self._max_attempts = max_attempts

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction; `request.known` decides about known ones."""
        scope, ticket_id = request.scope, new_ticket_id()
        shared = {
            "question": request.question,
            "run_id": request.run_id,
            "trace_id": request.trace_id,
            "ticket_id": ticket_id,
        }
        keys = list(dict.fromkeys(item.url_key for item in request.items))
        with self._database.write() as connection:
            collection = ensure_id(connection, scope)
            of = {"collection": collection, "keys": json.dumps(keys)}
            connection.execute(sql.adopt(only_these=True), of)
            connection.executemany(
                sql.ACCEPT,
                [build_row(collection, item, shared, request.known) for item in request.items],
            )
            connection.execute(sql.KEPT, of)
            return put_ticket(connection, ticket_id, scope, collection, keys)

    def claim(
        self,
        owner: str,
        *,
        lease_s: float,
        fetch: bool = False,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None."""
        now, query = self._clock(), sql.next_row(fetch=fetch)
        of = {"now": now, "max_attempts": self._max_attempts, "busy": json.dumps([*busy_hosts])}
        with self._database.read() as connection:  # an idle worker keeps nobody from writing
            if connection.execute(query, of).fetchone() is None:
                return None
        with self._database.write() as connection:
            row = connection.execute(query, of).fetchone()
            if row is None:
                return None
            connection.execute(sql.CLAIM, (owner, now + lease_s, row["id"]))
        return build_claim(row)

    def renew(self, claim: Claim, *, lease_s: float) -> bool:
        """Extend the lease; False when another worker has taken the row over."""
        return self._change(claim, "due = ?", self._clock() + lease_s)

    def finish(
        self,
        claim: Claim,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        fetched: Fetched | None = None,
    ) -> bool:
        """Replace the document's chunks and mark the row stored, in one transaction."""
        if fetched is not None:
            provenance = {**document.provenance, **documents.fetch_provenance(fetched)}
            document = replace(document, provenance=provenance)
        rows, now = documents.build_rows(document, chunks), self._clock()
        with self._database.write() as connection:
            if not update_row(connection, claim, sql.DONE):
                return False
            collection = ensure_id(connection, claim.scope)
            before = documents.text_hash_of(connection, collection, document.url_key)
            documents.put_document(connection, collection, rows, now)
            change: PageChange = "new" if before is None else "changed"
            change = "unchanged" if before == document.content_hash else change
            finish_row(connection, claim, change, now, fetch_facts(fetched))
        return True

    def unchanged(self, claim: Claim, fetched: Fetched) -> bool:
        """Mark the row stored again without touching its chunks; False when it cannot be."""
        known, now = claim.validators, self._clock()
        validators = replace(
            fetched.validators,
            etag=fetched.validators.etag or known.etag,
            last_modified=fetched.validators.last_modified or known.last_modified,
        )
        with self._database.write() as connection:
            collection = find_id(connection, claim.scope)
            if documents.text_hash_of(connection, collection, claim.url_key) is None:
                update_row(connection, claim, sql.NOTHING_STORED)
                return False
            if not update_row(connection, claim, sql.DONE):
                return False
            documents.mark_checked(connection, collection, claim.url_key, now)
            facts = fetch_facts(replace(fetched, validators=validators))
            finish_row(connection, claim, "unchanged", now, facts)
        return True

    def retire(self, claim: Claim, reason: str, *, is_final: bool = False) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over."""
        now = self._clock()
        with self._database.write() as connection:
            since = gone_since(connection, claim, now)
            due = now + revisit_delay_s(now - since, is_final=is_final)
            if not update_row(connection, claim, sql.RETIRED, due, to_unicode(reason)):
                return False
            documents.delete_page(connection, find_id(connection, claim.scope), claim.url_key)
            finish_row(connection, claim, "gone", since, None)
        return True

    def retired(self, scope: TenantScope, *, due: bool = False) -> list[str]:
        """Return the keys of the pages that are gone, all or those that are due or asked for."""
        with self._database.read() as connection:
            collection = find_id(connection, scope)
            of = {"collection": collection, "due": due, "now": self._clock()}
            return [row["url_key"] for row in connection.execute(sql.GONE, of)]

    def postpone(self, claim: Claim, in_s: float, reason: str) -> bool:
        """Return the row to the queue, or give it up after `MAX_POSTPONEMENTS` in a row."""
        now, why = self._clock(), to_unicode(reason)
        with self._database.write() as connection:
            if postponements(connection, claim) < MAX_POSTPONEMENTS:
                return update_row(connection, claim, sql.LATER, now + in_s, why)
            why = f"Postponed {MAX_POSTPONEMENTS} times in a row. {why}"
            give_up(connection, claim, why, now)
        return False

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> bool:
        """Return the row to the queue after `retry_in_s`, or give it up; True for a dead letter."""
        now, why = self._clock(), to_unicode(error)
        with self._database.write() as connection:
            if retry_in_s is None or claim.attempts >= self._max_attempts:
                return give_up(connection, claim, why, now)
            update_row(
                connection, claim, f"{sql.PUT_BACK}, due = ?, error = ?", now + retry_in_s, why
            )
        return False

    def release(self, claim: Claim) -> None:
        """Return the row unchanged to the queue, so that no worker waits for the lease."""
        self._change(claim, f"{sql.PUT_BACK}, due = 0, attempts = attempts - 1")

    def sweep(self, *, is_gone: Callable[[str], bool] = lambda _: False) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them."""
        of = {"now": self._clock(), "max_attempts": self._max_attempts}
        with self._database.read() as connection:
            owners = connection.execute("SELECT DISTINCT owner FROM ledger WHERE state = 'working'")
            gone = [row["owner"] for row in owners if is_gone(row["owner"])]
            query = f"SELECT 1 FROM ledger WHERE {sql.OVERDUE} OR {sql.SPENT}"
            overdue = connection.execute(query, of).fetchone()
        if not gone and overdue is None:
            return 0
        with self._database.write() as connection:
            return sweep(connection, of, gone)

    def refetch(self, scope: TenantScope, *, url_keys: Sequence[str] | None = None) -> Ticket:
        """Queue stored and retired pages, all or these, for a fetch; their documents stay."""
        ticket_id = new_ticket_id()
        only_these, wanted = url_keys is not None, json.dumps([*(url_keys or ())])
        put_back, chosen = sql.refetch(only_these=only_these)
        with self._database.write() as connection:
            collection = find_id(connection, scope)
            if collection is None:
                raise StoreError(f"There is no collection {scope.collection!r}.")
            of = {"collection": collection, "keys": wanted}
            connection.execute(sql.adopt(only_these=only_these), of)
            connection.execute(put_back, of)
            keys = [row["url_key"] for row in connection.execute(chosen, of)]
            return put_ticket(connection, ticket_id, scope, collection, keys)

    def retry_failed(self, whose: TenantScope | str) -> int:
        """Queue the dead rows of a collection or a tenant with all attempts; return how many."""
        with self._database.write() as connection:
            return retry_dead_letters(connection, whose)

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        with self._database.read() as connection:
            return list_dead_letters(connection, tenant_id, collection, limit)

    def pending_in_s(self, *, fetch: bool = False) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done."""
        states = ("waiting", "working", "to_fetch") if fetch else ("waiting", "working")
        earliest = " UNION ALL ".join(
            f"SELECT min(due) AS due FROM ledger WHERE state = '{state}'" for state in states
        )
        with self._database.read() as connection:
            due = connection.execute(f"SELECT min(due) FROM ({earliest})").fetchone()[0]
        return None if due is None else max(0.0, due - self._clock())

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        with self._database.read() as connection:
            return ticket_status(connection, tenant_id, ticket_id)

    def _change(self, claim: Claim, change: str, *values: float | str) -> bool:
        with self._database.write() as connection:
            return update_row(connection, claim, change, *values)
