"""The garbage collector of a process that answers many questions."""

from __future__ import annotations

import gc
from typing import Final

THRESHOLD: Final = 10_000
"""New containers after which the collector looks for unused cycles; Python's own is 700."""


def relieve_collector() -> None:
    """Keep the collector away from what start-up made, and have it come less often.

    For whoever owns the process, once, after the first question: the modules and models that live
    as long as the process are else searched again and again, for a quarter of the processor time
    of many questions at once.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD)
