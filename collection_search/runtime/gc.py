"""The garbage collector of a process that answers many questions.

A run leaves no cycles behind. So all that the collector does by Python's defaults is to examine
objects that live, a tenth of the processor time of many questions at once.
"""

from __future__ import annotations

import atexit
import gc
import itertools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

THRESHOLD: Final = 50_000
"""New containers after which the collector runs; Python's default is 700 or 2000."""
FEW_RUNS: Final = 3
"""After so many runs all modules that runs need are loaded."""

START: Final = 400_000
"""New containers of a whole start, imports included; a short command ends before them."""

_DEFAULTS: Final = frozenset({700, 2_000})
_runs = itertools.count(1)


def relieve_collector() -> None:
    """Exclude the objects of start-up from garbage collection, and collect less often.

    The owner of the process calls it once, when it is ready to serve.
    """
    gc.collect()
    _relieve()


def relieve_after_run() -> None:
    """Count a run that has ended; from the third one on the collector runs less often.

    Nothing is collected or excluded: the first would stop the process, and the second would keep
    what the host has just let go of. A process whose owner has set the collector in any way
    (`gc.disable`, `gc.freeze`, `gc.set_threshold`) is left as it is.
    """
    if next(_runs) >= FEW_RUNS and not _is_set():
        gc.set_threshold(THRESHOLD)


def _is_set() -> bool:
    is_default = gc.isenabled() and gc.get_threshold()[0] in _DEFAULTS
    return not is_default or gc.get_freeze_count() > 0


def _relieve() -> None:
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
        _relieve()
