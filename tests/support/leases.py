"""Time that passes for the leases of a ledger alone, however slow the machine is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from .waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.testing import FakeClock

LEASE_S: Final = 0.3
"""Of an engine whose heartbeat shall come soon; its store has a clock that the test moves."""
_STEP_S: Final = 0.2
"""Less than a lease: a renewed one never ends."""


def outlast_leases(database: Path, clock: FakeClock, *, leases: int = 3) -> None:
    """Let the time of several leases pass, each step once the heartbeat has come.

    Without a heartbeat the one row in hand is free for others, and an AssertionError is raised.
    """
    ends_at = clock.time() + leases * LEASE_S
    while clock.time() < ends_at:
        clock.advance(_STEP_S)
        wait_until(lambda: _lease_end(database) >= clock.time() + LEASE_S - 0.001)


def _lease_end(database: Path) -> float:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT due FROM ledger WHERE state = 'working'"
        return float(connection.execute(query).fetchone()[0])
