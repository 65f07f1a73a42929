"""Quotas, remembered answers and spending in PostgreSQL."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ..sql.answer_cache import AnswerQueue
from ..sql.usage import SQLUsage
from .database import SCHEMA, PostgresDatabase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....settings import Settings
    from ..sql.connection import Database

MAX_BYTES: Final = 256 * 1024**2
"""Limit of the answers' size: the oldest make room, quotas and spending stay."""
MAX_CONNECTIONS: Final = 4
FULL: Final = 0.9
"""Share of the limit from which answers are deleted."""
KEPT: Final = 0.8
"""Share of the limit that is left in use then."""
_DAY: Final = "to_char(to_timestamp(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
_SIZE: Final = "octet_length(payload) + 128"
_DELETE: Final = f"""
    DELETE FROM answers WHERE id IN (
        SELECT id FROM (
            SELECT id, sum({_SIZE}) OVER (ORDER BY stored_at, id) AS total FROM answers
        ) AS by_age WHERE total <= :surplus)
"""


class PostgresUsage(SQLUsage):
    """A usage store: implements `collection_search.ports.usage.UsageStore`.

    Threads, processes and hosts share it.
    """

    _database: PostgresDatabase

    def __init__(
        self,
        url: str,
        *,
        schema: str = SCHEMA,
        clock: Callable[[], float] = time.time,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        database = PostgresDatabase(
            url, schema=schema, tables="usage", max_connections=MAX_CONNECTIONS
        )
        answers = AnswerQueue.of(database.name, database, make_room, max_bytes)
        super().__init__(database, answers, day=_DAY, clock=clock)

    @classmethod
    def from_settings(cls, settings: Settings) -> PostgresUsage:
        """Open the database of these settings. Raises ConfigError or StoreError."""
        return cls(settings.postgres_url(), max_bytes=settings.answer_cache_mib * 1024**2)

    def compact(self) -> None:
        """Do nothing: the server's own vacuum makes deleted rows room for new ones."""

    def close(self) -> None:
        """Write what waits, and close the connections."""
        self._answers.close()
        self._database.close()


def make_room(database: Database, new_bytes: int, max_bytes: int) -> None:
    """Delete the oldest answers if the new ones bring them near their limit. Raises StoreError."""
    with database.read(None) as connection:
        query = f"SELECT coalesce(sum({_SIZE}), 0) FROM answers"
        used = int(connection.execute(query).fetchone()[0]) + new_bytes
    if used > FULL * max_bytes:
        with database.write(None) as connection:
            connection.execute(_DELETE, {"surplus": used - KEPT * max_bytes})
