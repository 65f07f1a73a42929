"""A fork while other threads use SQLite: its child must not be left with their locks."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from support.waiting import wait_until

from collection_search.adapters.stores.sqlite import forks
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.adapters.stores.sqlite.forks import CALLS, Calls
from collection_search.adapters.stores.sqlite.usage import USAGE
from collection_search.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # its threads are our own
def test_a_child_forked_during_a_write_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent's thread writes until the fork waits for it, or is over."""
    monkeypatch.setattr(forks, "FORK_WAIT_S", 60)
    database = Database(tmp_path / "usage.db", USAGE, busy_timeout_s=30)
    is_writing, is_forked = threading.Event(), threading.Event()

    def write() -> None:
        with database.write():
            is_writing.set()
            wait_until(lambda: CALLS.is_forking or is_forked.is_set())

    writer = threading.Thread(target=write)
    writer.start()
    assert is_writing.wait(60)
    child = os.fork()
    if child == 0:
        try:
            with database.write():
                os._exit(7)
        except StoreError:
            os._exit(8)
    is_forked.set()
    writer.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with database.write():  # the parent goes on
        assert not CALLS.is_forking


def test_calls_begin_after_a_fork() -> None:
    """But for one within a call, which the fork waits for."""
    calls, is_forked, is_let_in = Calls(), threading.Event(), threading.Event()
    done: list[str] = []

    def fork() -> None:
        calls.before_fork()
        done.append("fork")
        is_forked.set()
        is_let_in.wait(60)
        done.append("forked")
        calls.after_fork()

    def call() -> None:
        with calls.one():
            done.append("call")

    with calls.one():
        forking = threading.Thread(target=fork)
        forking.start()
        wait_until(lambda: calls.is_forking)
        with calls.one():
            done.append("within")
    assert is_forked.wait(60)
    calling = threading.Thread(target=call)
    calling.start()
    is_let_in.set()
    for thread in (calling, forking):
        thread.join(60)
    assert done == ["within", "fork", "forked", "call"]


def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call may itself wait, for another process."""
    monkeypatch.setattr(forks, "FORK_WAIT_S", 0)
    calls = Calls()
    with calls.one():
        forking = threading.Thread(target=calls.before_fork)
        forking.start()
        forking.join(60)
        assert not forking.is_alive()
