"""The runs of the HTTP server in a SQLite file of their own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..sql.run_history import SQLRuns
from .database import Database, Schema
from .removal import FREEING_S
from .space import erase_rest, give_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....settings import Settings

RUNS: Final = Schema(
    application_id=int.from_bytes(b"CSRN", "big"),
    version=2,
    script=Path(__file__).with_name("runs.sql"),
    migrations={1: Path(__file__).with_name("runs_2.sql")},
)


class SQLiteRuns(SQLRuns):
    """The runs: implements `collection_search.ports.run_store.RunStore`.

    Many threads and processes may share the file. A power cut may lose the last moments.
    """

    _database: Database

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(Database(path, RUNS, synchronous="NORMAL"), clock=clock)

    @classmethod
    def from_settings(cls, settings: Settings) -> SQLiteRuns:
        """Open `runs.db` in the data folder. Raises ConfigError, StoreError."""
        settings.prepared_home()
        return cls(settings.runs_path)

    def delete(self, tenant_id: str, *, collection: str | None = None) -> list[str]:
        """Delete the tenant's runs, all or those of a collection, and return their ids.

        Free pages leave the file: earlier versions left words in them.
        """
        deleted = super().delete(tenant_id, collection=collection)
        erase_rest(self._database, within_s=FREEING_S)
        return deleted

    def compact(self) -> None:
        """Give the free space of the file to the system, with what was left in it."""
        give_back(self._database)

    def close(self) -> None:
        """Close the connections that no call uses."""
        self._database.close()
