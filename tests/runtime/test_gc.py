"""The garbage collector of a process that answers many questions."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from collection_search.runtime.gc import THRESHOLD, relieve_collector

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
found = []
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
        gc.set_threshold(*before)


def after_each_run(folder: Path, *, before: str = "", options: str = "") -> list[tuple[bool, int]]:
    """Return after each of a new process's four runs: whether objects are frozen, the threshold."""
    code = RUNS.format(before=before, options=options)
    call = [sys.executable, "-c", code, str(folder)]
    told = subprocess.run(call, capture_output=True, text=True, check=False, cwd=folder)
    assert told.returncode == 0, told.stderr
    return [(is_frozen, threshold) for is_frozen, threshold in json.loads(told.stdout)]


@pytest.mark.slow
def test_a_process_is_relieved_after_its_third_run(tmp_path: Path) -> None:
    usual = gc.get_threshold()[0]
    found = after_each_run(tmp_path)
    assert found == [(False, usual), (False, usual), (True, THRESHOLD), (True, THRESHOLD)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "options", "expected"),
    [
        ("gc.set_threshold(1234)", "", (False, 1234)),
        ("gc.freeze()", "", (True, gc.get_threshold()[0])),
        ("gc.disable()", "", (False, gc.get_threshold()[0])),
        ("", ", relieve_collector=False", (False, gc.get_threshold()[0])),
    ],
    ids=["threshold", "frozen", "disabled", "setting"],
)
def test_a_host_that_decides_is_left_alone(
    before: str, options: str, expected: tuple[bool, int], tmp_path: Path
) -> None:
    assert after_each_run(tmp_path, before=before, options=options) == [expected] * 4
