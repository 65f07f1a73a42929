"""The runs of HTTP servers in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..sql.run_history import SQLRuns
from .database import SCHEMA, PostgresDatabase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....settings import Settings

MAX_CONNECTIONS: Final = 4


class PostgresRuns(SQLRuns):
    """The runs: implements `collection_search.ports.run_store.RunStore`.

    Servers on several hosts share them. Without a `clock` the time is that of the database, so
    that hosts whose clocks differ agree on the end of a lease.
    """

    _database: PostgresDatabase

    def __init__(
        self, url: str, *, schema: str = SCHEMA, clock: Callable[[], float] | None = None
    ) -> None:
        database = PostgresDatabase(
            url, schema=schema, tables="runs", max_connections=MAX_CONNECTIONS
        )
        super().__init__(database, clock=clock or database.clock)

    @classmethod
    def from_settings(cls, settings: Settings) -> PostgresRuns:
        """Open the database of these settings. Raises ConfigError, StoreError."""
        return cls(settings.postgres_url())

    def compact(self) -> None:
        """Do nothing: the server's own vacuum makes deleted rows room for new ones."""

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
