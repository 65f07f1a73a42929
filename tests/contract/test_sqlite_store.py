"""The embedded store passes the shipped suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.testing.stores import (
    CollectionStoreContract,
    LedgerContract,
    StagingContract,
)

if TYPE_CHECKING:
    from pathlib import Path


class _SQLite:
    def storage(self, folder: Path, **options: Any) -> SQLiteStore:
        return SQLiteStore(folder / "collections.db", **options)


class TestSQLiteStaging(_SQLite, StagingContract):
    """Staged texts in SQLite."""


class TestSQLiteLedger(_SQLite, LedgerContract):
    """The ledger in SQLite."""


class TestSQLiteCollections(_SQLite, CollectionStoreContract):
    """Collections in SQLite."""
