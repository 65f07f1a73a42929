"""LangGraph's checkpoints in PostgreSQL, beside the collections."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ...errors import MissingExtraError, StoreError
from ...runtime.concurrency import offload
from ..stores.postgres.database import SCHEMA, WAIT_S
from ..stores.postgres.first_connection import connect_first
from ..stores.postgres.reconnection import RECONNECT_S, areconnect
from ..stores.postgres.store_errors import server_of, translate_failures

try:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg import sql
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import AsyncConnectionPool
except ImportError as missing:
    raise MissingExtraError(
        "Reviews and runs in PostgreSQL need the package langgraph-checkpoint-postgres."
        " Run: pip install 'collection-search[postgres]'"
    ) from missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    from ...settings import Settings

MAX_CONNECTIONS: Final = 4
_ALONE: Final = "SELECT pg_try_advisory_lock(hashtextextended(%s, 3)) AS is_alone"
_PAUSE_S: Final = 0.05
"""Between two attempts to be the process that creates the tables."""


class PostgresCheckpoints:
    """The checkpoints of runs; servers on several hosts share them."""

    def __init__(self, url: str, *, schema: str = SCHEMA, wait_s: float = WAIT_S) -> None:
        self._url = url
        self._schema = schema
        self._wait_s = wait_s

    @classmethod
    def from_settings(cls, settings: Settings) -> PostgresCheckpoints:
        """Return the checkpoints in the database of these settings. Raises ConfigError."""
        return cls(settings.postgres_url())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncPostgresSaver]:
        """Open connections and yield their checkpointer, for the running event loop.

        Only plain values are read from it: the graphs' state has no others. Raises StoreError when
        the database cannot be used.
        """
        (await offload(connect_first, self._url, {})).close()
        async with self._pool() as pool:
            with translate_failures(self._url):
                await self._set_up(pool)
            yield _Saver(self._url, pool)

    async def delete(self, thread_ids: Iterable[str]) -> None:
        """Delete all that is kept of these threads. Raises StoreError."""
        if threads := list(thread_ids):
            async with self.open() as saver:
                for thread_id in threads:
                    await saver.adelete_thread(thread_id)

    async def compact(self) -> None:
        """Do nothing: the server's own vacuum makes deleted rows room for new ones."""

    async def _set_up(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]) -> None:
        """Create or migrate the tables; one process at a time, since LangGraph takes no lock."""
        async with pool.connection() as connection:
            await self._wait_alone(connection)
            name = sql.Identifier(self._schema)
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            await AsyncPostgresSaver(connection, serde=_serializer()).setup()
            await connection.execute("SELECT pg_advisory_unlock_all()")

    async def _wait_alone(self, connection: psycopg.AsyncConnection[DictRow]) -> None:
        """Return when no other process creates the tables. Raises StoreError after `wait_s`.

        It asks again and again: CREATE INDEX CONCURRENTLY of the process that does so waits for the
        statements of all others, and would wait for ever for one that waits for the lock.
        """
        ends = time.monotonic() + self._wait_s
        while True:
            row = await (await connection.execute(_ALONE, [self._schema])).fetchone()
            if row and row["is_alone"]:
                return
            if time.monotonic() >= ends:
                raise StoreError(
                    f"Another process has been creating the tables of the checkpoints in"
                    f" {server_of(self._url)} for {self._wait_s:g} s. Try again when it has ended.",
                    retryable=True,
                )
            await asyncio.sleep(_PAUSE_S)

    def _pool(self) -> AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]:
        options: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            "options": f"-c search_path={self._schema},public",
            "application_name": "collection-search",
        }
        check: Any = AsyncConnectionPool.check_connection  # a restart of the server ends idle ones
        return AsyncConnectionPool(
            self._url,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=self._wait_s,
            reconnect_timeout=RECONNECT_S,
            reconnect_failed=areconnect,
            kwargs=options,
            check=check,
            open=False,
        )


class _Saver(AsyncPostgresSaver):
    """A checkpointer whose failures are StoreErrors: a run may go on after an outage."""

    def __init__(
        self, url: str, pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]
    ) -> None:
        super().__init__(pool, serde=_serializer())
        self._url = url

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with translate_failures(self._url):
            return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with translate_failures(self._url):
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        with translate_failures(self._url):
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        with translate_failures(self._url):
            await super().adelete_thread(thread_id)


def _serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=None)
