"""The garbage collector of a process that answers many questions."""

from __future__ import annotations

import atexit
import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

THRESHOLD: Final = 10_000
"""New containers after which the collector runs; Python's default is 700."""

START: Final = 400_000
"""New containers of a whole start, imports included; a short command ends before them."""


_pause_lock: Final = threading.Lock()
_pauses: Final[list[bool]] = []
"""Whether the collector was on, for each pause that lasts."""


def relieve_collector() -> None:
    """Exclude the objects of start-up from garbage collection, and collect less often.

    The owner of the process calls it once, after the first question. Otherwise the collector
    examines all modules and models again and again, a quarter of the processor time under load.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD)


def postpone_collector() -> None:
    """Let a process start without garbage collection, and end without one.

    The first collection comes after the imports; it excludes what they made from all later ones.
    The owner of the process calls it first of all.
    """
    gc.set_threshold(START)
    gc.callbacks.append(_settle)
    atexit.register(gc.freeze)  # the interpreter's end would examine every object once more


@contextmanager
def collector_paused() -> Iterator[None]:
    """Import modules without garbage collection, which would examine them again and again.

    After the last of several pauses at a time the collector is as it was before the first.
    """
    with _pause_lock:
        _pauses.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _pause_lock:
            was_on = any(_pauses)
            _pauses.pop()
            if was_on and not _pauses:
                gc.enable()


def _settle(phase: str, _: Mapping[str, Any]) -> None:
    if phase == "stop":
        gc.callbacks.remove(_settle)
        gc.freeze()
        gc.set_threshold(THRESHOLD)
