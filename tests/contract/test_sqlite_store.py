"""The embedded store passes the shipped suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.counted_rows import CountedRowsContract

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.testing.stores import (
    CollectionStoreContract,
    ComparisonStoreContract,
    GateStoreContract,
    LedgerContract,
    StagingContract,
)
from collection_search.testing.stores.suite import MINE

if TYPE_CHECKING:
    from pathlib import Path


class _SQLite:
    def storage(self, folder: Path, **options: Any) -> SQLiteStore:
        return SQLiteStore(folder / "collections.db", **options)


class TestSQLiteStaging(_SQLite, StagingContract):
    """Staged texts in SQLite."""


class TestSQLiteLedger(_SQLite, LedgerContract):
    """The ledger in SQLite."""

    def test_all_processes_together_have_two_pages_of_a_host_in_hand(self) -> None:
        """Nobody has to say that the host is busy; a lease that ran out frees its place."""
        urls = [f"https://one.example/{n}" for n in range(4)] + ["https://two.example/"]
        pages = [IngestionItem(url, url.removeprefix("https://"), "") for url in urls]
        self.store.ledger.enqueue(IngestionRequest(MINE, pages))
        found = [
            self.store.ledger.claim(owner, lease_s=lease_s, fetch=True)
            for owner, lease_s in (("a", 10), ("b", 20), ("a", 20), ("b", 20))
        ]
        taken = [claim.url if claim else None for claim in found]
        assert taken == [urls[0], urls[4], urls[1], None]
        self.clock.advance(10)
        claim = self.store.ledger.claim("c", lease_s=20, fetch=True)
        assert claim is not None
        assert claim.url == urls[2]
        assert self.store.ledger.claim("c", lease_s=20, fetch=True) is None


class TestSQLiteCounts(_SQLite, CountedRowsContract):
    """The ledger's rows in SQLite, counted for monitoring."""


class TestSQLiteCollections(_SQLite, CollectionStoreContract):
    """Collections in SQLite."""


class TestSQLiteComparisons(_SQLite, ComparisonStoreContract):
    """Comparisons in SQLite."""


class TestSQLiteGates(_SQLite, GateStoreContract):
    """Gates in SQLite."""

    def source(self, folder: Path) -> str:
        return (
            "from pathlib import Path\n"
            "from collection_search.adapters.stores.sqlite import SQLiteStore\n"
            f"gates = SQLiteStore(Path({str(folder / 'collections.db')!r})).gates"
        )
