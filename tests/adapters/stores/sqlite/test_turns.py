"""Claims stay cheap: what they read does not grow with the number of rows that wait."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.stores.sql import turns
from collection_search.adapters.stores.sql.claims import RowFilter
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.testing.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEASE_S = 15.0
STATES = ("waiting", "working", "to_fetch")
VALUES: dict[str, Any] = {
    "now": 100.0,
    "max_attempts": 3,
    "fetch": True,
    "states": json.dumps(STATES),
    "full": "[]",
    "embedders": "[]",
    "proxies": '[""]',
    "priority": 0,
    "up_to": 2,
    "collection": 1,
    "host": "host0.example",
    "id": 1,
}


def filled(folder: Path, *, rows: int, collections: int = 20, hosts: int = 50) -> SQLiteStore:
    store = SQLiteStore(folder / "collections.db", clock=FakeClock().time)
    for n in range(collections):
        pages = [
            IngestionItem(f"https://host{page % hosts}.example/{page}", f"{page}", "")
            for page in range(n, rows, collections)
        ]
        scope = TenantScope(f"tenant {n % 5}", f"collection {n}")
        store.ledger.enqueue(IngestionRequest(scope, pages))
    return store


def steps(store: SQLiteStore, folder: Path, busy_hosts: Sequence[str] = ()) -> int:
    """Return how many tens of instructions SQLite needs to find the next row."""
    wanted, count = RowFilter(3, fetch=True, busy_hosts=busy_hosts), 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    with closing(sqlite3.connect(folder / "collections.db")) as connection:
        connection.row_factory = sqlite3.Row
        connection.set_progress_handler(step, 10)
        assert wanted.find(connection, 100.0) is not None
    store.close()
    return count


@pytest.mark.parametrize("busy_hosts", [[], [f"host{n}.example" for n in range(0, 50, 2)]])
def test_a_claim_reads_as_much_of_many_rows_as_of_few(
    tmp_path: Path, busy_hosts: list[str]
) -> None:
    """Also when half of the hosts are busy, with the rows that were accepted first."""
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    few = steps(filled(tmp_path / "few", rows=1000), tmp_path / "few", busy_hosts)
    many = steps(filled(tmp_path / "many", rows=10_000), tmp_path / "many", busy_hosts)
    assert many <= 1.2 * few


@pytest.mark.parametrize("name", ["_ANY_DUE", "_PRIORITIES", "_NEXT_HOST", "_NEXT_ROW", "_ROW"])
def test_no_query_of_a_claim_reads_a_whole_table(tmp_path: Path, name: str) -> None:
    """Each finds its ledger rows by an index, up to the host or the time."""
    filled(tmp_path, rows=100).close()
    with closing(sqlite3.connect(tmp_path / "collections.db")) as connection:
        query = f"EXPLAIN QUERY PLAN {getattr(turns, name)}"
        plan = [row[3] for row in connection.execute(query, VALUES)]
    assert not [line for line in plan if line.startswith(("SCAN ledger", "SCAN documents"))]
    assert any(line.startswith("SEARCH ledger USING") for line in plan)


def test_turns_of_hosts_do_not_pile_up(tmp_path: Path) -> None:
    """One row a collection, and none of a deleted one."""
    store = filled(tmp_path, rows=300, collections=3)
    for _ in range(30):
        assert store.ledger.claim("worker", lease_s=LEASE_S, fetch=True) is not None
    with closing(sqlite3.connect(tmp_path / "collections.db")) as connection:
        count = "SELECT count(*) FROM host_turns"
        assert connection.execute(count).fetchone()[0] == 3
        store.collections.delete_collection(TenantScope("tenant 0", "collection 0"))
        assert connection.execute(count).fetchone()[0] == 2
    store.close()
