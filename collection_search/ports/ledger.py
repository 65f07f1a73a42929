"""What is staged, what should be ingested and what is, and what starts an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..contracts.collection import Chunk, Document, TenantScope
    from ..contracts.ingestion import (
        Claim,
        DeadLetter,
        Fetched,
        IngestionRequest,
        StagedSession,
        Ticket,
        TicketStatus,
    )

PER_HOST: Final = 2
"""Pages of one host that all processes together fetch at once; all others of it wait."""
FAILED_BEFORE: Final = "failed_before"
"""Where the provenance of a claim says why the last look at its page failed: see `Ledger.claim`."""
LOOK_AGAIN_S: Final = 7 * 86_400.0
"""A retired page is left alone for this long at least."""
LOOK_AGAIN_MAX_S: Final = 180 * 86_400.0
"""And for this long at most."""


def revisit_delay_s(gone_for_s: float, *, is_final: bool = False) -> float:
    """Return the seconds for which a refresh leaves a retired page alone.

    As long again as it has been gone, so the wait doubles with every look, from 7 days to 180. A
    page that its site calls gone for good (`is_final`) is left alone for 180 days at once.

    >>> day = 86_400.0
    >>> [revisit_delay_s(gone * day) / day for gone in (0, 7, 14, 28, 224)]
    [7.0, 7.0, 14.0, 28.0, 180.0]
    >>> revisit_delay_s(0, is_final=True) / day
    180.0
    """
    if is_final:
        return LOOK_AGAIN_MAX_S
    return min(max(gone_for_s, LOOK_AGAIN_S), LOOK_AGAIN_MAX_S)


def is_revisit(claim: Claim) -> bool:
    """Tell whether the page was retired and a refresh asks whether it is back."""
    return claim.is_refresh and claim.text_hash is None and FAILED_BEFORE in claim.provenance


def require_session(staging: StagingStore, tenant_id: str, session_id: str) -> StagedSession:
    """Return the staged session. Blocks. Raises InputError where the tenant has none of that id."""
    staged = staging.session(tenant_id, session_id)
    if staged is None:
        raise InputError(f"Tenant {tenant_id!r} has no staged session {session_id!r}.")
    return staged


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
        would `keep` them; so does one that a refresh is asking for again. One that was fetched and
        comes without a text is looked at again if the request would `renew` it, as by `refetch`.

        That a page has vanished, and when, is remembered until it is stored again, whoever asks
        for it meanwhile and however that ends.
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
        netloc). A claim without `content_ref` is to be fetched. At most `PER_HOST` such claims of
        one host are held at once, by all processes together; a lease that ran out holds none.

        `failed_before` in the claim's provenance is the error of the look before this one: of the
        last one at a stored page, if that gave the row up, or why a page was retired that `refetch`
        asks for again. The store alone says so, to this claim's worker alone: it belongs to no
        document.
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
        """Put the row back as it was before the look: stored, with its document and its chunks.

        Keeps the validators that came, and those known where none came, and `checked_at` in the
        document's provenance. False when another worker has taken the row over, or when
        nothing is stored for the page: it then waits to be fetched whole, and the attempt counts.
        """
        ...

    def retire(self, claim: Claim, reason: str, *, is_final: bool = False) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over.

        The row keeps its provenance, and the time since when the page is gone if it was retired
        before. `revisit_delay_s` says when a refresh may ask for it again.
        """
        ...

    def retired(self, scope: TenantScope, *, due: bool = False) -> list[str]:
        """Return the keys of the collection's pages that are gone, oldest row first.

        Those that are asked for again but not yet stored are among them. With `due` those alone
        and the retired ones that a refresh may ask for again by now.
        """
        ...

    def postpone(self, claim: Claim, in_s: float, reason: str) -> bool:
        """Return the row to the queue after `in_s` seconds; the attempt does not count.

        False when it was given up instead, as by `fail`, since it was postponed too often in a
        row, or when another worker has taken it over.
        """
        ...

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> bool:
        """Return the row to the queue after `retry_in_s`, or give it up; True for a dead letter.

        It is given up when `retry_in_s` is None and after the last attempt. It is a dead letter
        then, but a page that was retired before is so again, and due in `LOOK_AGAIN_S`.
        """
        ...

    def release(self, claim: Claim) -> None:
        """Give the row back untouched, so that the next worker need not wait for the lease."""
        ...

    def sweep(self, *, is_gone: Callable[[str], bool] = ...) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are given up, as by `fail`.
        """
        ...

    def refetch(self, scope: TenantScope, *, url_keys: Sequence[str] | None = None) -> Ticket:
        """Put stored and retired pages, all or these, back to be fetched; what is stored stays.

        Pages that are being worked on or wait already are in the ticket, too. Retired ones are
        taken whether they are `due` or not.
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
