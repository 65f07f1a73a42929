"""SIGTERM as the end of a command that waits: like Ctrl-C, with more time for what is in hand."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

STOP_S: Final = 2.0
"""How long Ctrl-C leaves the documents in hand to be finished."""
TERMINATION_S: Final = 20.0
"""The same for SIGTERM, which nobody waits for at a terminal."""


@dataclass
class Stop:
    """How long the documents in hand may take once the command was told to end."""

    within_s: float = STOP_S


@contextmanager
def catch_sigterm() -> Iterator[Stop]:
    """Raise KeyboardInterrupt at SIGTERM, too."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # signals are the main thread's
        return

    def end(_number: int, _frame: object) -> None:
        stop.within_s = TERMINATION_S
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
