"""Ports of the ledger of pages, and of the start of an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ..contracts.ingestion import Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from ..contracts.collection import Chunk, Document, TenantScope
    from ..contracts.ingestion import (
        Claim,
        DeadLetter,
        ExtractedPage,
        Fetched,
        IngestionRequest,
        Pause,
        Ticket,
        TicketStatus,
    )
    from ..contracts.page import PageRules

PER_HOST: Final = 2
"""Most pages of one host that all processes together fetch at once."""
FAILED_BEFORE: Final = "failed_before"
"""Key of a claim's provenance with the error of the last fetch: see `Ledger.claim`."""
PAUSE_MIN_S: Final = 1.0
"""First time without a try after a cause outside of the pages failed; it doubles."""
PAUSE_MAX_S: Final = 300.0
"""Longest such time."""
UNREACHED_S: Final = 86_400.0
"""After this time without an answer of a host, its pages are given up."""
SOON_S: Final = 60.0
"""Callers wait for pages that are due within this time, and are told of later ones."""
CLAIMED_S: Final = 1.0
"""Seconds after which it is worth looking whether a claimed row came back."""
NETWORK: Final = "network"
"""The cause of a `Pause` of all fetches."""
PROXY: Final = "proxy"
"""The cause of pages that wait for a worker with another proxy."""
LOOK_AGAIN_S: Final = 7 * 86_400.0
"""Shortest time before a refresh asks for a retired page again."""
LOOK_AGAIN_MAX_S: Final = 180 * 86_400.0
"""Longest time before that."""


def revisit_delay_s(gone_for_s: float, *, is_final: bool = False) -> float:
    """Return the seconds until a refresh may ask for a retired page again.

    The wait doubles with every visit, from 7 days to 180. It is 180 days at once for a page that
    its site calls permanently gone (`is_final`).

    >>> day = 86_400.0
    >>> [revisit_delay_s(gone * day) / day for gone in (0, 7, 14, 28, 224)]
    [7.0, 7.0, 14.0, 28.0, 180.0]
    >>> revisit_delay_s(0, is_final=True) / day
    180.0
    """
    if is_final:
        return LOOK_AGAIN_MAX_S
    return min(max(gone_for_s, LOOK_AGAIN_S), LOOK_AGAIN_MAX_S)


def host_cause(host: str) -> str:
    """Return the cause of a pause of a host, which is a URL's netloc.

    >>> host_cause("a.example:8080")
    'host:a.example:8080'
    """
    return f"host:{host}"


def embedder_cause(fingerprint: str) -> str:
    """Return the cause of a pause of an embedder, as a collection remembers it."""
    return f"embedder:{fingerprint}"


def pause_delay_s(failing_for_s: float) -> float:
    """Return the seconds until the next try of something that has failed for so long.

    >>> [pause_delay_s(failing) for failing in (0, 1, 2, 64, 1000)]
    [1.0, 1, 2, 64, 300.0]
    """
    return min(max(failing_for_s, PAUSE_MIN_S), PAUSE_MAX_S)


def is_revisit(claim: Claim) -> bool:
    """Return whether the page was retired and a refresh checks whether it is back."""
    return claim.is_refresh and claim.text_hash is None and FAILED_BEFORE in claim.provenance


class Ledger(Protocol):
    """The durable state of every page to ingest: one row per (tenant, collection, url_key)."""

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction.

        A page that is stored with the same text stays as it is, and so does a fetched page,
        whatever text comes; such pages are `unchanged`. Retired pages start again, dead ones and
        those that a refresh asks for do unless `known` is `keep`. With `renew` a fetched page
        that comes without a text is fetched again, as by `refetch`. Pages that wait already get
        the request's priority where it is the better one.

        The time at which a page vanished is stored until the page is stored again.
        """
        ...

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
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None.

        With `fetch` the row may need a fetch, unless its host (the URL's netloc) is busy or its
        rules ask for none of the `proxies`. Such claims have `needs_fetch`. All processes together
        have at most `PER_HOST` of one host; expired leases do not count.

        With `instead_of` a row of an owner for which it is true is taken over at once, before its
        lease runs out; the former owner's results are refused from then on. Rows of a priority
        after `up_to` are not taken.

        A row whose work is paused is not taken, except one to try out each pause that is due: its
        claim names those causes as `probes`.

        Rows of one priority are taken before those of the next. Within a priority tenants take
        turns, then the collections of a tenant, then the hosts of a collection: the wait for a
        tenant's next page does not depend on the number of pages of others. Whoever has no free
        row is passed over. Of a host's rows those that waited for their time come first, then the
        others in the order of their acceptance.

        `failed_before` in the claim's provenance is the error of the fetch before this one, if
        that gave up a stored page, or why a page was retired that `refetch` asks for again. Only
        the store sets it, for this claim only: it is no part of a document.
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

        The document has the claim's `url_key`. `fetched` is stored for the next conditional request
        and adds `fetched_at` (ISO, UTC), `final_url`, `canonical_url` and `page_kind` to the
        provenance. False, and nothing written, when another worker has taken the row over.

        A page is `changed` if its text or its title is another. It is a `duplicate` if another page
        of the collection has the same text, if it is a redirect to another, or if the two differ in
        scheme, `www.`, slash or index page alone and name the same canonical address. Then one
        document has both addresses. Which one it is does not depend on the order in which they
        came.
        """
        ...

    def unchanged(self, claim: Claim, fetched: Fetched) -> bool:
        """Mark the row stored again, with its document and chunks as they are.

        The title of a page whose text another page has is stored for when it gets the document.

        Stores new validators and `checked_at` in the provenance. False when another worker has
        taken the row over, or when nothing is stored for the page: it then waits for a full fetch,
        and the attempt counts.
        """
        ...

    def retire(self, claim: Claim, reason: str, *, is_final: bool = False) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over.

        The row keeps its provenance and the first time of retirement. `revisit_delay_s` says when a
        refresh may ask for the page again.
        """
        ...

    def retired(self, scope: TenantScope, *, due: bool = False) -> list[str]:
        """Return the keys of the collection's pages that are gone, oldest row first.

        Pages that were queued again but are not stored yet are included. `due` excludes retired
        pages that a refresh may not ask for yet.
        """
        ...

    def postpone(self, claim: Claim, in_s: float, reason: str, *, cause: str | None = None) -> bool:
        """Return the row to the queue after `in_s` seconds; the attempt does not count.

        All work that has the `cause` waits as long. False when the row was postponed too often in
        a row and so given up as by `fail`, or when another worker has taken it over.
        """
        ...

    def pause(self, claim: Claim, causes: Collection[str], reason: str) -> bool:
        """Return the row to the queue, and let all work wait that has one of the causes.

        The attempt does not count. `pause_delay_s` says when one row tries the cause again. True
        when the row was given up as by `fail`, since its host gave no answer for `UNREACHED_S`.
        """
        ...

    def resume(self, claim: Claim, causes: Collection[str]) -> None:
        """End the pauses of these causes; what waited for them may be claimed at once.

        Other pauses that the claim has tried out without a result are tried again by another row.
        """
        ...

    def put_off(self, *, proxies: Collection[str] = ()) -> list[Pause]:
        """Return what waits for a later time in all collections, the earliest first.

        With `proxies`, those of a worker, also what waits for a worker with another one.
        """
        ...

    def keep_text(self, claim: Claim, page: ExtractedPage) -> bool:
        """Store the text of a fetched page, so that it is not fetched again for this work.

        Later claims of the row have it as `extracted`. False when another worker has taken the row
        over.
        """
        ...

    def fail(
        self, claim: Claim, error: str, *, retry_in_s: float | None, keeps_text: bool = False
    ) -> bool:
        """Return the row to the queue after `retry_in_s`, or give it up; True for a dead letter.

        It is given up when `retry_in_s` is None and after the last attempt. A page that was retired
        before is then retired again, and due in `LOOK_AGAIN_S`. With `keeps_text` a retry of the
        dead letter goes on with the text of `keep_text`, else it fetches the page again.
        """
        ...

    def release(self, claim: Claim) -> None:
        """Return the row unchanged to the queue, so that no worker waits for the lease."""
        ...

    def sweep(self, *, is_gone: Callable[[str], bool] = ...) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are given up, as by `fail`. A stretch of a deletion that
        was left unfinished counts as one more.
        """
        ...

    def refetch(
        self,
        scope: TenantScope,
        *,
        url_keys: Sequence[str] | None = None,
        rules: PageRules | None = None,
        priority: Priority = Priority.REFRESH,
    ) -> Ticket:
        """Queue stored and retired pages, all or these, for a fetch under these rules.

        Their documents stay. Further addresses of these pages are fetched, too, if they were
        ingested or imported. The ticket includes pages that are claimed or queued already; they get
        the `priority` where it is the better one. Retired pages need not be due.
        """
        ...

    def retry_failed(
        self, whose: TenantScope | str, *, rules: PageRules | None = None, ticket: str | None = None
    ) -> int:
        """Queue the dead rows of a collection or a tenant with all attempts; return how many.

        They are fetched under these rules; with the id of a `ticket` only its pages are. The run
        that pays for them stays the same.
        """
        ...

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        ...

    def pending_in_s(
        self, *, fetch: bool = False, proxies: Collection[str] = ("",)
    ) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done.

        Rows to fetch count with `fetch` only, and only those that `claim` may take. Claimed rows
        always count: they may come back at any time, at most `CLAIMED_S` from now.
        """
        ...

    def due(self, *, limit: int) -> dict[Priority, int]:
        """Return how many rows of each priority wait and are due, counted up to the limit.

        Some of them may be left by `claim`, such as those of a busy host.
        """
        ...

    def sweeping(self) -> AbstractContextManager[bool]:
        """Open a block in which at most one process of all is told True: it sweeps for all.

        A store that only processes of one host share may tell it to several.
        """
        ...

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        ...


@runtime_checkable
class IngestionTrigger(Protocol):
    """A start of the ingestion of chosen pages."""

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        ...
