"""Where accounts are written down: off the event loop, and those that come together in one go.

A run does not wait for its books: they are written when it ends, its answers a moment later.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

from ...text.redaction import loggable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from ...ports.usage import AnswerCache, SpendEntry, UsageStore

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""Nobody waits longer for the books; they are written nevertheless."""
SOON_S: Final = 0.5
"""So a short run writes once, and a long one loses next to nothing when its process is killed."""
READERS: Final = 8
"""As many as a SQLite store keeps connections open."""
LINGER_S: Final = 0.02
"""Until then whoever asked has the answer, and runs that end together have their books together."""
PRUNE_EVERY_S: Final = 3600.0
_DAY_S: Final = 86_400.0
_NOT_READ: Final = "Known answers cannot be read."

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
    """Writes the pages of a process in order, those that gather meanwhile in one go.

    Its thread has them from the beginning: they outlive their event loop, and a process that ends
    in good order ends after them.
    """

    def __init__(self) -> None:
        self._pages: deque[Page] = deque()
        self._taking = threading.Lock()
        self._is_called = False
        self._written: Future[None] | None = None
        self._is_over = threading.Event()
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
        with self._taking:
            self._pages.append(page)
            if self._is_called:
                return
            self._is_called = True
            try:
                self._written = self._writer.submit(self._write)
            except RuntimeError:  # the interpreter is about to end
                self.hurry()
                self._write()

    def write(self) -> None:
        """Have all that was taken written in a moment."""
        if self._pages:
            self._is_over.set()

    def hurry(self) -> None:
        """Have it written now: somebody waits for it."""
        if self._pages:
            self._is_awaited.set()
            self._is_over.set()

    def flush(self) -> None:
        """Return when all that was taken before is written, or has been warned of. Blocks."""
        self.hurry()
        with self._taking:
            written = self._written
        if written is not None:
            wait([written])

    async def settled(self) -> None:
        """Wait until all that was taken before is written, but not for ever."""
        self.hurry()
        if self._written is not None and not self._written.done():
            await asyncio.wait({asyncio.wrap_future(self._written)}, timeout=PATIENCE_S)

    def _write(self) -> None:
        if self._pages and self._is_over.wait(SOON_S):  # else another call has written them
            self._is_awaited.wait(LINGER_S)
        self._is_over.clear()
        self._is_awaited.clear()
        self._is_called = False  # what is taken from now on may come too late
        by_store: defaultdict[UsageStore, list[Page]] = defaultdict(list)
        with suppress(IndexError):  # until there are no more
            while True:
                page = self._pages.popleft()
                by_store[page.store].append(page)
        for store, its_pages in by_store.items():
            guarded(partial(_write_to, store, its_pages), "What was spent cannot be written down.")


def clerk() -> Clerk:
    """Return the process's clerk."""
    return _clerk


async def kept(
    store: AnswerCache,
    tenant_id: str,
    kind: str,
    keys: Sequence[str],
    *,
    max_age_s: float,
    read: Callable[[Mapping[str, bytes]], T],
) -> T | None:
    """Return what `read` makes of the answers that are kept, by key.

    None where there are none, where they cannot be read, or where that takes too long.
    """
    if guarded(lambda: store.lacks(tenant_id, kind, keys), _NOT_READ):
        return None
    get = partial(store.get_many, tenant_id, kind, keys, max_age_s=max_age_s)
    known = clerk().look_up(partial(guarded, lambda: read(get()), _NOT_READ))
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


_clerk = Clerk()


def _begin_anew() -> None:
    global _clerk  # noqa: PLW0603 - a forked child has none of the threads
    _clerk = Clerk()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
