"""The limit of the file of cached answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.ports.usage import SpendEntry

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
    """With the first write of a process that knows the limit."""
    usage = SQLiteUsage(tmp_path / "usage.db")
    fill(usage, 0, 400)
    usage.close()
    del usage
    assert (tmp_path / "usage.db").stat().st_size > 6 * MIB
    limited = SQLiteUsage(tmp_path / "usage.db", max_bytes=2 * MIB)
    fill(limited, 400, 410)
    limited.close()
    assert (tmp_path / "usage.db").stat().st_size <= 2 * MIB
    assert limited.get(*PLACE, "409", max_age_s=60) is not None
