"""The embedded store: one SQLite file with staged texts, ledger, collections and gates."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ....contracts.health import Health
from ....runtime.concurrency import offload
from ..sql.comparisons import SQLComparisons
from ..sql.gates import SQLGates
from ..sql.ledger import SQLLedger
from ..sql.staging import SQLStaging
from .collections import SQLiteCollections
from .database import BUSY_TIMEOUT_S, Database, Schema
from .document_rows import SQLiteRows
from .health_check import check_files
from .migration_functions import key_of_row, stems_of
from .removal import resume
from .vector_cache import VectorCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....settings import Settings

__all__ = ["COLLECTIONS", "SQLiteStore"]

COLLECTIONS: Final = Schema(
    application_id=int.from_bytes(b"CSDB", "big"),
    version=7,
    script=Path(__file__).with_name("schema.sql"),
    migrations={
        version - 1: Path(__file__).with_name(f"schema_{version}.sql") for version in range(2, 8)
    },
    functions={"stems_of": stems_of, "current_key": key_of_row},
)


class SQLiteStore:
    """The embedded store: implements `collection_search.ports.Storage`.

    Many threads and processes may share the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_attempts: int = 5,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        vectors: VectorCache | None = None,
    ) -> None:
        database = Database(path, COLLECTIONS, busy_timeout_s=busy_timeout_s)
        self.staging = SQLStaging(database, clock=clock)
        self.ledger = SQLLedger(
            database,
            SQLiteRows,
            clock=clock,
            max_attempts=max_attempts,
            resume_deletions=partial(resume, database),
        )
        self._vectors = VectorCache() if vectors is None else vectors
        self.collections = SQLiteCollections(database, clock=clock, vectors=self._vectors)
        self.gates = SQLGates(database, clock=clock)
        self.comparisons = SQLComparisons(database, clock=clock)
        self._database = database

    @property
    def name(self) -> str:
        """Return the file."""
        return str(self._database.path)

    async def acheck(self, *, timeout: float) -> Health:  # noqa: ARG002, ASYNC109 - as all checks
        """Read this file and those beside it. Raises StoreError that names the damaged ones."""
        await offload(check_files, self._database)
        return Health()

    def close(self) -> None:
        """Close unused connections and drop cached vectors; the next call opens a connection."""
        self._vectors.forget()
        self._database.close()

    @classmethod
    def from_settings(cls, settings: Settings) -> SQLiteStore:
        """Open the database of these settings. Raises ConfigError or StoreError."""
        settings.readable_home()
        return cls(settings.collections_path, max_attempts=settings.ingest_max_attempts)
