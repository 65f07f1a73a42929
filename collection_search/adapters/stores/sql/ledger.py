"""The ledger of pages to ingest, one row per (tenant, collection, url_key)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ....contracts.ingestion import Priority
from ....ports.ledger import revisit_delay_s
from ....text.clean import to_unicode
from . import addresses, documents, pauses
from . import ledger_statements as sql
from .accepting import accept_pages, queue_again
from .claims import RowFilter
from .collection_ids import ensure_id, find_id
from .connection import WriteLock
from .dead_letters import give_up, list_dead_letters, retry_dead_letters
from .ledger_records import build_claim, extracted_json, fetch_facts, rules_json
from .ledger_writes import (
    count_dead,
    count_due,
    end_lease,
    finish_row,
    gone_since,
    postponements,
    return_rows,
    update_row,
)
from .tickets import ticket_status
from .turns import next_row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from ....contracts.collection import Chunk, Document, TenantScope
    from ....contracts.ingestion import (
        Claim,
        DeadLetter,
        ExtractedPage,
        Fetched,
        IngestionRequest,
        PageChange,
        Pause,
        Ticket,
        TicketStatus,
    )
    from ....contracts.page import PageRules
    from .claims import NextRow
    from .connection import Database
    from .documents import DocumentRows

MAX_POSTPONEMENTS: Final = 100
"""Most postponements in a row; then the page is given up."""


class SQLLedger:
    """The ledger: implements `collection_search.ports.Ledger`."""

    def __init__(
        self,
        database: Database,
        rows: type[DocumentRows],
        *,
        clock: Callable[[], float],
        max_attempts: int,
        next_row: NextRow = next_row,
        resume_deletions: Callable[[float], bool] = lambda _: False,
        sweeping: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(
            enter_result=True
        ),
    ) -> None:
        self._database = database
        self._rows = rows
        self._clock = clock
        self._max_attempts = max_attempts
        self._next_row = next_row
        self._resume_deletions = resume_deletions
        self._sweeping = sweeping

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction; `request.known` decides about known ones."""
        with self._database.read(None) as connection:
            is_paused = pauses.has_pauses(connection)
        with self._database.write(None if is_paused else request.scope) as connection:
            # It ends pauses for all tenants, so it excludes all of them.
            return accept_pages(connection, request, self._clock() if is_paused else None)

    def claim(
        self,
        owner: str,
        *,
        lease_s: float,
        fetch: bool = False,
        busy_hosts: Collection[str] = (),
        proxies: Collection[str] = ("",),
        up_to: Priority = Priority.REFRESH,
        instead_of: Callable[[str], bool] | None = None,
    ) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None."""
        now, search = self._clock(), (fetch, busy_hosts, proxies, self._next_row, up_to)
        wanted = RowFilter(self._max_attempts, *search)
        with self._database.read(None) as connection:  # the search keeps nobody from writing
            former = instead_of and wanted.find_former(connection, instead_of, now)
            row_id = former.row_id if former else wanted.find(connection, now)
        if row_id is None:
            return None
        with self._database.write(WriteLock.CLAIM) as connection:
            if former:
                end_lease(connection, former, now)
            taken = wanted.take(connection, row_id, owner, now, lease_s)
        return None if taken is None else build_claim(*taken)

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
        rows, now = self._rows.of(document, chunks), self._clock()
        with self._database.write(claim.scope) as connection:
            if not update_row(connection, claim, sql.DONE):
                return False
            collection = ensure_id(connection, claim.scope)
            before = documents.text_hash_of(
                connection, collection, document.url_key, is_own=claim.text_hash is None
            )
            is_own = addresses.store_page(connection, collection, document, rows, now)
            change: PageChange = "new" if before is None else "changed"
            change = change if is_own else "duplicate"
            if before == document.content_hash and claim.document_title in {None, document.title}:
                change = "unchanged"
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
        with self._database.write(claim.scope) as connection:
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
        with self._database.write(claim.scope) as connection:
            since = gone_since(connection, claim, now)
            due = now + revisit_delay_s(now - since, is_final=is_final)
            if not update_row(connection, claim, sql.RETIRED, due, to_unicode(reason)):
                return False
            addresses.delete_page(connection, find_id(connection, claim.scope), claim.url_key)
            finish_row(connection, claim, "gone", since, None)
        return True

    def retired(self, scope: TenantScope, *, due: bool = False) -> list[str]:
        """Return the keys of the pages that are gone, all or those that are due or asked for."""
        with self._database.read(scope) as connection:
            collection = find_id(connection, scope)
            of = {"collection": collection, "due": due, "now": self._clock()}
            return [row["url_key"] for row in connection.execute(sql.GONE, of)]

    def postpone(self, claim: Claim, in_s: float, reason: str, *, cause: str | None = None) -> bool:
        """Return the row to the queue, or give it up after `MAX_POSTPONEMENTS` in a row."""
        now, why = self._clock(), to_unicode(reason)
        with self._database.write(claim.scope if cause is None else None) as connection:
            if cause is not None:
                pauses.pause_work(connection, claim, cause, reason=why, now=now, in_s=in_s)
            if postponements(connection, claim) < MAX_POSTPONEMENTS:
                return update_row(connection, claim, sql.LATER, now + in_s, why, cause)
            why = f"Postponed {MAX_POSTPONEMENTS} times in a row. {why}"
            give_up(connection, claim, why, now)
        return False

    def pause(self, claim: Claim, causes: Collection[str], reason: str) -> bool:
        """Return the row to the queue and pause its causes; True for a dead letter."""
        now, why = self._clock(), to_unicode(reason)
        with self._database.write(None) as connection:
            is_over = pauses.is_unreached(connection, causes, now)
            untils = {
                cause: pauses.pause_work(connection, claim, cause, reason=why, now=now)
                for cause in causes
            }
            if is_over:
                return give_up(connection, claim, f"Not reached for a day. {why}", now)
            cause = max(untils, key=lambda one: untils[one])
            update_row(connection, claim, sql.PAUSED, untils[cause], why, cause)
        return False

    def resume(self, claim: Claim, causes: Collection[str]) -> None:
        """End the pauses of these causes; other tries of the claim are left to other rows."""
        now = self._clock()
        with self._database.write(None) as connection:
            pauses.end_pauses(connection, causes, now)
            pauses.end_probes(connection, claim, now)

    def put_off(self, *, proxies: Collection[str] = ()) -> list[Pause]:
        """Return what waits for a later time or another proxy, the earliest first."""
        with self._database.read(None) as connection:
            return pauses.list_put_off(connection, self._clock(), proxies)

    def keep_text(self, claim: Claim, page: ExtractedPage) -> bool:
        """Store the text of a fetched page for later claims of the row."""
        change = "extracted_ref = ?, extracted = ?"
        return self._change(claim, change, page.content_ref, extracted_json(page))

    def fail(
        self, claim: Claim, error: str, *, retry_in_s: float | None, keeps_text: bool = False
    ) -> bool:
        """Return the row to the queue after `retry_in_s`, or give it up; True for a dead letter."""
        now, why = self._clock(), to_unicode(error)
        with self._database.write(claim.scope) as connection:
            if retry_in_s is None or claim.attempts >= self._max_attempts:
                return give_up(connection, claim, why, now, keeps_text=keeps_text)
            update_row(
                connection, claim, f"{sql.PUT_BACK}, due = ?, error = ?", now + retry_in_s, why
            )
        return False

    def release(self, claim: Claim) -> None:
        """Return the row unchanged to the queue, so that no worker waits for the lease."""
        with self._database.write(None if claim.probes else claim.scope) as connection:
            update_row(connection, claim, f"{sql.PUT_BACK}, due = 0, attempts = attempts - 1")
            if claim.probes:
                pauses.end_probes(connection, claim, self._clock())

    def sweep(self, *, is_gone: Callable[[str], bool] = lambda _: False) -> int:
        """Return overdue rows and those of gone owners to the queue; resume left deletions."""
        of = {"now": self._clock(), "max_attempts": self._max_attempts}
        returned = return_rows(self._database, of, is_gone)
        return returned + self._resume_deletions(self._clock())

    def refetch(
        self,
        scope: TenantScope,
        *,
        url_keys: Sequence[str] | None = None,
        rules: PageRules | None = None,
        priority: Priority = Priority.REFRESH,
    ) -> Ticket:
        """Queue stored and retired pages, all or these, for a fetch; their documents stay."""
        with self._database.write(None) as connection:
            now = self._clock()
            return queue_again(connection, scope, url_keys, rules=rules, priority=priority, now=now)

    def retry_failed(
        self, whose: TenantScope | str, *, rules: PageRules | None = None, ticket: str | None = None
    ) -> int:
        """Queue the dead rows of a collection, tenant or ticket with all attempts; count them."""
        with self._database.write(None) as connection:
            pauses.try_again(connection, self._clock())
            return retry_dead_letters(connection, whose, rules_json(rules), ticket)

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        with self._database.read(tenant_id) as connection:
            return list_dead_letters(connection, tenant_id, collection, limit)

    def pending_in_s(
        self, *, fetch: bool = False, proxies: Collection[str] = ("",)
    ) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done."""
        wanted = RowFilter(self._max_attempts, fetch, proxies=proxies)
        with self._database.read(None) as connection:
            return wanted.pending_in_s(connection, self._clock())

    def due(self, *, limit: int) -> dict[Priority, int]:
        """Return how many rows of each priority wait and are due, counted up to the limit."""
        of = {"now": self._clock(), "limit": limit}
        with self._database.read(None) as connection:
            return {one: count_due(connection, of, one) for one in Priority}

    def dead(self, *, limit: int) -> dict[Priority, int]:
        """Return how many rows of each priority were given up, counted up to the limit."""
        with self._database.read(None) as connection:
            return {one: count_dead(connection, limit, one) for one in Priority}

    def sweeping(self) -> AbstractContextManager[bool]:
        """Open a block in which one process of all sweeps."""
        return self._sweeping()

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        with self._database.read(tenant_id) as connection:
            return ticket_status(connection, tenant_id, ticket_id, self._clock())

    def _change(self, claim: Claim, change: str, *values: float | str | None) -> bool:
        with self._database.write(claim.scope) as connection:
            return update_row(connection, claim, change, *values)
