"""Work that is done a moment later, by one thread of the process.

What is written to disk outside the event loop shares this thread, so that one wake of it writes
all that waits.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .failure_log import log_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Work = Callable[[], None]

TOGETHER_S: Final = 0.05
"""Work that is due within this time is done at the same wake."""

logger = logging.getLogger(__name__)


class WriteBehind:
    """Does each work at its time; one that is asked for again while it waits is done once.

    Works are told apart by equality. A process that ends normally ends after the last one. A work
    should handle its own failures: here they are only logged.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Work, _Turn] = {}
        self._doing: dict[Work, _Turn] = {}
        self._wakes_at = 0.0
        self._is_running = False
        self._thread = ThreadPoolExecutor(1, "write-behind")

    def call_within(self, seconds: float, work: Work) -> None:
        """Do the work in the thread within so many seconds, or earlier if that was asked before."""
        at = time.monotonic() + seconds
        with self._changed:
            turn = self._waiting.setdefault(work, _Turn(at))
            turn.at = min(turn.at, at)
            if at < self._wakes_at:
                self._changed.notify()
            if self._is_running or self._try_start():
                return
            self._waiting.clear()
        _do(work, turn)

    def cancel(self, work: Work) -> None:
        """Forget a work that waits, since there is nothing to do any more."""
        with self._changed:
            if (turn := self._waiting.pop(work, None)) is not None:
                turn.is_done.set()
                self._changed.notify()  # else the thread, and so the process, lives until its time

    def wait(self, work: Work) -> None:
        """Do the work now where it waits; return when what was asked for so far is done. Blocks."""
        with self._changed:
            turn = self._waiting.get(work) or self._doing.get(work)
            if turn is None:
                return
            turn.at = 0.0
            self._changed.notify()
        turn.is_done.wait()

    def _try_start(self) -> bool:
        """Start the thread; False when the interpreter is about to end: there are none any more."""
        try:
            self._thread.submit(self._run)
        except RuntimeError:
            return False
        self._is_running = True
        return True

    def _run(self) -> None:
        while works := self._next():
            for work, turn in works.items():
                _do(work, turn)

    def _next(self) -> Mapping[Work, _Turn]:
        """Wait for the next work and return what is due with it; nothing where none waits."""
        with self._changed:
            self._doing = {}
            while self._waiting:
                now = time.monotonic()
                self._wakes_at = min(turn.at for turn in self._waiting.values())
                if self._wakes_at <= now:
                    self._doing = self._due_at(now + TOGETHER_S)
                    return self._doing
                self._changed.wait(self._wakes_at - now)
            self._is_running = False
            return {}

    def _due_at(self, time_s: float) -> dict[Work, _Turn]:
        """Return what is due then, and take it from what waits."""
        due = {work: turn for work, turn in self._waiting.items() if turn.at <= time_s}
        for work in due:
            del self._waiting[work]
        return due


@dataclass(slots=True, eq=False)
class _Turn:
    """When a work is done, and whether it is."""

    at: float
    is_done: threading.Event = field(default_factory=threading.Event)


def write_behind() -> WriteBehind:
    """Return that of the process."""
    return _write_behind


def _do(work: Work, turn: _Turn) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - it must not end the thread
        log_failure(logger, "Something cannot be written down", error)
    finally:
        turn.is_done.set()


_write_behind = WriteBehind()


def _begin_anew() -> None:
    global _write_behind  # noqa: PLW0603 - a forked child has none of the threads
    _write_behind = WriteBehind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
