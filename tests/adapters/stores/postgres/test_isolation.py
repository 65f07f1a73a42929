"""Row-level security: a wrong query reads and changes nothing of another tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from support.postgres_server import NEEDS_POSTGRES

from collection_search.adapters.stores.postgres.database import PostgresDatabase
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.review import Gate
from collection_search.errors import StoreError
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from support.postgres_server import PostgresServer

    from collection_search.adapters.stores.postgres import PostgresStore

pytestmark = NEEDS_POSTGRES
ONE, TWO = TenantScope("one", "docs"), TenantScope("two", "docs")
PRIVATE = (
    *("staged", "collections", "documents", "chunks", "ledger", "tickets", "ticket_rows"),
    *("questions", "sessions", "session_candidates", "gates", "gate_contents", "crawls"),
    *("addresses", "host_turns", "prepared_vectors", "comparisons", "answers", "spend"),
    *("run_questions", "runs", "events"),
)


def fill(store: PostgresStore, scope: TenantScope) -> None:
    """Store a page, a ticket, a session and a gate."""
    store.collections.replace_document(scope, document("page", "tea"), chunks("tea"))
    (ref,) = store.staging.put(scope.tenant_id, ["a text"])
    item = IngestionItem("https://example.com/x", "example.com/x", "X", ref)
    store.ledger.enqueue(IngestionRequest(scope, [item]))
    store.staging.open_session(scope, [{"url_key": "x", "content_ref": ref}], {})
    facts: Any = {
        "question": "Tea?",
        "round": 1,
        "host": "process",
        "thread_id": "t",
        "run_id": "r",
    }
    facts |= {"trace_id": "", "candidates": [], "threshold": 60.0, "deadline": 0.0}
    gate = Gate(
        "gate",
        scope.tenant_id,
        scope.collection,
        **facts,
        policy="keep_pending",
        content_refs=[ref],
    )
    store.gates.open(gate)


def test_a_query_without_a_tenant_reads_only_ones_own(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """Every table is asked for everything, as a mistake in a statement would."""
    fill(store, ONE)
    fill(store, TWO)
    database = PostgresDatabase(server.url, schema=schema)
    seen: dict[str, dict[str, int]] = {}
    for whose in ("one", "two", "three"):
        with database.read(whose) as connection:
            seen[whose] = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in PRIVATE
            }
    with database.read(None) as connection:
        for table in PRIVATE:
            total = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            assert total == seen["one"][table] + seen["two"][table], table
    database.close()
    assert seen["one"] == seen["two"]
    assert not any(seen["three"].values())
    assert seen["one"]["chunks"] == seen["one"]["gates"] == seen["one"]["gate_contents"] == 1


def test_a_wrong_query_changes_nothing_of_another_tenant(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """Neither does it write rows in another one's name."""
    fill(store, ONE)
    database = PostgresDatabase(server.url, schema=schema)
    with database.write("two") as connection:
        for table in PRIVATE:
            assert connection.execute(f"DELETE FROM {table}").rowcount == 0
    with pytest.raises(StoreError, match="row-level security"), database.write("two") as connection:
        connection.execute("INSERT INTO collections (tenant_id, name) VALUES ('one', 'x')")
    database.close()
    assert [info.collection for info in store.collections.collections("one")] == ["docs"]


def test_every_table_of_the_schema_is_private_or_holds_no_contents(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """A table that is added is not forgotten."""
    with psycopg.connect(server.url) as connection:
        rows: list[Any] = connection.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class"
            " WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
            [schema],
        ).fetchall()
    assert {name for name, is_private in rows if is_private} == set(PRIVATE)
    assert {name for name, is_private in rows if not is_private} == {
        "pauses",
        "quotas",
        "request_turns",
        "run_leases",
        "schema_version",
    }


def test_outside_of_a_transaction_of_ours_nothing_is_seen(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """Without a tenant's name there is none."""
    fill(store, ONE)
    with psycopg.connect(server.url, options=f"-c search_path={schema},public") as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_every_column_of_a_tenant_or_a_collection_is_under_a_policy(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """The catalogue is asked, so that a new table without a policy is found."""
    with psycopg.connect(server.url) as connection:
        rows: list[Any] = connection.execute(
            "SELECT DISTINCT relname, relrowsecurity AND relforcerowsecurity AND EXISTS ("
            " SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid AND polcmd = '*')"
            " FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
            " WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')"
            " AND attname IN ('tenant_id', 'tenant', 'collection_id', 'part', 'thread_id')",
            [schema],
        ).fetchall()
    assert len(rows) > 10
    assert [name for name, is_private in rows if not is_private] == []
