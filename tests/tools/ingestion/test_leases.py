"""The rows that a process works on: taken while it may, kept alive, given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.testing import FakeClock
from collection_search.tools.ingestion.leases import ClaimsInHand

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
    in_hand, after = (ClaimsInHand(store.ledger, lease_s=LEASE_S) for _ in range(2))
    in_hand.close()
    assert in_hand.take(fetch=True) is None
    assert after.take(fetch=True) is not None
    assert after.take(fetch=False) is None  # all of them are pages to get


def test_a_host_whose_pages_are_still_in_hand_is_passed_over(
    store: SQLiteStore, clock: FakeClock
) -> None:
    """Even when their leases ran out: who lost a row may still be busy with it."""
    in_hand = ClaimsInHand(store.ledger, lease_s=LEASE_S)
    first, second = in_hand.take(fetch=True), in_hand.take(fetch=True)
    assert first is not None
    assert second is not None
    clock.advance(LEASE_S + 1)
    third = in_hand.take(fetch=True)
    assert third is not None
    assert third.url == "https://b.org/"
    assert in_hand.take(fetch=True) is None
    in_hand.done(first)
    assert in_hand.take(fetch=True) is not None


def test_leases_are_kept_and_given_back(store: SQLiteStore, clock: FakeClock) -> None:
    """What is kept nobody takes over; what is given back is free at once, its attempt uncounted."""
    in_hand, other = (ClaimsInHand(store.ledger, lease_s=LEASE_S) for _ in range(2))
    kept, freed = in_hand.take(fetch=True), in_hand.take(fetch=True)
    assert kept is not None
    assert freed is not None
    for _ in range(3):
        clock.advance(LEASE_S * 0.8)
        in_hand.renew()
    in_hand.give_back([freed])
    assert in_hand.all() == [kept]
    taken = [other.take(fetch=True) for _ in range(3)]
    assert kept.row_id not in {claim.row_id for claim in taken if claim}
    assert [claim.attempts for claim in taken if claim and claim.row_id == freed.row_id] == [1]


def test_a_lease_that_cannot_be_given_back_runs_out(tmp_path: Path, store: SQLiteStore) -> None:
    """A broken database does not keep a program from ending."""
    in_hand = ClaimsInHand(store.ledger, lease_s=LEASE_S)
    assert in_hand.take(fetch=True) is not None
    store.close()
    (tmp_path / "collections.db").write_bytes(b"no database" * 1000)
    in_hand.renew()
    in_hand.give_back(in_hand.all())
    assert in_hand.all() == []
