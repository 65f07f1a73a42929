"""Where accounts are written down: off the event loop, and those that come together in one go.

A run does not wait for its books: they are written when it ends, its answers a moment later.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

import anyio.lowlevel

from ...masking import loggable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from ...usage import SpendEntry, UsageStore

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""Nobody waits longer for the books; they are written nevertheless."""
SOON_S: Final = 0.5
"""So a short run writes once, and a long one loses next to nothing when its process is killed."""
READERS: Final = 8
"""Of one event loop: as many as a SQLite store keeps connections open."""
LINGER_S: Final = 0.02
"""Until then whoever asked has the answer, and runs that end together have their books together."""
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


class Clerk:
    """Writes the pages of one event loop in order, those that gather meanwhile in one go."""

    def __init__(self) -> None:
        self._pages: deque[Page] = deque()
        self._later: asyncio.TimerHandle | None = None
        self._written: Future[None] | None = None
        self._is_awaited = threading.Event()
        self._writer = ThreadPoolExecutor(1, "books")
        self._readers = ThreadPoolExecutor(READERS, "known-answers")

    def look_up(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Return what the blocking call will return; context variables reach it.

        A thread of the clerk's takes it on in a third of the time that `offload` needs.
        """
        work = partial(copy_context().run, call)
        return asyncio.get_running_loop().run_in_executor(self._readers, work)

    def take(self, page: Page) -> None:
        """Take a page; it is written with the next, or after `SOON_S` seconds."""
        self._pages.append(page)
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(SOON_S, self.write)

    def write(self) -> None:
        """Have all that was taken written in a moment, even if the loop ends before.

        A process that ends in good order ends after it.
        """
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._pages:
            return
        try:
            self._written = self._writer.submit(self._write)
        except RuntimeError:  # the interpreter is about to end
            self._write()

    async def settled(self) -> None:
        """Wait until all that was taken before is written, but not for ever."""
        self.write()
        self._is_awaited.set()
        if self._written is not None and not self._written.done():
            await asyncio.wait({asyncio.wrap_future(self._written)}, timeout=PATIENCE_S)

    def _write(self) -> None:
        if self._pages:  # else another call has written them
            self._is_awaited.wait(LINGER_S)
        self._is_awaited.clear()
        pages = [self._pages.popleft() for _ in range(len(self._pages))]
        by_store: defaultdict[UsageStore, list[Page]] = defaultdict(list)
        for page in pages:
            by_store[page.store].append(page)
        for store, its_pages in by_store.items():
            guarded(partial(_write_to, store, its_pages), "What was spent cannot be written down.")


def clerk() -> Clerk:
    """Return the running event loop's clerk."""
    if (known := _clerk.get(None)) is None:
        known = Clerk()
        _clerk.set(known)
    return known


_clerk: anyio.lowlevel.RunVar[Clerk | None] = anyio.lowlevel.RunVar("collection_search_clerk")


async def looked_up(read: Callable[[], T]) -> T | None:
    """Return what the blocking call reads, None where it fails or takes too long."""
    known = clerk().look_up(partial(guarded, read, "Known answers cannot be read."))
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await known
    except TimeoutError:
        return None


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
