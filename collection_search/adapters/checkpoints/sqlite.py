"""LangGraph's checkpoints in a SQLite file of the data folder."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ...errors import StoreError
from ...runtime.concurrency import offload
from ...runtime.private_files import create_private

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from ...settings import Settings


class SQLiteCheckpoints:
    """The checkpoints of runs that wait for a person; many processes may share the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def from_settings(cls, settings: Settings) -> SQLiteCheckpoints:
        """Return the checkpoints of the settings' data folder. Raises ConfigError."""
        settings.prepared_home()
        return cls(settings.checkpoints_path)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncSqliteSaver]:
        """Open the file and yield its checkpointer, for the running event loop.

        Only plain values are read from it: the graphs' state has no others. Raises StoreError for
        a file that cannot be used.
        """
        await offload(create_private, self.path)
        try:
            async with aiosqlite.connect(self.path) as connection:
                serializer = JsonPlusSerializer(allowed_msgpack_modules=None)
                saver = AsyncSqliteSaver(connection, serde=serializer)
                await saver.setup()
                yield saver
        except sqlite3.Error as error:
            raise StoreError(
                f"The checkpoints in {self.path} cannot be used. Restore a backup, move the file"
                " away, or set COLLECTION_SEARCH_HOME to another folder."
                f" (SQLite says: {error}.)"
            ) from error

    async def delete(self, thread_ids: Iterable[str]) -> None:
        """Delete all that is kept of these threads. Raises StoreError."""
        threads = list(thread_ids)
        if not threads or not await offload(self.path.exists):
            return
        async with self.open() as saver:
            await saver.conn.execute("PRAGMA secure_delete = ON")
            for thread_id in threads:
                await saver.adelete_thread(thread_id)
