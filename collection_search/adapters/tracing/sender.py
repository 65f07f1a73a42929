"""A thread that sends what has ended, in batches, and the last of it at the end of the process."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from .observations import ObservationRecord
    from .quiet_exporter import QuietExporter
    from .written_spans import SpanWriter

INTERVAL_S: Final = 5.0
"""How long a record waits for others, where `LANGFUSE_FLUSH_INTERVAL` does not say otherwise."""
BATCH: Final = 512
"""Records of one request, where `LANGFUSE_FLUSH_AT` does not say otherwise."""
MOST: Final = 20_000
"""Records that may wait; what ends while so many do is dropped."""

logger = logging.getLogger(__name__)


class RecordSender:
    """Takes records without delay; its thread makes the exporter, whose import is slow.

    A child process that was forked begins with none, and with a thread of its own.
    """

    _process: int
    _waiting: deque[ObservationRecord]
    _is_awake: bool
    """Whether the thread knows that records wait."""
    _is_full: bool
    _gives_up: bool
    _wake: SimpleQueue[bool]
    _is_due: threading.Event
    _sending: threading.Lock
    _making: threading.Lock

    def __init__(
        self, writer: SpanWriter, make_exporter: Callable[[], QuietExporter], *, exit_s: float
    ) -> None:
        self._writer = writer
        self._make_exporter = make_exporter
        self._exporter: QuietExporter | None = None
        self._exit_s = exit_s
        self._interval_s = float(os.environ.get("LANGFUSE_FLUSH_INTERVAL") or INTERVAL_S)
        self._batch = int(os.environ.get("LANGFUSE_FLUSH_AT") or BATCH)
        self._begin()
        atexit.register(_drain_at_exit, weakref.ref(self))

    def add(self, record: ObservationRecord) -> None:
        """Take a record; it is sent within the interval."""
        if self._process != os.getpid():
            self._begin()
        if len(self._waiting) >= MOST:
            if not self._is_full:
                self._is_full = True
                logger.warning("More than %d observations wait. Further ones are dropped.", MOST)
            return
        self._waiting.append(record)
        if not self._is_awake:
            self._is_awake = True
            self._wake.put(True)  # noqa: FBT003
        elif len(self._waiting) >= self._batch:
            self._is_due.set()

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting. After a timeout the rest, and all later records, are dropped."""
        exporter = self._made_exporter()  # its import is not the server's delay
        sender = threading.Thread(target=self._drain, daemon=True)
        sender.start()
        sender.join(timeout_s)
        if sender.is_alive():
            exporter.report(f"no answer within {timeout_s:g} s")
            exporter.shutdown()

    def drain_at_exit(self) -> None:
        """Send what is waiting, or give up after one failure."""
        self._gives_up = True  # the thread too, which may be sending
        is_ours = self._process == os.getpid()
        if is_ours and self._sending.acquire(timeout=2 * self._exit_s):
            self._sending.release()
            self._drain()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting = deque()
        self._is_awake = self._is_full = self._gives_up = False
        self._wake = SimpleQueue()
        self._is_due = threading.Event()
        self._sending, self._making = threading.Lock(), threading.Lock()
        threading.Thread(target=self._send_for_good, name="langfuse-sender", daemon=True).start()

    def _send_for_good(self) -> None:
        while self._wake.get():
            self._is_due.wait(self._interval_s)
            self._is_due.clear()
            self._is_awake = False  # before the records are taken: a later one wakes it again
            self._drain()

    def _drain(self) -> None:
        with self._sending:
            while self._waiting:
                count = min(len(self._waiting), self._batch)
                records = [self._waiting.popleft() for _ in range(count)]
                self._is_full = False
                if not self._sent(records) and self._gives_up:
                    self._waiting.clear()

    def _sent(self, records: list[ObservationRecord]) -> bool:
        exporter = self._made_exporter()
        try:
            result = exporter.export(self._writer.write(records))
        except Exception as error:  # noqa: BLE001 - one batch is lost, the next may be sent
            exporter.report(f"{type(error).__name__}: {error}")
            return False
        return result.name == "SUCCESS"

    def _made_exporter(self) -> QuietExporter:
        with self._making:
            if self._exporter is None:
                self._exporter = self._make_exporter()
            return self._exporter


def _drain_at_exit(sender: weakref.ref[RecordSender]) -> None:
    if (alive := sender()) is not None:
        alive.drain_at_exit()
