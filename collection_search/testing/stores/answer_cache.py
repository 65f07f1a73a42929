"""Contract suite for stores of cached answers."""
# ruff: noqa: PLR2004 - the numbers are the test

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...ports.usage import RunAnswerCache, SpendEntry, SpendTotal
from .usage_base import UsageBase

if TYPE_CHECKING:
    from pathlib import Path

BOTH = ("one", "two")
_PUT_AND_END = 'usage.put("one", "search", "key", b"kept")'
_PUT_IN_CHILD = """
import multiprocessing
if "fork" in multiprocessing.get_all_start_methods():
    given = ("one", "search", "key", b"kept")
    child = multiprocessing.get_context("fork").Process(target=usage.put, args=given)
    child.start()
    child.join()
else:
    usage.put("one", "search", "key", b"kept")
"""


class AnswerContract(UsageBase):
    """Answers of each tenant, found by their keys while they are fresh."""

    def test_an_answer_comes_back_until_it_is_too_old(self) -> None:
        """The reader sets the maximal age; answers that are not written yet age as well."""
        for written in (False, True):
            self.store.put("one", "search", "key", b"\x00\xff")
            if written:
                self.store.flush()
            self.clock.advance(10)
            assert self.store.get("one", "search", "key", max_age_s=11) == b"\x00\xff"
            assert self.store.get("one", "search", "key", max_age_s=10) is None
            self.store.put("one", "search", "key", b"newer")
            assert self.store.get("one", "search", "key", max_age_s=10) == b"newer"

    def test_answers_are_private(self) -> None:
        """Another tenant, kind or key finds nothing, before and after the answer is written."""
        self.store.put("one", "search", "key", b"mine")
        for _ in range(2):
            for tenant, kind, key in (
                ("two", "search", "key"),
                ("one", "plan", "key"),
                ("one", "search", "Key"),
            ):
                assert self.store.get(tenant, kind, key, max_age_s=99) is None
            self.store.flush()
        assert self.store.get("one", "search", "key", max_age_s=99) == b"mine"

    def test_any_text_can_be_a_key(self) -> None:
        """Broken surrogates and long queries do not fail a run."""
        for key in ("\ud800", "x" * 100_000, "", "\x00"):
            self.store.put("one", "search", key, str(len(key)).encode())
            self.store.flush()
            assert self.store.get("one", "search", key, max_age_s=9) == str(len(key)).encode()

    def test_many_answers_come_back_by_their_keys(self) -> None:
        """Only this tenant's answers that are young enough are found."""
        self.store.put_many("one", "embedding", {"old": b"0"})
        self.clock.advance(10)
        self.store.put_many("one", "embedding", {"a": b"1", "b": b"2"})
        self.store.put("two", "embedding", "c", b"3")
        self.store.put_many("one", "embedding", {})
        self.store.flush()
        self.store.put("one", "embedding", "d", b"4")  # not written yet
        keys = ["b", "missing", "old", "a", "c", "d"]
        found = self.store.get_many("one", "embedding", keys, max_age_s=10)
        assert found == {"a": b"1", "b": b"2", "d": b"4"}
        assert self.store.get_many("one", "embedding", [], max_age_s=10) == {}
        assert self.store.get("one", "embedding", "a", max_age_s=10) == b"1"

    def test_more_keys_than_one_statement_takes(self) -> None:
        """One call returns all of them."""
        known = {str(n): str(n).encode() for n in range(2_500)}
        self.store.put_many("one", "embedding", known)
        self.store.flush()
        assert self.store.get_many("one", "embedding", list(known), max_age_s=9) == known

    def test_an_answer_can_be_made_when_it_is_needed(self) -> None:
        """The reader or the writer makes it; an answer that cannot be made is missing."""

        def fail() -> bytes:
            raise ValueError("no answer")

        self.store.put_many("one", "search", {"a": lambda: b"1", "b": fail, "c": b"3"})
        for _ in range(2):
            found = self.store.get_many("one", "search", ["a", "b", "c"], max_age_s=9)
            assert found == {"a": b"1", "c": b"3"}
            self.store.flush()

    def test_what_is_there_is_never_lacking(self, tmp_path: Path) -> None:
        """Answers that wait, that are written, or that another store wrote are found."""
        other = self.usage(tmp_path, clock=self.clock.time)
        for number in range(20):
            key = str(number)
            self.store.lacks("one", "search", [key])
            (other if number % 2 else self.store).put("one", "search", key, b"1")
            assert not self.store.lacks("one", "search", ["missing", key])
            other.flush()
            assert not self.store.lacks("one", "search", ["missing", key])
        other.close()

    def test_another_store_finds_at_once_what_was_put(self, tmp_path: Path) -> None:
        """The answer is found before and after it is written."""
        other = self.usage(tmp_path, clock=self.clock.time)
        self.store.put("one", "search", "key", b"1")
        assert other.get("one", "search", "key", max_age_s=9) == b"1"
        assert other.delete_tenant("one") == 1
        self.store.flush()
        assert self.store.get("one", "search", "key", max_age_s=9) is None
        other.close()

    @pytest.mark.parametrize("script", [_PUT_AND_END, _PUT_IN_CHILD], ids=["process", "child"])
    def test_a_process_that_ends_has_written_its_answers(self, tmp_path: Path, script: str) -> None:
        """The process need not close the store."""
        process = self._process(tmp_path, script)
        process.communicate()
        assert process.returncode == 0
        assert self.store.get("one", "search", "key", max_age_s=1e12) == b"kept"

    def test_old_answers_are_dropped(self) -> None:
        """Old answers of all tenants are dropped; young ones stay."""
        self.store.put("one", "search", "old", b"1")
        self.store.put("two", "search", "old", b"2")
        self.clock.advance(100)
        self.store.put("one", "search", "young", b"3")
        assert self.store.prune(50) == 2
        assert self.store.get("one", "search", "young", max_age_s=1e9) == b"3"
        assert self.store.get("one", "search", "old", max_age_s=1e9) is None

    def test_old_answers_of_one_tenant_are_dropped(self) -> None:
        """Old answers of other tenants stay."""
        for tenant in ("one", "two"):
            self.store.put(tenant, "search", "old", b"1")
        self.clock.advance(100)
        self.store.put("one", "search", "young", b"2")
        assert self.store.prune(50, tenant_id="one") == 1
        assert self.store.get("one", "search", "old", max_age_s=1e9) is None
        assert self.store.get("one", "search", "young", max_age_s=1e9) == b"2"
        assert self.store.get("two", "search", "old", max_age_s=1e9) == b"1"

    def test_a_tenant_can_be_forgotten(self) -> None:
        """Its answers or its entries are deleted; those of other tenants stay."""
        for tenant in ("one", "two"):
            self.store.put(tenant, "search", "key", b"1")
            self.store.add([self._entry(tenant_id=tenant)])
        assert self.store.delete_tenant("one") == 1
        assert self.store.get("one", "search", "key", max_age_s=9) is None
        assert self.store.run_total("one", "run").requests == 1
        assert self.store.forget_tenant("one") == 1
        assert self.store.totals("one") == []
        assert self.store.get("two", "search", "key", max_age_s=9) == b"1"
        assert self.store.run_total("two", "run").requests == 1

    def test_nothing_of_a_deleted_tenant_comes_back(self) -> None:
        """A run that is in progress then writes later; a run that begins later is kept."""
        if not isinstance(self.store, RunAnswerCache):
            pytest.skip("the store does not know when a run began")
        began = self.clock.time()
        self.clock.advance(1)
        self.store.delete_tenant("one")
        self.store.forget_tenant("one")
        self.clock.advance(1)
        self.store.prune(1.0)
        for tenant, run, began_at in (("one", "a", began), ("two", "b", began), ("one", "c", None)):
            at = self.clock.time()
            self.store.put_of_run(tenant, "search", {run: b"1"}, began_at=began_at or at)
            told = {"tenant_id": tenant, "run_id": run, "began_at": began_at, "at": at}
            self.store.add([self._entry(question="Why?", **told)])
        self.store.flush()
        found = [self.store.get_many(one, "search", ["a", "b", "c"], max_age_s=9) for one in BOTH]
        assert found == [{"c": b"1"}, {"b": b"1"}]
        asked = {
            total.group: total.question
            for one in BOTH
            for total in self.store.totals(one, by="run")
        }
        assert asked == {"a": None, "b": "Why?", "c": "Why?"}

    # Spending

    def test_old_entries_are_forgotten(self) -> None:
        """Old entries of all tenants are deleted; young entries and answers stay."""
        now = self.clock.time()
        self.store.add(SpendEntry(t, "run", now, "search", "brave") for t in ("one", "two"))
        self.store.put("one", "search", "key", b"kept")
        self.clock.advance(100)
        self.store.add([SpendEntry("one", "new", now + 100, "search", "brave")])
        assert self.store.forget(100) == 2
        assert self.store.run_total("one", "run") == SpendTotal("run")
        assert self.store.run_total("one", "new").requests == 1
        assert self.store.get("one", "search", "key", max_age_s=1e9) == b"kept"
