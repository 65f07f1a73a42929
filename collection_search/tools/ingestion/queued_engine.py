"""The ingestion engine whose rows are worked on by processes that a message queue wakes."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from ...errors import IngestError
from ...runtime.concurrency import offload, run_blocking
from .engine import IDLE_S, SHUTDOWN_GRACE_S, IngestionEngine
from .failures import cause_of
from .ownership import EndedOwners, for_message, holds
from .store_retry import StoreRetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...contracts.ingestion import Claim, Priority
    from ...ports import Storage, WorkQueue
    from ...settings import Settings
    from .page_attempts import PageAttempts

logger = logging.getLogger(__name__)

MAX_MESSAGES: Final = 64
"""Most messages that wait in a queue. The ledger has the rest, so a broker's memory stays small."""
TURN_S: Final = 5.0
"""How long a message may keep a worker at work. Then it is acknowledged, and others have a turn."""


class QueuedEngine(IngestionEngine):
    """Sends messages for the rows that are due, and works on a row for each that it is given.

    A message names no row. The worker asks the ledger, which knows whose turn it is, which hosts
    are busy and what is paused: a row that a message names would pass all of them over. So the
    order in a queue does not matter, and neither does a message that is lost or doubled: `start`
    sends as many as rows are due and messages are missing.
    """

    def __init__(self, store: Storage, settings: Settings, queue: WorkQueue) -> None:
        super().__init__(store, settings)
        self._queue = queue
        self._ended = EndedOwners()
        self._attempts: PageAttempts | None = None
        self._beat: asyncio.Task[None] | None = None
        self._pages: set[asyncio.Task[None]] = set()

    @property
    def is_at_work(self) -> bool:
        """Return True: other processes work, and only the ledger knows when they are done."""
        return True

    def start(self) -> None:
        """Send messages for rows that are due.

        A broker that cannot be reached is logged only: the rows are safe in the ledger, and the
        next sweep sends them.
        """
        self._failure = None
        try:
            self.send_due()
        except IngestError as error:
            logger.warning("the pages wait in the ledger: %s", cause_of(error))

    def send_due(self) -> int:
        """Send the messages that are missing; return how many. Raises IngestError, StoreError."""
        sent = 0
        for priority, due in self._store.ledger.due(limit=MAX_MESSAGES).items():
            if due and (missing := due - self._queue.depth(priority)) > 0:
                self._queue.send(priority, missing)
                sent += missing
        return sent

    def sweep(self) -> int:
        """Return rows of ended workers to the queue and send what is due, in one process of all.

        Returns how many messages were sent. Raises IngestError, StoreError.
        """
        with self._store.ledger.sweeping() as is_ours:
            if not is_ours:
                return 0
            self._store.ledger.sweep(is_gone=self._ended.has_left)
            return self.send_due()

    def drain(self, *, timeout_s: float | None = None) -> bool:
        """Wait until no page is left; return False when the time was too short, or none is due."""
        self.start()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._pending_in_s() is not None:
            if self.is_put_off() or (deadline is not None and time.monotonic() >= deadline):
                return False
            time.sleep(IDLE_S)
        return True

    def work(self, message_id: str, priority: Priority, *, is_redelivered: bool = False) -> int:
        """Work on rows up to the priority for `TURN_S`; return how many. Blocks.

        A message that is delivered again had a worker that is gone: its row is taken over at once.
        Raises StoreError.
        """
        return run_blocking(self._work(message_id, priority, is_redelivered))

    def stop(self, *, timeout_s: float = 25.0) -> bool:
        """Claim no further rows, finish the current ones, and release those not done in time.

        Return whether all were done in time.
        """
        self._leases.close()
        deadline = time.monotonic() + timeout_s
        while self._leases.all() and time.monotonic() < deadline:
            time.sleep(IDLE_S)
        unfinished = self._leases.all()
        self._leases.release(unfinished)
        run_blocking(self._cancel())
        return not unfinished

    async def _work(self, message_id: str, priority: Priority, is_redelivered: bool) -> int:  # noqa: FBT001
        attempts = self._equipped()
        claim = self._claim_for(message_id, priority, is_redelivered=is_redelivered)
        ends, count = time.monotonic() + TURN_S, 0
        while count == 0 or time.monotonic() < ends:
            row = await attempts.work.retry.call(claim)
            if row is None:
                break
            try:
                reader = await self._reader_of(row)
            except BaseException:  # else the heartbeat would keep the row from all others
                await offload(self._leases.release, [row])
                raise
            page = asyncio.create_task(attempts.run(row, reader, self._leases))
            self._pages.add(page)
            page.add_done_callback(self._pages.discard)
            await asyncio.wait([page])
            if page.cancelled():
                break
            page.result()
            count += 1
        return count

    def _claim_for(
        self, message_id: str, priority: Priority, *, is_redelivered: bool
    ) -> Callable[[], Claim | None]:
        """Return the function that claims the next row for a message.

        Rows of workers that have ended are taken first. In their turn they would come after those
        of all other hosts.
        """
        owner = for_message(message_id)
        former = holds(message_id) if is_redelivered else None

        def claim() -> Claim | None:
            nonlocal former
            choice = {"up_to": priority, "instead_of": former or self._ended.look()}
            # A claim that fails may have been committed: the next one takes over its row.
            former = former or (lambda one: one == owner)
            row = self._leases.claim(
                fetch=self.fetches, proxies=self.proxies, owner=owner, **choice
            )
            former = None
            return row

        return claim

    def _equipped(self) -> PageAttempts:
        """Return what works on pages, with a heartbeat for their leases."""
        if self._attempts is None:
            retry = self._retry = StoreRetry(lambda: self._leases.is_open, self.watchers.tell)
            slots = asyncio.Semaphore(self._settings.ingest_workers)
            self._attempts = self._new_attempts(slots, retry)
            self._beat = asyncio.create_task(self._heartbeat(self._leases))
        return self._attempts

    async def _cancel(self) -> None:
        """End the heartbeat and what is left of the pages."""
        left = [*self._pages, *([self._beat] if self._beat is not None else [])]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=SHUTDOWN_GRACE_S)
