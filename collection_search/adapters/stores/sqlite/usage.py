"""Quotas, remembered answers and spending, in one SQLite file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..sql.answer_cache import AnswerQueue
from ..sql.usage import SQLUsage
from .answer_space import make_room
from .database import BUSY_TIMEOUT_S, Database, Schema
from .removal import FREEING_S
from .space import erase_rest, give_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....settings import Settings

USAGE: Final = Schema(
    application_id=int.from_bytes(b"CSUS", "big"),
    version=2,
    script=Path(__file__).with_name("usage.sql"),
    migrations={1: Path(__file__).with_name("usage_2.sql")},
)
MAX_BYTES: Final = 256 * 1024**2
"""Limit of the file's size: the oldest answers make room, quotas and spending stay."""


class SQLiteUsage(SQLUsage):
    """A usage store: implements `collection_search.ports.usage.UsageStore`.

    Many threads and processes may share the file. A power cut may lose the last moments, since a
    reservation does not wait for the disk.
    """

    _database: Database

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        database = Database(path, USAGE, busy_timeout_s=busy_timeout_s, synchronous="NORMAL")
        answers = AnswerQueue.of(str(path.resolve()), database, make_room, max_bytes)
        super().__init__(database, answers, day="date(at, 'unixepoch')", clock=clock)

    @classmethod
    def from_settings(cls, settings: Settings) -> SQLiteUsage:
        """Open `usage.db` in the data folder. Raises ConfigError or StoreError."""
        path = settings.prepared_home() / "usage.db"
        return cls(path, max_bytes=settings.answer_cache_mib * 1024**2)

    def compact(self) -> None:
        """Give the free space of the file to the system, with what was left in it."""
        give_back(self._database)

    def close(self) -> None:
        """Write what waits, and close the connections that no call uses."""
        self._answers.close()
        self._database.close()

    def _erase(self, what: str, *values: str | float) -> int:
        """Delete rows so that no free page and no log of the database contains them.

        Pages that older rows have left are not overwritten, so they leave the file.
        """
        count = super()._erase(what, *values)
        erase_rest(self._database, within_s=FREEING_S)
        return count
