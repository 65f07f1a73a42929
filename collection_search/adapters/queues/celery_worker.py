"""The work of a Celery worker process: rows for messages, a sweep, and an orderly stop."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import TYPE_CHECKING, Any, Final, cast

from celery import Celery, signals

from ...contracts.ingestion import Priority
from ...errors import CollectionSearchError, IngestError
from ...runtime.concurrency import run_blocking
from ...settings.registry import load_adapter
from ...text.redaction import redact
from .celery_queue import REFUSALS, CeleryQueue, create_celery_app
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

    def __init__(
        self,
        context: SearchContext,
        *,
        sweep_s: float = SWEEP_S,
        on_sweep: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = with_settings(context, ingest_engine="celery")
        self.app: Celery = create_celery_app(self._context.using())
        self._lock = threading.Lock()
        self._engine: QueuedWork | None = None
        self._stopping: threading.Thread | None = None
        self._is_done = True
        self._sweeper = _Sweeper(self.engine, on_sweep, interval_s=sweep_s)
        self._add_task()
        # Kept as attributes: Celery's signals have weak references only.
        self._handlers: tuple[Callable[..., None], ...] = (self._on_ready, self._on_stop)
        signals.worker_ready.connect(self._handlers[0])
        signals.worker_shutting_down.connect(self._handlers[1])

    def engine(self) -> QueuedWork:
        """Return the engine; it is made in the process that works, after any fork."""
        with self._lock:
            engine = self._engine
            if engine is None:
                trigger = run_blocking(load_adapter("triggers", "ledger").of(self._context))
                engine = self._engine = cast("QueuedWork", trigger.engine())
            return engine

    def run(self, queues: Collection[str] = tuple(NAMES.values())) -> bool:
        """Work on the messages of these queues until a signal ends it.

        Return whether all pages in hand were done. A broker that cannot be reached is waited for,
        with a warning. Raises IngestError for one that refuses the login, the vhost or a queue.
        """
        self._ask_broker()
        worker = self.app.Worker(
            # Two workers of one name lock each other out.
            hostname=f"{os.getpid()}@{socket.gethostname()}",
            queues=[one.name for priority, one in QUEUES.items() if NAMES[priority] in queues],
            without_mingle=True,
            without_gossip=True,
            quiet=True,
            loglevel="WARNING",
        )
        worker.start()
        if self._stopping is not None:
            self._stopping.join()
        elif worker.exitcode:
            self._ask_broker()
            raise IngestError(
                "The worker was ended by an error of the broker, not by a signal. Start it again:"
                " what it worked on waits in the ledger. Where it ends again, check"
                " COLLECTION_SEARCH_BROKER_URL and the log of RabbitMQ."
            )
        return self._is_done

    def _ask_broker(self) -> None:
        """Declare the queues; Celery itself says neither why it waits nor what was refused."""
        try:
            CeleryQueue(self.app).declare()
        except IngestError as error:
            if isinstance(error.__cause__, REFUSALS):
                raise
            logger.warning("%s The worker waits for it.", error)

    def _add_task(self) -> None:
        @self.app.task(name=TASK, bind=True)  # type: ignore[untyped-decorator]
        def ingest(task: Any, priority: str) -> None:
            again = bool((task.request.delivery_info or {}).get("redelivered"))
            self._work(task.request.id, Priority[priority.upper()], is_redelivered=again)

    def _work(self, message_id: str, priority: Priority, *, is_redelivered: bool) -> None:
        """Work on rows for one message.

        A failure is logged only: the message is done with, and the next sweep sends another one.
        """
        try:
            self.engine().work(message_id, priority, is_redelivered=is_redelivered)
        except CollectionSearchError as error:
            logger.warning("A message was given up. %s", redact(str(error)))

    def _on_ready(self, **_: Any) -> None:
        self._sweeper.start()

    def _on_stop(self, **_: Any) -> None:
        """Stop in a thread: a signal handler may not wait."""
        if self._stopping is None:
            self._stopping = threading.Thread(target=self._stop, name="stop", daemon=True)
            self._stopping.start()

    def _stop(self) -> None:
        self._sweeper.stop()
        if self._engine is not None:
            self._is_done = self._engine.stop(timeout_s=FINISH_S)
        if not self._is_done:
            logger.warning("Pages in hand were not done in time: they wait in the ledger.")


def with_settings(context: SearchContext, **changes: str) -> SearchContext:
    """Return the same context with some settings replaced by valid ones."""
    settings = context.using().model_copy(update=changes)
    return context.model_copy(update={"settings": settings})


class _Sweeper(threading.Thread):
    """Sweeps again and again, until it is stopped."""

    def __init__(
        self, engine: Callable[[], QueuedWork], on_sweep: Callable[[], None], *, interval_s: float
    ) -> None:
        super().__init__(name="sweep", daemon=True)
        self._engine = engine
        self._on_sweep = on_sweep
        self._interval_s = interval_s
        self._stopped = threading.Event()

    def run(self) -> None:
        """Sweep; a failure is logged once until a sweep succeeds again."""
        is_failing = False
        while not self._stopped.is_set():
            self._on_sweep()
            try:
                self._engine().sweep()
                is_failing = False
            except CollectionSearchError as error:
                if not is_failing:
                    logger.warning("The sweep failed and is tried again. %s", redact(str(error)))
                is_failing = True
            self._stopped.wait(self._interval_s)

    def stop(self) -> None:
        """Sweep no more."""
        self._stopped.set()
