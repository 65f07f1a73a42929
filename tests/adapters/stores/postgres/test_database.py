"""Connections: outages, forks, processes at once, and messages without secrets."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from support.ports import closed_port
from support.postgres_server import NEEDS_POSTGRES, postgres_server
from support.waiting import wait_until

from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.adapters.stores.postgres.database import PostgresDatabase
from collection_search.adapters.stores.sql.connection import WriteLock
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.errors import StoreError
from collection_search.testing.stores.suite import axes, chunks, document

if TYPE_CHECKING:
    from support.postgres_server import PostgresServer

pytestmark = NEEDS_POSTGRES
SCOPE = TenantScope("local", "docs")


def enqueue(store: PostgresStore, *names: str) -> None:
    refs = store.staging.put("local", [f"text of {name}" for name in names])
    pages = [document(name) for name in names]
    items = [
        IngestionItem(page.url, page.url_key, page.title, ref)
        for page, ref in zip(pages, refs, strict=True)
    ]
    store.ledger.enqueue(IngestionRequest(SCOPE, items))


def test_a_restarted_server_is_found_again() -> None:
    """What was committed is there; nobody is told of a restart that is over."""
    with postgres_server() as server:
        store = PostgresStore(server.url)
        store.collections.replace_document(SCOPE, document("page", "tea"), chunks("tea"))
        with ThreadPoolExecutor(4) as pool:  # several connections are left open
            barrier = threading.Barrier(4)
            list(pool.map(lambda _: (barrier.wait(60), enqueue(store, "page")), range(4)))
        server.kill()
        server.start()
        for _ in range(6):
            (info,) = store.collections.collections("local")
            assert (info.collection, info.documents) == ("docs", 1)
        store.close()


def test_a_call_during_an_outage_may_be_tried_again() -> None:
    """It has waited for the server as long as for a free connection.

    Attempts that double their distance would make their next one 7 s after the last call.
    """
    with postgres_server() as server:
        database = PostgresDatabase(server.url, wait_s=4)
        database.clock()
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreError) as caught:
                database.clock()
            assert caught.value.retryable
        server.start()
        assert database.clock() > 0
        database.close()


def test_a_message_names_the_server_and_no_password() -> None:
    with closed_port() as port:
        url = f"postgresql://me:very-secret-word@127.0.0.1:{port}/db?connect_timeout=2"
        with pytest.raises(StoreError, match=f"127.0.0.1:{port}/db cannot be used") as caught:
            PostgresDatabase(url, wait_s=2)
    assert caught.value.retryable
    assert "very-secret-word" not in str(caught.value)


def test_threads_and_stores_take_each_row_once(server: PostgresServer, schema: str) -> None:
    """As workers on several hosts do."""
    stores = [PostgresStore(server.url, schema=schema) for _ in range(3)]
    enqueue(stores[0], *(f"page{n}" for n in range(24)))
    taken: list[int] = []

    def work(store: PostgresStore, name: str) -> None:
        while (claim := store.ledger.claim(name, lease_s=60)) is not None:
            taken.append(claim.row_id)
            page = document(claim.url.rpartition("/")[2], "tea")
            assert store.ledger.finish(claim, page, chunks("tea"))

    threads = [
        threading.Thread(target=work, args=(store, f"worker {n}-{m}"))
        for n, store in enumerate(stores)
        for m in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(taken) == sorted(set(taken))
    assert len(taken) == 24
    for store in stores:
        store.close()


def test_several_processes_may_create_the_schema(server: PostgresServer, schema: str) -> None:
    made: list[PostgresDatabase] = []
    threads = [
        threading.Thread(target=lambda: made.append(PostgresDatabase(server.url, schema=schema)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 4
    for database in made:
        database.close()


def test_a_newer_schema_is_refused(server: PostgresServer, schema: str) -> None:
    PostgresDatabase(server.url, schema=schema).close()
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"UPDATE {schema}.schema_version SET version = 99".encode())
    with pytest.raises(StoreError, match="newer version"):
        PostgresDatabase(server.url, schema=schema)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(store: PostgresStore) -> None:
    store.collections.replace_document(SCOPE, document("page", "tea"), chunks("tea"))
    child = os.fork()
    if not child:
        os._exit(len(store.collections.collections("local")) + 6)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(store.collections.collections("local")) == 1


def test_new_vectors_are_searched(store: PostgresStore) -> None:
    """Those of another size, too."""
    store.collections.bind_embedder(SCOPE, "old")
    for n in range(4):
        page, text = document(f"page{n}", f"{n}"), chunks(f"text {n}", vectors=axes(n))
        store.collections.replace_document(SCOPE, page, text)
    pending = store.collections.pending_vectors(SCOPE, "new").chunks
    vectors = axes(3, 2, 1, 0)[:, [0, 1, 2, 3, 0]]
    by_text = sorted(pending, key=lambda chunk: chunk.text)
    store.collections.prepare_vectors(SCOPE, "new", by_text, vectors)
    assert store.collections.change_embedder(SCOPE, "new")
    found = store.collections.search(SCOPE, "nothing", vector=vectors[0], limit=1)
    assert [one.chunk.text for one in found] == ["text 0"]


def test_one_process_of_all_sweeps(server: PostgresServer, schema: str) -> None:
    """The lock ends with the block, or with the connection of whoever had it."""
    first, second = (PostgresStore(server.url, schema=schema) for _ in range(2))
    with first.ledger.sweeping() as is_first, second.ledger.sweeping() as is_second:
        assert (is_first, is_second) == (True, False)
    with second.ledger.sweeping() as is_second:
        assert is_second
    for store in (first, second):
        store.close()


def test_a_claim_runs_beside_the_writers_of_collections(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    enqueue(store, "page")
    database = PostgresDatabase(server.url, schema=schema)
    with database.write(TenantScope("another", "docs")):
        claim = store.ledger.claim("worker", lease_s=60)
    database.close()
    assert claim is not None
    assert claim.scope == SCOPE


def test_claims_run_one_after_the_other(
    server: PostgresServer, schema: str, store: PostgresStore
) -> None:
    """Two at once could both be the last one that a site's limit allows."""
    enqueue(store, "page")
    database = PostgresDatabase(server.url, schema=schema)
    claims: list[object] = []
    thread = threading.Thread(
        target=lambda: claims.append(store.ledger.claim("worker", lease_s=60))
    )
    with database.write(WriteLock.CLAIM), database.outside_transaction() as watching:
        thread.start()
        wait_until(lambda: _locks_waited_for(watching) == 1)
        assert not claims
    thread.join()
    database.close()
    assert claims != [None]


def test_rows_of_a_table_that_got_a_column_are_read_again(
    server: PostgresServer, schema: str
) -> None:
    """A server of the former release goes on while a migration adds columns."""
    database = PostgresDatabase(server.url, schema=schema, max_connections=1)

    def read() -> None:
        with database.read("local") as connection:
            connection.execute("SELECT * FROM host_turns").fetchall()

    for _ in range(10):
        read()
    with psycopg.connect(server.url) as other:
        other.execute(f"ALTER TABLE {schema}.host_turns ADD COLUMN since real")
    with pytest.raises(StoreError, match="cached plan"):
        read()
    read()
    database.close()


def _locks_waited_for(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    ).fetchone()
    assert row is not None
    return int(row[0])
