"""Signals that stop a command: in order at first, at once after a second Ctrl-C or at the limit.

Ctrl-C, SIGTERM and SIGHUP interrupt the command, which stops in order. A thread of its own counts
the time meanwhile. It ends the process where something holds up the orderly stop.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

STOP_S: Final = 2.0
"""How long Ctrl-C lets the pages in hand go on."""
TERMINATION_S: Final = 18.0
"""The same for SIGTERM and SIGHUP, and for every signal that stops a worker."""
STOP_LIMIT_S: Final = 10.0
"""How long after Ctrl-C the process ends at the latest."""
TERMINATION_LIMIT_S: Final = 25.0
"""The same for SIGTERM and SIGHUP, and for every signal that stops a worker."""
NOTICE_S: Final = 1.0
"""After this time a terminal is told that the command stops."""
_RELEASE_S: Final = 3.0
"""How long a process that is ended at once may take to release its rows, on a busy machine too."""
_READ_S: Final = 10.0
"""How long the thread of a busy machine may take to read a signal that was sent."""
_CALLERS: Final = 3
"""Threads for the calls of a stop: to claim no more, to tell the limit, to release."""
_SHOW_CURSOR: Final = "\x1b[?25h\n"
"""A progress bar hides it."""
_ALL_READ: Final = b"\xff"
"""The number of no signal: those before it were read."""
_LEASES: Final = f"{__name__.partition('.')[0]}.tools.ingestion.leases"

_TERMINATION: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
STOP_SIGNALS: Final = (signal.SIGINT, *_TERMINATION)


class _StopWatch:
    """Sees each signal at once, also while the main thread is blocked."""

    def __init__(self) -> None:
        self.by: int | None = None
        """The first signal that stopped the command."""
        self.has_interrupted = False
        """True: SIGTERM or SIGHUP has interrupted the command."""
        self.is_patient = False
        """True: Ctrl-C leaves as much time as SIGTERM."""
        self._received, self._sent = socket.socketpair()
        self._sent.setblocking(False)
        self._read_all = threading.Event()
        self._former = -1
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    def start(self) -> None:
        """Have every signal reported to a thread from now on."""
        self._former = signal.set_wakeup_fd(self._sent.fileno(), warn_on_full_buffer=False)
        # From Python 3.12 on none can be started once the interpreter ends.
        for _ in range(_CALLERS):
            threading.Thread(target=self._call_one, name="stop-call", daemon=True).start()
        threading.Thread(target=self._run, name="stop-watch", daemon=True).start()

    def was_stopped(self) -> bool:
        """Return whether a signal came until now."""
        if self.by is None:
            self._sent.send(_ALL_READ)
            self._read_all.wait(_READ_S)
        return self.by is not None

    def close(self) -> None:
        """End the threads."""
        signal.set_wakeup_fd(self._former)
        self._sent.close()
        for _ in range(_CALLERS):
            self._calls.put(None)

    def _run(self) -> None:
        with self._received:
            if (first := self._next(STOP_SIGNALS, None)) is None:
                return
            self.by = self.by or first
            self._calls.put(_stop_claiming)
            is_short = first == signal.SIGINT and not self.is_patient
            limit_s = STOP_LIMIT_S if is_short else TERMINATION_LIMIT_S
            if self._next({signal.SIGINT}, NOTICE_S) is None:
                self._calls.put(partial(_tell_limit, limit_s))
                if self._next({signal.SIGINT}, limit_s - NOTICE_S) is None:
                    self._end_process(first, f"It did not stop within {limit_s:g} s.")
            self._end_process(signal.SIGINT, "Interrupted again.")

    def _call_one(self) -> None:
        """Make one call that a blocked terminal or database may hold up."""
        if (call := self._calls.get()) is not None:
            call()

    def _end_process(self, number: int, why: str) -> NoReturn:
        """End the process now, with the exit code of the signal; release what it has in hand."""
        released = threading.Event()

        def leave() -> None:
            kept = "; nothing in the ledger is lost" if _has_claimed() else ""
            _tell(f"{why} Ended at once{kept}.")
            _stop_claiming(release=True)
            released.set()

        self._calls.put(leave)
        released.wait(_RELEASE_S)
        os._exit(128 + number)

    def _next(self, wanted: Container[int], within_s: float | None) -> int | None:
        """Return the next of these signals; None when the time is over or the watch is closed."""
        deadline = None if within_s is None else time.monotonic() + within_s
        while True:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.001)
            self._received.settimeout(left)
            try:
                number = self._received.recv(1)
            except TimeoutError:
                return None
            if number == _ALL_READ:
                self._read_all.set()
            elif not number or number[0] in wanted:
                return number[0] if number else None


_watch: _StopWatch | None = None
"""The watch of the command that runs in this process's main thread."""


@contextmanager
def stop_in_order() -> Iterator[None]:
    """Let the signals interrupt what runs in the block as Ctrl-C does, and watch its end.

    After a signal the watch lives as long as the process.
    """
    global _watch  # noqa: PLW0603 - signals belong to the process
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    watch = _watch = _StopWatch()
    before = {one: signal.getsignal(one) for one in _TERMINATION}
    for one, former in before.items():
        if former is not signal.SIG_IGN:  # as `nohup` does
            signal.signal(one, _interrupt)
    watch.start()
    try:
        yield
    finally:
        if watch.was_stopped():
            leave_signals_to_watch()
            _stop_claiming(release=True)
        else:
            watch.close()
            _watch = None
            for one, former in before.items():
                signal.signal(one, former)


@contextmanager
def handle_signals(handler: Callable[[int, Any], Any]) -> Iterator[None]:
    """Let the handler take the signals that stop a command, in place of an interrupt."""

    def handle(number: int, frame: object) -> None:
        _note(number)
        handler(number, frame)

    before = {one: signal.getsignal(one) for one in STOP_SIGNALS}
    for one, former in before.items():
        if one in {signal.SIGINT, signal.SIGTERM} or former is not signal.SIG_IGN:
            signal.signal(one, handle)
    try:
        yield
    finally:
        for one, former in before.items():
            signal.signal(one, former)


def leave_signals_to_watch() -> None:
    """Let no further signal interrupt the main thread, which would print a traceback."""
    if _watch is not None:
        for one in STOP_SIGNALS:
            signal.signal(one, lambda _number, _frame: None)


def leave_time_to_stop() -> None:
    """Let Ctrl-C leave this command as much time as SIGTERM does."""
    if _watch is not None:
        _watch.is_patient = True


def stop_signal() -> int | None:
    """Return the first signal that stopped the command; None where none was seen."""
    return None if _watch is None else _watch.by


def was_stopped() -> bool:
    """Return whether a signal stopped the command; waits until those sent so far were read."""
    return _watch is not None and _watch.was_stopped()


def stop_grace_s() -> float:
    """Return how long the pages in hand may go on after the signal that came."""
    return TERMINATION_S if stop_signal() in _TERMINATION else STOP_S


def _interrupt(number: int, frame: Any) -> None:
    """Do what Ctrl-C does; a signal after the first one changes nothing."""
    _note(number)
    if _watch is not None and _watch.by == number and not _watch.has_interrupted:
        _watch.has_interrupted = True
        on_ctrl_c = signal.getsignal(signal.SIGINT)  # asyncio has one of its own
        (on_ctrl_c if callable(on_ctrl_c) else signal.default_int_handler)(signal.SIGINT, frame)


def _note(number: int) -> None:
    """Note the first signal; the watch's thread may be faster, or slower."""
    if _watch is not None and _watch.by is None:
        _watch.by = number


def _has_claimed() -> bool:
    """Return whether this process has worked on rows of the ledger."""
    module = sys.modules.get(_LEASES)
    return module is not None and module.has_worked()


def _stop_claiming(*, release: bool = False) -> None:
    """Let this process claim no further row, and release those in hand if wanted."""
    if (module := sys.modules.get(_LEASES)) is not None:  # otherwise nothing is ingested here
        module.stop_claiming(release=release)


def _tell_limit(limit_s: float) -> None:
    if sys.stderr.isatty():
        _tell(f"Stopping, for {limit_s:g} s at most. Ctrl-C again ends it at once.")


def _tell(text: str) -> None:
    start = _SHOW_CURSOR if sys.stderr.isatty() else ""
    with suppress(OSError):  # the terminal was closed
        os.write(2, f"{start}collection-search: {text}\n".encode())
