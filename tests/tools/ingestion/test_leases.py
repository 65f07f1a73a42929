"""The rows that a process works on: taken while it may, kept alive, given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.testing import FakeClock
from collection_search.tools.ingestion.leases import Leases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEASE_S = 10.0
SCOPE = TenantScope("local", "docs")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    items = [IngestionItem(f"https://a.org/{n}", f"a.org/{n}", "A") for n in range(4)]
    items.append(IngestionItem("https://b.org/", "b.org/", "B"))
    store.ledger.enqueue(IngestionRequest(SCOPE, items))
    yield store
    store.close()


def test_nothing_is_taken_once_closed(store: SQLiteStore) -> None:
    """By this stretch of work; the next one goes on."""
    leases, after = (Leases(store.ledger, lease_s=LEASE_S) for _ in range(2))
    leases.close()
    assert leases.claim(fetch=True) is None
    assert after.claim(fetch=True) is not None
    assert after.claim(fetch=False) is None  # all of them are pages to get


def test_a_host_whose_pages_are_still_in_hand_is_passed_over(
    store: SQLiteStore, clock: FakeClock
) -> None:
    """Even when their leases ran out: who lost a row may still be busy with it."""
    leases = Leases(store.ledger, lease_s=LEASE_S)
    first, other, second = (leases.claim(fetch=True) for _ in range(3))
    assert first is not None
    assert other is not None
    assert second is not None
    assert [one.url for one in (first, second)] == ["https://a.org/0", "https://a.org/1"]
    leases.forget(other)
    clock.advance(LEASE_S + 1)
    third = leases.claim(fetch=True)
    assert third is not None
    assert third.url == "https://b.org/"
    assert leases.claim(fetch=True) is None
    leases.forget(first)
    assert leases.claim(fetch=True) is not None


def test_leases_are_kept_and_given_back(store: SQLiteStore, clock: FakeClock) -> None:
    """What is kept nobody takes over; what is given back is free at once, its attempt uncounted."""
    leases, other = (Leases(store.ledger, lease_s=LEASE_S) for _ in range(2))
    kept, freed = leases.claim(fetch=True), leases.claim(fetch=True)
    assert kept is not None
    assert freed is not None
    for _ in range(3):
        clock.advance(LEASE_S * 0.8)
        leases.renew()
    leases.release([freed])
    assert leases.all() == [kept]
    taken = [other.claim(fetch=True) for _ in range(3)]
    assert kept.row_id not in {claim.row_id for claim in taken if claim}
    assert [claim.attempts for claim in taken if claim and claim.row_id == freed.row_id] == [1]


def test_a_lease_that_cannot_be_given_back_runs_out(tmp_path: Path, store: SQLiteStore) -> None:
    """A broken database does not keep a program from ending."""
    leases = Leases(store.ledger, lease_s=LEASE_S)
    assert leases.claim(fetch=True) is not None
    store.close()
    (tmp_path / "collections.db").write_bytes(b"no database" * 1000)
    leases.renew()
    leases.release(leases.all())
    assert leases.all() == []
