"""Contract suite for ledgers with pages that vanished."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from ...contracts.ingestion import IngestionItem, IngestionRequest
from ...contracts.page import Validators
from ...ports.ledger import is_revisit
from .ledger_fetching import KEY, FetchingContract
from .suite import LEASE_S, MAX_ATTEMPTS, MINE, THEIRS

if TYPE_CHECKING:
    from ...contracts.collection import TenantScope
    from ...contracts.ingestion import Claim

DAY_S: Final = 86_400.0


class RetiringContract(FetchingContract):
    """Tests of pages that are retired, checked from time to time, and may come back."""

    def _retired(self, *, is_final: bool = False, scope: TenantScope = MINE) -> None:
        """Retire the one page of the collection, which is stored or was retired before."""
        self.store.ledger.refetch(scope)
        claim = self._take()
        assert self.store.ledger.retire(claim, "gone: no more", is_final=is_final)

    def _days_until_due(self) -> int:
        for day in range(400):
            if self.store.ledger.retired(MINE, due=True):
                return day
            self.clock.advance(DAY_S)
        raise AssertionError("A retired page is never asked for again.")

    def _revisit(self) -> Claim:
        self.store.ledger.refetch(MINE, url_keys=self.store.ledger.retired(MINE, due=True))
        return self._take()

    def test_a_vanished_page_is_retired(self) -> None:
        """Its document is deleted, its reason stays, and it does not count as waiting or failed."""
        self._fetched()
        ticket = self.store.ledger.refetch(MINE)
        claim = self._take()
        assert self.store.ledger.retire(claim, "The site says 404.")
        assert not self.store.ledger.retire(claim, "again")
        status = self._status(ticket)
        assert (status.retired, status.left(fetch=True)) == (1, 0)
        assert (status.rows[0].error, status.rows[0].change) == ("The site says 404.", "gone")
        assert self._texts("tea") == []
        (info,) = self.store.collections.collections(MINE.tenant_id)
        assert (info.documents, info.waiting, info.failed) == (0, 0, 0)
        assert self.store.ledger.sweep() == 0

    def test_a_retired_page_may_come_back(self) -> None:
        """A refresh or a new request fetches it whole, since nothing is stored."""
        self._fetched()
        for is_asked_again in (False, True):
            self.store.ledger.refetch(MINE)
            self.store.ledger.retire(self._take(), "gone")
            ticket = self._enqueue_page("a") if is_asked_again else self.store.ledger.refetch(MINE)
            claim = self._take()
            assert (claim.validators, claim.content_hash) == (Validators(), None)
            assert self._store(claim)
            assert self._changes(ticket) == ["new"]

    def test_a_retired_page_is_asked_for_ever_more_seldom(self) -> None:
        """It is checked after 7 days, then after the time since it vanished, up to 180 days."""
        self._fetched()
        waits = []
        for _ in range(8):
            self._retired()
            waits.append(self._days_until_due())
        assert waits == [7, 7, 14, 28, 56, 112, 180, 180]
        assert self.store.ledger.retired(MINE) == [KEY]

    def test_a_page_that_is_gone_for_good_is_asked_for_most_seldom(self) -> None:
        """A page that is gone for good is checked every 180 days."""
        self._fetched()
        waits = []
        for is_final in (True, True, False):
            self._retired(is_final=is_final)
            waits.append(self._days_until_due())
        assert waits == [180, 180, 180]

    def test_a_page_that_came_back_begins_anew(self) -> None:
        """It is no longer retired; when it vanishes again, the wait begins at 7 days."""
        self._fetched()
        self._retired(is_final=True)
        self.clock.advance(300 * DAY_S)
        assert self._store(self._revisit())
        assert self.store.ledger.retired(MINE) == []
        self._retired()
        assert self._days_until_due() == 7  # noqa: PLR2004

    def test_retired_pages_are_those_of_the_collection(self) -> None:
        """Only retired pages of the tenant's collection are listed; an unknown one has none."""
        assert self.store.ledger.retired(MINE) == []
        self._fetched("a")
        self._retired()
        self._fetched("b")
        self._enqueue_page("c", scope=THEIRS)
        self._store(self._take())
        self._retired(scope=THEIRS)
        assert self.store.ledger.retired(MINE) == [KEY]
        assert self.store.ledger.retired(THEIRS) == ["example.com/c"]
        assert self.store.ledger.retired(MINE, due=True) == []

    def test_a_claim_says_why_its_page_was_retired(self) -> None:
        """The claim of a refresh has the reason; a request that names the page has all attempts."""
        self._fetched()
        self._retired()
        self.store.ledger.refetch(MINE)
        claim = self._take()
        assert claim.provenance["failed_before"] == "gone: no more"
        assert is_revisit(claim)
        self.store.ledger.retire(claim, "connect_failed: no answer")
        self._enqueue_page("a")
        claim = self._take()
        assert not is_revisit(claim)
        self.store.ledger.fail(claim, "connect_failed: no answer", retry_in_s=None)
        self._enqueue_page("a")
        assert not is_revisit(self._take())

    @pytest.mark.parametrize("is_taken", [False, True])
    def test_who_names_a_page_that_a_refresh_asks_for_gets_all_attempts(
        self, *, is_taken: bool
    ) -> None:
        """A request that names it has all attempts, even when a worker has claimed the page."""
        self._fetched()
        self._retired()
        self.store.ledger.refetch(MINE)
        self._enqueue_page("a", known="keep")
        claim = self._take()
        assert is_revisit(claim)
        if not is_taken:
            self.store.ledger.release(claim)
        self._enqueue_page("a", known="renew")
        named = self._take()
        assert (is_revisit(named), named.is_refresh, named.attempts) == (False, True, 1)
        assert not self.store.ledger.retire(claim, "gone: too late")
        self._enqueue_page("a", known="renew")
        assert self._store(named)

    @pytest.mark.parametrize("end", ["refused", "no more attempts", "lost", "put off"])
    @pytest.mark.parametrize("is_named", [False, True])
    def test_a_retired_page_is_never_a_dead_letter(self, *, end: str, is_named: bool) -> None:
        """A failed check waits for a week and does not change when the page vanished."""
        self._fetched()
        self._retired()
        self.clock.advance(100 * DAY_S)
        ticket = (
            self._enqueue_page("a", known="keep") if is_named else self.store.ledger.refetch(MINE)
        )
        assert self._changes(ticket) == [None]
        if end == "refused":
            assert not self.store.ledger.fail(self._take(), "no", retry_in_s=None)
        if end == "no more attempts":
            for _ in range(MAX_ATTEMPTS):
                assert not self.store.ledger.fail(self._take(), "no", retry_in_s=0)
        if end == "lost":
            for _ in range(MAX_ATTEMPTS):
                self._take()
                self.clock.advance(LEASE_S)
                assert self.store.ledger.sweep() == 1
        if end == "put off":
            while self.store.ledger.postpone(self._take(), 0, "no"):
                pass
        (row,) = self._status(ticket).rows
        assert (row.state, row.change) == ("retired", "gone")
        assert row.error
        assert self.store.ledger.dead_letters(MINE.tenant_id) == []
        assert self._days_until_due() == 7  # noqa: PLR2004
        assert is_revisit(self._revisit())
        self.store.ledger.sweep(is_gone=lambda _: True)
        self.store.ledger.retire(self._take(), "gone")
        assert self.store.collections.purge(MINE.tenant_id, 107 * DAY_S).pages == 1

    def test_other_pages_that_cannot_be_had_are_dead_letters(self) -> None:
        """A new page and a stored page become dead letters; the stored text stays."""
        ticket = self._enqueue_page("a")
        assert self.store.ledger.fail(self._take(), "no", retry_in_s=None)
        assert self._state(ticket) == "dead"
        self._fetched("b")
        self.store.ledger.refetch(MINE, url_keys=["example.com/b"])
        assert self.store.ledger.fail(self._take(), "no", retry_in_s=None)
        assert self.store.ledger.retired(MINE) == []

    def test_a_page_that_is_asked_for_again_is_still_gone(self) -> None:
        """After an interrupted refresh it is still retired, until it is stored."""
        self._fetched()
        self._retired()
        for ask in (self.store.ledger.refetch, lambda _: self._enqueue_page("a")):
            ask(MINE)
            assert self.store.ledger.retired(MINE) == [KEY]
            assert self.store.ledger.retired(MINE, due=True) == [KEY]
            assert self.store.ledger.refetch(MINE, url_keys=[KEY]).count == 1
        self._take()
        assert self.store.ledger.retired(MINE, due=True) == [KEY]
        self.clock.advance(LEASE_S)
        assert self._store(self._take())
        assert self.store.ledger.retired(MINE) == []

    def test_an_imported_page_is_not_asked_for_again(self) -> None:
        """A refresh of retired pages leaves it out, since its text was delivered."""
        self._fetched()
        self._retired()
        self._put("a", "imported tea")
        self.clock.advance(7 * DAY_S)
        assert self.store.ledger.retired(MINE, due=True) == []
        assert self.store.ledger.retired(MINE) == []

    def test_an_imported_page_is_no_retired_one(self) -> None:
        """Its row is retired, but a first 404 must differ from a second one."""
        self._fetched()
        self._retired()
        self._put("a", "imported tea")
        self.store.ledger.refetch(MINE)
        claim = self._take()
        assert not is_revisit(claim)
        assert "failed_before" not in claim.provenance

    def test_a_page_that_came_back_is_exported_as_before(self) -> None:
        """Its export is the same as before it vanished."""
        found = {"query": "green tea", "rank": 1}
        item = IngestionItem("https://example.com/a", KEY, "A", provenance=found)
        self.store.ledger.enqueue(IngestionRequest(MINE, [item], question="Which tea?"))
        self._store(self._take())
        before = list(self.store.collections.export(MINE))
        self._retired()
        assert list(self.store.collections.export(MINE)) != before
        self.clock.advance(7 * DAY_S)
        self._retired()
        self.clock.advance(7 * DAY_S)
        claim = self._revisit()
        provenance = {k: v for k, v in claim.provenance.items() if k != "failed_before"}
        assert self._store(replace(claim, provenance=provenance))
        assert list(self.store.collections.export(MINE)) == before

    def test_a_retired_page_is_purged_by_its_age(self) -> None:
        """Its age begins when it vanished, however often it was checked since."""
        self._fetched()
        self._retired()
        self.clock.advance(30 * DAY_S)
        self._retired()
        self.clock.advance(30 * DAY_S)
        assert self.store.collections.purge(MINE.tenant_id, 61 * DAY_S).pages == 0
        assert self.store.collections.purge(MINE.tenant_id, 60 * DAY_S).pages == 1
        assert self.store.ledger.retired(MINE) == []

    def test_a_question_does_not_make_a_page_vanish_anew(self) -> None:
        """Requests that name it do not change when it vanished, nor its next wait."""
        self._fetched()
        self._retired()
        for known in ("keep", "renew", "keep"):
            self.clock.advance(20 * DAY_S)
            self._enqueue_page("a", known=known)
            self.store.ledger.retire(self._take(), "gone")
        assert self.store.collections.purge(MINE.tenant_id, 61 * DAY_S).pages == 0
        assert self._days_until_due() == 60  # noqa: PLR2004
        assert self.store.collections.purge(MINE.tenant_id, 120 * DAY_S).pages == 1
