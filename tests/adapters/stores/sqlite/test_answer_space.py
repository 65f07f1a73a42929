"""The limit of the file of cached answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.ports.usage import SpendEntry
from collection_search.testing import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024**2
PLACE = ("one", "search")


def fill(usage: SQLiteUsage, first: int, last: int) -> None:
    """Store so many answers of 20 kB, in a hundred writes at most."""
    for start in range(first, last, 50):
        numbers = range(start, min(start + 50, last))
        usage.put_many(*PLACE, {str(number): os.urandom(20_000) for number in numbers})
        usage.flush()


@pytest.mark.slow
def test_the_oldest_answers_make_room(tmp_path: Path) -> None:
    """The file never grows past its limit, and what was spent is untouched."""
    usage = SQLiteUsage(tmp_path / "usage.db", max_bytes=4 * MIB)
    usage.add([SpendEntry("one", "run", 0, "chat", "m", cost_usd=0.1)])
    sizes = []
    for start in range(0, 1000, 100):
        fill(usage, start, start + 100)
        sizes.append((tmp_path / "usage.db").stat().st_size)
    assert max(sizes) <= 4 * MIB
    assert usage.get(*PLACE, "999", max_age_s=60) is not None
    assert usage.get(*PLACE, "0", max_age_s=60) is None
    known = usage.get_many(*PLACE, [str(n) for n in range(1000)], max_age_s=60)
    assert sorted(map(int, known)) == list(range(1000 - len(known), 1000))
    assert usage.run_total("one", "run").requests == 1


@pytest.mark.slow
def test_a_file_that_was_larger_gives_its_space_back(tmp_path: Path) -> None:
    """With the first writes of a process that knows the limit."""
    usage = SQLiteUsage(tmp_path / "usage.db")
    fill(usage, 0, 400)
    usage.close()
    del usage
    assert (tmp_path / "usage.db").stat().st_size > 6 * MIB
    limited = SQLiteUsage(tmp_path / "usage.db", max_bytes=2 * MIB)
    for first in range(400, 409):
        fill(limited, first, first + 1)
    fill(limited, 409, 410)
    limited.close()
    assert (tmp_path / "usage.db").stat().st_size <= 2 * MIB
    assert limited.get(*PLACE, "409", max_age_s=60) is not None


@pytest.mark.slow
def test_an_answer_that_was_paid_again_is_new(tmp_path: Path) -> None:
    """Its row is old, what stands in it is not."""
    clock = FakeClock()
    usage = SQLiteUsage(tmp_path / "usage.db", max_bytes=2 * MIB, clock=clock.time)
    fill(usage, 0, 60)
    clock.advance(5)
    fill(usage, 0, 10)  # once more
    fill(usage, 100, 150)
    known = usage.get_many(*PLACE, [str(n) for n in range(60)], max_age_s=1e9)
    assert set(map(str, range(10))) <= set(known)
    assert len(known) < 60


@pytest.mark.slow
def test_spending_that_fills_the_file_leaves_answers(tmp_path: Path) -> None:
    """It counts towards the limit, and is never deleted; half of the answers stay each time."""
    usage = SQLiteUsage(tmp_path / "usage.db", max_bytes=MIB)
    entry = SpendEntry("one", "run", 0, "chat", "m" * 400, cost_usd=0.1)
    usage.add([entry] * 4_000)
    for key in range(20):
        usage.put(*PLACE, str(key), b"x" * 20_000)
        usage.flush()
    assert usage.get(*PLACE, "19", max_age_s=1e9) is not None
    assert usage.run_total("one", "run").requests == 4_000
