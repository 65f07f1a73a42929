"""Where accounts are written down: off the event loop, and those that come together in one go."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

import anyio.lowlevel

from ...bridge import offload
from ...masking import loggable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...usage import SpendEntry, UsageStore

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""A run does not wait longer for its books; they are written nevertheless."""
SOON_S: Final = 0.5
"""So a short run writes once, and a long one loses next to nothing when its process is killed."""
PRUNE_EVERY_S: Final = 3600.0
_DAY_S: Final = 86_400.0

logger = logging.getLogger(__name__)
_pruned: WeakKeyDictionary[UsageStore, float] = WeakKeyDictionary()
_reading: set[asyncio.Task[Any]] = set()


@dataclass(frozen=True, slots=True)
class Page:
    """What one account has to write down."""

    store: UsageStore
    tenant_id: str
    entries: Sequence[SpendEntry]
    answers: list[tuple[str, Callable[[], Mapping[str, Any]]]]
    """Kind, and what returns the answers by key, as JSON has them."""
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
                try:
                    await offload(_write, batch.pages)
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
    task = asyncio.ensure_future(offload(partial(_guarded, read, "Known answers cannot be read.")))
    _reading.add(task)
    task.add_done_callback(_reading.discard)
    done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
    return task.result() if done else None


def _write(pages: Sequence[Page]) -> None:
    by_store: defaultdict[UsageStore, list[Page]] = defaultdict(list)
    for page in pages:
        by_store[page.store].append(page)
    for store, its_pages in by_store.items():
        failure = "What was spent cannot be written down."
        _guarded(partial(_write_to, store, its_pages), failure)
    for page in pages:  # who looks for an answer now finds it in the store alone
        page.answers.clear()


def _write_to(store: UsageStore, pages: Sequence[Page]) -> None:
    store.add(entry for page in pages for entry in page.entries)
    answers: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for page in pages:
        for kind, tell in page.answers:
            texts = {key: json.dumps(answer) for key, answer in tell().items()}
            answers[page.tenant_id, kind].update(texts)
    for (tenant_id, kind), texts in answers.items():
        store.put_many(tenant_id, kind, texts)
    now, last = time.monotonic(), pages[-1]
    if now >= _pruned.get(store, now):
        _pruned[store] = now + PRUNE_EVERY_S
        store.forget(last.spend_days * _DAY_S)
        if last.answer_cache_s:
            store.prune(last.answer_cache_s)


def _guarded(work: Callable[[], T], failure: str) -> T | None:
    try:
        return work()
    except Exception as error:
        logger.warning(failure, exc_info=loggable(error))
        return None
