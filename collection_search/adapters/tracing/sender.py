"""A thread that sends what has ended, in batches, and the last of it at the end of the process."""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from ...text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from .observations import ObservationRecord
    from .quiet_exporter import QuietExporter
    from .written_spans import SpanWriter

INTERVAL_S: Final = 5.0
"""How long a record waits for others, where `LANGFUSE_FLUSH_INTERVAL` does not say otherwise."""
BATCH: Final = 512
"""Records of one request, where `LANGFUSE_FLUSH_AT` does not say otherwise."""
MAX_WAITING: Final = 20_000
"""Records that may wait; what ends while so many do is dropped."""
DRAIN_S: Final = 5.0
"""At the end of a process no request begins after this time."""

logger = logging.getLogger(__name__)


class RecordSender:
    """Takes records without delay; its thread makes the exporter, whose import is slow.

    Where none can be made, all records are dropped. A child process that was forked begins with no
    record, and with a thread and an exporter of its own.
    """

    _waiting: deque[ObservationRecord]
    _is_awake: bool
    """Whether the thread knows that records wait."""
    _is_full: bool
    _is_off: bool
    """Whether no exporter can be made."""
    _ends_at: float
    """When the sending ends with the process, on the monotonic clock."""
    _exporter: QuietExporter | None
    _thread: threading.Thread | None
    _wake: SimpleQueue[bool]
    _is_due: threading.Event
    _starting: threading.Lock
    _sending: threading.Lock
    _making: threading.Lock

    def __init__(
        self, writer: SpanWriter, make_exporter: Callable[[], QuietExporter], *, exit_s: float
    ) -> None:
        self._writer = writer
        self._make_exporter = make_exporter
        self._exit_s = exit_s
        self._interval_s = float(os.environ.get("LANGFUSE_FLUSH_INTERVAL") or INTERVAL_S)
        self._batch = max(1, int(os.environ.get("LANGFUSE_FLUSH_AT") or BATCH))
        self.begin()
        self._start()
        _senders.add(self)
        atexit.register(_drain_at_exit, weakref.ref(self))

    def begin(self) -> None:
        """Begin without records, locks and a thread, as a forked child must."""
        self._waiting = deque()
        self._is_awake = self._is_full = self._is_off = False
        self._ends_at = math.inf
        self._exporter = self._thread = None
        self._wake = SimpleQueue()
        self._is_due = threading.Event()
        self._starting, self._sending = threading.Lock(), threading.Lock()
        self._making = threading.Lock()

    def add(self, record: ObservationRecord) -> None:
        """Take a record; it is sent within the interval."""
        if self._is_off:
            return
        if len(self._waiting) >= MAX_WAITING:
            if not self._is_full:
                self._is_full = True
                logger.warning(
                    "More than %d observations wait. Further ones are dropped.", MAX_WAITING
                )
            return
        self._waiting.append(record)
        if not self._is_awake:
            self._is_awake = True
            self._start()
            self._wake.put(True)  # noqa: FBT003
        elif len(self._waiting) >= self._batch:
            self._is_due.set()

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting. After a timeout the rest, and all later records, are dropped."""
        if (exporter := self._made_exporter()) is None:  # its import is not the server's delay
            return
        sender = threading.Thread(target=self._drain, daemon=True)
        sender.start()
        sender.join(timeout_s)
        if sender.is_alive():
            exporter.report(f"no answer within {timeout_s:g} s")
            exporter.shutdown()

    def drain_at_exit(self) -> None:
        """Send what is waiting, until one failure or `DRAIN_S`."""
        self._ends_at = time.monotonic() + DRAIN_S  # the thread's end too, which may be sending
        if self._sending.acquire(timeout=DRAIN_S + self._exit_s):
            self._sending.release()
            self._drain()

    def _start(self) -> None:
        """Start the thread where there is none; at the end of a process none can be started."""
        with self._starting, suppress(RuntimeError):
            if self._thread is None:
                thread = threading.Thread(
                    target=self._send_for_good, name="langfuse-sender", daemon=True
                )
                thread.start()
                self._thread = thread

    def _send_for_good(self) -> None:
        while self._wake.get():
            self._is_due.wait(self._interval_s)
            self._is_due.clear()
            self._is_awake = False  # before the records are taken: a later one wakes it again
            self._drain()

    def _drain(self) -> None:
        with self._sending:
            while self._waiting:
                if time.monotonic() >= self._ends_at:
                    self._drop_at_exit()
                    return
                count = min(len(self._waiting), self._batch)
                records = [self._waiting.popleft() for _ in range(count)]
                self._is_full = False
                if not self._sent(records) and self._ends_at < math.inf:
                    self._waiting.clear()

    def _drop_at_exit(self) -> None:
        count = len(self._waiting)
        self._waiting.clear()
        logger.warning("The process ends. Observations that are dropped: %d.", count)

    def _sent(self, records: list[ObservationRecord]) -> bool:
        if (exporter := self._made_exporter()) is None:
            return False
        try:
            result = exporter.export(self._writer.write(records))
        except Exception as error:  # noqa: BLE001 - one batch is lost, the next may be sent
            exporter.report(f"{type(error).__name__}: {error}")
            return False
        return result.name == "SUCCESS"

    def _made_exporter(self) -> QuietExporter | None:
        """Return the exporter; None where it cannot be made, which is tried once."""
        with self._making:
            if self._exporter is None and not self._is_off:
                try:
                    self._exporter = self._make_exporter()
                except Exception as error:  # noqa: BLE001 - a run is worth more than its trace
                    self._turn_off(error)
            return self._exporter

    def _turn_off(self, error: Exception) -> None:
        self._is_off = True
        logger.warning(
            "Langfuse is off: its exporter cannot be made (%s). Observations are dropped.",
            mask_text(f"{type(error).__name__}: {error}"),
        )


_senders: weakref.WeakSet[RecordSender] = weakref.WeakSet()


def _drain_at_exit(sender: weakref.ref[RecordSender]) -> None:
    if (alive := sender()) is not None:
        alive.drain_at_exit()


def _begin_anew() -> None:
    """Leave a forked child neither records that its parent sends nor locks that nobody frees."""
    for sender in list(_senders):
        sender.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
