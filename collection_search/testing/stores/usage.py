"""What every store of quotas, answers and spending has to do."""
# ruff: noqa: PLR2004 - the numbers are the test

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from ...errors import InputError
from ...usage import SpendEntry, SpendTotal, UsageStore
from ..clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROCESSES: Final = 8
LIMIT: Final = 100
MONTH: Final = "2026-11"
DAY_S: Final = 86_400

_RESERVE = f"""
import sys
sys.stdin.read()
count = 0
while usage.reserve("tavily", "key", period="{MONTH}", limit={LIMIT}):
    count += 1
print(count)
"""
_DIE = f"""
import os
usage.reserve("tavily", "key", period="{MONTH}", limit={LIMIT}, count=3)
os._exit(9)
"""


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


class Usage(UsageStore, Protocol):
    """A store that holds connections."""

    def close(self) -> None:
        """Give back what no call uses at the moment."""
        ...


class UsageContract:
    """Subclass it and give `usage` and `source`."""

    store: Usage
    clock: FakeClock

    def usage(self, folder: Path, *, clock: Callable[[], float]) -> Usage:
        """Return the store in this folder, opened anew."""
        raise NotImplementedError

    def source(self, folder: Path) -> str:
        """Return Python source that binds `usage` to that store in another process."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        self.clock = FakeClock()
        self.store = self.usage(tmp_path, clock=self.clock.time)
        yield
        self.store.close()

    # Quotas

    def test_reservations_end_at_the_limit(self) -> None:
        """What does not fit as a whole is refused as a whole."""
        assert self._reserve(count=7, limit=10)
        assert not self._reserve(count=4, limit=10)
        assert self._reserve(count=3, limit=10)
        assert not self._reserve(limit=10)
        assert self._used() == 10

    def test_what_was_not_used_is_given_back(self) -> None:
        """A failed call that the provider does not bill leaves room for another."""
        assert self._reserve(limit=1)
        assert self._settle(used=0) == 0
        assert self._reserve(limit=1)
        assert self._settle(used=1) == 1
        assert not self._reserve(limit=1)

    def test_more_than_reserved_is_counted(self) -> None:
        """A call that took three pages counts as three, past the limit if it comes to that."""
        assert self._reserve(limit=2)
        assert self._settle(used=3) == 3
        assert not self._reserve(limit=3)

    def test_settling_goes_with_the_number_reserved(self) -> None:
        """Five were reserved and two used; the count never falls below nothing."""
        assert self._reserve(count=5, limit=10)
        assert self._settle(used=2, reserved=5) == 2
        assert self._settle(used=0, reserved=5) == 0

    def test_keys_providers_and_periods_are_counted_apart(self) -> None:
        """A new month starts at nothing, and so does another key."""
        assert self._reserve(limit=1)
        for provider, key_id, period in (
            ("brave", "key", MONTH),
            ("tavily", "other", MONTH),
            ("tavily", "key", "2026-12"),
            ("tavily", "key", "2026-11-21"),
        ):
            assert self.store.used(provider, key_id, period=period) == 0
            assert self.store.reserve(provider, key_id, period=period, limit=1)

    def test_a_quota_of_nothing_allows_nothing(self) -> None:
        """Zero is a limit too."""
        assert not self._reserve(limit=0)

    def test_a_lowered_limit_holds_at_once(self) -> None:
        """The limit is the caller's, not the row's."""
        assert self._reserve(count=5, limit=10)
        assert not self._reserve(limit=3)
        assert self._used() == 5

    def test_threads_share_one_quota(self) -> None:
        """Many threads, exactly as many reservations as there is room for."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            granted = list(pool.map(lambda _: self._reserve(limit=20), range(40)))
        assert sum(granted) == self._used() == 20

    def test_processes_share_one_quota(self, tmp_path: Path) -> None:
        """Eight processes that take what they get make exactly a hundred reservations."""
        processes = [self._process(tmp_path, _RESERVE) for _ in range(PROCESSES)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()  # all start together
        counts = []
        for process in processes:
            assert process.stdout is not None
            counts.append(int(process.stdout.read()))
            process.stdout.close()
            assert process.wait() == 0
        assert sum(counts) == self._used() == LIMIT

    def test_a_dead_process_leaves_its_reservations_counted(self, tmp_path: Path) -> None:
        """Whether its calls were made is not known: a quota is never overrun."""
        process = self._process(tmp_path, _DIE)
        process.communicate()
        assert process.returncode == 9
        assert self._used() == 3

    # Answers

    def test_an_answer_comes_back_until_it_is_too_old(self) -> None:
        """The reader says how old it may be; what waits to be written ages as well."""
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
        """Another tenant, kind or key gets nothing, before it is written and after."""
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
        """Those that are known, young enough and this tenant's; a single one is one of many."""
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
        """All of them in one call."""
        known = {str(n): str(n).encode() for n in range(2_500)}
        self.store.put_many("one", "embedding", known)
        self.store.flush()
        assert self.store.get_many("one", "embedding", list(known), max_age_s=9) == known

    def test_an_answer_can_be_made_when_it_is_needed(self) -> None:
        """By who looks for it, or by who writes it; one that cannot be made is not there."""

        def fail() -> bytes:
            raise ValueError("no answer")

        self.store.put_many("one", "search", {"a": lambda: b"1", "b": fail, "c": b"3"})
        for _ in range(2):
            found = self.store.get_many("one", "search", ["a", "b", "c"], max_age_s=9)
            assert found == {"a": b"1", "c": b"3"}
            self.store.flush()

    def test_what_is_there_is_never_lacking(self, tmp_path: Path) -> None:
        """Neither what waits, nor what is written, nor what another store has just brought."""
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
        """Whether it is written or not."""
        other = self.usage(tmp_path, clock=self.clock.time)
        self.store.put("one", "search", "key", b"1")
        assert other.get("one", "search", "key", max_age_s=9) == b"1"
        assert other.delete_tenant("one") == 1
        self.store.flush()
        assert self.store.get("one", "search", "key", max_age_s=9) is None
        other.close()

    @pytest.mark.parametrize("script", [_PUT_AND_END, _PUT_IN_CHILD], ids=["process", "child"])
    def test_a_process_that_ends_has_written_its_answers(self, tmp_path: Path, script: str) -> None:
        """Without a word to the store."""
        process = self._process(tmp_path, script)
        process.communicate()
        assert process.returncode == 0
        assert self.store.get("one", "search", "key", max_age_s=1e12) == b"kept"

    def test_old_answers_are_dropped(self) -> None:
        """Of all tenants; the young ones stay."""
        self.store.put("one", "search", "old", b"1")
        self.store.put("two", "search", "old", b"2")
        self.clock.advance(100)
        self.store.put("one", "search", "young", b"3")
        assert self.store.prune(50) == 2
        assert self.store.get("one", "search", "young", max_age_s=1e9) == b"3"
        assert self.store.get("one", "search", "old", max_age_s=1e9) is None

    def test_old_answers_of_one_tenant_are_dropped(self) -> None:
        """The others' stay, however old."""
        for tenant in ("one", "two"):
            self.store.put(tenant, "search", "old", b"1")
        self.clock.advance(100)
        self.store.put("one", "search", "young", b"2")
        assert self.store.prune(50, tenant_id="one") == 1
        assert self.store.get("one", "search", "old", max_age_s=1e9) is None
        assert self.store.get("one", "search", "young", max_age_s=1e9) == b"2"
        assert self.store.get("two", "search", "old", max_age_s=1e9) == b"1"

    def test_a_tenant_can_be_forgotten(self) -> None:
        """Its answers go, or its entries; the others' stay."""
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

    # Spending

    def test_old_entries_are_forgotten(self) -> None:
        """Of all tenants; the young ones and the answers stay."""
        now = self.clock.time()
        self.store.add(SpendEntry(t, "run", now, "search", "brave") for t in ("one", "two"))
        self.store.put("one", "search", "key", b"kept")
        self.clock.advance(100)
        self.store.add([SpendEntry("one", "new", now + 100, "search", "brave")])
        assert self.store.forget(100) == 2
        assert self.store.run_total("one", "run") == SpendTotal("run")
        assert self.store.run_total("one", "new").requests == 1
        assert self.store.get("one", "search", "key", max_age_s=1e9) == b"kept"

    def test_costs_are_exact(self) -> None:
        """A hundred thousand tenths of a cent are a hundred dollars, to the last digit."""
        self.store.add([self._entry(cost_usd=0.001)] * 100_000)
        self.store.add([self._entry(cost_usd=Decimal("0.000000000000000001"))])
        total = self.store.run_total("one", "run")
        assert total.cost_usd == Decimal("100.000000000000000001")
        assert total.requests == 100_001

    def test_an_unknown_cost_is_not_nothing(self) -> None:
        """It is told apart from what is free."""
        self.store.add([self._entry(), self._entry(cost_usd=0.0), self._entry(cost_usd=0.5)])
        total = self.store.run_total("one", "run")
        assert (total.cost_usd, total.unpriced) == (Decimal("0.5"), 1)

    def test_spared_requests_are_counted_apart(self) -> None:
        """A cached answer is no request."""
        self.store.add([self._entry(requests=2), self._entry(requests=3, cached=True, cost_usd=0)])
        total = self.store.run_total("one", "run")
        assert (total.requests, total.cached_requests) == (2, 3)

    def test_a_run_that_is_not_known_cost_nothing(self) -> None:
        """Zeros, not an error."""
        assert self.store.run_total("one", "other") == SpendTotal("other")
        self.store.add([])
        assert self.store.totals("one") == []

    def test_totals_by_day(self) -> None:
        """Days are UTC days, oldest first."""
        self.store.add([self._entry(at=day * DAY_S - 1, cost_usd=day) for day in (3, 1, 2, 3)])
        assert [(one.group, int(one.cost_usd)) for one in self.store.totals("one")] == [
            ("1970-01-01", 1),
            ("1970-01-02", 2),
            ("1970-01-03", 6),
        ]

    def test_totals_by_run(self) -> None:
        """In the order in which the runs began, not by their ids; with tokens."""
        for at, run in ((5, "a"), (1, "b"), (9, "b")):
            tokens = {"input_tokens": at, "output_tokens": 2 * at}
            self.store.add([self._entry(at=at, run_id=run, cost_usd=0.1 * at, **tokens)])
        assert self.store.totals("one", by="run") == [
            SpendTotal("b", 1, None, 2, 10, 20, Decimal("1.0"), 0, 0),
            SpendTotal("a", 5, None, 1, 5, 10, Decimal("0.5"), 0, 0),
        ]

    def test_totals_by_name(self) -> None:
        """A name that is a provider and a model has two."""
        for kind, name in (("search", "x"), ("chat", "x"), ("search", "b"), ("search", "x")):
            self.store.add([self._entry(kind=kind, name=name)])
        assert [
            (one.kind, one.group, one.requests) for one in self.store.totals("one", by="name")
        ] == [("chat", "x", 1), ("search", "b", 1), ("search", "x", 2)]

    def test_totals_since(self) -> None:
        """What is older is left out."""
        self.store.add([self._entry(at=at) for at in (1, 2, 3)])
        (total,) = self.store.totals("one", since=2)
        assert (total.requests, total.first_at) == (2, 2)

    def test_spending_is_private(self) -> None:
        """Another tenant's runs are not counted, even under the same id."""
        self.store.add([self._entry(cost_usd=1), self._entry(tenant_id="two", cost_usd=2)])
        assert self.store.run_total("one", "run").cost_usd == 1
        assert [one.cost_usd for one in self.store.totals("two", by="name")] == [2]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"cost_usd": float("nan")},
            {"cost_usd": float("inf")},
            {"cost_usd": -0.1},
            {"requests": -1},
            {"input_tokens": 10**30},
            {"at": float("nan")},
        ],
    )
    def test_an_impossible_entry_is_refused(self, wrong: dict[str, Any]) -> None:
        """One absurd answer of a provider must not spoil the sums."""
        with pytest.raises(InputError):
            self._entry(**wrong)

    def _reserve(self, *, limit: int, count: int = 1) -> bool:
        return self.store.reserve("tavily", "key", period=MONTH, limit=limit, count=count)

    def _settle(self, *, used: int, reserved: int = 1) -> int:
        return self.store.settle("tavily", "key", period=MONTH, used=used, reserved=reserved)

    def _used(self) -> int:
        return self.store.used("tavily", "key", period=MONTH)

    def _entry(self, **fields: Any) -> SpendEntry:
        known: dict[str, Any] = {
            "tenant_id": "one",
            "run_id": "run",
            "at": 0.0,
            "kind": "search",
            "name": "x",
        }
        return SpendEntry(**(known | fields))

    def _process(self, folder: Path, script: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", f"{self.source(folder)}\n{script}"]
        return subprocess.Popen(  # noqa: S603 - our own source
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
