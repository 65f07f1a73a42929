"""Contract suite for stores of gates."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from ...contracts.collection import Deleted
from ...errors import InputError
from .gates_listing import HOUR_S, OTHER, GateListingContract, decision_by
from .suite import MINE, THEIRS

if TYPE_CHECKING:
    from pathlib import Path

    from ...contracts.review import Gate


_DECIDE: Final = """
import json, sys
tenant, gate = json.loads(sys.argv[1])
print("ready", flush=True)
review = json.loads(sys.stdin.readline())
print(gates.decide(tenant, gate, review).decision["approver"])
"""


class GateStoreContract(GateListingContract):
    """Tests of what a review needs: subclass it, define `storage` and `source`."""

    def source(self, folder: Path) -> str:
        """Return Python source that binds `gates` to that store's gates in another process."""
        raise NotImplementedError

    def test_a_gate_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """After a restart too; the store sets the time and the state."""
        refs = self.store.staging.put(MINE.tenant_id, ["b", "a"])
        gate = self._gate(content_refs=refs, opened_at=5.0, state="closed")
        opened = self.store.gates.open(gate)
        assert opened == replace(gate, opened_at=self.clock.time(), state="open")
        assert self.store.gates.now() == self.clock.time()
        self.store.close()
        self.store = self._reopened(tmp_path)
        assert self.store.gates.get(MINE.tenant_id, "g1") == opened
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_a_gate_is_opened_once(self) -> None:
        """A node that runs again gets the gate that is there, decided or not."""
        first = self._open(thread_id=None)
        self.clock.advance(1)
        assert self._open(question="Another?") == first
        decided = self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        assert self._open() == decided

    def test_a_decision_stands(self) -> None:
        """The second one is not taken, and its author is told by the gate that comes back."""
        self._open()
        decided = self.store.gates.decide(MINE.tenant_id, "g1", decision_by("ann"))
        assert (decided.state, decided.decision) == ("decided", decision_by("ann"))
        assert self.store.gates.decide(MINE.tenant_id, "g1", decision_by("bob")) == decided
        assert self.store.gates.close(MINE.tenant_id, "g1")
        again = self.store.gates.decide(MINE.tenant_id, "g1", decision_by("bob"))
        assert again == replace(decided, state="closed")

    def test_an_equal_decision_is_another_one(self) -> None:
        """Whoever resumes the run knows that nobody else does."""
        self._open()
        decided_at = self.clock.time()
        first = self.store.gates.decide(MINE.tenant_id, "g1", decision_by("ann"))
        self.clock.advance(1)
        second = self.store.gates.decide(MINE.tenant_id, "g1", decision_by("ann"))
        assert (first.is_new_decision, second.is_new_decision) == (True, False)
        assert first.changed_at == second.changed_at == decided_at

    def test_one_of_two_takes_a_dead_run_over(self) -> None:
        """`take_over`: the first who saw the gate as it is; never an open or a closed one."""
        self.store.gates.open(self._gate())
        assert not self.store.gates.take_over(self._known())
        self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        seen = self._known()
        self.clock.advance(HOUR_S)
        assert self.store.gates.take_over(seen)
        assert not self.store.gates.take_over(seen)
        assert self._known().changed_at == seen.changed_at + HOUR_S
        self.clock.advance(HOUR_S)
        self.store.gates.close(MINE.tenant_id, "g1")
        self.clock.advance(HOUR_S)
        assert not self.store.gates.take_over(self._known())

    def _known(self) -> Gate:
        gate = self.store.gates.get(MINE.tenant_id, "g1")
        assert gate is not None
        return gate

    def test_only_a_decided_gate_is_closed(self) -> None:
        """And once; an unknown one is not."""
        assert not self.store.gates.close(MINE.tenant_id, "g1")
        self._open()
        assert not self.store.gates.close(MINE.tenant_id, "g1")
        self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        assert self.store.gates.close(MINE.tenant_id, "g1")
        assert not self.store.gates.close(MINE.tenant_id, "g1")

    def test_an_open_gate_is_withdrawn(self) -> None:
        """A decided one stays, and so do those of others."""
        for name in ("g1", "g2"):
            self._open(name)
        self._open("g1", scope=THEIRS)
        self.store.gates.decide(MINE.tenant_id, "g2", decision_by())
        names = ("g1", "g1", "g2")
        withdrawn = [self.store.gates.withdraw(MINE.tenant_id, name) for name in names]
        assert withdrawn == [True, False, False]
        assert self._names(self.store.gates.gates(MINE.tenant_id)) == ["g2"]
        assert self._names(self.store.gates.gates(THEIRS.tenant_id)) == ["g1"]

    def test_a_withdrawn_gate_leaves_its_thread(self) -> None:
        """It is unknown, is not decided and is opened anew; its thread is known until a purge."""
        self._open(thread_id="t1", question="Before?")
        self.store.gates.withdraw(MINE.tenant_id, "g1")
        assert self.store.gates.get(MINE.tenant_id, "g1") is None
        with pytest.raises(InputError, match="g1"):
            self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        assert self.store.gates.decided(MINE.tenant_id, limit=9) == []
        assert self.store.gates.threads(MINE.tenant_id) == ["t1"]
        again = self._open(thread_id="t1", question="Again?", content_refs=["c2"])
        assert self._known() == again
        assert (again.state, again.question, again.content_refs) == ("open", "Again?", ["c2"])
        self.store.gates.withdraw(MINE.tenant_id, "g1")
        self._open("g2", scope=OTHER, thread_id="t1")
        assert self.store.gates.threads(MINE.tenant_id, MINE.collection) == []
        assert self.store.gates.threads(MINE.tenant_id, OTHER.collection) == ["t1"]
        self.store.gates.decide(MINE.tenant_id, "g2", decision_by())
        self.store.gates.close(MINE.tenant_id, "g2")
        assert self.store.gates.threads(MINE.tenant_id, MINE.collection) == ["t1"]
        self.clock.advance(HOUR_S)
        self.store.collections.purge(MINE.tenant_id, HOUR_S / 2)
        assert self.store.gates.threads(MINE.tenant_id) == []

    def test_what_decides_nothing_is_refused(self) -> None:
        """An unknown gate, and a decision to decide later; the gate stays open."""
        with pytest.raises(InputError, match="g1"):
            self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        self._open()
        with pytest.raises(InputError, match="pending"):
            self.store.gates.decide(MINE.tenant_id, "g1", decision_by(status="pending"))
        (gate,) = self.store.gates.gates(MINE.tenant_id)
        assert gate.state == "open"

    def test_tenants_are_apart(self) -> None:
        """The same id names another gate, which nobody else reads, decides or closes."""
        self._open()
        for gates in (self.store.gates.gates, self.store.gates.threads):
            assert gates(THEIRS.tenant_id) == []
        assert self.store.gates.get(THEIRS.tenant_id, "g1") is None
        with pytest.raises(InputError):
            self.store.gates.decide(THEIRS.tenant_id, "g1", decision_by())
        theirs = self._open(scope=THEIRS, question="Whose?")
        self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        assert not self.store.gates.close(THEIRS.tenant_id, "g1")
        assert self.store.gates.get(THEIRS.tenant_id, "g1") == theirs

    def test_texts_stay_staged_until_the_gate_is_closed(self) -> None:
        """Those of its own tenant."""
        (ref,) = self.store.staging.put(MINE.tenant_id, ["text"])
        self.store.staging.put(THEIRS.tenant_id, ["text"])
        self._open(content_refs=[ref])
        assert self.store.staging.prune(0) == 1
        self.clock.advance(1)
        self.store.gates.decide(MINE.tenant_id, "g1", decision_by())
        assert self.store.collections.purge(MINE.tenant_id, 0) == Deleted()
        assert self.store.staging.get(MINE.tenant_id, ref) == "text"
        self.store.gates.close(MINE.tenant_id, "g1")
        assert self.store.staging.prune(0) == 1

    def test_gates_go_with_their_collection(self) -> None:
        """With their texts, whether they are decided or not; those of others stay."""
        refs = self.store.staging.put(MINE.tenant_id, ["one", "both"])
        self._open("g1", content_refs=refs)
        self._open("g2", OTHER, content_refs=refs[1:])
        self._open("g3", THEIRS)
        self.store.collections.delete_collection(MINE)
        assert self._names(self.store.gates.gates(MINE.tenant_id)) == ["g2"]
        staged = [self.store.staging.get(MINE.tenant_id, ref) for ref in refs]
        assert staged == [None, "both"]
        assert self.store.collections.delete_tenant(MINE.tenant_id) == Deleted(gates=1, texts=1)
        assert self.store.gates.gates(MINE.tenant_id) == []
        assert self._names(self.store.gates.gates(THEIRS.tenant_id)) == ["g3"]

    def test_closed_gates_are_purged_when_they_are_old(self) -> None:
        """By the time at which they were closed; open and decided ones stay."""
        for name in ("open", "decided", "closed"):
            self._open(name)
        self.clock.advance(HOUR_S)
        for name in ("decided", "closed"):
            self.store.gates.decide(MINE.tenant_id, name, decision_by())
        self.store.gates.close(MINE.tenant_id, "closed")
        self.clock.advance(HOUR_S)
        assert self.store.collections.purge(MINE.tenant_id, 2 * HOUR_S) == Deleted()
        assert self.store.collections.purge(MINE.tenant_id, HOUR_S) == Deleted(gates=1)
        assert self._names(self.store.gates.gates(MINE.tenant_id)) == ["open", "decided"]

    def test_one_of_two_threads_decides(self) -> None:
        """All get the gate with the one decision."""
        names = [f"g{n}" for n in range(20)]
        for name in names:
            self._open(name)

        def decide(approver: str) -> list[str]:
            decided = [
                self.store.gates.decide(MINE.tenant_id, name, decision_by(approver))
                for name in names
            ]
            return [gate.decision["approver"] for gate in decided]

        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(decide, ["ann", "bob"])
        assert first == second
        assert first == [
            gate.decision["approver"] for gate in self.store.gates.gates(MINE.tenant_id)
        ]

    def test_one_of_two_processes_decides(self, tmp_path: Path) -> None:
        """Both print the approver who was first."""
        self._open()
        script = f"{self.source(tmp_path)}\n{_DECIDE}"
        command = [sys.executable, "-c", script, json.dumps([MINE.tenant_id, "g1"])]
        processes = [
            subprocess.Popen(  # noqa: S603 - our own source
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        decisions = [json.dumps(decision_by(approver)) + "\n" for approver in ("ann", "bob")]
        for process, decision in zip(processes, decisions, strict=True):
            assert process.stdin is not None
            process.stdin.write(decision)
            process.stdin.flush()
        told = {process.communicate()[0].strip() for process in processes}
        gate = self.store.gates.get(MINE.tenant_id, "g1")
        assert gate is not None
        assert told == {gate.decision["approver"]} <= {"ann", "bob"}
