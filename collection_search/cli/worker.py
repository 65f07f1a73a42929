"""`collection-search worker`: ingests the pages that wait in the ledger."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .. import relieve_collector
from ..errors import IngestError, StoreError
from .shared.context_options import search_context
from .shared.exit_codes import Interrupted
from .shared.preparation import flush_on_exit
from .shared.review_sweeper import ReviewSweeper
from .shared.signals import TERMINATION_S, handle_signals, leave_time_to_stop
from .shared.terminal import Screen
from .shared.worker_progress import Progress

if TYPE_CHECKING:
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
) -> None:
    """Fetch and ingest what waits in the ledger, until interrupted.

    Reviews past their deadline are decided by their policy, at the start and every few minutes.

    Each page that cannot be ingested is named when it fails, and a sum ends each stretch of work.
    With --once these pages are a table before the sum, and the exit code is then 5. It ends when
    no page is due within a minute, and says what waits, for whom and until when.

    Ctrl-C, SIGTERM and SIGHUP: nothing new is taken, and pages in hand have 18 seconds to be done.
    What is not done then is given back. A second Ctrl-C ends at once. The exit code is 0 after a
    SIGTERM that cut off nothing, otherwise 130, 143 or 129.
    """
    from ..tools.ingest import engine_for
    from .shared.put_off import format_pauses

    screen, context = Screen(), search_context()
    progress = Progress(screen, at_once=not once)
    engine = asyncio.run(engine_for(context))
    engine.equip(on_page_done=progress.on_page_done, on_pause=progress.on_pause)
    relieve_collector()
    stop = _Stop()
    leave_time_to_stop()
    with flush_on_exit(context), handle_signals(stop):
        screen.note("Ingesting what waits in the ledger. Ctrl-C ends it and loses nothing.")
        _work(engine, stop, progress, ReviewSweeper(context, screen), once=once)
        is_done = engine.stop(timeout_s=TERMINATION_S)
        progress.print_sum()
        put_off = asyncio.run(context.storage()).ledger.put_off(proxies=engine.proxies)
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
