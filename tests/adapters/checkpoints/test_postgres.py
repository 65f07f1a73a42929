"""LangGraph's checkpoints in PostgreSQL: a restart of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from support.postgres_server import NEEDS_POSTGRES, postgres_server

from collection_search.adapters.checkpoints.postgres import PostgresCheckpoints
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
