"""`collection-search worker`: ingests the pages that wait in the ledger."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .. import relieve_collector
from ..errors import IngestError
from .shared.context_options import search_context
from .shared.exit_codes import Interrupted
from .shared.preparation import flush_on_exit
from .shared.review_sweeper import ReviewSweeper
from .shared.signals import handle_signals
from .shared.terminal import Screen
from .shared.worker_progress import Progress

if TYPE_CHECKING:
    from ..tools.ingest import IngestionEngine


STOPPED: Final = "Stopped. What is left waits in the ledger for the next worker."
LOOK_S: Final = 0.5
"""How often a worker looks whether it should stop."""
IDLE_S: Final = 1.0
"""How often an idle worker looks for work."""


def worker(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="End when nothing is left to ingest.")
    ] = False,
) -> None:
    """Fetch and ingest what waits in the ledger, until interrupted.

    Reviews past their deadline are decided by their policy, at the start and every few minutes.

    Each page that cannot be ingested is named, and a sum ends each stretch of work. With --once
    the exit code is 5 when pages could not be ingested.
    """
    from ..tools.ingest import engine_for

    screen, context = Screen(), search_context()
    progress = Progress(screen)
    engine = asyncio.run(engine_for(context))
    engine.equip(on_page_done=progress.on_page_done)
    relieve_collector()
    stop = _Stop()
    with flush_on_exit(context), handle_signals(stop, signal.SIGINT, signal.SIGTERM):
        screen.note("Ingesting what waits in the ledger. Ctrl-C ends it and loses nothing.")
        _work(engine, stop, progress, ReviewSweeper(context, screen), once=once)
        engine.stop()
        progress.print_sum()
    if stop.by == signal.SIGINT:
        raise Interrupted(STOPPED)
    if once and progress.failed:
        raise IngestError(
            f"Pages that could not be ingested: {progress.failed}. {progress.first_failure}"
        )
    screen.note(STOPPED if stop.is_set() else "Nothing is left to ingest.")


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
        if engine.drain(timeout_s=LOOK_S):
            progress.print_sum()
            if once and not may_add_pages:
                return
            stop.wait(IDLE_S)
