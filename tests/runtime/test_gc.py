"""The garbage collector of a process that answers many questions."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from collection_search.runtime.gc import THRESHOLD, relieve_collector

POSTPONED = """
import gc
from collection_search.runtime import gc as ours
rounds = []
gc.callbacks.append(lambda phase, info: rounds.append(phase))
before = gc.get_threshold()
ours.postpone_collector()
kept = [[] for _ in range(ours.START // 2)]
print(len(rounds), gc.get_threshold()[0] == ours.START)
kept += [[] for _ in range(ours.START)]
print(len(rounds) >= 2, gc.get_threshold() == (ours.THRESHOLD, *before[1:]), gc.isenabled())
print(gc.get_freeze_count() > ours.START, ours._settle not in gc.callbacks)
"""

if TYPE_CHECKING:
    from pathlib import Path

RUNS = """
import gc, json, sys
from pathlib import Path
{before}
from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.testing import ScriptedAdapter
settings = Settings(home=Path(sys.argv[1]), provider="offline"{options})
graph = CollectionSearchGraph(SearchContext(settings=settings, provider=ScriptedAdapter([])))
found = [(gc.get_freeze_count() > 0, gc.get_threshold()[0])]
for _ in range(4):
    graph.run({{"question": "How do I cancel a task?", "collection_scope": "docs"}})
    found.append((gc.get_freeze_count() > 0, gc.get_threshold()[0]))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_what_lives_is_not_looked_at_again() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        relieve_collector()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold()[0] == THRESHOLD
        assert gc.isenabled()
    finally:
        gc.unfreeze()
        if frozen:  # the tests that were collected: see conftest.py
            gc.freeze()
        gc.set_threshold(*before)


def after_each_run(folder: Path, *, before: str = "", options: str = "") -> list[tuple[bool, int]]:
    """Return before and after each of four runs: whether objects are frozen, the threshold."""
    code = RUNS.format(before=before, options=options)
    call = [sys.executable, "-c", code, str(folder)]
    told = subprocess.run(call, capture_output=True, text=True, check=False, cwd=folder)
    assert told.returncode == 0, told.stderr
    return [(is_frozen, threshold) for is_frozen, threshold in json.loads(told.stdout)]


@pytest.mark.slow
def test_a_process_is_relieved_after_its_third_run(tmp_path: Path) -> None:
    first, *found = after_each_run(tmp_path)
    assert found == [first] * 2 + [(False, THRESHOLD)] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "options"),
    [
        ("gc.set_threshold(1234)", ""),
        ("gc.freeze()", ""),
        ("gc.disable()", ""),
        ("", ", relieve_collector=False"),
    ],
    ids=["threshold", "frozen", "disabled", "setting"],
)
def test_a_host_that_decides_is_left_alone(before: str, options: str, tmp_path: Path) -> None:
    first, *found = after_each_run(tmp_path, before=before, options=options)
    assert found == [first] * 4


@pytest.mark.slow
def test_a_process_starts_without_collection_and_goes_on_with_a_relieved_one() -> None:
    """The first collection leaves out what the start has made; it comes by itself."""
    done = subprocess.run(
        [sys.executable, "-c", POSTPONED], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["0 True", "True True True", "True True"]
