"""Contract suite for ledgers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest

from ...contracts.ingestion import ExtractedPage, Fetched, IngestionItem, IngestionRequest
from ...contracts.page import Validators
from ...ports.ledger import NETWORK
from .ledger_refreshing import RefreshingContract
from .ledger_resuming import ResumingContract
from .ledger_retiring import RetiringContract
from .ledger_titles import TitlesContract
from .ledger_turns import TurnsContract
from .suite import LEASE_S, MAX_ATTEMPTS, MINE, THEIRS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...contracts.ingestion import Claim
    from ...ports import Ledger

_FETCHED: Final = Fetched("https://example.com/a", None, Validators(), "b" * 64, 0.0, 200, "html")
_TEXT: Final = ExtractedPage("none", "Late", _FETCHED)
_LATE: Final[dict[str, Callable[[Ledger, Claim], object]]] = {
    "renew": lambda ledger, claim: ledger.renew(claim, lease_s=LEASE_S),
    "unchanged": lambda ledger, claim: ledger.unchanged(claim, _FETCHED),
    "retire": lambda ledger, claim: ledger.retire(claim, "not found", is_final=True),
    "postpone": lambda ledger, claim: ledger.postpone(claim, 60.0, "busy"),
    "pause": lambda ledger, claim: ledger.pause(claim, [NETWORK], "refused"),
    "give up": lambda ledger, claim: ledger.fail(claim, "broken", retry_in_s=None),
    "fail": lambda ledger, claim: ledger.fail(claim, "broken", retry_in_s=60.0),
    "release": lambda ledger, claim: ledger.release(claim),
    "keep text": lambda ledger, claim: ledger.keep_text(claim, _TEXT),
}
"""The calls that end or change the work on a page; none is a true result."""


class LedgerContract(
    TitlesContract, ResumingContract, RefreshingContract, RetiringContract, TurnsContract
):
    """Tests of what workers need when processes die: subclass it and define `storage`."""

    def test_a_ticket_counts_each_page_once(self) -> None:
        """The same page twice in a request is one row."""
        ticket = self._enqueue("a", "b", "a")
        assert ticket.count == 2  # noqa: PLR2004
        status = self._status(ticket)
        assert [row.url for row in status.rows] == [
            "https://example.com/a",
            "https://example.com/b",
        ]
        assert (status.count, status.pending, status.settled) == (2, 2, False)

    def test_a_page_without_text_waits_to_be_fetched(self) -> None:
        """The page is accepted, no worker can claim it, and the ticket is settled."""
        item = IngestionItem("https://example.com/a", "example.com/a", "A")
        ticket = self.store.ledger.enqueue(IngestionRequest(MINE, [item]))
        assert self._state(ticket) == "to_fetch"
        assert self._status(ticket).settled
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        assert self.store.ledger.pending_in_s() is None

    def test_a_request_does_not_say_how_a_page_was_fetched(self) -> None:
        """The store alone sets these fields and the ticket's id."""
        (ref,) = self.store.staging.put(MINE.tenant_id, ["tea"])
        said = {"fetched_at": "2020-01-01", "page_kind": "pdf", "ticket_id": "mine", "note": "good"}
        item = IngestionItem("https://example.com/a", "example.com/a", "A", ref, said)
        ticket = self.store.ledger.enqueue(IngestionRequest(MINE, [item]))
        assert self._finish(self._claim())
        (hit,) = self._found("tea")
        assert hit.document.provenance == {"note": "good", "ticket_id": ticket.ticket_id}

    def test_a_claim_says_why_the_last_look_failed(self) -> None:
        """The next claim of a stored page has the reason; a request cannot set it."""
        self._put("a", "tea")
        said = {"failed_before": "gone: forged"}
        forged = IngestionItem("https://example.com/a", "example.com/a", "A", None, said)
        seen = []
        for error, known in (("gone: 404", None), ("refused", "retry"), (None, None), ("x", None)):
            if known is None:
                self.store.ledger.refetch(MINE)
            else:
                self.store.ledger.enqueue(IngestionRequest(MINE, [forged]))
            claim = self.store.ledger.claim("worker", lease_s=LEASE_S, fetch=True)
            assert claim is not None
            seen.append(claim.provenance.get("failed_before"))
            if error is None:
                assert self._finish(claim, "tea")
            else:
                self.store.ledger.fail(claim, error, retry_in_s=None)
        assert seen == [None, "gone: 404", "refused", None]

    def test_its_text_may_come_later(self) -> None:
        """Once a run delivers the text, the page waits for a worker."""
        item = IngestionItem("https://example.com/a", "example.com/a", "A")
        ticket = self.store.ledger.enqueue(IngestionRequest(MINE, [item]))
        self._enqueue("a")
        assert self._state(ticket) == "waiting"

    def test_a_row_is_claimed_once(self) -> None:
        """Eight concurrent workers claim every row exactly once."""
        self._enqueue(*(f"page{n}" for n in range(40)))
        with ThreadPoolExecutor(8) as pool:
            claims = list(pool.map(lambda n: self._claim(f"worker {n}").row_id, range(40)))
        assert len(set(claims)) == len(claims)
        assert self.store.ledger.claim("late", lease_s=LEASE_S) is None

    def test_finishing_stores_the_document(self) -> None:
        """Row and document change together, and the document has the claim's provenance."""
        request = self._enqueue("a")
        claim = self._claim()
        assert claim.scope == MINE
        assert claim.provenance["ticket_id"] == request.ticket_id
        assert self._finish(claim)
        assert self._state(request) == "stored"
        assert self._texts("tea") == ["tea"]
        assert not self._finish(claim)

    def test_a_lost_lease_is_taken_over(self) -> None:
        """The next worker gets the row; later calls of the first worker have no effect."""
        ticket = self._enqueue("a")
        slow = self._claim("slow")
        self.clock.advance(LEASE_S)
        quick = self._claim("quick")
        assert (quick.row_id, quick.fence > slow.fence) == (slow.row_id, True)
        assert not self.store.ledger.renew(slow, lease_s=LEASE_S)
        self.store.ledger.fail(slow, "too slow", retry_in_s=None)
        self.store.ledger.release(slow)
        assert not self._finish(slow, "tea of the slow")
        assert self._finish(quick, "tea of the quick")
        assert self._texts("tea") == ["tea of the quick"]
        assert self._status(ticket).stored == 1

    @pytest.mark.parametrize("call", _LATE)
    def test_a_call_that_is_too_late_changes_nothing(self, call: str) -> None:
        """Whatever the first worker says of its page, the second one has it, and ends it."""
        self._enqueue("a")
        assert self._finish(self._claim(), "tea of before")
        ticket = self.store.ledger.refetch(MINE)
        slow = self._fetch_claim("slow")
        self.clock.advance(LEASE_S)
        quick = self._fetch_claim("quick")
        assert (quick.row_id, quick.fence > slow.fence) == (slow.row_id, True)
        before = self._status(ticket)
        assert not _LATE[call](self.store.ledger, slow)
        assert self._status(ticket) == before
        assert self._texts("tea") == ["tea of before"]
        assert self._finish(quick, "tea of the quick")
        assert self._texts("tea") == ["tea of the quick"]

    def _fetch_claim(self, owner: str) -> Claim:
        claim = self.store.ledger.claim(owner, lease_s=LEASE_S, fetch=True)
        assert claim is not None
        return claim

    def test_renewing_keeps_the_row(self) -> None:
        """A worker that renews its lease is not replaced."""
        self._enqueue("a")
        claim = self._claim()
        self.clock.advance(LEASE_S - 1)
        assert self.store.ledger.renew(claim, lease_s=LEASE_S)
        self.clock.advance(LEASE_S - 1)
        assert self.store.ledger.claim("other", lease_s=LEASE_S) is None
        assert self._finish(claim)

    def test_the_same_text_stays_stored(self) -> None:
        """A second run with the same page counts it and causes no work."""
        self._enqueue("a")
        self._finish(self._claim())
        again = self._enqueue("a")
        assert (again.count, self._status(again).stored) == (1, 1)
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None

    def test_an_imported_page_with_the_same_text_stays_stored(self) -> None:
        """The same text of an imported page is not ingested again; another text is."""
        self._put("a", "text of a")
        assert self._state(self._enqueue("a")) == "stored"
        assert self._state(self._enqueue("a", text="new text of")) == "waiting"

    def test_a_changed_text_is_ingested_again(self) -> None:
        """The document is replaced; until then a search finds the old one."""
        self._enqueue("a")
        self._finish(self._claim(), "old tea")
        ticket = self._enqueue("a", text="new text of")
        assert self._state(ticket) == "waiting"
        assert self._texts("tea") == ["old tea"]
        self._finish(self._claim(), "new tea")
        assert self._texts("tea") == ["new tea"]

    def test_a_text_that_changes_during_the_work_wins(self) -> None:
        """The worker with the old text cannot finish."""
        self._enqueue("a")
        outdated = self._claim()
        self._enqueue("a", text="new text of")
        assert not self._finish(outdated)
        assert self._finish(self._claim())

    def test_a_failure_is_tried_again_later(self) -> None:
        """The row waits for its retry time, and the status has the cause."""
        ticket = self._enqueue("a")
        self.store.ledger.fail(self._claim(), "no answer", retry_in_s=10)
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        assert self.store.ledger.pending_in_s() == pytest.approx(10)
        assert self._status(ticket).rows[0].error == "no answer"
        self.clock.advance(10)
        assert self._claim().attempts == 2  # noqa: PLR2004

    def test_too_many_failures_make_a_dead_letter(self) -> None:
        """After the last attempt the ticket is settled and has the cause."""
        ticket = self._enqueue("a")
        for _ in range(MAX_ATTEMPTS):
            self.store.ledger.fail(self._claim(), "no answer", retry_in_s=0)
        status = self._status(ticket)
        assert (status.failed, status.settled) == (1, True)
        assert (status.rows[0].attempts, status.rows[0].error) == (MAX_ATTEMPTS, "no answer")

    def test_the_dead_rise_when_asked_again(self) -> None:
        """A new request gives a dead letter all its attempts back."""
        self._enqueue("a")
        self.store.ledger.fail(self._claim(), "bad page", retry_in_s=None)
        ticket = self._enqueue("a")
        assert self._state(ticket) == "waiting"
        assert self._claim().attempts == 1

    def test_a_failed_row_does_not_hold_up_others(self) -> None:
        """Rows that have not been tried come first."""
        self._enqueue("bad", "good")
        bad = self._claim()
        self.store.ledger.fail(bad, "no answer", retry_in_s=0)
        assert self._claim().row_id != bad.row_id

    def test_a_released_row_is_free_at_once(self) -> None:
        """The attempt does not count."""
        self._enqueue("a")
        self.store.ledger.release(self._claim())
        assert self._claim().attempts == 1

    def test_sweeping_returns_and_gives_up(self) -> None:
        """A row whose workers all died is a dead letter after the last attempt."""
        ticket = self._enqueue("a")
        for _ in range(MAX_ATTEMPTS):
            self._claim()
            assert self.store.ledger.sweep() == 0
            self.clock.advance(LEASE_S)
            assert self.store.ledger.sweep() == 1
        assert self._state(ticket) == "dead"
        assert self._status(ticket).rows[0].error

    def test_sweeping_takes_from_those_who_are_gone(self) -> None:
        """The row of a process that has ended is free before its lease ends."""
        self._enqueue("a", "b")
        gone, alive = self._claim("gone"), self._claim("alive")
        assert self.store.ledger.sweep(is_gone=lambda owner: owner == "gone") == 1
        assert self._claim().row_id == gone.row_id
        assert self._finish(alive)

    def test_a_ticket_is_private(self) -> None:
        """Another tenant that knows the id gets no status."""
        ticket = self._enqueue("a")
        assert self.store.ledger.status(THEIRS.tenant_id, ticket.ticket_id) is None
        assert self.store.ledger.status(MINE.tenant_id, "unknown") is None

    def test_tenants_have_their_own_rows(self) -> None:
        """The same page of two tenants is ingested for each."""
        self._enqueue("a")
        self._enqueue("a", scope=THEIRS)
        assert {self._claim().scope, self._claim().scope} == {MINE, THEIRS}

    def test_a_deleted_collection_takes_nothing_in(self) -> None:
        """A worker that still has a claim cannot store its page."""
        ticket = self._enqueue("a")
        claim = self._claim()
        self.store.collections.delete_collection(MINE)
        assert not self._finish(claim)
        assert self.store.ledger.status(ticket.tenant_id, ticket.ticket_id) is None
        self._enqueue("a")
        assert self._claim().row_id != claim.row_id

    def test_rows_outlive_the_process(self, tmp_path: Path) -> None:
        """Another process sees the ticket and does the work."""
        ticket = self._enqueue("a")
        other = self._reopened(tmp_path)
        assert other.ledger.claim("other", lease_s=LEASE_S) is not None
        other.close()
        assert self._state(ticket) == "working"
