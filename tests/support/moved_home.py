"""A data folder with rows in every table, of two tenants, and what is compared after a move."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint.base import empty_checkpoint

from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.ports.usage import SpendEntry
from collection_search.testing.stores.server_runs import RUN
from collection_search.testing.stores.suite import axes, chunks, document

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

    from collection_search.adapters.checkpoints.postgres import PostgresCheckpoints
    from collection_search.contracts.ingestion import Ticket
    from collection_search.ports import Storage

ONE: Final = TenantScope("one", "docs")
TWO: Final = TenantScope("two", "docs")
PAGES: Final = 12
_RARE: Final = """
    INSERT INTO addresses VALUES (1, 'example.com/old', 'https://example.com/old',
        'example.com/page-0', 'redirect', 5.5);
    INSERT INTO crawls (collection_id, starts, rules, first_run_at, last_run_at)
        VALUES (1, '["https://example.com/"]', '{"depth": 2}', 1.5, 2.5);
    INSERT OR IGNORE INTO host_turns VALUES (1, 'example.com');
    INSERT INTO pauses VALUES ('host:down.example', 'refused', 1.25, 9999999999.5, NULL);
    INSERT INTO questions (collection_id, question, record, first_asked_at, last_asked_at)
        VALUES (1, 'Which tea?', '{"asked": 1}', 3.5, 4.5);
    INSERT INTO comparisons (tenant_id, collection, compared_at, facts)
        VALUES ('one', 'docs', 7.5, '{}');
    INSERT INTO sessions VALUES ('s-1', 'two', 'docs', 8.5, '{}');
    INSERT INTO session_candidates (session_id, position, candidate)
        VALUES ('s-1', 0, '{"url_key": "example.com/z", "content_ref": "r"}');
    INSERT INTO gates (tenant_id, gate_id, collection, host, thread_id, state, policy, deadline,
        opened_at, changed_at, facts, decision)
        VALUES ('one', 'g-1', 'docs', 'process', 't-1', 'closed', 'approve', 1.5, 0.5, 2.5, '{}', '{}');
    INSERT INTO gate_contents VALUES (1, 0, 'r');
    INSERT INTO prepared_vectors (chunk_id, embedder, vector) VALUES (1, 'new', x'0000803f');
"""


def fill_home(home: Path, *, pages: int = PAGES) -> dict[TenantScope, Ticket]:
    """Write rows into every table: stored, dead, waiting and paused pages; return the tickets."""
    store = SQLiteStore(home / "collections.db", max_attempts=1)
    tickets = {scope: _fill_collection(store, scope, pages) for scope in (ONE, TWO)}
    store.close()
    with closing(sqlite3.connect(home / "collections.db")) as connection:
        connection.executescript(_RARE)
    _fill_usage(home)
    runs = SQLiteRuns(home / "runs.db")
    runs.add(RUN)
    runs.append("one", "run-1", [{"type": "x", "text": "Which tea?"}], owner="me")
    runs.close()
    return tickets


def _fill_collection(store: SQLiteStore, scope: TenantScope, pages: int) -> Ticket:
    store.collections.bind_embedder(scope, "axes")
    for n in range(pages):
        text = f"Tea {n} of café {scope.tenant_id}"
        parts = chunks(text, "c++ 茶", vectors=axes(n % 4, (n + 1) % 4))
        store.collections.replace_document(scope, document(f"page-{n}", text, rank=n), parts)
    (ref,) = store.staging.put(scope.tenant_id, [f"staged text of {scope.tenant_id}"])
    made = [document(name) for name in ("dead", "waiting", "later")]
    items = [IngestionItem(page.url, page.url_key, page.title, ref) for page in made]
    ticket = store.ledger.enqueue(IngestionRequest(scope, items))
    claim = store.ledger.claim("worker", lease_s=60)
    assert claim is not None
    assert store.ledger.fail(claim, "no such page", retry_in_s=None) is not None
    claim = store.ledger.claim("worker", lease_s=60)
    assert claim is not None
    store.ledger.postpone(claim, 9_000, "busy")
    return ticket


async def fill_checkpoints(home: Path, *, threads: int) -> None:
    """Write runs of two checkpoints each, with writes that wait for the next step."""
    async with SQLiteCheckpoints(home / "checkpoints.db").open() as saver:
        for number in range(threads):
            where: RunnableConfig = {
                "configurable": {"thread_id": f"run-{number}", "checkpoint_ns": ""}
            }
            for step in range(2):
                checkpoint = empty_checkpoint()
                checkpoint["channel_values"] = {"question": ["Which tea?", number, step]}
                checkpoint["channel_versions"] = {"question": f"{step + 1}"}
                versions = checkpoint["channel_versions"]
                where = await saver.aput(where, checkpoint, {"step": step}, versions)
                await saver.aput_writes(where, [("answer", f"{number}-{step}")], "task")


async def checkpoints_of(store: SQLiteCheckpoints | PostgresCheckpoints) -> list[Any]:
    """Return what both engines must tell alike of all runs."""
    async with store.open() as saver:
        return sorted(
            [
                (
                    one.config["configurable"]["thread_id"],
                    one.checkpoint["id"],
                    one.checkpoint["channel_values"],
                    one.parent_config and one.parent_config["configurable"]["checkpoint_id"],
                    [tuple(write) for write in one.pending_writes or ()],
                )
                async for one in saver.alist(None)
            ],
            key=lambda fact: fact[:2],
        )


def _fill_usage(home: Path) -> None:
    usage = SQLiteUsage(home / "usage.db")
    usage.reserve("tavily", "k", period="2026-11", limit=9)
    usage.put("one", "search", "key", b"\x00answer")
    usage.flush()
    usage.add([SpendEntry("one", "run-1", 1.5, "search", "tavily", requests=2)])
    usage.close()
    with closing(sqlite3.connect(home / "usage.db")) as connection, connection:
        connection.execute("INSERT INTO run_questions VALUES ('one', 'run-1', 'Which tea?')")


def facts_of(store: Storage, tickets: dict[TenantScope, Ticket]) -> Any:
    """Return what both engines must tell alike: exports, ticket states, dead letters."""
    return [
        [
            sorted(json.dumps(row, sort_keys=True) for row in store.collections.export(scope)),
            store.ledger.status(scope.tenant_id, ticket.ticket_id),
            store.ledger.dead_letters(scope.tenant_id),
            store.collections.embedder(scope),
        ]
        for scope, ticket in tickets.items()
    ]
