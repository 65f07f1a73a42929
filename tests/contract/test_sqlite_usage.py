"""The embedded store of quotas, answers and spending passes the shipped suite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.errors import StoreError
from collection_search.ports.usage import AnswerCache, QuotaStore, SpendEntry, SpendLedger
from collection_search.settings import Settings
from collection_search.testing.clock import FakeClock
from collection_search.testing.stores.usage import UsageContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY_S = 86_400.0


class TestSQLiteUsage(UsageContract):
    """One file for the three."""

    def usage(self, folder: Path, *, clock: Callable[[], float]) -> SQLiteUsage:
        return SQLiteUsage(folder / "usage.db", clock=clock)

    def source(self, folder: Path) -> str:
        return (
            "from pathlib import Path\n"
            "from collection_search.adapters.stores.sqlite.usage import SQLiteUsage\n"
            f"usage = SQLiteUsage(Path({str(folder / 'usage.db')!r}))"
        )


def test_it_is_all_three(tmp_path: Path) -> None:
    """One object can be given wherever one of the three is needed."""
    usage = SQLiteUsage.from_settings(Settings(home=tmp_path / "home"))
    assert isinstance(usage, QuotaStore)
    assert isinstance(usage, AnswerCache)
    assert isinstance(usage, SpendLedger)
    usage.close()
    assert (tmp_path / "home" / "usage.db").is_file()


def test_a_file_of_collections_is_refused(tmp_path: Path) -> None:
    """The two files cannot be taken for each other."""
    with closing(sqlite3.connect(tmp_path / "usage.db")) as connection, connection:
        connection.execute("CREATE TABLE collections (x)")
        connection.execute(f"PRAGMA application_id = {int.from_bytes(b'CSDB', 'big')}")
    with pytest.raises(StoreError, match=r"usage\.db belongs to another program"):
        SQLiteUsage(tmp_path / "usage.db")


def test_no_key_or_query_is_written_in_the_clear(tmp_path: Path) -> None:
    """A remembered answer is found by a hash of what was asked."""
    usage = SQLiteUsage(tmp_path / "usage.db")
    usage.put("one", "search", "a private question", b"answer")
    usage.close()
    assert b"a private question" not in (tmp_path / "usage.db").read_bytes()


def test_a_deletion_by_a_wrong_clock_refuses_nothing_later(tmp_path: Path) -> None:
    """Once the clock is right again, answers are kept: each would be paid for anew."""
    clock = FakeClock()
    ahead = SQLiteUsage(tmp_path / "usage.db", clock=lambda: clock.time() + 90 * DAY_S)
    ahead.delete_tenant("one")
    ahead.close()
    usage = SQLiteUsage(tmp_path / "usage.db", clock=clock.time)
    now = clock.time()
    usage.put_of_run("one", "search", {"key": b"answer"}, began_at=now)
    usage.add([SpendEntry("one", "run", now, "search", "brave", question="Why?", began_at=now)])
    usage.flush()
    assert usage.get("one", "search", "key", max_age_s=60) == b"answer"
    assert usage.run_total("one", "run").question == "Why?"
    usage.close()


def test_what_an_answer_replaced_is_in_no_file(tmp_path: Path) -> None:
    """A deletion includes what newer answers of the same question took the place of."""
    usage = SQLiteUsage(tmp_path / "usage.db")
    for answer in (b"quetzal " * 5000, b"tea"):
        usage.put("one", "search", "key", answer)
        usage.put("two", "search", "key", b"coffee")
        usage.flush()
    assert usage.delete_tenant("one") == 1
    assert not any(b"quetzal" in path.read_bytes() for path in tmp_path.iterdir())
    assert usage.get("two", "search", "key", max_age_s=60) == b"coffee"
    usage.close()
