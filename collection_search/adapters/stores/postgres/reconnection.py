"""Connections after an outage: a pool that is tried soon after the server is back.

By default a pool doubles the time between its attempts for five minutes and makes no others
meanwhile. After an outage of two minutes calls would fail for another two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool, ConnectionPool

RECONNECT_S: Final = 2.0
"""Time of a pool's own attempts at one connection, for its argument `reconnect_timeout`."""
_WAITING: Final = "requests_waiting"


def reconnect(pool: ConnectionPool[Any]) -> None:
    """Start another attempt if a call waits; if none does, the next call starts one at once.

    It is what a pool calls after its own attempts have failed, its argument `reconnect_failed`.
    """
    if pool.get_stats().get(_WAITING):
        pool.check()


async def areconnect(pool: AsyncConnectionPool[Any]) -> None:
    """Do what `reconnect` does."""
    if pool.get_stats().get(_WAITING):
        await pool.check()
