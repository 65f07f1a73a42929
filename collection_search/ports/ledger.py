"""What is staged, what should be ingested and what is, and what starts an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..records import (
        Chunk,
        Claim,
        DeadLetter,
        Document,
        Fetched,
        IngestionRequest,
        StagedSession,
        TenantScope,
        Ticket,
        TicketStatus,
    )


class StagingStore(Protocol):
    """Texts that a provider delivered, kept by content so that a run's state need not carry them.

    References are content hashes, private to their tenant.
    """

    def put(self, tenant_id: str, texts: Sequence[str]) -> list[str]:
        """Keep the texts in one transaction and return their references, in order."""
        ...

    def get(self, tenant_id: str, content_ref: str) -> str | None:
        """Return the text, or None when it is not (or no longer) staged for this tenant."""
        ...

    def prune(self, older_than_s: float) -> int:
        """Drop texts of that age that no ledger row and no session needs; return how many."""
        ...

    def open_session(
        self,
        scope: TenantScope,
        candidates: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
    ) -> str:
        """Keep acquired candidates, both JSON-plain, and return the session's id.

        Their texts stay staged as long as the session does.
        """
        ...

    def session(self, tenant_id: str, session_id: str) -> StagedSession | None:
        """Return a session of this tenant with its candidates, or None."""
        ...

    def sessions(self, tenant_id: str, collection: str | None = None) -> list[StagedSession]:
        """Return the tenant's sessions without their candidates, the youngest first."""
        ...

    def close_session(self, tenant_id: str, session_id: str) -> bool:
        """Delete a session; its texts go with the next `prune`. False when there was none."""
        ...


class Ledger(Protocol):
    """What should be ingested and what is: the truth that survives every crash.

    One row per (tenant, collection, url_key).
    """

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction.

        One already stored with the same text stays so, and one that was fetched whatever text
        comes; what stays is `unchanged`. Retired ones begin anew, dead ones unless the request
        would `keep` them. One that was fetched and comes without a text is looked at again if the
        request would `renew` it, as by `refetch`.
        """
        ...

    def claim(
        self,
        owner: str,
        *,
        lease_s: float,
        fetch: bool = False,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None.

        With `fetch` one that has to be fetched as well, unless it is of a busy host (the URL's
        netloc). A claim without `content_ref` is to be fetched.
        """
        ...

    def renew(self, claim: Claim, *, lease_s: float) -> bool:
        """Extend the lease; False when another worker has taken the row over."""
        ...

    def finish(
        self,
        claim: Claim,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        fetched: Fetched | None = None,
    ) -> bool:
        """Replace the document's chunks and mark the row stored, in one transaction.

        The document has the claim's `url_key`. What `fetched` says is kept for the next
        conditional request and joins the document's provenance: `fetched_at` (ISO, UTC),
        `final_url`, `canonical_url`, `page_kind`.
        False, and nothing written, when another worker has taken the row over.
        """
        ...

    def unchanged(self, claim: Claim, fetched: Fetched) -> bool:
        """Mark the row stored again without touching its chunks.

        Keeps the validators that came, and those known where none came, and `checked_at` in the
        document's provenance. False when another worker has taken the row over, or when
        nothing is stored for the page.
        """
        ...

    def retire(self, claim: Claim, reason: str) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over."""
        ...

    def postpone(self, claim: Claim, in_s: float, reason: str) -> bool:
        """Return the row to the queue after `in_s` seconds; the attempt does not count.

        False when it was buried instead, since it was postponed too often in a row, or when
        another worker has taken it over.
        """
        ...

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> None:
        """Return the row to the queue after `retry_in_s`, or bury it when that is None."""
        ...

    def release(self, claim: Claim) -> None:
        """Give the row back untouched, so that the next worker need not wait for the lease."""
        ...

    def sweep(self, *, is_gone: Callable[[str], bool] = ...) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are buried.
        """
        ...

    def refetch(self, scope: TenantScope, *, url_keys: Sequence[str] | None = None) -> Ticket:
        """Put stored and retired pages, all or these, back to be fetched; what is stored stays.

        Pages that are being worked on or wait already are in the ticket, too.
        """
        ...

    def retry_failed(self, whose: TenantScope | str) -> int:
        """Give dead rows of a collection or a tenant all their attempts back; count them."""
        ...

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        ...

    def pending_in_s(self, *, fetch: bool = False) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done.

        Rows to fetch count with `fetch` only; one in another worker's hands counts always.
        """
        ...

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        ...


@runtime_checkable
class IngestionTrigger(Protocol):
    """Starts the ingestion of chosen pages."""

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        ...
