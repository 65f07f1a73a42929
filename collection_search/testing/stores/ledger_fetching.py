"""Contract suite for ledgers with workers that fetch."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from ...contracts.collection import Document, TenantScope
from ...contracts.ingestion import Fetched, IngestionItem, IngestionRequest
from ...contracts.page import Validators
from ...ports.ledger import CLAIMED_S
from .suite import LEASE_S, MAX_ATTEMPTS, MINE, THEIRS, StoreContract, chunks, document

if TYPE_CHECKING:
    from ...contracts.ingestion import Claim, KnownPages, Ticket

VERSION = Validators(etag='"1"', last_modified="Sat, 21 Nov 2026 00:00:00 GMT")
KEY = "example.com/a"


class FetchingContract(StoreContract):
    """Tests of pages that are fetched, postponed or given up."""

    def _enqueue_page(
        self, *names: str, scope: TenantScope = MINE, known: KnownPages = "retry"
    ) -> Ticket:
        """Enqueue pages of which only the address is known."""
        items = [IngestionItem(page.url, page.url_key, page.title) for page in map(document, names)]
        return self.store.ledger.enqueue(IngestionRequest(scope, items, known=known))

    def _take(self, **more: Any) -> Claim:
        claim = self.store.ledger.claim("fetcher", lease_s=LEASE_S, fetch=True, **more)
        assert claim is not None
        return claim

    def _got(self, **facts: Any) -> Fetched:
        known = {
            "final_url": "https://example.com/final",
            "canonical_url": None,
            "validators": VERSION,
            "body_hash": "b" * 64,
            "fetched_at": self.clock.time(),
            "status": 200,
            "kind": "html",
        }
        return Fetched(**{**known, **facts})

    def _store(self, claim: Claim, text: str = "tea", **facts: Any) -> bool:
        text_hash = hashlib.sha256(text.encode()).hexdigest()
        page = Document(claim.url, claim.url_key, claim.title, text_hash, claim.provenance)
        return self.store.ledger.finish(claim, page, chunks(text), fetched=self._got(**facts))

    def _fetched(self, name: str = "a", text: str = "tea") -> Ticket:
        """Return the ticket of a page that was fetched and stored."""
        ticket = self._enqueue_page(name)
        assert self._store(self._take(), text)
        return ticket

    def _changes(self, ticket: Ticket) -> list[str | None]:
        return [row.change for row in self._status(ticket).rows]

    def test_only_fetchers_get_pages_to_fetch(self) -> None:
        """The ticket is settled for other workers, and pending for fetchers."""
        ticket = self._enqueue_page("a")
        status = self._status(ticket)
        assert (status.left(), status.left(fetch=True), status.settled) == (0, 1, True)
        assert self.store.ledger.pending_in_s(fetch=True) == 0
        claim = self._take()
        assert (claim.content_ref, claim.is_refresh) == (None, False)
        assert (claim.validators, claim.content_hash, claim.text_hash) == (Validators(), None, None)
        assert self._store(claim)
        assert self._status(ticket).left(fetch=True) == 0
        assert self.store.ledger.pending_in_s(fetch=True) is None
        assert self._texts("tea") == ["tea"]

    def test_fetchers_take_staged_texts_too(self) -> None:
        """Fetchers can do all the work."""
        self._enqueue("a")
        assert self._take().content_ref is not None

    def test_a_lost_fetch_waits_for_a_fetcher(self) -> None:
        """Every worker can return it to the queue; a worker that cannot fetch then ends."""
        ticket = self._enqueue_page("a")
        lost = self._take()
        assert self.store.ledger.pending_in_s() == pytest.approx(CLAIMED_S)
        self.clock.advance(LEASE_S)
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        assert self.store.ledger.sweep() == 1
        assert self._state(ticket) == "to_fetch"
        assert self.store.ledger.pending_in_s() is None
        assert not self._store(lost)
        assert self._take().attempts == 2  # noqa: PLR2004

    def test_a_lost_fetch_is_taken_over(self) -> None:
        """A fetcher takes over the row without a sweep."""
        self._enqueue_page("a")
        slow = self._take()
        self.clock.advance(LEASE_S)
        assert self._take().fence > slow.fence

    def test_lost_fetches_are_dead_letters_in_the_end(self) -> None:
        """A row whose fetchers all died is a dead letter after the last attempt."""
        ticket = self._enqueue_page("a")
        for _ in range(MAX_ATTEMPTS):
            self._take()
            self.clock.advance(LEASE_S)
            assert self.store.ledger.sweep() == 1
        assert self._state(ticket) == "dead"

    def test_failed_and_released_fetches_wait_for_a_fetcher(self) -> None:
        """Their text is not staged, so only fetchers can claim them."""
        ticket = self._enqueue_page("a")
        self.store.ledger.release(self._take())
        assert self._state(ticket) == "to_fetch"
        claim = self._take()
        assert claim.attempts == 1
        self.store.ledger.fail(claim, "no answer", retry_in_s=5)
        assert self._state(ticket) == "to_fetch"
        assert self.store.ledger.pending_in_s(fetch=True) == pytest.approx(5)
        assert self.store.ledger.pending_in_s() is None

    def test_busy_hosts_are_passed_over(self) -> None:
        """Pages of other hosts come first, and staged texts need no host at all."""
        pages = [
            IngestionItem("https://one.example:8080/a?b", "one/a", "A"),
            IngestionItem("https://one.example:8080/b", "one/b", "B"),
            IngestionItem("https://two.example/c", "two/c", "C"),
        ]
        self.store.ledger.enqueue(IngestionRequest(MINE, pages))
        assert self._take(busy_hosts={"one.example:8080"}).url_key == "two/c"
        claim = self.store.ledger.claim(
            "w", lease_s=LEASE_S, fetch=True, busy_hosts=["one.example:8080", "two.example"]
        )
        assert claim is None
        assert self._take(busy_hosts=["one.example"]).url_key == "one/a"
        self._enqueue("d")
        assert self._take(busy_hosts=["example.com", "one.example:8080"]).url_key == "example.com/d"

    def test_where_a_page_was_found_and_fetched_is_kept(self) -> None:
        """A chunk's provenance has question, query, provider, rank, scores, approver and fetch."""
        found = {
            "query": "green tea",
            "provider": "brave",
            "rank": 1,
            "embedding_rank_score": 81.5,
            "approved_by": "auto_ingest",
        }
        item = IngestionItem("https://example.com/a", KEY, "A", provenance=found)
        request = IngestionRequest(MINE, [item], question="Which tea?", run_id="r", trace_id="t")
        self.store.ledger.enqueue(request)
        self._store(self._take(), canonical_url="https://example.com/tea")
        (hit,) = self._found("tea")
        assert hit.document.provenance.items() >= {**found, "question": "Which tea?"}.items()
        assert hit.document.provenance["trace_id"] == "t"
        assert hit.document.provenance["final_url"] == "https://example.com/final"
        assert hit.document.provenance["canonical_url"] == "https://example.com/tea"
        assert hit.document.provenance["page_kind"] == "html"
        assert hit.document.provenance["fetched_at"].endswith("+00:00")
        assert hit.document.content_hash == hashlib.sha256(b"tea").hexdigest()
        assert (hit.chunk.ordinal, hit.chunk.start, hit.chunk.end) == (0, 0, 3)

    def test_a_request_may_leave_what_failed(self) -> None:
        """A retired page is fetched again all the same."""
        self._enqueue_page("a")
        self.store.ledger.fail(self._take(), "no answer", retry_in_s=None)
        assert self._state(self._enqueue_page("a", known="keep")) == "dead"
        assert self._state(self._enqueue_page("a")) == "to_fetch"
        self._store(self._take())
        self.store.ledger.refetch(MINE)
        self.store.ledger.retire(self._take(), "gone")
        assert self._state(self._enqueue_page("a", known="keep")) == "to_fetch"

    def test_a_postponed_row_waits_without_an_attempt(self) -> None:
        """The row waits for its time, and the status has the reason."""
        ticket = self._enqueue_page("a")
        assert self.store.ledger.postpone(self._take(), 30, "The site asked to wait.")
        row = self._status(ticket).rows[0]
        assert (row.state, row.attempts, row.error) == ("to_fetch", 0, "The site asked to wait.")
        assert self.store.ledger.pending_in_s(fetch=True) == pytest.approx(30)
        self.clock.advance(30)
        assert self._store(self._take())
        assert self._status(ticket).rows[0].error is None

    def test_nothing_is_postponed_for_ever(self) -> None:
        """After a hundred times in a row, or sooner, it is a dead letter."""
        ticket = self._enqueue_page("a")
        times = 0
        while self.store.ledger.postpone(self._take(), 0, "The site is busy."):
            times += 1
            assert times <= 100  # noqa: PLR2004
        assert self._state(ticket) == "dead"
        assert "The site is busy." in (self._status(ticket).rows[0].error or "")
        assert self.store.ledger.retry_failed(MINE) == 1
        assert self.store.ledger.postpone(self._take(), 0, "The site is busy.")

    def test_dead_letters_say_why(self) -> None:
        """Dead letters are listed by tenant and collection, the latest first."""
        self._enqueue("a")
        self._enqueue_page("b")
        self._enqueue("c", scope=THEIRS)
        for _ in range(3):  # MINE, THEIRS, MINE: tenants take turns
            claim = self._take()
            self.clock.advance(1)
            self.store.ledger.fail(claim, f"bad {claim.url_key}", retry_in_s=None)
        letters = self.store.ledger.dead_letters(MINE.tenant_id)
        assert [letter.error for letter in letters] == ["bad example.com/b", "bad example.com/a"]
        assert letters[0].failed_at - letters[1].failed_at == pytest.approx(2)
        assert self.store.ledger.dead_letters(MINE.tenant_id, collection="other") == []
        assert len(self.store.ledger.dead_letters(MINE.tenant_id, limit=1)) == 1

    def test_failed_pages_get_another_chance(self) -> None:
        """Failed pages of a collection or a tenant get all attempts back."""
        other = TenantScope(MINE.tenant_id, "other")
        tickets = [self._enqueue("a"), self._enqueue_page("b"), self._enqueue("a", scope=other)]
        tickets.append(self._enqueue("a", scope=THEIRS))
        for _ in tickets:
            self.store.ledger.fail(self._take(), "bad", retry_in_s=None)
        self.store.staging.prune(0)
        assert self.store.ledger.retry_failed(MINE) == 2  # noqa: PLR2004
        states = [self._state(ticket) for ticket in tickets]
        assert states == ["waiting", "to_fetch", "dead", "dead"]
        assert self.store.ledger.retry_failed(MINE.tenant_id) == 1
        claim = self._claim()
        assert claim.attempts == 1
        assert self.store.staging.get(MINE.tenant_id, claim.content_ref or "") == "text of a"
        assert self.store.ledger.dead_letters(MINE.tenant_id) == []

    def test_failed_pages_of_one_ticket_get_another_chance(self) -> None:
        """Other pages of the collection do not, nor does a ticket of another tenant or none."""
        mine, other = self._enqueue("a", "b"), self._enqueue("c")
        theirs = self._enqueue("a", scope=THEIRS)
        for _ in range(4):
            self.store.ledger.fail(self._take(), "bad", retry_in_s=None)
        for unknown in (theirs.ticket_id, "ticket-unknown"):
            assert self.store.ledger.retry_failed(MINE, ticket=unknown) == 0
        assert self.store.ledger.retry_failed(MINE, ticket=mine.ticket_id) == 2  # noqa: PLR2004
        assert {row.state for row in self._status(mine).rows} == {"waiting"}
        assert (self._state(other), self._state(theirs)) == ("dead", "dead")
