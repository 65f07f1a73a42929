"""LangGraph's checkpoints in PostgreSQL: a restart of the server."""

from __future__ import annotations

from langgraph.checkpoint.base import empty_checkpoint
from support.postgres_server import NEEDS_POSTGRES, postgres_server

from collection_search.adapters.checkpoints.postgres import PostgresCheckpoints

pytestmark = NEEDS_POSTGRES


async def test_a_restarted_server_is_found_again() -> None:
    """Connections that nobody used during the restart are replaced, and nothing is lost."""
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with postgres_server() as server:
        async with PostgresCheckpoints(server.url).open() as saver:
            await saver.aput(config, empty_checkpoint(), {}, {})  # type: ignore[arg-type]
            server.kill()
            server.start()
            assert await saver.aget_tuple(config) is not None  # type: ignore[arg-type]
