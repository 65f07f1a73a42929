"""The garbage collector of a process that answers many questions."""

from __future__ import annotations

import atexit
import gc
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

THRESHOLD: Final = 10_000
"""New containers after which the collector runs; Python's default is 700."""

START: Final = 400_000
"""New containers of a whole start, imports included; a short command ends before them."""


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


def _settle(phase: str, _: Mapping[str, Any]) -> None:
    if phase == "stop":
        gc.callbacks.remove(_settle)
        gc.freeze()
        gc.set_threshold(THRESHOLD)
