"""A data folder goes to PostgreSQL whole, once, and after a stop as if there had been none."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from support.moved_home import (
    ONE,
    TWO,
    checkpoints_of,
    facts_of,
    fill_checkpoints,
    fill_home,
)
from support.postgres_server import NEEDS_POSTGRES, postgres_server

from collection_search.adapters.checkpoints.postgres import PostgresCheckpoints
from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.adapters.moving.home import move_home
from collection_search.adapters.moving.moved_tables import TABLES
from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.adapters.stores.postgres.run_history import PostgresRuns
from collection_search.adapters.stores.postgres.usage import PostgresUsage
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.errors import InputError, StoreError
from collection_search.testing.stores.suite import axes, chunks, document
from collection_search.tools.portable.files import export_file, export_lines, import_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from support.postgres_server import PostgresServer

    Stores: TypeAlias = tuple[SQLiteStore, Callable[[], PostgresStore]]

pytestmark = NEEDS_POSTGRES
RUNS = 12
MOVE = """
import sys
from pathlib import Path
from collection_search.adapters.moving.home import move_home
tell = lambda step, done, _: print(step, done, flush=True)
move_home(Path(sys.argv[1]), sys.argv[2], batch=1, on_progress=tell)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def stores(tmp_path: Path, url: str) -> Iterator[Stores]:
    here = SQLiteStore(tmp_path / "collections.db")
    opened: list[PostgresStore] = []

    def there() -> PostgresStore:
        opened.append(PostgresStore(url))
        return opened[-1]

    yield here, there
    for store in (here, *opened):
        store.close()


def test_everything_is_carried_over(tmp_path: Path, url: str, stores: Stores) -> None:
    """Every table has rows; exports, tickets and dead letters are equal; new ids are greater."""
    tickets = fill_home(tmp_path)
    moved = move_home(tmp_path, url)
    assert moved is not None
    assert {name for name, rows in moved.rows.items() if not rows} == set()
    assert set(moved.rows) == {table.name for table in TABLES}
    here, store = stores[0], stores[1]()
    assert facts_of(store, tickets) == facts_of(here, tickets)
    for scope in (ONE, TWO):
        question = {"vector": axes(2)[0], "limit": 3}
        found = [s.collections.search(scope, "tea café", **question) for s in (here, store)]
        assert [one.chunk.text for one in found[0]] == [one.chunk.text for one in found[1]]
    store.collections.replace_document(
        ONE, document("new", "tea"), chunks("new tea", vectors=axes(1))
    )
    usage, runs = PostgresUsage(url), PostgresRuns(url)
    assert usage.get("one", "search", "key", max_age_s=1e9) == b"\x00answer"
    assert usage.used("tavily", "k", period="2026-11") == 1
    assert usage.run_total("one", "run-1").requests == 2
    assert len(runs.events("one", "run-1")) == 1
    usage.close()
    runs.close()
    assert move_home(tmp_path, url) is None


@pytest.mark.parametrize("stop_at", ["copy 5", "copy 40", "checkpoints 4", "compare 30"])
def test_a_killed_move_goes_on(tmp_path: Path, url: str, stores: Stores, stop_at: str) -> None:
    """By SIGKILL in the middle: nothing is lost, nothing doubled."""
    tickets = fill_home(tmp_path)
    asyncio.run(fill_checkpoints(tmp_path, threads=RUNS))
    step, _, least = stop_at.partition(" ")
    arguments = [sys.executable, "-c", MOVE, str(tmp_path), url]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            now, _, done = line.partition(" ")
            if now == step and int(done) >= int(least):
                process.kill()
                break
        else:
            pytest.fail("the move ended before it was killed")
    copied: list[int] = []
    moved = _move_when_free(tmp_path, url, copied)
    assert moved
    assert copied[0] > 0 or step == "copy"
    here, there = SQLiteCheckpoints(tmp_path / "checkpoints.db"), PostgresCheckpoints(url)
    kept, moved_runs = [asyncio.run(checkpoints_of(one)) for one in (here, there)]
    assert len(kept) == 2 * RUNS
    assert moved_runs == kept
    assert facts_of(stores[1](), tickets) == facts_of(stores[0], tickets)


def _move_when_free(home: Path, url: str, copied: list[int]) -> bool:
    """Move as soon as the server has noticed that the killed process is gone."""
    ends_at = time.monotonic() + 60
    while True:
        try:
            tell = lambda _step, done, _total: copied.append(done)  # noqa: E731
            return move_home(home, url, on_progress=tell) is not None
        except StoreError as error:
            if not error.retryable or time.monotonic() > ends_at:
                raise
            time.sleep(0.05)


def test_a_source_that_changed_meanwhile_is_noticed(
    tmp_path: Path, url: str, stores: Stores
) -> None:
    """The copy differs: the error says so, and `restart` begins anew."""
    tickets = fill_home(tmp_path)

    def stop(step: str, _done: int, _total: int) -> None:
        if step == "compare":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move_home(tmp_path, url, on_progress=stop)
    stores[0].collections.replace_document(
        ONE, document("page-0", "other"), chunks("other", vectors=axes(0))
    )
    with pytest.raises(StoreError, match=r"differs from the files in: .*chunks.*--restart"):
        move_home(tmp_path, url)
    assert move_home(tmp_path, url, restart=True) is not None
    assert facts_of(stores[1](), tickets) == facts_of(stores[0], tickets)


def test_a_target_with_other_data_is_refused(tmp_path: Path, url: str, stores: Stores) -> None:
    """Rows of a collection, or the data of another folder."""
    fill_home(tmp_path)
    store = stores[1]()
    store.collections.replace_document(TWO, document("theirs"), chunks("tea"))
    with pytest.raises(InputError, match="holds other data already \\(in chunks, collections"):
        move_home(tmp_path, url)
    assert len(store.collections.hashes(TWO)) == 1


def test_another_folder_is_refused(tmp_path: Path, url: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        fill_home(tmp_path / name)
    assert move_home(tmp_path / "a", url) is not None
    with pytest.raises(InputError, match=r"takes the data of .*a already"):
        move_home(tmp_path / "b", url)


def test_an_open_review_without_checkpoint_is_refused(tmp_path: Path, url: str) -> None:
    """By its name, before anything is written."""
    fill_home(tmp_path)
    with closing(sqlite3.connect(tmp_path / "collections.db")) as connection, connection:
        connection.execute("UPDATE gates SET state = 'open'")
    with pytest.raises(InputError, match=r"g-1 \(tenant one\)"):
        move_home(tmp_path, url)
    with psycopg.connect(url) as target:
        query = "SELECT to_regclass('collection_search.migration')"
        assert target.execute(query).fetchone() == (None,)


def test_a_source_at_work_is_refused(tmp_path: Path, url: str, stores: Stores) -> None:
    """While a worker holds a page."""
    fill_home(tmp_path)
    assert stores[0].ledger.claim("worker", lease_s=60) is not None
    with pytest.raises(StoreError, match="Workers hold 1 pages") as caught:
        move_home(tmp_path, url)
    assert caught.value.retryable


def test_a_collection_goes_by_file_between_the_engines(tmp_path: Path, stores: Stores) -> None:
    """To PostgreSQL and back: the canonical form stays the same."""
    fill_home(tmp_path)
    here, there = stores[0].collections, stores[1]().collections
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    export_file(here, ONE, first)
    import_file(there, ONE, first)
    assert [*export_lines(there, ONE)] == [*export_lines(here, ONE)]
    export_file(there, ONE, second)
    import_file(here, TWO, second)
    assert second.read_text() == first.read_text()
