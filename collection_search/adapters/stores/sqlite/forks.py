"""Forks that wait for the SQLite calls of other threads."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FORK_WAIT_S: Final = 5.0
"""The longest wait before a fork."""


class Calls:
    """The calls of this process that use SQLite at the moment.

    SQLite records the locks of its process in memory. A child that is forked while another thread
    writes gets that record without the thread that would release the lock: it could never write.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start with no calls: in a forked child, which has none of the other threads."""
        self._changed = threading.Condition()
        self._threads: Counter[int] = Counter()
        self._forks = 0

    @property
    def is_forking(self) -> bool:
        """True while a fork waits for calls, or is being made."""
        return self._forks > 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Register a call. Waits for a running fork unless this thread has a call already."""
        thread = threading.get_ident()
        with self._changed:
            if thread not in self._threads:
                self._changed.wait_for(lambda: not self.is_forking)
            self._threads[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._threads[thread] -= 1
                if self._threads[thread] <= 0:
                    del self._threads[thread]
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the calls of other threads, and block new ones."""
        thread = threading.get_ident()
        with self._changed:
            self._forks += 1
            self._changed.wait_for(lambda: self._threads.keys() <= {thread}, FORK_WAIT_S)

    def after_fork(self) -> None:
        """Allow new calls."""
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()


CALLS: Final = Calls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=CALLS.before_fork,
        after_in_parent=CALLS.after_fork,
        after_in_child=CALLS.reset,
    )
