"""LangGraph's checkpoints in a SQLite file: what is deleted, and what is said of a full disk."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.errors import StoreError
from collection_search.runtime import disk_room

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

TEXT = "quetzal " * 2000


@pytest.fixture
def checkpoints(tmp_path: Path) -> SQLiteCheckpoints:
    return SQLiteCheckpoints(tmp_path / "checkpoints.db")


async def store_run(saver: Any, thread: str, text: str) -> None:
    """Store a checkpoint of a run with a value of one channel."""
    config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    checkpoint = empty_checkpoint() | {"channel_values": {"question": text}}
    stored = await saver.aput(config, checkpoint, {}, {})
    await saver.aput_writes(stored, [("__interrupt__", text)], "task")


def is_readable(folder: Path) -> bool:
    return any(b"quetzal" in path.read_bytes() for path in folder.iterdir())


async def test_a_deleted_run_is_in_no_file(checkpoints: SQLiteCheckpoints, tmp_path: Path) -> None:
    """Neither in the file nor in its log, while a server has it open."""
    async with checkpoints.open() as server:
        await store_run(server, "run", TEXT)
        await checkpoints.delete(["run"])
        assert not is_readable(tmp_path)


async def test_replaced_steps_are_overwritten(
    checkpoints: SQLiteCheckpoints, tmp_path: Path
) -> None:
    """A value that another one takes the place of leaves the file, whatever SQLite's default is."""
    config: RunnableConfig = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
    checkpoint = empty_checkpoint()
    async with checkpoints.open() as saver:
        async with saver.conn.execute("PRAGMA secure_delete") as cursor:
            assert await cursor.fetchone() == (1,)
        for text in (TEXT, "short"):
            await saver.aput(config, checkpoint | {"channel_values": {"q": text}}, {}, {})
    assert not is_readable(tmp_path)


async def test_what_earlier_versions_left_is_compacted(
    checkpoints: SQLiteCheckpoints, tmp_path: Path
) -> None:
    """They did not overwrite what they replaced; runs that wait stay."""
    async with checkpoints.open() as saver:
        await store_run(saver, "run", TEXT)
        await store_run(saver, "other", "tea")
    with closing(sqlite3.connect(checkpoints.path)) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM checkpoints WHERE thread_id = 'run'")
        connection.execute("DELETE FROM writes WHERE thread_id = 'run'")
    assert is_readable(tmp_path)
    await checkpoints.compact()
    assert not is_readable(tmp_path)
    async with checkpoints.open() as saver:
        assert await saver.aget_tuple({"configurable": {"thread_id": "other"}}) is not None


async def test_a_compaction_without_room_is_refused(
    checkpoints: SQLiteCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where how much is missing, and changes nothing."""
    async with checkpoints.open() as saver:
        await store_run(saver, "run", TEXT)
    before = checkpoints.path.read_bytes()
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(
        StoreError, match=r"not compacted: that needs [\d.,]+ MB in .*, where 0.0 MB"
    ):
        await checkpoints.compact()
    assert checkpoints.path.read_bytes() == before


async def test_a_run_waits_while_the_file_is_compacted(checkpoints: SQLiteCheckpoints) -> None:
    """A large file takes longer than Python waits for a lock by default, which is 5 s."""
    async with checkpoints.open() as saver, saver.conn.execute("PRAGMA busy_timeout") as cursor:
        assert await cursor.fetchone() == (30_000,)


async def test_without_a_file_nothing_is_made(checkpoints: SQLiteCheckpoints) -> None:
    """A compaction of a folder without paused runs leaves it alone."""
    await checkpoints.compact()
    assert not await asyncio.to_thread(checkpoints.path.exists)


@pytest.mark.parametrize(
    ("said", "free"),
    [
        ("database or disk is full", 10**9),
        ("attempt to write a readonly database", 0),
        ("unable to open database file", 0),
        ("disk I/O error", 0),
    ],
)
async def test_a_full_disk_loses_no_review(
    checkpoints: SQLiteCheckpoints, monkeypatch: pytest.MonkeyPatch, said: str, free: int
) -> None:
    """The advice is to free space: whoever moved the file away would lose what waits."""
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(StoreError, match="Free space there") as caught:
        async with checkpoints.open():
            raise sqlite3.OperationalError(said)
    assert caught.value.retryable
    assert "move the file away" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [("database is locked", "Try again"), ("file is not a database", "Restore a backup")],
)
async def test_other_failures_have_their_own_advice(
    checkpoints: SQLiteCheckpoints, said: str, told: str
) -> None:
    """A file that another process holds is not damaged."""
    with pytest.raises(StoreError, match=told):
        async with checkpoints.open():
            raise sqlite3.OperationalError(said)
