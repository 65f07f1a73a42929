"""Checkpoints carried over from the SQLite file to PostgreSQL, by the checkpointers themselves."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from .postgres import PostgresCheckpoints
from .sqlite import SQLiteCheckpoints

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple


def find_threads(path: Path) -> set[str]:
    """Return the threads that have a checkpoint; none where there is no file. Raises StoreError."""
    if not path.is_file():
        return set()
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            query = "SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'"
            if connection.execute(query).fetchone() is None:
                return set()
            rows = connection.execute("SELECT DISTINCT thread_id FROM checkpoints")
            return {row[0] for row in rows}
    except sqlite3.Error as error:
        raise StoreError(
            f"The checkpoints in {path} cannot be read. Restore a backup or move the file away."
            f" (SQLite says: {error}.)"
        ) from error


def copy_checkpoints(
    path: Path, url: str, *, schema: str, on_progress: Callable[[int, int], None]
) -> None:
    """Copy and compare all threads; a repeated call changes nothing. Blocks.

    `on_progress` gets the number of threads so far and in all. Raises StoreError.
    """
    stores = SQLiteCheckpoints(path), PostgresCheckpoints(url, schema=schema)
    asyncio.run(_copy(*stores, on_progress))


async def _copy(
    source: SQLiteCheckpoints, target: PostgresCheckpoints, on_progress: Callable[[int, int], None]
) -> None:
    async with source.open() as here, target.open() as there:
        threads = sorted(find_threads(source.path))
        for number, thread in enumerate(threads):
            on_progress(number, len(threads))
            found = await _read(here, thread)
            for one in found:
                await _write(there, one)
            if [*map(_plain, found)] != [*map(_plain, await _read(there, thread))]:
                raise StoreError(
                    f"The checkpoints of run {thread} differ from those in {source.path}."
                    " Run 'collection-search migrate --restart', which begins anew."
                )
        on_progress(len(threads), len(threads))


async def _read(saver: BaseCheckpointSaver[Any], thread: str) -> list[CheckpointTuple]:
    """Return the checkpoints of a thread, the oldest first."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    found = [one async for one in saver.alist(config)]
    return sorted(found, key=lambda one: (_place(one.config)[1], one.checkpoint["id"]))


async def _write(saver: BaseCheckpointSaver[Any], one: CheckpointTuple) -> None:
    """Store a checkpoint with the writes that wait for its next step."""
    thread, namespace, _ = _place(one.config)
    parent = None if one.parent_config is None else _place(one.parent_config)[2]
    where: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
    config: RunnableConfig = {"configurable": where | {"checkpoint_id": parent}}
    versions = one.checkpoint["channel_versions"]
    await saver.aput(config, one.checkpoint, one.metadata, versions)
    for task, writes in groupby(one.pending_writes or (), key=itemgetter(0)):
        values = [(channel, value) for _, channel, value in writes]
        await saver.aput_writes(one.config, values, task)


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return thread, namespace and id."""
    given = config.get("configurable", {})
    return given["thread_id"], given.get("checkpoint_ns", ""), given.get("checkpoint_id")


def _plain(one: CheckpointTuple) -> tuple[Any, ...]:
    """Return what must be equal in both: the versions of channels without a value aside."""
    parent = None if one.parent_config is None else _place(one.parent_config)
    writes = [tuple(write) for write in one.pending_writes or ()]
    return _place(one.config), dict(one.checkpoint), dict(one.metadata), parent, writes
