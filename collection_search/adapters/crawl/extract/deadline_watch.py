"""One thread that watches the deadlines of any number of other threads."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class DeadlineWatch:
    """A watch that calls back when a block of code takes too long; cheaper than many timers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[object, tuple[float, Callable[[], None]]] = {}
        self._wakes_at = inf
        self._thread: threading.Thread | None = None
        self._stopped = False

    @contextmanager
    def over(self, call: Callable[[], None], limit_s: float) -> Iterator[None]:
        """Call once, from the watch's thread, if the block runs longer than `limit_s` seconds.

        The call must not block. It is never made after the block has ended.
        """
        mark, due = object(), time.monotonic() + limit_s
        with self._changed:
            self._due[mark] = due, call
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
                self._thread.start()
            elif due < self._wakes_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(mark, None)

    def stop(self) -> None:
        """End the thread. Running blocks are no longer watched."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                for mark, (due, call) in tuple(self._due.items()):
                    if due <= now:
                        del self._due[mark]
                        call()
                self._wakes_at = min((due for due, _ in self._due.values()), default=inf)
                left = None if self._wakes_at == inf else self._wakes_at - now
                self._changed.wait(left)
