"""The work of a Celery worker process: rows for messages, a sweep, and an orderly stop."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from celery import Celery, signals

from ...contracts.ingestion import Priority
from ...errors import IngestError, StoreError
from ...runtime.concurrency import run_blocking
from ...settings.registry import load_adapter
from ...text.redaction import redact
from .celery_queue import create_app
from .celery_settings import NAMES, QUEUES, TASK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ...context import SearchContext
    from ...ports import QueuedWork

logger = logging.getLogger(__name__)

SWEEP_S: Final = 1.0
"""Interval of the sweeps: a row whose message was lost waits so long."""
FINISH_S: Final = 18.0
"""How long a worker that stops lets the pages in hand go on; then they are released."""


class CeleryWorker:
    """A Celery app whose process works on rows, sweeps, and releases its rows when it stops."""

    def __init__(self, context: SearchContext, *, sweep_s: float = SWEEP_S) -> None:
        settings = context.using().model_copy(update={"ingest_engine": "celery"})
        self.app: Celery = create_app(settings)
        self._context = context.model_copy(update={"settings": settings})
        self._lock = threading.Lock()
        self._engine: QueuedWork | None = None
        self._stopping: threading.Thread | None = None
        self._sweeper = _Sweeper(self.engine, interval_s=sweep_s)
        self.app.task(self._ingest, name=TASK, bind=True)
        # Kept as attributes: Celery's signals have weak references only.
        self._handlers: tuple[Callable[..., None], ...] = (self._on_ready, self._on_stop)
        signals.worker_ready.connect(self._handlers[0])
        signals.worker_shutting_down.connect(self._handlers[1])

    def engine(self) -> QueuedWork:
        """Return the engine; it is made in the process that works, after any fork."""
        with self._lock:
            if self._engine is None:
                trigger = run_blocking(load_adapter("triggers", "ledger").of(self._context))
                self._engine = trigger.engine()
            return self._engine

    def run(self, queues: Collection[str] = tuple(NAMES.values())) -> int:
        """Work on the messages of these queues until a signal ends it; return the exit code."""
        worker = self.app.Worker(
            queues=[one.name for priority, one in QUEUES.items() if NAMES[priority] in queues],
            without_mingle=True,
            without_gossip=True,
            quiet=True,
            loglevel="WARNING",
        )
        worker.start()
        if self._stopping is not None:
            self._stopping.join()
        return int(worker.exitcode or 0)

    def _ingest(self, task: Any, priority: str) -> None:
        """Work on rows for one message; the ledger has every error of a page."""
        request = task.request
        again = bool((request.delivery_info or {}).get("redelivered"))
        self.engine().work(request.id, Priority[priority.upper()], is_redelivered=again)

    def _on_ready(self, **_: Any) -> None:
        self._sweeper.start()

    def _on_stop(self, **_: Any) -> None:
        """Stop in a thread: a signal handler may not wait."""
        if self._stopping is None:
            self._stopping = threading.Thread(target=self._stop, name="stop", daemon=True)
            self._stopping.start()

    def _stop(self) -> None:
        self._sweeper.stop()
        if self._engine is not None and not self._engine.stop(timeout_s=FINISH_S):
            logger.warning("Pages in hand were not done in time: they wait in the ledger.")


class _Sweeper(threading.Thread):
    """Sweeps again and again, until it is stopped."""

    def __init__(self, engine: Callable[[], QueuedWork], *, interval_s: float) -> None:
        super().__init__(name="sweep", daemon=True)
        self._engine = engine
        self._interval_s = interval_s
        self._stopped = threading.Event()

    def run(self) -> None:
        """Sweep; a failure is logged once until a sweep succeeds again."""
        is_failing = False
        while not self._stopped.is_set():
            try:
                self._engine().sweep()
                is_failing = False
            except (IngestError, StoreError) as error:
                if not is_failing:
                    logger.warning("The sweep failed and is tried again. %s", redact(str(error)))
                is_failing = True
            self._stopped.wait(self._interval_s)

    def stop(self) -> None:
        """Sweep no more."""
        self._stopped.set()
