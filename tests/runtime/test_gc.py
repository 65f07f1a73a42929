"""The garbage collector of a process that serves."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

from collection_search.runtime.gc import THRESHOLD, collector_paused, relieve_collector

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


@pytest.mark.slow
def test_a_process_starts_without_collection_and_goes_on_with_a_relieved_one() -> None:
    """The first collection leaves out what the start has made; it comes by itself."""
    done = subprocess.run(
        [sys.executable, "-c", POSTPONED], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["0 True", "True True True", "True True"]


def test_a_pause_ends_with_the_last_of_those_that_overlap() -> None:
    """Also where one thread's begins before and ends before that of another."""
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collector_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collector_paused():
        thread.start()
        inside.wait(10)
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_collector_that_the_host_has_switched_off_stays_off() -> None:
    """The pause changes nothing then."""
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
