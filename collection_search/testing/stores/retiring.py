"""What every ledger has to do for pages that vanished."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...pages import Validators
from ...ports.ledger import is_revisit
from ...tickets import IngestionItem, IngestionRequest
from .base import MINE, THEIRS
from .fetching import KEY, FetchingContract

if TYPE_CHECKING:
    from ...records import TenantScope
    from ...tickets import Claim

DAY_S: Final = 86_400.0


class RetiringContract(FetchingContract):
    """Pages that leave their collection, are asked for now and then, and may come back."""

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
        """Its document goes, the reason stays, and it does not count as waiting or failed."""
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
        """By a refresh or a new request; it is fetched whole, since nothing is stored."""
        self._fetched()
        for is_asked_again in (False, True):
            self.store.ledger.refetch(MINE)
            self.store.ledger.retire(self._take(), "gone")
            ticket = self._wish("a") if is_asked_again else self.store.ledger.refetch(MINE)
            claim = self._take()
            assert (claim.validators, claim.content_hash) == (Validators(), None)
            assert self._store(claim)
            assert self._changes(ticket) == ["new"]

    def test_a_retired_page_is_asked_for_ever_more_seldom(self) -> None:
        """After 7 days, then after as long again as it has been gone, up to 180 days."""
        self._fetched()
        waits = []
        for _ in range(8):
            self._retired()
            waits.append(self._days_until_due())
        assert waits == [7, 7, 14, 28, 56, 112, 180, 180]
        assert self.store.ledger.retired(MINE) == [KEY]

    def test_a_page_that_is_gone_for_good_is_asked_for_most_seldom(self) -> None:
        """Whenever its site says so."""
        self._fetched()
        waits = []
        for is_final in (True, True, False):
            self._retired(is_final=is_final)
            waits.append(self._days_until_due())
        assert waits == [180, 180, 180]

    def test_a_page_that_came_back_begins_anew(self) -> None:
        """It is no retired page any more; when it vanishes again its wait is the first one."""
        self._fetched()
        self._retired(is_final=True)
        self.clock.advance(300 * DAY_S)
        assert self._store(self._revisit())
        assert self.store.ledger.retired(MINE) == []
        self._retired()
        assert self._days_until_due() == 7  # noqa: PLR2004

    def test_retired_pages_are_those_of_the_collection(self) -> None:
        """Of this tenant, and retired alone; a collection that is not there has none."""
        assert self.store.ledger.retired(MINE) == []
        self._fetched("a")
        self._retired()
        self._fetched("b")
        self._wish("c", scope=THEIRS)
        self._store(self._take())
        self._retired(scope=THEIRS)
        assert self.store.ledger.retired(MINE) == [KEY]
        assert self.store.ledger.retired(THEIRS) == ["example.com/c"]
        assert self.store.ledger.retired(MINE, due=True) == []

    def test_a_claim_says_why_its_page_was_retired(self) -> None:
        """If a refresh asks for it again: who names it gets all attempts, as for any page."""
        self._fetched()
        self._retired()
        self.store.ledger.refetch(MINE)
        claim = self._take()
        assert claim.provenance["failed_before"] == "gone: no more"
        assert is_revisit(claim)
        self.store.ledger.retire(claim, "connect_failed: no answer")
        self._wish("a")
        claim = self._take()
        assert not is_revisit(claim)
        self.store.ledger.fail(claim, "connect_failed: no answer", retry_in_s=None)
        self._wish("a")
        assert not is_revisit(self._take())

    def test_an_imported_page_is_no_retired_one(self) -> None:
        """Although its row is: a first 404 has to be told from a second one."""
        self._fetched()
        self._retired()
        self._put("a", "imported tea")
        self.store.ledger.refetch(MINE)
        claim = self._take()
        assert not is_revisit(claim)
        assert "failed_before" not in claim.provenance

    def test_a_page_that_came_back_is_exported_as_before(self) -> None:
        """With all that was known of it: no trace is left of its absence."""
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
        """From when it vanished, however often it was asked for since."""
        self._fetched()
        self._retired()
        self.clock.advance(30 * DAY_S)
        self._retired()
        self.clock.advance(30 * DAY_S)
        assert self.store.collections.purge(MINE.tenant_id, 61 * DAY_S).pages == 0
        assert self.store.collections.purge(MINE.tenant_id, 60 * DAY_S).pages == 1
        assert self.store.ledger.retired(MINE) == []
