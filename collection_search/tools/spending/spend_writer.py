"""Writes the spending of runs in a thread, several accounts in one transaction."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

from ...runtime.failure_log import log_failure
from ...runtime.write_behind import write_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...ports.usage import AnswerCache, SpendEntry, UsageStore

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""Longest wait for cached answers; after it they count as unknown."""
SOON_S: Final = 0.5
"""Delay of a write: a short run writes once, a killed process loses little."""
READERS: Final = 8
"""The number of connections that a SQLite store keeps open."""
LINGER_S: Final = 0.02
"""Delay after the end of a run, so that runs that end together are written together."""
PRUNE_EVERY_S: Final = 3600.0
_DAY_S: Final = 86_400.0
_NOT_READ: Final = "Known answers cannot be read."

logger = logging.getLogger(__name__)
_pruned: WeakKeyDictionary[UsageStore, float] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class SpendBatch:
    """The unwritten spending of one account."""

    store: UsageStore
    entries: Sequence[SpendEntry]
    spend_days: int
    answer_cache_s: float
    on_written: Callable[[], None] | None = None
    """Called once its entries are in the store."""


class SpendWriter:
    """Writes the spending of a process in order, independent of the event loop that added it.

    A process that ends normally ends after the last write.
    """

    def __init__(self) -> None:
        self._batches: deque[SpendBatch] = deque()
        self._readers = ThreadPoolExecutor(READERS, "known-answers")
        self._writing = threading.Lock()

    def run_in_reader(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Return the result of the blocking call; this starts it faster than `offload` does."""
        work = partial(copy_context().run, call)
        return asyncio.get_running_loop().run_in_executor(self._readers, work)

    def add(self, batch: SpendBatch) -> None:
        """Add a batch; it is written with the next, or after `SOON_S` seconds."""
        self._batches.append(batch)
        write_behind().call_within(SOON_S, self._write)

    def write_soon(self) -> None:
        """Start writing everything that was added, after a short delay."""
        if self._batches:
            write_behind().call_within(LINGER_S, self._write)

    def flush(self) -> None:
        """Wait until everything that was added is written or its failure is logged. Blocks."""
        write_behind().wait(self._write)

    def between_writes(self, call: Callable[[], T]) -> T:
        """Return the result of the call, during which no batch is half written. Blocks."""
        with self._writing:
            return call()

    def _write(self) -> None:
        with self._writing:
            self._write_all()

    def _write_all(self) -> None:
        by_store: defaultdict[UsageStore, list[SpendBatch]] = defaultdict(list)
        with suppress(IndexError):  # until there are no more
            while True:
                batch = self._batches.popleft()
                by_store[batch.store].append(batch)
        for store, together in by_store.items():
            call_or_warn(
                partial(_write_to, store, together), "What was spent cannot be written down."
            )


def spend_writer() -> SpendWriter:
    """Return the process's writer."""
    return _spend_writer


async def cached_answers(
    store: AnswerCache,
    tenant_id: str,
    kind: str,
    keys: Sequence[str],
    *,
    max_age_s: float,
    read: Callable[[Mapping[str, bytes]], T],
) -> T | None:
    """Return the result of `read` for the cached answers by key, None if there are none in time."""
    if call_or_warn(lambda: store.lacks(tenant_id, kind, keys), _NOT_READ):
        return None
    get = partial(store.get_many, tenant_id, kind, keys, max_age_s=max_age_s)
    known = spend_writer().run_in_reader(partial(call_or_warn, lambda: read(get()), _NOT_READ))
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await known
    except TimeoutError:
        return None


def _write_to(store: UsageStore, batches: Sequence[SpendBatch]) -> None:
    store.add(entry for batch in batches for entry in batch.entries)
    for batch in batches:
        if batch.on_written is not None:
            batch.on_written()
    store.flush()  # the answers of the same runs, in the same wake
    now, last = time.monotonic(), batches[-1]
    if now >= _pruned.get(store, now):
        _pruned[store] = now + PRUNE_EVERY_S
        store.forget(last.spend_days * _DAY_S)
        if last.answer_cache_s:
            store.prune(last.answer_cache_s)


def call_or_warn(work: Callable[[], T], failure: str) -> T | None:
    """Return the result of the call; for a failure log a warning and return None."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, failure, error)
        return None


_spend_writer = SpendWriter()


def _begin_anew() -> None:
    global _spend_writer  # noqa: PLW0603 - a forked child has none of the threads
    _spend_writer = SpendWriter()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
