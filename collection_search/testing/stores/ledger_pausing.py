"""Contract suite for ledgers: causes outside of a page pause its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from ...contracts.collection import TenantScope
from ...contracts.ingestion import IngestionItem, IngestionRequest
from ...ports.ledger import (
    NETWORK,
    PAUSE_MAX_S,
    UNREACHED_S,
    embedder_cause,
    host_cause,
)
from .ledger_fetching import FetchingContract
from .suite import LEASE_S, MINE, THEIRS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...contracts.ingestion import Claim, Ticket
    from ...contracts.page import PageRules
    from ...ports import Ledger

DOWN = host_cause("down.example")
WORDS = embedder_cause("scripted:64")
_LATE: Final[dict[str, Callable[[Ledger, Claim], object]]] = {
    "release": lambda ledger, claim: ledger.release(claim),
    "resume": lambda ledger, claim: ledger.resume(claim, []),
    "pause": lambda ledger, claim: ledger.pause(claim, [DOWN], "refused"),
}
"""The calls that end a try of a cause. What a site itself asked for counts whoever tells it."""


class PausingContract(FetchingContract):
    """Tests of sites, networks and embedders that cannot be reached for some time."""

    def _enqueue_urls(self, *urls: str, rules: PageRules | None = None) -> Ticket:
        items = [IngestionItem(url, url.removeprefix("https://"), "") for url in urls]
        return self.store.ledger.enqueue(IngestionRequest(MINE, items, rules=rules))

    def _fetch(self, *proxies: str) -> Claim | None:
        return self.store.ledger.claim(
            "fetcher", lease_s=LEASE_S, fetch=True, proxies=proxies or ("",)
        )

    def _hosts(self) -> list[str]:
        """Claim everything that can be claimed and return the hosts, sorted."""
        found = []
        while (claim := self._fetch()) is not None:
            found.append(claim.url.split("/")[2])
        return sorted(found)

    def test_a_site_that_is_down_uses_up_no_attempt(self) -> None:
        """Its other pages wait, pages of other sites do not, and the reason is told."""
        ticket = self._enqueue_urls("https://down.example/1", "https://down.example/2")
        self._enqueue_urls("https://up.example/1")
        claim = self._take()
        assert claim.url == "https://down.example/1"
        assert not self.store.ledger.pause(claim, [DOWN], "connect_failed: refused")
        assert self._hosts() == ["up.example"]
        first, second = self._status(ticket).rows
        assert (first.state, first.attempts) == ("to_fetch", 0)
        assert first.error == second.error == "connect_failed: refused"
        assert first.put_off_until is second.put_off_until is None
        (held,) = self.store.ledger.put_off()
        assert (held.cause, held.pages, held.since) == (DOWN, 2, self.clock.time())

    def test_one_page_tries_a_cause_again_at_longer_intervals(self) -> None:
        """The others wait while it tries; a lost try ends with its lease."""
        self._enqueue_urls(*(f"https://down.example/{n}" for n in range(3)))
        self.store.ledger.pause(self._take(), [DOWN], "refused")
        for wait_s in (1.0, 1.0, 2.0, 4.0):
            self.clock.advance(wait_s - 0.01)
            assert self._fetch() is None
            self.clock.advance(0.01)
            probe = self._take()
            assert probe.probes == (DOWN,)
            assert self._fetch() is None
            self.store.ledger.pause(probe, [DOWN], "refused")
        self.clock.advance(8)
        lost = self._take()
        self.clock.advance(LEASE_S)
        assert self._take().fence != lost.fence

    def test_a_cause_that_is_gone_frees_its_pages_at_once(self) -> None:
        """Those that failed with it, too."""
        ticket = self._enqueue_urls(*(f"https://down.example/{n}" for n in range(3)))
        self.store.ledger.pause(self._take(), [DOWN], "refused")
        self.clock.advance(1)
        probe = self._take()
        assert self._store(probe)
        self.store.ledger.resume(probe, [DOWN])
        assert self._hosts() == ["down.example", "down.example"]
        assert not self.store.ledger.put_off()
        assert self._status(ticket).stored == 1

    def test_a_try_without_a_result_is_left_to_another_page(self) -> None:
        """So is one that was released."""
        self._enqueue_urls("https://down.example/1", "https://down.example/2")
        self.store.ledger.pause(self._take(), [DOWN], "refused")
        self.clock.advance(1)
        probe = self._take()
        self.store.ledger.fail(probe, "other", retry_in_s=60)
        self.store.ledger.resume(probe, [])
        again = self._take()
        assert (again.url, again.probes) != (probe.url, ())
        self.store.ledger.release(again)
        assert self._take().probes == (DOWN,)

    @pytest.mark.parametrize("call", _LATE)
    def test_a_call_that_is_too_late_ends_no_try_of_the_next_worker(self, call: str) -> None:
        """The page that tries the cause is still the only one that may."""
        self._enqueue_urls("https://down.example/1")
        self.store.ledger.pause(self._take(), [DOWN], "refused")
        self.clock.advance(1)
        slow = self._take()
        self.clock.advance(LEASE_S)
        quick = self._take()
        assert (quick.row_id, quick.probes) == (slow.row_id, slow.probes) == (slow.row_id, (DOWN,))
        self._enqueue_urls("https://down.example/2")
        _LATE[call](self.store.ledger, slow)
        self.clock.advance(LEASE_S - 1)
        assert self._fetch() is None
        self.store.ledger.release(quick)
        assert self._take().probes == (DOWN,)

    def test_a_site_that_never_answers_is_given_up(self) -> None:
        """After a day; the network and embedders are never given up."""
        ticket = self._enqueue_urls("https://down.example/1")
        self._try_for_a_day(DOWN)
        (row,) = self._status(ticket).rows
        assert (row.state, row.error) == ("dead", "Not reached for a day. refused")
        ticket = self._enqueue_urls("https://up.example/1")
        self._try_for_a_day(host_cause("up.example"), NETWORK)
        assert self._state(ticket) == "to_fetch"

    def _try_for_a_day(self, *causes: str) -> None:
        began = self.clock.time()
        while self.clock.time() <= began + UNREACHED_S + PAUSE_MAX_S:
            claim = self._fetch()
            if claim is not None:
                self.store.ledger.pause(claim, causes, "refused")
            self.clock.advance(PAUSE_MAX_S / 2)

    def test_an_old_pause_is_no_failure_of_today(self) -> None:
        """Nobody tried since, or the computer slept."""
        self._enqueue_urls("https://down.example/1")
        self.store.ledger.pause(self._take(), [DOWN], "refused")
        self.clock.advance(2 * UNREACHED_S)
        assert not self.store.ledger.pause(self._take(), [DOWN], "refused")
        self.clock.advance(1)
        assert self._take().probes == (DOWN,)

    def test_a_host_that_was_not_unreached_tries_the_network(self) -> None:
        """Dead sites do not keep others from being read, nor tell other tenants of themselves."""
        self._enqueue_urls("https://down.example/1", "https://down.example/2")
        self.store.ledger.pause(self._take(), [DOWN, NETWORK], "down.example refused")
        theirs = self.store.ledger.enqueue(
            IngestionRequest(THEIRS, [IngestionItem("https://up.example/", "up.example/", "")])
        )
        assert "down.example" not in str(self._status(theirs))
        self.clock.advance(1)
        assert self._take().url == "https://up.example/"

    def test_a_refetch_and_a_retry_try_their_causes_at_once(self) -> None:
        """As pages do that are asked for anew."""
        self._enqueue_urls("https://up.example/1")
        assert self._store(self._take())
        self._enqueue_urls("https://bad.example/1")
        assert self.store.ledger.fail(self._take(), "x", retry_in_s=None)
        for ask in (self.store.ledger.refetch, self.store.ledger.retry_failed):
            self._enqueue_urls(f"https://down.example/{ask.__name__}")
            self.store.ledger.pause(self._take(), [DOWN, NETWORK], "refused")
            assert self._fetch() is None
            ask(MINE)
            probe = self._take()
            assert NETWORK in probe.probes
            self.store.ledger.resume(probe, [NETWORK, DOWN])
            while (claim := self._fetch()) is not None:
                assert self._store(claim)
            assert self._store(probe)
            self.clock.advance(LEASE_S)

    def test_without_a_network_nothing_is_fetched(self) -> None:
        """Staged texts are ingested; when it is back, all sites are tried again at once."""
        self._enqueue_urls("https://down.example/1", "https://up.example/1")
        text = self._enqueue("staged")
        self.store.ledger.pause(self._take(), [DOWN, NETWORK], "refused")
        claim = self._take()
        assert claim.content_ref
        assert self._finish(claim)
        assert self._state(text) == "stored"
        assert self._fetch() is None
        self.clock.advance(1)
        probe = self._take()
        assert NETWORK in probe.probes
        self.store.ledger.resume(probe, [NETWORK])
        assert self._fetch() is not None

    def test_pages_that_are_asked_for_try_their_causes_at_once(self) -> None:
        """The user who adds them may have mended the cause."""
        self._enqueue_urls("https://down.example/1")
        self.store.ledger.pause(self._take(), [DOWN, NETWORK], "refused")
        assert self._fetch() is None
        self._enqueue_urls("https://down.example/2")
        assert {*self._take().probes} == {NETWORK, DOWN}

    def test_a_pause_that_a_site_asked_for_is_kept(self) -> None:
        """Whoever asks for its pages."""
        asked = self._enqueue_urls("https://asks.example/1")
        claim, cause = self._take(), host_cause("asks.example")
        self.store.ledger.postpone(claim, 90, "rate_limited: later", cause=cause)
        again = self._enqueue_urls("https://asks.example/2")
        assert self._fetch() is None
        (held,) = self.store.ledger.put_off()
        until = self.clock.time() + 90
        assert (held.cause, held.until, held.pages) == (cause, until, 2)
        for ticket in (asked, again):
            (row,) = self._status(ticket).put_off(fetch=True)
            assert (row.put_off_until, row.error) == (until, "rate_limited: later")
        self.clock.advance(30)
        assert not self._status(asked).put_off(fetch=True)
        self.clock.advance(60)
        assert self._take().probes == (cause,)

    def test_an_embedder_that_is_down_pauses_its_collections(self) -> None:
        """Collections without it go on."""
        self.store.collections.bind_embedder(MINE, "scripted:64")
        ticket = self._enqueue("a", "b")
        self.store.ledger.pause(self._claim(), [WORDS], "503")
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        assert self.store.ledger.pending_in_s() == pytest.approx(1)
        assert {row.error for row in self._status(ticket).rows} == {"503"}
        self._enqueue("c", scope=TenantScope("other", "docs"))
        assert self._claim().scope.tenant_id == "other"
