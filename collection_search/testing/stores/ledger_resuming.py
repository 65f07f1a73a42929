"""Contract suite for ledgers: what a row keeps for the next worker."""

from __future__ import annotations

import pytest

from ...contracts.ingestion import ExtractedPage
from ...contracts.page import PageRules
from ...ports.ledger import PROXY, embedder_cause
from .ledger_fetching import KEY
from .ledger_pausing import PausingContract
from .suite import LEASE_S, MINE

WORDS = embedder_cause("scripted:64")


class ResumingContract(PausingContract):
    """Tests of texts that were fetched already, and of rules that travel with a page."""

    def test_a_page_whose_text_was_kept_starts_again_with_a_fetch(self) -> None:
        """After it was given up, by a retry or by a refresh."""
        for given_up in (False, True):
            ticket = self._enqueue_page("a")
            claim = self._take()
            (ref,) = self.store.staging.put(MINE.tenant_id, ["tea"])
            if given_up:
                assert self._store(claim)
                self.store.ledger.refetch(MINE)
                claim = self._take()
            self.store.ledger.keep_text(claim, ExtractedPage(ref, "Tea", self._got()))
            assert self.store.ledger.fail(claim, "x", retry_in_s=None)
            if given_up:
                assert self.store.ledger.refetch(MINE).count == 1
            else:
                assert self.store.ledger.retry_failed(MINE) == 1
                assert self._state(ticket) == "to_fetch"
            assert self.store.ledger.claim("no fetcher", lease_s=LEASE_S) is None
            claim = self._take()
            assert claim.needs_fetch
            assert self._store(claim)
            self.store.collections.delete_collection(MINE)

    def test_the_text_of_a_fetched_page_is_kept(self) -> None:
        """The next claim has it; a new fetch, or its end, forgets it."""
        ticket = self._enqueue_page("a")
        claim = self._take()
        (ref,) = self.store.staging.put(MINE.tenant_id, ["tea"])
        page = ExtractedPage(ref, "Tea", self._got())
        assert self.store.ledger.keep_text(claim, page)
        self.store.ledger.pause(claim, [WORDS], "503")
        assert self._state(ticket) == "waiting"
        self.clock.advance(1)
        assert self.store.staging.prune(0) == 0
        again = self._claim()
        assert (again.extracted, again.needs_fetch) == (page, False)
        assert not self.store.ledger.keep_text(claim, page)
        assert self._store(again)
        assert self.store.staging.get(MINE.tenant_id, ref) is None
        self.store.ledger.refetch(MINE)
        assert self._take().needs_fetch

    @pytest.mark.parametrize("end", ["retired", "deleted", "asked for anew", "delivered"])
    def test_a_kept_text_goes_with_its_page(self, end: str) -> None:
        """As soon as nothing needs it any more; a dead letter keeps it."""
        self._enqueue_page("a")
        claim = self._take()
        (ref,) = self.store.staging.put(MINE.tenant_id, ["tea"])
        self.store.ledger.keep_text(claim, ExtractedPage(ref, "Tea", self._got()))
        if end == "retired":
            assert self.store.ledger.retire(claim, "gone: 404")
        else:
            assert self.store.ledger.fail(claim, "bad", retry_in_s=None)
            assert self.store.staging.get(MINE.tenant_id, ref) == "tea"
        if end == "deleted":
            self.store.collections.delete_document(MINE, KEY)
        elif end == "asked for anew":
            self._enqueue_page("a")
        elif end == "delivered":
            self._enqueue("a", text="delivered")
        assert self.store.staging.get(MINE.tenant_id, ref) is None

    def test_a_kept_text_that_another_page_needs_stays(self) -> None:
        """Equal texts are staged once."""
        self._enqueue_page("a", "b")
        (ref,) = self.store.staging.put(MINE.tenant_id, ["tea"])
        claims = [self._take(), self._take()]
        for claim in claims:
            self.store.ledger.keep_text(claim, ExtractedPage(ref, "Tea", self._got()))
        assert self._store(claims[0])
        assert self.store.staging.get(MINE.tenant_id, ref) == "tea"
        assert self._store(claims[1])
        assert self.store.staging.get(MINE.tenant_id, ref) is None

    def test_rules_travel_with_a_page(self) -> None:
        """Those of the last request count."""
        rules = PageRules(fetch_allowed=("wiki.intra:443",), fetch_delay_s=0, chunk_chars=300)
        self._enqueue_urls("https://wiki.intra/1", rules=rules)
        claim = self._take()
        assert claim.rules == rules
        assert self.store.ledger.fail(claim, "x", retry_in_s=None)
        assert self.store.ledger.retry_failed(MINE) == 1
        claim = self._take()
        assert claim.rules is None
        assert self._store(claim)
        self.store.ledger.refetch(MINE, rules=rules)
        assert self._take().rules == rules

    def test_a_page_of_another_proxy_is_left_to_its_worker(self) -> None:
        """A worker without it neither takes the page nor waits for it."""
        self._enqueue_urls("https://up.example/1", rules=PageRules(proxy="theirs"))
        assert self._fetch() is None
        assert self.store.ledger.pending_in_s(fetch=True) is None
        (held,) = self.store.ledger.put_off(proxies=[""])
        assert (held.cause, held.pages) == (PROXY, 1)
        assert self.store.ledger.put_off(proxies=["theirs"]) == []
        assert self.store.ledger.pending_in_s(fetch=True, proxies=["theirs"]) == 0
        assert self._fetch("", "theirs") is not None

    def test_a_page_that_waits_gets_the_rules_of_the_last_request(self) -> None:
        """A proxy that is no more does not hold it for ever."""
        for rules in (PageRules(proxy="former"), PageRules(proxy="new")):
            self._enqueue_urls("https://up.example/1", rules=rules)
        assert self._fetch("former") is None
        claim = self._fetch("new")
        assert claim is not None
        assert self._store(claim)
        for name in ("new", "newest"):
            self.store.ledger.refetch(MINE, rules=PageRules(proxy=name))
        assert self._fetch("newest") is not None
