"""LangGraph's checkpoints in PostgreSQL: a restart of the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from support.postgres_server import NEEDS_POSTGRES, postgres_server

from collection_search.adapters.checkpoints.postgres import PostgresCheckpoints
from collection_search.adapters.stores.postgres.database import SCHEMA
from collection_search.errors import StoreError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

pytestmark = NEEDS_POSTGRES
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


async def test_a_restarted_server_is_found_again() -> None:
    """Connections that nobody used during the restart are replaced, and nothing is lost."""
    with postgres_server() as server:
        async with PostgresCheckpoints(server.url).open() as saver:
            await saver.aput(CONFIG, empty_checkpoint(), {}, {})
            server.kill()
            server.start()
            assert await saver.aget_tuple(CONFIG) is not None


async def test_runs_go_on_soon_after_an_outage() -> None:
    """Attempts that double their distance would make their next one 7 s after the last call."""
    with postgres_server() as server:
        async with PostgresCheckpoints(server.url, wait_s=4).open() as saver:
            await saver.aput(CONFIG, empty_checkpoint(), {}, {})
            server.kill()
            for _ in range(2):
                with pytest.raises(StoreError) as caught:
                    await saver.aget_tuple(CONFIG)
                assert caught.value.retryable
            server.start()
            assert await saver.aget_tuple(CONFIG) is not None


async def test_a_new_database_is_opened_twice_at_once() -> None:
    """As by two processes: the index that one builds waits for no statement of the other."""
    with postgres_server() as server:
        for pause_s in (0.0, 0.01, 0.03):
            url = server.new_database()
            await asyncio.gather(_use(url), _use(url, after_s=pause_s))
            with psycopg.connect(url) as connection:
                query = "SELECT bool_and(indisvalid) FROM pg_index"
                assert connection.execute(query).fetchone() == (True,)


async def test_who_waits_long_for_another_process_is_told() -> None:
    """The tables may be locked by a process that hangs."""
    with postgres_server() as server, psycopg.connect(server.url) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 3))", [SCHEMA])
        with pytest.raises(StoreError, match="Another process has been creating") as caught:
            await _use(server.url, wait_s=0.2)
        assert caught.value.retryable
        other.execute("SELECT pg_advisory_unlock_all()")
        await _use(server.url, wait_s=5)


async def _use(url: str, *, after_s: float = 0.0, wait_s: float = 30.0) -> None:
    await asyncio.sleep(after_s)
    async with PostgresCheckpoints(url, wait_s=wait_s).open() as saver:
        await saver.aput(CONFIG, empty_checkpoint(), {}, {})
