"""What a ledger that is counted for monitoring promises."""

from __future__ import annotations

from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Priority
from collection_search.ports.backlog import CountsDead
from collection_search.testing.stores.suite import MINE, THEIRS, StoreContract


class CountedRowsContract(StoreContract):
    """Counts of all tenants, by priority, up to a limit."""

    def test_rows_are_counted_by_priority(self) -> None:
        """Those that are due and those that were given up; others are in no count."""
        ledger = self.store.ledger
        assert isinstance(ledger, CountsDead)
        for scope, priority, count in (
            (MINE, Priority.INTERACTIVE, 2),
            (THEIRS, Priority.INTERACTIVE, 1),
            (THEIRS, Priority.REFRESH, 2),
        ):
            urls = [f"https://{priority.name.lower()}.example/{n}" for n in range(count)]
            items = [IngestionItem(url, url.removeprefix("https://"), "") for url in urls]
            ledger.enqueue(IngestionRequest(scope, items, priority=priority))
        assert ledger.due(limit=9) == {Priority.INTERACTIVE: 3, Priority.REFRESH: 2}
        assert ledger.dead(limit=9) == {Priority.INTERACTIVE: 0, Priority.REFRESH: 0}
        for n, retry_in_s in enumerate((None, None, 60.0, None)):
            claim = ledger.claim(f"owner {n}", lease_s=60, fetch=True)
            assert claim is not None
            ledger.fail(claim, "no answer", retry_in_s=retry_in_s)
        assert ledger.due(limit=9) == {Priority.INTERACTIVE: 0, Priority.REFRESH: 1}
        assert ledger.dead(limit=9) == {Priority.INTERACTIVE: 2, Priority.REFRESH: 1}
        assert ledger.dead(limit=1) == {Priority.INTERACTIVE: 1, Priority.REFRESH: 1}
