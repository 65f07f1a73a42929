"""LangGraph's checkpoints in a SQLite file of the data folder."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ...errors import StoreError
from ...runtime.concurrency import offload
from ...runtime.disk_room import full_disk_text, missing_room, tells_full_disk
from ...runtime.private_files import create_private

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from ...settings import Settings

_LOG_WAIT_MS: Final = 200
_WAIT_S: Final = 30
"""How long a connection waits for another process, which may write the file anew."""


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
            async with aiosqlite.connect(self.path, timeout=_WAIT_S) as connection:
                serializer = JsonPlusSerializer(allowed_msgpack_modules=None)
                saver = AsyncSqliteSaver(connection, serde=serializer)
                await saver.setup()
                await _apply(connection, "secure_delete = ON")  # a step replaces older rows
                yield saver
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error

    async def delete(self, thread_ids: Iterable[str]) -> None:
        """Delete all that is kept of these threads, from the file and its log. Raises StoreError.

        Where another process reads at that moment, the log keeps it until it is emptied.
        """
        threads = list(thread_ids)
        if not threads or not await offload(self.path.exists):
            return
        async with self.open() as saver:
            for thread_id in threads:
                await saver.adelete_thread(thread_id)
            await _truncate_log(saver.conn)

    async def compact(self) -> None:
        """Write the file anew, without what earlier versions left of deleted runs.

        Nobody else can write meanwhile. Raises StoreError, also where the disk has no room for the
        copy.
        """
        if await offload(self.path.exists):
            async with self.open() as saver:
                used = await _used_bytes(saver.conn)
                if (missing := await offload(missing_room, self.path, used)) is not None:
                    raise StoreError(missing)
                await saver.conn.execute("VACUUM")
                await _truncate_log(saver.conn)


async def _used_bytes(connection: aiosqlite.Connection) -> int:
    """Return the bytes of the file that are in use."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = [int(await _apply(connection, name)) for name in names]
    return (pages - free) * size


async def _truncate_log(connection: aiosqlite.Connection) -> None:
    """Empty the write-ahead log if nobody reads it now."""
    for pragma in (
        f"busy_timeout = {_LOG_WAIT_MS}",
        "wal_checkpoint(TRUNCATE)",
        f"busy_timeout = {_WAIT_S * 1000}",
    ):
        await _apply(connection, pragma)


async def _apply(connection: aiosqlite.Connection, pragma: str) -> Any:
    """Return the value of a pragma, run to its end: an open one would keep VACUUM from its work."""
    async with connection.execute(f"PRAGMA {pragma}") as cursor:
        rows = list(await cursor.fetchall())
    return rows[0][0] if rows else None


def _translated(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the error that names the file and what to do."""
    if tells_full_disk(str(error), path):
        return StoreError(f"{full_disk_text(path)} (SQLite says: {error}.)", retryable=True)
    if "locked" in str(error):
        return StoreError(
            f"The checkpoints in {path} were held by another process for too long. Try again, or"
            " end the process that holds them.",
            retryable=True,
        )
    return StoreError(
        f"The checkpoints in {path} cannot be used. Restore a backup, move the file"
        f" away, or set COLLECTION_SEARCH_HOME to another folder. (SQLite says: {error}.)"
    )
