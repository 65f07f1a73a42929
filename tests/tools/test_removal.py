"""What is kept for a tenant, in whatever table, can be deleted."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from support.review_world import ReviewWorld
from support.scripted_world import INPUT

from collection_search import SearchContext, Settings, build_graph
from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.adapters.stores.sqlite import SQLiteStore, run_history
from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.contracts.comparison import ProfileComparison
from collection_search.contracts.crawl_record import CrawlRecord
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.review import Gate
from collection_search.errors import InputError, StoreError
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.ports.usage import SpendEntry
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing.clock import FakeClock
from collection_search.testing.stores.server_runs import RUN
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.removal import (
    Erased,
    adelete_tenant,
    compact_store,
    delete_tenant,
    purge,
)
from collection_search.tools.spending.account import Account
from collection_search.tools.spending.run_spendings import open_account
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

    from collection_search.contracts.state import RunIds

TENANTS = ("acme", "zenith")
SECRET = "quetzal"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[SearchContext]:
    """Two tenants that have something of everything."""
    clock, settings = FakeClock(), Settings(home=tmp_path)
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    usage = SQLiteUsage(tmp_path / "usage.db", clock=clock.time)
    for tenant in TENANTS:
        scope = TenantScope(tenant, "docs")
        page = document("stored", SECRET)
        store.collections.replace_document(scope, page, chunks(SECRET))
        store.collections.remember_question(scope, QuestionRecord(question="Tea?"))
        start = f"https://{SECRET}.example/"
        store.collections.remember_crawl(scope, CrawlRecord(starts=[start], depth=1, max_pages=9))
        (ref,) = store.staging.put(tenant, ["A staged text."])
        item = IngestionItem("https://e.com/waits", "waits", "Waits", ref)
        store.ledger.enqueue(IngestionRequest(scope, [item]))
        store.staging.open_session(scope, [{"url_key": "waits", "content_ref": ref}], {})
        gate = Gate(
            gate_id="g1",
            tenant_id=tenant,
            collection="docs",
            question="Tea?",
            round=1,
            host="process",
            thread_id="t1",
            run_id="run",
            trace_id="trace",
            candidates=[],
            threshold=60,
            deadline=0,
            policy="reject",
        )
        store.gates.open(gate)
        store.comparisons.add(
            ProfileComparison(
                tenant_id=tenant,
                collection="docs",
                run_id="run",
                question="Tea?",
                decided_by="default",
                compared="words",
                model=None,
                min_score=60.0,
                top10_overlap=1.0,
                rank_correlation=None,
                pages=[],
            )
        )
        usage.put(tenant, "search", "key", SECRET.encode())
        spent = SpendEntry(
            tenant, "run", clock.time(), "search", "brave", cost_usd=1, question="Tea?"
        )
        usage.add([spent])
    usage.flush()
    clock.advance(10)
    yield SearchContext(settings=settings, store=store, usage_store=usage, tenant_id="acme")
    store.close()
    usage.close()


def rows_of(folder: Path, tenant: str) -> dict[str, int]:
    """Return how many rows each table that names its tenant has of this one."""
    counted: dict[str, int] = {}
    for name in ("collections.db", "usage.db"):
        with closing(sqlite3.connect(folder / name)) as connection:
            tables = connection.execute(
                "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
                " WHERE m.type = 'table' AND c.name = 'tenant_id'"
            ).fetchall()
            for (table,) in tables:
                query = f"SELECT count(*) FROM {table} WHERE tenant_id = ?"
                counted[table] = connection.execute(query, (tenant,)).fetchone()[0]
    return counted


def test_no_table_keeps_a_deleted_tenant(context: SearchContext, tmp_path: Path) -> None:
    """Whatever table has a column of tenants; the other tenant loses nothing."""
    before, others = rows_of(tmp_path, "acme"), rows_of(tmp_path, "zenith")
    assert {"answers", "spend", "collections", "sessions", "gates", "staged"} <= set(before)
    assert min(before.values()) > 0
    assert delete_tenant(context) == Erased(
        collections=1,
        documents=1,
        pages=1,
        texts=2,
        questions=1,
        crawls=1,
        gates=1,
        comparisons=1,
        answers=1,
        spending=1,
    )
    assert set(rows_of(tmp_path, "acme").values()) == {0}
    assert rows_of(tmp_path, "zenith") == others
    assert delete_tenant(context) == Erased()


async def test_spending_on_its_way_is_deleted(context: SearchContext, tmp_path: Path) -> None:
    """The books are written after the run that they are of."""
    ids: RunIds = {"run_id": "run", "trace_id": "trace", "invocation_id": "call"}
    account = Account(context, ids)
    account.record_cost("chat", "m", 0.1)
    await account.close(is_last=False)  # waits long enough
    erased = await adelete_tenant(context)
    assert erased.spending == 2
    await asyncio.to_thread(spend_writer().flush)
    assert rows_of(tmp_path, "acme")["spend"] == 0


def test_no_file_keeps_a_deleted_answer(context: SearchContext, tmp_path: Path) -> None:
    """Neither a free page nor the log."""
    delete_tenant(context)
    delete_tenant(context.model_copy(update={"tenant_id": "zenith"}))
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert SECRET.encode() not in left


def test_old_answers_are_purged_with_the_rest(context: SearchContext, tmp_path: Path) -> None:
    """Those of this tenant; amounts stay in the books."""
    assert purge(context, 20) == Erased()
    erased = purge(context, 5)
    assert (erased.documents, erased.questions, erased.crawls, erased.answers) == (1, 1, 1, 1)
    assert erased.spending == 0
    assert rows_of(tmp_path, "acme")["answers"] == 0
    assert rows_of(tmp_path, "acme")["spend"] == rows_of(tmp_path, "zenith")["answers"] == 1


def test_a_deletion_is_whole_or_refused(context: SearchContext, tmp_path: Path) -> None:
    """Where one of the stores is out of reach, nothing of the other is deleted."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "usage.db").write_bytes(b"no database" * 100)
    settings = Settings(home=tmp_path / "home")
    broken = context.model_copy(update={"usage_store": None, "settings": settings})
    before = rows_of(tmp_path, "acme")
    with pytest.raises(StoreError, match="nothing was deleted"):
        delete_tenant(broken)
    assert rows_of(tmp_path, "acme") == before


def test_runs_of_a_server_are_counted(context: SearchContext, tmp_path: Path) -> None:
    """A tenant who has nothing else has them, and another deletion finds nothing."""
    delete_tenant(context)
    runs = SQLiteRuns(tmp_path / "runs.db")
    runs.add(replace(RUN, tenant_id="acme"))
    runs.close()
    erased = delete_tenant(context)
    assert (erased.runs, erased) == (1, Erased(runs=1))
    assert delete_tenant(context) == Erased()


async def test_a_deletion_that_was_interrupted_is_done_by_the_next_one(
    context: SearchContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoints of a server's run are found by the run, so they go first."""
    settings = context.using()
    runs = SQLiteRuns(tmp_path / "runs.db")
    runs.add(replace(RUN, tenant_id="acme"))
    runs.close()
    checkpoints = SQLiteCheckpoints(settings.checkpoints_path)
    config: RunnableConfig = {"configurable": {"thread_id": RUN.run_id, "checkpoint_ns": ""}}
    async with checkpoints.open() as saver:
        stored = empty_checkpoint() | {"channel_values": {"question": SECRET}}
        await saver.aput(config, stored, {}, {})

    def locked(*_: Any, **__: Any) -> None:
        raise StoreError("the database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(run_history, "erase_rest", locked)
        with pytest.raises(StoreError, match="locked"):
            await adelete_tenant(context)
    await adelete_tenant(context)
    async with checkpoints.open() as saver:
        assert await saver.aget_tuple(config) is None


async def test_the_run_of_a_withdrawn_review_is_deleted(tmp_path: Path) -> None:
    """Nobody answers the review any more, and its checkpoints have its pages."""
    world = ReviewWorld(tmp_path)
    facade = CollectionReviewGraph(world.context)
    paused = await facade.arun(INPUT)
    assert paused["request"] is not None
    config: RunnableConfig = {"configurable": {"thread_id": paused["thread_id"]}}
    checkpoints = SQLiteCheckpoints(world.context.using().checkpoints_path)
    async with checkpoints.open() as saver:
        changed = build_graph(review=True, checkpointer=saver)
        await changed.aupdate_state(config, {"collection_scope": "elsewhere"})
        with pytest.raises(InputError, match="is withdrawn"):
            await facade.adecide(paused["request"]["gate_id"], {"status": "approved"})
        assert await saver.aget_tuple(config) is not None
        await adelete_tenant(world.context)
        assert await saver.aget_tuple(config) is None


def test_a_compaction_includes_runs(context: SearchContext, tmp_path: Path) -> None:
    """Of a server, and those that waited: no file has words of what was deleted before."""
    with closing(sqlite3.connect(tmp_path / "checkpoints.db")) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE old (text)")
        connection.execute("INSERT INTO old VALUES (?)", (SECRET * 2000,))
        connection.execute("DELETE FROM old")
    runs = SQLiteRuns(tmp_path / "runs.db")
    runs.add(replace(RUN, tenant_id="acme", question=SECRET * 2000))
    runs.close()
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection, connection:
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute("DELETE FROM runs")
    compact_store(context)
    for name in ("runs.db", "checkpoints.db"):
        assert SECRET.encode() not in (tmp_path / name).read_bytes()


def test_a_damaged_file_does_not_keep_the_others_from_being_compacted(
    context: SearchContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told afterwards."""
    (tmp_path / "runs.db").write_bytes(b"no database " * 1000)
    collections = run_blocking(context.storage()).collections
    compacted = list[int]()
    monkeypatch.setattr(collections, "compact", lambda: compacted.append(1))
    with pytest.raises(StoreError, match="damaged"):
        compact_store(context)
    assert compacted


def test_a_compaction_includes_answers(tmp_path: Path) -> None:
    """Earlier versions made a file that does not shrink, and did not overwrite what they deleted."""
    path = tmp_path / "usage.db"
    SQLiteUsage(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE old (text)")
        connection.execute("INSERT INTO old VALUES (?)", (SECRET * 2000,))
        connection.execute("DROP TABLE old")
    assert SECRET.encode() in path.read_bytes()
    compact_store(SearchContext(settings=Settings(home=tmp_path)))
    assert SECRET.encode() not in path.read_bytes()


async def test_a_run_in_progress_brings_nothing_back(tmp_path: Path) -> None:
    """Its open stage, and those that begin later, leave neither its question nor an answer."""
    usage = SQLiteUsage(tmp_path / "usage.db")
    context = SearchContext(settings=Settings(home=tmp_path), usage_store=usage, tenant_id="acme")

    async def stage(run_id: str) -> Account:
        ids: RunIds = {"run_id": run_id, "trace_id": "trace", "invocation_id": "call"}
        account = await open_account(context, ids)
        account.name_question(f"Where lives the {SECRET}?")
        account.cache_answers("search", lambda: {run_id: SECRET})
        account.record_billed("tavily", 1, 0.008)
        return account

    first = await stage("running")
    await adelete_tenant(context)
    await first.close()
    await (await stage("running")).close()
    await asyncio.to_thread(spend_writer().flush)
    assert [total.question for total in usage.totals("acme", by="run")] == [None]
    assert usage.get("acme", "search", "running", max_age_s=1e9) is None
    await (await stage("later")).close()
    await asyncio.to_thread(spend_writer().flush)
    assert usage.get("acme", "search", "later", max_age_s=1e9) is not None
    asked = {total.group: total.question for total in usage.totals("acme", by="run")}
    assert asked == {"running": None, "later": f"Where lives the {SECRET}?"}
    usage.close()
