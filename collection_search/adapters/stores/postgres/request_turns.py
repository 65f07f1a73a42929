"""The turns in which all processes on one database ask a site for pages."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from .database import SCHEMA, PostgresDatabase

if TYPE_CHECKING:
    from ....settings import Settings

MAX_CONNECTIONS: Final = 1
PRUNE_EVERY: Final = 10_000
"""So many turns of a process, after which it deletes the rows of sites that nobody asks."""

# The time is that of the server, read when the row is locked: hosts and waits do not matter.
_TAKE: Final = b"""
    INSERT INTO request_turns AS known (site, next_at)
    VALUES (%(site)s, clock_timestamp() + %(delay)s * interval '1 s')
    ON CONFLICT (site) DO UPDATE
        SET next_at = greatest(known.next_at, clock_timestamp()) + %(delay)s * interval '1 s'
        WHERE known.next_at <= clock_timestamp() + %(most)s * interval '1 s'
    RETURNING extract(epoch FROM next_at - clock_timestamp()) - %(delay)s
"""
_WAIT: Final = b"""
    SELECT extract(epoch FROM next_at - clock_timestamp()) FROM request_turns WHERE site = %(site)s
"""
_HOLD: Final = b"""
    INSERT INTO request_turns AS known (site, next_at)
    VALUES (%s, clock_timestamp() + %s * interval '1 s')
    ON CONFLICT (site) DO UPDATE SET next_at = greatest(known.next_at, excluded.next_at)
"""
_PRUNE: Final = b"DELETE FROM request_turns WHERE next_at < clock_timestamp() - interval '1 hour'"


class PostgresRequestTurns:
    """The turns: implements `collection_search.ports.pages.RequestTurns`.

    It connects on first use. A database that has crashed has forgotten the turns.
    """

    def __init__(self, url: str, *, schema: str = SCHEMA) -> None:
        self._url = url
        self._schema = schema
        self._lock = threading.Lock()
        self._opened: PostgresDatabase | None = None
        self._taken = 0

    @classmethod
    def from_settings(cls, settings: Settings) -> PostgresRequestTurns:
        """Return the turns in the database of these settings. Raises ConfigError."""
        return cls(settings.postgres_url())

    def take(self, site: str, delay_s: float, most_s: float) -> float:
        """Take the next turn; return the seconds until it, more than `most_s` if it is not taken.

        Raises StoreError.
        """
        given = {"site": site, "delay": delay_s, "most": most_s}
        with self._database().outside_transaction() as connection:
            self._taken += 1
            if self._taken % PRUNE_EVERY == 0:
                connection.execute(_PRUNE)
            row: Any = connection.execute(_TAKE, given).fetchone()
            if row is not None:
                return max(0.0, float(row[0]))
            row = connection.execute(_WAIT, given).fetchone()
        wait_s = 0.0 if row is None else float(row[0])
        return wait_s if wait_s > most_s else most_s + delay_s

    def hold(self, site: str, seconds: float) -> None:
        """Let nobody have a turn before so many seconds have passed. Raises StoreError."""
        with self._database().outside_transaction() as connection:
            connection.execute(_HOLD, [site, seconds])

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        with self._lock:
            database, self._opened = self._opened, None
        if database is not None:
            database.close()

    def _database(self) -> PostgresDatabase:
        with self._lock:
            if self._opened is None:
                self._opened = PostgresDatabase(
                    self._url, schema=self._schema, tables="usage", max_connections=MAX_CONNECTIONS
                )
            return self._opened
