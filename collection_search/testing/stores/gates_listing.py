"""Contract suite for stores of gates: what is listed, in which order, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ...contracts.collection import TenantScope
from ...contracts.review import Gate
from .suite import MINE, THEIRS, StoreContract

if TYPE_CHECKING:
    from ...contracts.review import Review

HOUR_S: Final = 3600.0
OTHER: Final = TenantScope(MINE.tenant_id, "other")


def decision_by(approver: str = "ann", **fields: Any) -> Review:
    """Return a decision that approves one page."""
    decision: dict[str, Any] = {
        "gate_id": "g1",
        "status": "partial",
        "approved_urls": ["https://example.com/a"],
        "added_urls": [],
        "approver": approver,
        "decided_by": "person",
        "comment": "It fits: größer 😀",
        "decided_at": "2026-11-23T12:00:00+00:00",
        "deadline": None,
        "round": 1,
    }
    return cast("Review", decision | fields)


class GateListingContract(StoreContract):
    """Tests of the lists that people, servers and sweepers read."""

    def _gate(self, name: str = "g1", scope: TenantScope = MINE, **fields: Any) -> Gate:
        known: dict[str, Any] = {
            "question": "Which tea?",
            "round": 1,
            "host": "process",
            "thread_id": f"thread of {name}",
            "run_id": "run",
            "trace_id": "trace",
            "candidates": [{"url": "https://example.com/a", "explanation": {"title": 1.5}}],
            "threshold": 60.0,
            "threshold_reason": "as the caller asked",
            "deadline": self.clock.time() + HOUR_S,
            "policy": "approve",
        }
        return Gate(name, scope.tenant_id, scope.collection, **(known | fields))

    def _open(self, name: str = "g1", scope: TenantScope = MINE, **fields: Any) -> Gate:
        return self.store.gates.open(self._gate(name, scope, **fields))

    def _names(self, gates: list[Gate]) -> list[str]:
        return [gate.gate_id for gate in gates]

    def test_gates_are_listed(self) -> None:
        """The oldest first, by state and collection; threads each once."""
        for name, scope in (("g3", MINE), ("g2", OTHER), ("g1", MINE)):
            self._open(name, scope)
            self.clock.advance(1)
        self._open("g4", thread_id=None)
        self._open("g5", thread_id="thread of g1")
        gates, tenant = self.store.gates, MINE.tenant_id
        gates.decide(tenant, "g3", decision_by())
        assert self._names(gates.gates(tenant)) == ["g3", "g2", "g1", "g4", "g5"]
        assert self._names(gates.gates(tenant, state="decided")) == ["g3"]
        assert self._names(gates.gates(tenant, collection="docs", state="open"))[0] == "g1"
        assert gates.threads(tenant) == ["thread of g1", "thread of g2", "thread of g3"]
        assert gates.threads(tenant, "other") == ["thread of g2"]

    def test_gates_are_listed_from_a_time_on(self) -> None:
        """By the time at which they were opened, which may be that very one."""
        self._open("old")
        self.clock.advance(1)
        self._open("new")
        start = self.clock.time()
        assert self._names(self.store.gates.gates(MINE.tenant_id, opened_from=start)) == ["new"]

    def test_waiting_gates_are_listed_a_page_at_a_time(self) -> None:
        """The oldest first, open ones alone, with what a list shows; counted by collection."""
        for name, scope in (("g3", MINE), ("g2", OTHER), ("g1", MINE), ("theirs", THEIRS)):
            self._open(name, scope)
            self.clock.advance(1)
        gates, tenant = self.store.gates, MINE.tenant_id
        assert [one.gate_id for one in gates.waiting(tenant).gates] == ["g3", "g2", "g1"]
        part = gates.waiting(tenant, offset=1, limit=1)
        assert (part.total, [one.gate_id for one in part.gates]) == (3, ["g2"])
        assert gates.waiting_counts(tenant) == {"docs": 2, "other": 1}
        gates.decide(tenant, "g3", decision_by())
        total, (listed,) = gates.waiting(tenant, collection="docs")
        stored = gates.get(tenant, "g1")
        assert stored is not None
        assert (total, listed.candidate_count) == (1, len(stored.candidates))
        for name in ("question", "round", "threshold", "deadline", "policy", "opened_at", "host"):
            assert getattr(listed, name) == getattr(stored, name)
        assert gates.waiting(tenant, collection="none") == (0, [])
        assert gates.waiting_counts("nobody") == {}

    def test_decided_gates_are_listed_by_their_decision(self) -> None:
        """The newest decision first, closed ones too; by collection and by who decided."""
        gates, tenant = self.store.gates, MINE.tenant_id
        for name, scope in (("g1", MINE), ("g2", OTHER), ("g3", MINE), ("g4", MINE), ("g5", MINE)):
            self._open(name, scope)
        self._open("theirs", THEIRS)
        gates.decide(THEIRS.tenant_id, "theirs", decision_by())
        for name, minute, by in (
            ("g3", 1, "person"),
            ("g1", 3, "person"),
            ("g4", 2, "deadline"),
            ("g2", 2, "person"),
        ):
            at = f"2026-11-23T12:0{minute}:00Z"
            gates.decide(tenant, name, decision_by(decided_by=by, decided_at=at))
        gates.close(tenant, "g1")
        assert self._names(gates.decided(tenant, limit=9)) == ["g1", "g4", "g2", "g3"]
        assert self._names(gates.decided(tenant, limit=2)) == ["g1", "g4"]
        by_people = gates.decided(tenant, decided_by="person", limit=2)
        assert self._names(by_people) == ["g1", "g2"]
        assert self._names(gates.decided(tenant, collection="other", limit=9)) == ["g2"]
        assert gates.decided(tenant, collection="none", limit=9) == []
        self.store.collections.delete_collection(MINE)
        assert self._names(gates.decided(tenant, limit=9)) == ["g2"]

    def test_new_decisions_are_told(self) -> None:
        """Of all tenants, from a time on, until the gates are closed."""
        gates = self.store.gates
        self._open("early")
        self._open("open")
        self._open("theirs", THEIRS)
        gates.decide(MINE.tenant_id, "early", decision_by())
        self.clock.advance(60)
        now = gates.now()
        gates.decide(THEIRS.tenant_id, "theirs", decision_by())
        assert self._names(gates.newly_decided(0.0)) == ["early", "theirs"]
        assert self._names(gates.newly_decided(now)) == ["theirs"]
        assert gates.newly_decided(now + 1) == []
        gates.close(THEIRS.tenant_id, "theirs")
        assert gates.newly_decided(now) == []

    def test_a_sweeper_is_told_what_is_unfinished(self) -> None:
        """Overdue gates unless they wait on, and decided ones until they are closed."""
        self._open("approve")
        self._open("keep", policy="keep_pending")
        self._open("later", deadline=self.clock.time() + 2 * HOUR_S)
        self._open("theirs", THEIRS, policy="reject")
        gates = self.store.gates
        assert gates.unfinished() == []
        gates.decide(MINE.tenant_id, "keep", decision_by())
        assert self._names(gates.unfinished()) == ["keep"]
        self.clock.advance(HOUR_S)
        assert self._names(gates.unfinished()) == ["approve", "keep", "theirs"]
        assert self._names(gates.unfinished(THEIRS.tenant_id)) == ["theirs"]
        gates.close(MINE.tenant_id, "keep")
        assert self._names(gates.unfinished(MINE.tenant_id)) == ["approve"]
