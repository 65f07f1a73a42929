"""Work that is done a moment later, by one thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from collection_search.runtime.write_behind import WriteBehind, write_behind


def test_a_work_that_waits_is_done_once() -> None:
    done: list[str] = []
    behind, work = WriteBehind(), partial(done.append, "work")
    for _ in range(5):
        behind.call_within(60, work)
    behind.wait(work)
    assert done == ["work"]


def test_an_earlier_time_counts() -> None:
    """Whoever asks for it later can bring it forward, and cannot put it off."""
    behind, is_done = WriteBehind(), threading.Event()
    behind.call_within(3600, is_done.set)
    behind.call_within(0, is_done.set)
    behind.call_within(3600, is_done.set)
    assert is_done.wait(60)
    behind.wait(is_done.set)


def test_works_of_one_moment_share_a_wake() -> None:
    """They are done by one thread, in the order in which they were asked for."""
    behind, threads, both = WriteBehind(), [], threading.Barrier(1)

    def work(name: str) -> None:
        both.wait()
        threads.append((name, threading.get_ident()))

    first, second = partial(work, "a"), partial(work, "b")
    behind.call_within(0.03, first)
    behind.call_within(0.06, second)
    behind.wait(first)
    behind.wait(second)
    assert [name for name, _ in threads] == ["a", "b"]
    assert len({thread for _, thread in threads}) == 1


def test_waiting_is_for_what_was_asked_for_before() -> None:
    """A work that is asked for again while it is done is another one."""
    behind, go, began = WriteBehind(), threading.Event(), threading.Event()
    count = []

    def work() -> None:
        began.set()
        go.wait(60)
        count.append(1)

    behind.call_within(0, work)
    assert began.wait(60)
    behind.call_within(0, work)
    go.set()
    behind.wait(work)
    assert len(count) == 2


def test_a_work_that_fails_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    behind, done = WriteBehind(), threading.Event()

    def fail() -> None:
        raise OSError("no space left")

    behind.call_within(0, fail)
    behind.wait(fail)
    behind.call_within(0, done.set)
    assert done.wait(60)
    assert "no space left" in caplog.text


def test_waiting_for_nothing() -> None:
    started = time.monotonic()
    WriteBehind().wait(print)
    assert time.monotonic() - started < 60


@pytest.mark.slow
def test_a_process_ends_after_the_last_work() -> None:
    script = """
from collection_search.runtime.write_behind import write_behind
write_behind().call_within(0.2, lambda: print("written"))
"""
    told = subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=120, capture_output=True, text=True
    )
    assert told.stdout == "written\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # its thread is our own
def test_a_forked_child_has_its_own() -> None:
    before = write_behind()
    child = os.fork()
    if child == 0:
        os._exit(8 if write_behind() is before else 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_work_that_is_cancelled_is_not_done() -> None:
    """Who waits for it does not wait on."""
    behind, done = WriteBehind(), threading.Event()
    behind.call_within(3600, done.set)
    behind.cancel(done.set)
    behind.cancel(print)
    behind.wait(done.set)
    assert not done.is_set()


@pytest.mark.slow
def test_a_process_does_not_wait_for_a_work_that_is_cancelled() -> None:
    script = """
import time
from collection_search.runtime.write_behind import write_behind
write_behind().call_within(3600, print)
time.sleep(0.5)  # the thread waits for the hour by now
write_behind().cancel(print)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
