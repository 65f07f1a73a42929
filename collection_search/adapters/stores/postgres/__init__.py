"""The store past one machine: a PostgreSQL schema with ledger, collections and gates."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from ....errors import MissingExtraError
from ....runtime.concurrency import offload
from ..sql.comparisons import SQLComparisons
from ..sql.gates import SQLGates
from ..sql.ledger import SQLLedger
from ..sql.staging import SQLStaging

try:
    from .collections import PostgresCollections
    from .database import SCHEMA, PostgresDatabase
    from .document_rows import PostgresRows
    from .health_check import check_postgres_health
    from .turns import next_row_in_turn
except ImportError as missing:
    raise MissingExtraError(
        "COLLECTION_SEARCH_DATABASE_URL names a PostgreSQL database, which needs an extra."
        " Run: pip install 'collection-search[postgres]'"
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....contracts.health import Health
    from ....settings import Settings

__all__ = ["PostgresStore"]


class PostgresStore:
    """A store in PostgreSQL with pgvector: implements `collection_search.ports.Storage`.

    Threads, processes and hosts share it.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = SCHEMA,
        max_attempts: int = 5,
        clock: Callable[[], float] = time.time,
    ) -> None:
        database = PostgresDatabase(url, schema=schema)
        self.staging = SQLStaging(database, clock=clock)
        self.ledger = SQLLedger(
            database,
            PostgresRows,
            clock=clock,
            max_attempts=max_attempts,
            next_row=next_row_in_turn,
            sweeping=database.sweeping,
        )
        self.collections = PostgresCollections(database, clock=clock)
        self.gates = SQLGates(database, clock=clock)
        self.comparisons = SQLComparisons(database, clock=clock)
        self._database = database

    @property
    def name(self) -> str:
        """Return the database, without user and password."""
        return self._database.name

    async def acheck(self, *, timeout: float) -> Health:  # noqa: ASYNC109 - the name that checks have
        """Return versions, and what weakens the isolation of tenants. Raises StoreError."""
        async with asyncio.timeout(timeout):
            return await offload(check_postgres_health, self._database)

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    @classmethod
    def from_settings(cls, settings: Settings) -> PostgresStore:
        """Open the database of these settings. Raises ConfigError or StoreError."""
        return cls(settings.postgres_url(), max_attempts=settings.ingest_max_attempts)
