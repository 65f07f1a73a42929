"""`collection-search worker`: ingests the pages that wait in the ledger."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from .. import relieve_collector
from ..errors import IngestError, InputError, StoreError
from .shared.context_options import search_context
from .shared.exit_codes import Interrupted
from .shared.metrics_file import refresh_metrics_file
from .shared.preparation import flush_on_exit
from .shared.review_sweeper import ReviewSweeper
from .shared.signals import TERMINATION_S, handle_signals, leave_time_to_stop
from .shared.terminal import Screen
from .shared.worker_progress import Progress

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..tools.ingest import IngestionEngine


STOPPED: Final = "Stopped. What is left waits in the ledger for the next worker."
CUT_OFF: Final = (
    "Stopped before all pages in hand were done: they wait in the ledger for the next worker."
)
LOOK_S: Final = 0.5
"""How often a worker looks whether it should stop."""
IDLE_S: Final = 1.0
"""How often an idle worker looks for work."""


def worker(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="End when nothing is left that is due soon.")
    ] = False,
    engine: Annotated[
        Literal["local", "celery"] | None,
        typer.Option(help="Where the work comes from; by default the setting ingest_engine."),
    ] = None,
    queues: Annotated[
        Literal["all", "interactive", "bulk"],
        typer.Option(help="With the engine celery: whose messages to work on."),
    ] = "all",
) -> None:
    """Fetch and ingest what waits in the ledger, until interrupted.

    Reviews past their deadline are decided by their policy, at the start and every few minutes.

    Each page that cannot be ingested is named when it fails, and a sum ends each stretch of work.
    With --once these pages are a table before the sum, and the exit code is then 5. It ends when
    no page is due within a minute, and says what waits, for whom and until when.

    With --engine celery the process works on the messages of RabbitMQ, whose address is in
    COLLECTION_SEARCH_BROKER_URL. Others may do so too, on all machines that share the database.
    A worker of the queue interactive leaves refreshes to the others.

    Ctrl-C, SIGTERM and SIGHUP: nothing new is taken, and pages in hand have 18 seconds to be done.
    What is not done then is given back. A second Ctrl-C ends at once. The exit code is 0 after a
    SIGTERM that cut off nothing, otherwise 130, 143 or 129.
    """
    from ..tools.ingest import engine_for
    from .shared.put_off import format_pauses

    screen, context = Screen(), search_context()
    if (engine or context.using().ingest_engine) == "celery":
        _work_on_messages(context, screen, queues, once=once)
        return
    settings = context.using().model_copy(update={"ingest_engine": "local"})
    context = context.model_copy(update={"settings": settings})
    progress = Progress(screen, at_once=not once)
    local = asyncio.run(engine_for(context))
    local.equip(on_page_done=progress.on_page_done, on_pause=progress.on_pause)
    relieve_collector()
    stop = _Stop()
    leave_time_to_stop()
    with (
        flush_on_exit(context),
        handle_signals(stop),
        nullcontext() if once else refresh_metrics_file(),
    ):
        screen.note("Ingesting what waits in the ledger. Ctrl-C ends it and loses nothing.")
        _work(local, stop, progress, ReviewSweeper(context, screen), once=once)
        is_done = local.stop(timeout_s=TERMINATION_S)
        progress.print_sum()
        put_off = asyncio.run(context.storage()).ledger.put_off(proxies=local.proxies)
        for sentence in format_pauses(put_off):
            screen.note(sentence)
    is_usual_end = stop.by == signal.SIGTERM and is_done and not once
    if stop.is_set() and not is_usual_end:
        raise Interrupted(STOPPED if is_done else CUT_OFF)
    if once and progress.failed:
        raise IngestError(
            f"Pages that could not be ingested: {progress.failed}. They are named above, and by"
            " 'collection-search ingest failed'."
        )
    screen.note(STOPPED if stop.is_set() or put_off else "Nothing is left to ingest.")


def _work_on_messages(context: SearchContext, screen: Screen, queues: str, *, once: bool) -> None:
    """Work on the messages of RabbitMQ until a signal ends it. Raises ConfigError, InputError."""
    if once:
        raise InputError("--once is for the engine local: workers of celery run until stopped.")
    from ..settings.registry import load_adapter

    load_adapter("queues", "celery")  # raises where the extra is missing
    context.using().require_shared_engines()
    from ..adapters.queues.celery_settings import NAMES
    from ..adapters.queues.celery_worker import CeleryWorker

    reviews = ReviewSweeper(context, screen)
    worker = CeleryWorker(context, on_sweep=reviews.start_if_due)
    relieve_collector()
    with flush_on_exit(context), refresh_metrics_file():
        screen.note("Working on the messages of the broker. Ctrl-C ends it and loses nothing.")
        is_done = worker.run(tuple(NAMES.values()) if queues == "all" else (queues,))
    if not is_done:
        raise Interrupted(CUT_OFF)
    screen.note(STOPPED)


class _Stop(threading.Event):
    """An event that a signal sets instead of interrupting a write."""

    by: int | None = None

    def __call__(self, number: int, _frame: object) -> None:
        self.by = number
        self.set()


def _work(
    engine: IngestionEngine,
    stop: _Stop,
    progress: Progress,
    sweeper: ReviewSweeper,
    *,
    once: bool,
) -> None:
    while not stop.is_set():
        sweeper.start_if_due()
        may_add_pages = sweeper.is_busy
        try:
            is_done = engine.drain(timeout_s=LOOK_S)
        except StoreError as error:
            if once or not error.retryable:
                raise
            progress.warn_once(str(error))
            is_done = True
        if is_done or engine.is_put_off():
            progress.print_sum()
            if once and not may_add_pages:
                return
            stop.wait(IDLE_S)
