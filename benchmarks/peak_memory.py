"""The highest memory of a process, on Linux."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class PeakMemory:
    """The highest memory of this process in MiB: all of it, and what is no page of a file.

    The second is looked at every few milliseconds, since the system keeps no mark of it.
    """

    def __init__(self) -> None:
        self._anonymous = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._anonymous = max(self._anonymous, _status("RssAnon"))

    def read(self) -> tuple[float, float]:
        """Return both; ru_maxrss would not do, as it begins with the parent's."""
        return _status("VmHWM"), self._anonymous


def _status(name: str) -> float:
    """Return a size of this process in MiB, as Linux tells it."""
    with Path("/proc/self/status").open() as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
