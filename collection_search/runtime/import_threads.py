"""Threads that import modules while the process does something else.

A fork waits for them: a child would have their locks of modules, and not the threads that release
these.
"""

from __future__ import annotations

import logging  # noqa: F401 - see below
import os
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FORK_WAIT_S: Final = 10.0
"""The longest wait of a fork for all of them."""

_running: Final[set[threading.Thread]] = set()


def start_importing(load: Callable[[], object]) -> None:
    """Call `load` in a thread that does not keep the process alive; its errors are its own."""

    def run() -> None:
        try:
            load()
        finally:
            _running.discard(threading.current_thread())

    thread = threading.Thread(target=run, name="collection-search-preload", daemon=True)
    _running.add(thread)
    thread.start()


def _join_all() -> None:
    for thread in tuple(_running - {threading.current_thread()}):
        if thread.is_alive():  # else it has not begun, and holds nothing
            thread.join(FORK_WAIT_S)


# What was registered last is called first: a fork waits here before `logging` takes the lock that
# every module with a logger needs.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_join_all, after_in_child=_running.clear)
