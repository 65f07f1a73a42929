"""SIGTERM ends a waiting command as Ctrl-C does, with a longer shutdown grace."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STOP_S: Final = 2.0
"""Shutdown grace of Ctrl-C, for the documents that are being ingested."""
TERMINATION_S: Final = 20.0
"""The same for SIGTERM."""


@dataclass
class Stop:
    """The shutdown grace, which depends on the signal."""

    within_s: float = STOP_S


@contextmanager
def catch_sigterm() -> Iterator[Stop]:
    """Raise KeyboardInterrupt on SIGTERM, too."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may set signal handlers
        return

    def end(_number: int, _frame: object) -> None:
        stop.within_s = TERMINATION_S
        raise KeyboardInterrupt

    with handle_signals(end, signal.SIGTERM):
        yield stop


@contextmanager
def handle_signals(handler: Callable[[int, Any], None], *signals: signal.Signals) -> Iterator[None]:
    """Let the handler take the signals, and restore the former handlers afterwards."""
    before = {one: signal.signal(one, handler) for one in signals}
    try:
        yield
    finally:
        for one, former in before.items():
            signal.signal(one, former)
