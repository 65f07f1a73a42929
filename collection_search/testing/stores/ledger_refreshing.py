"""Contract suite for ledgers with pages that are refreshed."""

from __future__ import annotations

import hashlib

import pytest

from ...contracts.page import Validators
from ...errors import StoreError
from .ledger_fetching import KEY, VERSION, FetchingContract
from .suite import LEASE_S, MAX_ATTEMPTS, MINE, chunks, document


class RefreshingContract(FetchingContract):
    """Tests of stored pages that changed, did not change, or cannot be fetched."""

    def test_a_refresh_asks_for_changes(self) -> None:
        """The claim has the site's validators; until then a search finds the old page."""
        self._fetched()
        ticket = self.store.ledger.refetch(MINE)
        assert (ticket.count, self._state(ticket), self._changes(ticket)) == (1, "to_fetch", [None])
        claim = self._take()
        assert (claim.is_refresh, claim.validators) == (True, VERSION)
        assert claim.content_hash == "b" * 64
        assert claim.text_hash == hashlib.sha256(b"tea").hexdigest()
        assert self._texts("tea") == ["tea"]
        assert self._store(claim, "new tea", body_hash="c" * 64)
        assert self._texts("tea") == ["new tea"]
        assert self._changes(ticket) == ["changed"]
        self.store.ledger.refetch(MINE)
        assert self._take().content_hash == "c" * 64

    def test_a_claim_knows_who_read_the_stored_page(self) -> None:
        """And its kind; blank for the built-in reader, and where nothing is stored."""
        self._enqueue_page("a")
        claim = self._take()
        assert (claim.page_kind, claim.parser) == ("", "")
        for kind, parser in (("html", ""), ("pdf", "our_ocr:read"), ("pdf", "")):
            assert self._store(claim, f"tea {parser}", kind=kind, parser=parser)
            self.store.ledger.refetch(MINE)
            claim = self._take()
            assert (claim.page_kind, claim.parser) == (kind, parser)

    def test_the_kind_of_a_page_outlasts_an_answer_without_one(self) -> None:
        """As earlier versions stored a 304."""
        self._fetched()
        self.store.ledger.refetch(MINE)
        assert self.store.ledger.unchanged(self._take(), self._got(status=304, kind=""))
        self.store.ledger.refetch(MINE)
        assert self._take().page_kind == "html"

    def test_a_request_may_renew_what_was_fetched(self) -> None:
        """Only `known="renew"` makes a conditional request, in a ticket of its own."""
        self._fetched()
        assert self._changes(self._enqueue_page("a")) == ["unchanged"]
        ticket = self._enqueue_page("a", known="renew")
        assert (self._state(ticket), self._changes(ticket)) == ("to_fetch", [None])
        claim = self._take()
        assert (claim.is_refresh, claim.validators) == (True, VERSION)
        assert self._texts("tea") == ["tea"]
        assert self.store.ledger.unchanged(claim, self._got(status=304))
        assert self._changes(ticket) == ["unchanged"]
        self._enqueue_page("a", known="renew")
        assert self._store(self._take(), "new tea", body_hash="c" * 64)
        assert self._changes(ticket) == ["changed"]

    def test_only_what_was_fetched_is_renewed(self) -> None:
        """A delivered text is not replaced by a fetch."""
        self._enqueue("a")
        self._finish(self._claim())
        ticket = self._enqueue_page("a", known="renew")
        assert (self._state(ticket), self._changes(ticket)) == ("stored", ["unchanged"])

    def test_changes_are_told_apart(self) -> None:
        """Two versions with the same text are unchanged, even if their bytes differ."""
        assert self._changes(self._fetched()) == ["new"]
        ticket = self.store.ledger.refetch(MINE)
        assert self._store(self._take(), "tea", body_hash="c" * 64)
        assert self._changes(ticket) == ["unchanged"]

    def test_an_unchanged_page_keeps_its_chunks(self) -> None:
        """The old validators stay where no new ones came; only `checked_at` changes."""
        self._fetched()
        before = list(self.store.collections.export(MINE))
        ticket = self.store.ledger.refetch(MINE)
        self.clock.advance(60)
        now = Validators(etag='"2"')
        claim = self._take()
        assert self.store.ledger.unchanged(claim, self._got(status=304, validators=now))
        assert not self.store.ledger.unchanged(claim, self._got())
        assert (self._state(ticket), self._changes(ticket)) == ("stored", ["unchanged"])
        assert list(self.store.collections.export(MINE)) == before
        (hit,) = self._found("tea")
        assert hit.document.provenance["checked_at"] > hit.document.provenance["fetched_at"]
        self.store.ledger.refetch(MINE)
        assert self._take().validators == Validators('"2"', VERSION.last_modified)

    def test_nothing_stored_is_never_unchanged(self) -> None:
        """A 304 for a page that is not stored makes no document and frees the row."""
        ticket = self._enqueue_page("a")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            claim = self._take()
            assert (claim.attempts, claim.validators) == (attempt, Validators())
            assert not self.store.ledger.unchanged(claim, self._got(status=304))
            assert self._state(ticket) == "to_fetch"
        assert self.store.ledger.sweep() == 1
        (row,) = self._status(ticket).rows
        assert (row.state, row.error) == (
            "dead",
            "The site says that the page has not changed, but nothing of it is stored.",
        )

    def test_a_refresh_takes_all_or_some(self) -> None:
        """The ticket includes stored pages without a row and waiting pages."""
        self._enqueue("a")
        self._finish(self._claim())
        self.store.collections.replace_document(MINE, document("b"), chunks("b"))
        self._enqueue("c")
        some = self.store.ledger.refetch(MINE, url_keys=["example.com/b", "unknown"])
        assert [row.url_key for row in self._status(some).rows] == ["example.com/b"]
        whole = self.store.ledger.refetch(MINE)
        states = {row.url_key: row.state for row in self._status(whole).rows}
        assert states == {KEY: "to_fetch", "example.com/b": "to_fetch", "example.com/c": "waiting"}

    def test_a_refresh_needs_a_collection(self) -> None:
        """The refresh creates nothing."""
        with pytest.raises(StoreError, match="docs"):
            self.store.ledger.refetch(MINE)
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_a_refresh_does_not_take_the_staged_text(self) -> None:
        """A page that came with its text is fetched when it is refreshed."""
        self._enqueue("a")
        self._finish(self._claim())
        self.store.ledger.refetch(MINE)
        self.store.staging.prune(0)
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        claim = self._take()
        assert (claim.content_ref, claim.is_refresh) == (None, True)

    def test_a_text_never_replaces_a_fetched_page(self) -> None:
        """Otherwise the page and a provider's text would replace each other again and again."""
        self._fetched()
        ticket = self._enqueue("a", text="the provider's text of")
        assert self._state(ticket) == "stored"
        self.store.ledger.refetch(MINE)
        self._enqueue("a", text="another text of")
        assert self._take().is_refresh

    def test_a_failed_refresh_keeps_the_page(self) -> None:
        """The row is a dead letter, a search finds the old text, and a refresh tries again."""
        self._fetched()
        self.store.ledger.refetch(MINE)
        self.store.ledger.fail(self._take(), "no answer", retry_in_s=None)
        assert self._texts("tea") == ["tea"]
        self._enqueue_page("a")
        assert self._take().validators == VERSION
        self.store.ledger.sweep(is_gone=lambda _: True)
        self.store.ledger.fail(self._take(), "no answer", retry_in_s=None)
        self.store.ledger.refetch(MINE)
        claim = self._take()
        assert claim.validators == VERSION
        self.store.ledger.fail(claim, "another reason", retry_in_s=None)
        assert self.store.ledger.retry_failed(MINE) == 1
        assert self._take().provenance["failed_before"] == "another reason"

    def test_whoever_lost_a_row_changes_nothing(self) -> None:
        """The result of a fetch is ignored after the lease is lost."""
        ticket = self._fetched()
        self.store.ledger.refetch(MINE)
        slow = self._take()
        self.clock.advance(LEASE_S)
        quick = self._take()
        assert not self.store.ledger.unchanged(slow, self._got())
        assert not self.store.ledger.retire(slow, "gone")
        assert not self.store.ledger.postpone(slow, 5, "busy")
        assert not self._store(slow, "slow tea")
        assert self._state(ticket) == "working"
        assert self._store(quick, "quick tea")
        assert self._texts("tea") == ["quick tea"]
