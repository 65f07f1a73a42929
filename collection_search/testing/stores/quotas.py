"""Contract suite for stores of quotas."""
# ruff: noqa: PLR2004 - the numbers are the test

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from .usage_base import LIMIT, MONTH, UsageBase

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES: Final = 8

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


class QuotaContract(UsageBase):
    """Tests of the requests that a key may make, counted over all processes."""

    def test_reservations_end_at_the_limit(self) -> None:
        """A reservation that does not fit as a whole is refused."""
        assert self._reserve(count=7, limit=10)
        assert not self._reserve(count=4, limit=10)
        assert self._reserve(count=3, limit=10)
        assert not self._reserve(limit=10)
        assert self._used() == 10

    def test_what_was_not_used_is_given_back(self) -> None:
        """A failed call that is not billed frees its reservation."""
        assert self._reserve(limit=1)
        assert self._settle(used=0) == 0
        assert self._reserve(limit=1)
        assert self._settle(used=1) == 1
        assert not self._reserve(limit=1)

    def test_more_than_reserved_is_counted(self) -> None:
        """A call of three pages counts as three, even past the limit."""
        assert self._reserve(limit=2)
        assert self._settle(used=3) == 3
        assert not self._reserve(limit=3)

    def test_settling_goes_with_the_number_reserved(self) -> None:
        """Unused reservations are released; the count is never negative."""
        assert self._reserve(count=5, limit=10)
        assert self._settle(used=2, reserved=5) == 2
        assert self._settle(used=0, reserved=5) == 0

    def test_keys_providers_and_periods_are_counted_apart(self) -> None:
        """A new month, key or provider starts at zero."""
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
        """A limit of zero refuses every reservation."""
        assert not self._reserve(limit=0)

    def test_a_lowered_limit_holds_at_once(self) -> None:
        """The limit of the call counts, not an earlier one."""
        assert self._reserve(count=5, limit=10)
        assert not self._reserve(limit=3)
        assert self._used() == 5

    def test_threads_share_one_quota(self) -> None:
        """Many threads make exactly as many reservations as the limit allows."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            granted = list(pool.map(lambda _: self._reserve(limit=20), range(40)))
        assert sum(granted) == self._used() == 20

    def test_processes_share_one_quota(self, tmp_path: Path) -> None:
        """Eight concurrent processes make exactly a hundred reservations."""
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
        """Its calls may have been made, so they count."""
        process = self._process(tmp_path, _DIE)
        process.communicate()
        assert process.returncode == 9
        assert self._used() == 3
