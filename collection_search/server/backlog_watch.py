"""The figures of the ingestion's backlog, read from time to time where metrics show them."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..errors import CollectionSearchError
from ..ports.backlog import BacklogMetrics, CountsDead, CountsMessages
from ..runtime.concurrency import offload, offload_apart
from ..runtime.failure_log import log_failure
from ..settings.registry import load_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..context import SearchContext
    from ..contracts.ingestion import Priority
    from ..ports import Ledger
    from ..settings import Settings

    _Rows = tuple[Mapping[str, int], Mapping[str, int] | None]

T = TypeVar("T")

LOOK_S: Final = 15.0
"""Interval between two looks."""
SLOW_S: Final = 10.0
"""A look that takes longer has failed, until it ends after all."""
MAX_ROWS: Final = 10_000
"""Most rows of a priority that are counted, so that a long ledger is looked at as fast."""

logger = logging.getLogger(__name__)


async def watch_backlog(
    base: SearchContext, *, look_s: float = LOOK_S, slow_s: float = SLOW_S
) -> None:
    """Show the backlog in the metrics of the context, until it is cancelled.

    Returns at once where nothing is counted, and where the host's metrics do not take it. Database
    and broker are looked at apart: one that is down hides no figure of the other.
    """
    try:
        metrics = await base.metrics()
        if not isinstance(metrics, BacklogMetrics):
            return
        ledger, settings = (await base.storage()).ledger, base.using()
    except CollectionSearchError as error:
        log_failure(logger, "the metrics lack the backlog of ingestion", error)
        return
    shown: BacklogMetrics = metrics

    def show_rows(rows: _Rows | None) -> None:
        due, dead = rows or (None, None)
        shown.record_rows(due, dead)

    look = partial(_look_again, look_s=look_s, slow_s=slow_s)
    looks = [look("ledger", partial(_count_rows, ledger), show_rows)]
    if settings.ingest_engine != "local":
        queue = await _queue_of(settings, shown)
        if queue is not None:
            looks.append(look("broker", queue.ready, shown.record_messages))
    await asyncio.gather(*looks)


async def _queue_of(settings: Settings, metrics: BacklogMetrics) -> CountsMessages | None:
    """Return queues with connections of their own, so that nobody else waits for a look."""
    try:
        adapter = await offload(load_adapter, "queues", settings.ingest_engine)
        queue: Any = await offload(adapter.from_settings, settings)
    except CollectionSearchError as error:
        log_failure(logger, "the queues of the broker are in no metrics", error)
        metrics.record_messages(None)
        return None
    return queue if isinstance(queue, CountsMessages) else None


async def _look_again(
    source: str,
    read: Callable[[], T],
    show: Callable[[T | None], None],
    *,
    look_s: float,
    slow_s: float,
) -> None:
    """Look at a source from time to time, one look at a time.

    A failure is logged once, until a look succeeds again.
    """
    is_failing = False
    while True:
        look = asyncio.create_task(offload_apart(read))
        try:
            if not (await asyncio.wait([look], timeout=slow_s))[0]:
                show(None)
                if not is_failing:
                    logger.warning("The look at the %s has no answer yet.", source)
                is_failing = True
            show(await look)
            is_failing = False
        except Exception as error:  # noqa: BLE001 - it is logged, and the next look tries again
            show(None)
            if not is_failing:
                log_failure(logger, f"the look at the {source} failed", error)
            is_failing = True
        finally:
            look.cancel()
        await asyncio.sleep(look_s)


def _count_rows(ledger: Ledger) -> _Rows:
    """Return the rows that are due and those that were given up, by priority."""
    due = _by_name(ledger.due(limit=MAX_ROWS))
    if not isinstance(ledger, CountsDead):
        return due, None
    return due, _by_name(ledger.dead(limit=MAX_ROWS))


def _by_name(counts: Mapping[Priority, int]) -> dict[str, int]:
    return {priority.name.lower(): count for priority, count in counts.items()}
