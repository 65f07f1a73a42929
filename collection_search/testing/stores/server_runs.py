"""Contract suite for stores of the server's runs."""
# ruff: noqa: PLR2004 - the numbers are the test

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from ...contracts.server_run import ENDED, ServerRun
from ..clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...contracts.server_run import RunChange
    from ...ports.run_store import RunStore

RUN: Final = ServerRun(
    run_id="run-1",
    tenant_id="one",
    graph="collection_search",
    user="ann",
    question="Which tea?",
    collection="tea",
    given={"question": "Which tea?"},
    choices={"provider": "offline"},
    owner="me",
)


class RunStoreContract:
    """Tests of a store of runs: subclass it and define `open_runs`."""

    store: RunStore
    other: RunStore
    """Another object on the same data."""
    clock: FakeClock

    def open_runs(self, folder: Path, *, clock: Callable[[], float]) -> RunStore:
        """Open the store in this folder and return it."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> None:
        self.clock = FakeClock()
        self.store = self.open_runs(tmp_path, clock=self.clock.time)
        self.other = self.open_runs(tmp_path, clock=self.clock.time)

    def test_what_is_stored_is_read_again(self) -> None:
        """A new run, and another object on the same data."""
        added = self.store.add(RUN)
        assert added == replace(RUN, created_at=self.clock.time())
        assert self.store.get("one", "run-1") == self.other.get("one", "run-1") == added

    def test_no_call_crosses_a_tenant(self) -> None:
        """Another tenant's run is unknown, and cannot be changed or deleted."""
        self.store.add(RUN)
        assert self.store.get("two", "run-1") is None
        assert self.store.runs("two", limit=9) == []
        assert not self.store.change("two", "run-1", {"status": "done"}, expected={"running"})
        assert not self.store.append("two", "run-1", [{"type": "x"}], owner="me")
        self.store.append("one", "run-1", [{"type": "x"}], owner="me")
        assert self.store.events("two", "run-1") == []
        assert self.store.delete("two") == []
        assert self.store.forget_oldest("two", keep=0) == 0
        assert self.store.get("one", "run-1") is not None

    def test_events_have_numbers_without_gaps(self) -> None:
        """A new status is an event too."""
        self.store.add(RUN)
        assert self.store.append("one", "run-1", [{"type": "a"}, {"type": "b"}], owner="me")
        waiting: RunChange = {"status": "waiting", "gate_id": "g"}
        self.store.change("one", "run-1", waiting, expected={"running"})
        events = self.store.events("one", "run-1")
        assert [(one.number, one.type) for one in events] == [(1, "a"), (2, "b"), (3, "run_status")]
        assert json.loads(events[-1].data)["gate_id"] == "g"
        assert [one.number for one in self.store.events("one", "run-1", after=1, limit=1)] == [2]

    def test_only_the_owner_of_a_running_run_adds_events(self) -> None:
        """Nor does it after the run has ended."""
        self.store.add(RUN)
        assert not self.store.append("one", "run-1", [{"type": "a"}], owner="another")
        self.store.change("one", "run-1", {"status": "cancelled"}, expected={"running"})
        assert not self.store.append("one", "run-1", [{"type": "a"}], owner="me")
        assert len(self.store.events("one", "run-1")) == 1

    def test_one_of_two_changes_wins(self) -> None:
        """The status is compared and set in one step; an ended run keeps its owner."""
        self.store.add(RUN)
        self.clock.advance(5)
        output = {"outcome": "search_completed", "score": float("nan")}
        change: RunChange = {"status": "done", "outcome": "search_completed", "output": output}
        assert self.store.change("one", "run-1", change, expected={"running"}, owner="me")
        assert not self.store.change("one", "run-1", {"status": "cancelled"}, expected={"running"})
        run = self.store.get("one", "run-1")
        assert run is not None
        assert (run.status, run.owner, run.ended_at) == ("done", "me", self.clock.time())
        assert run.output == output | {"score": None}

    def test_one_of_two_takes_over(self) -> None:
        """The run must have the owner that it had when it was read."""
        run = self.store.add(RUN)
        assert [one.run_id for one in self.store.unfinished()] == ["run-1"]
        assert self.store.take_over(run, "second")
        assert not self.store.take_over(run, "third")

    def test_a_lease_ends_when_it_is_not_renewed(self) -> None:
        """Every server sees who has one; one that stops gives it back at once."""
        for owner in ("me", "other"):
            self.store.renew(owner, lease_s=10)
        self.clock.advance(9)
        self.store.renew("me", lease_s=10)
        self.clock.advance(2)
        assert self.other.lease_holders() == {"me"}
        self.other.renew("other", lease_s=10)
        self.store.renew("me", lease_s=0)
        assert self.store.lease_holders() == {"other"}

    def test_an_ended_run_is_unfinished_until_it_has_no_owner(self) -> None:
        """Its owner has to clean up first; a run that waits without an owner is none."""
        self.store.add(RUN)
        self.store.add(replace(RUN, run_id="run-2"))
        waiting: RunChange = {"status": "waiting", "owner": ""}
        self.store.change("one", "run-2", waiting, expected={"running"})
        self.store.change("one", "run-1", {"status": "done"}, expected={"running"})
        assert [one.run_id for one in self.store.unfinished()] == ["run-1"]
        assert self.store.forget_oldest("one", keep=0) == 0
        assert self.store.change("one", "run-1", {"owner": ""}, expected=ENDED)
        assert self.store.unfinished() == []
        assert self.store.forget_oldest("one", keep=0) == 1

    def test_the_oldest_ended_runs_go(self) -> None:
        """Runs that go on stay, and events go with their run."""
        for n in range(4):
            self.store.add(replace(RUN, run_id=f"run-{n}"))
        for n in (1, 2, 3):
            failed: RunChange = {"status": "failed", "owner": ""}
            self.store.change("one", f"run-{n}", failed, expected={"running"})
        assert self.store.forget_oldest("one", keep=1) == 2
        assert [one.run_id for one in self.store.runs("one", limit=9)] == ["run-3", "run-0"]
        assert self.store.events("one", "run-1") == []

    def test_the_list_is_short(self) -> None:
        """The newest first, without outputs."""
        for n in range(3):
            self.store.add(replace(RUN, run_id=f"run-{n}"))
        self.store.change("one", "run-2", {"output": {"results": []}}, expected={"running"})
        listed = self.store.runs("one", limit=2)
        assert [one.run_id for one in listed] == ["run-2", "run-1"]
        assert listed[0].output is None

    def test_runs_of_a_collection_are_deleted(self) -> None:
        """The others stay; without a collection all go."""
        self.store.add(RUN)
        self.store.add(replace(RUN, run_id="run-2", collection="coffee"))
        assert self.store.delete("one", collection="tea") == ["run-1"]
        assert self.store.delete("one") == ["run-2"]

    def test_a_compaction_deletes_nothing(self) -> None:
        """Runs and events stay, also while another object has them open."""
        self.store.add(RUN)
        self.store.append("one", "run-1", [{"type": "x"}], owner="me")
        self.store.compact()
        assert self.other.get("one", "run-1") is not None
        assert len(self.other.events("one", "run-1")) == 1
