"""The garbage collector of a process that answers many questions.

What start-up makes lives as long as the process, and a run leaves no cycles behind. So most of what
the collector does by Python's defaults is to examine the same objects again, a tenth of the
processor time of a question.
"""

from __future__ import annotations

import gc
import itertools
from typing import Final

THRESHOLD: Final = 50_000
"""New containers after which the collector runs; Python's default is 700 or 2000."""
FEW_RUNS: Final = 3
"""After so many runs all modules that runs need are loaded."""

_DEFAULTS: Final = frozenset({700, 2_000})
_runs = itertools.count(1)


def relieve_collector() -> None:
    """Exclude the objects of start-up from garbage collection, and collect less often.

    The owner of the process calls it once, when it is ready to serve. Without a call it happens
    by itself after a few runs, see `relieve_after_run`.
    """
    gc.collect()
    _relieve()


def relieve_after_run() -> None:
    """Count a run that has ended; after the third one, relieve the collector.

    Nothing is collected then: that would stop the process for a tenth of a second. A process whose
    owner has set the collector in any way (`gc.disable`, `gc.freeze`, `gc.set_threshold`) is left
    as it is.
    """
    if next(_runs) == FEW_RUNS and not _is_set():
        _relieve()


def _is_set() -> bool:
    is_default = gc.isenabled() and gc.get_threshold()[0] in _DEFAULTS
    return not is_default or gc.get_freeze_count() > 0


def _relieve() -> None:
    gc.freeze()
    gc.set_threshold(THRESHOLD)
