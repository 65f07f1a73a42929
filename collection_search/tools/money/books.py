"""Where accounts are written down: off the event loop, and those that come together in one go.

A run waits for its books; its answers the store keeps a moment later, by itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import anyio.lowlevel

from ...masking import loggable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...usage import SpendEntry, UsageStore

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""A run does not wait longer for its books; they are written nevertheless."""
SOON_S: Final = 0.5
"""So a short run writes once, and a long one loses next to nothing when its process is killed."""
THREADS: Final = 8
"""Of one event loop: as many as a SQLite store keeps connections open."""
PRUNE_EVERY_S: Final = 3600.0
_DAY_S: Final = 86_400.0

logger = logging.getLogger(__name__)
_pruned: WeakKeyDictionary[UsageStore, float] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Page:
    """What one account has to write down."""

    store: UsageStore
    entries: Sequence[SpendEntry]
    spend_days: int
    answer_cache_s: float


@dataclass(slots=True)
class _Batch:
    """Pages that are written in one go."""

    done: asyncio.Future[None]
    pages: list[Page] = field(default_factory=list)


class Clerk:
    """Writes the pages of one event loop in order, those that gather meanwhile in one go."""

    def __init__(self) -> None:
        self._gathering: _Batch | None = None
        self._writing: _Batch | None = None
        self._work: asyncio.Task[None] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._threads = ThreadPoolExecutor(THREADS, "books")

    def hand(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Return what the blocking call will return; context variables reach it.

        A thread of the clerk's takes it on in a third of the time that `offload` needs.
        """
        work = partial(copy_context().run, call, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    def take(self, page: Page) -> None:
        """Take a page; it is written with the next, or after `SOON_S` seconds."""
        loop = asyncio.get_running_loop()
        if self._gathering is None:
            self._gathering = _Batch(loop.create_future())
            self._later = loop.call_later(SOON_S, self._start)
        self._gathering.pages.append(page)

    async def settled(self) -> None:
        """Wait until all that was taken before is written, but not for ever."""
        if batch := self._gathering or self._writing:
            self._start()
            await asyncio.wait({batch.done}, timeout=PATIENCE_S)

    def _start(self) -> None:
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._written())

    async def _written(self) -> None:
        try:
            while batch := self._gathering:
                self._gathering, self._writing = None, batch
                if self._later is not None:
                    self._later.cancel()
                try:  # a loop that ends does not take the work away from the thread
                    await asyncio.shield(self.hand(_write, batch.pages))
                finally:
                    batch.done.set_result(None)
        finally:
            self._work = self._writing = None


def clerk() -> Clerk:
    """Return the running event loop's clerk."""
    if (known := _clerk.get(None)) is None:
        known = Clerk()
        _clerk.set(known)
    return known


_clerk: anyio.lowlevel.RunVar[Clerk | None] = anyio.lowlevel.RunVar("collection_search_clerk")


async def looked_up(read: Callable[[], T]) -> T | None:
    """Return what the blocking call reads, None where it fails or takes too long."""
    known = clerk().hand(guarded, read, "Known answers cannot be read.")
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await known
    except TimeoutError:
        return None


def _write(pages: Sequence[Page]) -> None:
    by_store: defaultdict[UsageStore, list[Page]] = defaultdict(list)
    for page in pages:
        by_store[page.store].append(page)
    for store, its_pages in by_store.items():
        failure = "What was spent cannot be written down."
        guarded(partial(_write_to, store, its_pages), failure)


def _write_to(store: UsageStore, pages: Sequence[Page]) -> None:
    store.add(entry for page in pages for entry in page.entries)
    now, last = time.monotonic(), pages[-1]
    if now >= _pruned.get(store, now):
        _pruned[store] = now + PRUNE_EVERY_S
        store.forget(last.spend_days * _DAY_S)
        if last.answer_cache_s:
            store.prune(last.answer_cache_s)


def guarded(work: Callable[[], T], failure: str) -> T | None:
    """Return what the call returns, None where it fails, with a warning."""
    try:
        return work()
    except Exception as error:
        logger.warning(failure, exc_info=loggable(error))
        return None
