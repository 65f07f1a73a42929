"""The embedded store: one SQLite file with staged texts, ledger and collections."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .collections import SQLiteCollections
from .database import BUSY_TIMEOUT_S, Database
from .ledger import SQLiteLedger
from .staging import SQLiteStaging

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....settings import Settings

__all__ = ["SQLiteStore"]


class SQLiteStore:
    """Everything that is stored: implements `collection_search.ports.Storage`.

    Many threads and processes may share the file. Its methods block: a coroutine calls them
    through a worker thread.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_attempts: int = 5,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> None:
        database = Database(path, busy_timeout_s=busy_timeout_s)
        self.staging = SQLiteStaging(database, clock=clock)
        self.ledger = SQLiteLedger(database, clock=clock, max_attempts=max_attempts)
        self.collections = SQLiteCollections(database)
        self.close = database.close

    @classmethod
    def from_settings(cls, settings: Settings) -> SQLiteStore:
        """Open the database of these settings. Raises ConfigError or StoreError."""
        settings.prepared_home()
        return cls(settings.collections_path, max_attempts=settings.ingest_max_attempts)
