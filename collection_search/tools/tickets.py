"""Functions that wait for the ticket of an ingestion, or follow it."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..contracts.ingestion import Ticket
from ..errors import InputError
from ..runtime.concurrency import offload, run_blocking
from .ingest import engine_for
from .ingestion.wait_limit import WaitLimit
from .public_arguments import context_for, validate_arguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ..context import SearchContext
    from ..contracts.ingestion import TicketStatus
    from ..ports import Storage
    from .ingestion.engine import IngestionEngine

    OnStatus = Callable[[TicketStatus], None]
    Sleep = Callable[[float], Awaitable[None]]

POLL_S: Final = 0.05


def wait(
    ticket: Ticket | str,
    timeout_s: float = 600.0,
    *,
    tenant: str | None = None,
    context: SearchContext | None = None,
    work: bool = True,
    on_progress: OnStatus | None = None,
    while_pages_finish: bool = False,
) -> TicketStatus:
    """Return what `await_ticket` returns. Blocks, inside a running event loop too.

    `on_progress` is called in the caller's thread and may call other blocking functions.
    """
    asked = _watch(
        ticket, timeout_s, tenant, context, on_progress, work=work, is_renewed=while_pages_finish
    )
    watch = run_blocking(asked)
    while (pause_s := watch.report(watch.look())) is not None:
        time.sleep(pause_s)
    return watch.status


async def await_ticket(
    ticket: Ticket | str,
    timeout_s: float = 600.0,
    *,
    tenant: str | None = None,
    context: SearchContext | None = None,
    work: bool = True,
    on_progress: OnStatus | None = None,
    while_pages_finish: bool = False,
) -> TicketStatus:
    """Return the ticket's status when all of its pages are done, or after `timeout_s`.

    With `while_pages_finish` the timeout is the longest time without a finished page.
    It ends early when no page is left that is due within a minute: `TicketStatus.put_off` names
    those that wait for later, `error` and `put_off_until` of each say for what and until when.

    A ticket id alone, as in the graph's output, belongs to the `tenant`: by default the context's,
    else the settings'. With `work=False` workers of other processes do the work. `on_progress`
    gets every new status. `wait` is the blocking form.

    Raises InputError for an unknown ticket or one of another tenant, ConfigError, StoreError.
    """
    watch = await _watch(
        ticket, timeout_s, tenant, context, on_progress, work=work, is_renewed=while_pages_finish
    )
    # Another process may be the one that works, so there is no event to wait for.
    while (pause_s := watch.report(await offload(watch.look))) is not None:  # noqa: ASYNC110
        await asyncio.sleep(pause_s)
    return watch.status


def wait_for_all(
    tickets: Sequence[str],
    timeout_s: float,
    *,
    context: SearchContext,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[TicketStatus]:
    """Return what `wait` returns for several tickets whose pages are ingested together. Blocks.

    The timeout is the longest time without a finished page of any of them. `on_progress` gets the
    numbers of the pages that are done and of all pages.
    """
    watches = [
        run_blocking(_watch(ticket, timeout_s, None, context, None, work=True))
        for ticket in tickets
    ]
    for watch in watches:
        watch.limit = WaitLimit(math.inf)  # the limit is for all of them together
    limit = WaitLimit(timeout_s, is_renewed=True)
    while True:
        pauses_s = [watch.report(watch.look()) for watch in watches]
        left = sum(watch.status.left(fetch=watch.fetches) for watch in watches)
        count = sum(watch.status.count for watch in watches)
        if on_progress is not None:
            on_progress(count - left, count)
        limit.note(left)
        waiting = [pause_s for pause_s in pauses_s if pause_s is not None]
        if not waiting or limit.left_s <= 0:
            return [watch.status for watch in watches]
        time.sleep(max(waiting))


async def follow_ticket(
    ticket: Ticket | str,
    *,
    timeout_s: float,
    interval_s: float,
    context: SearchContext,
    on_progress: OnStatus | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Sleep = asyncio.sleep,
) -> TicketStatus:
    """Return what `await_ticket` returns, with few reads of the status.

    It is read when a page that this process works on is done, else every `interval_s` seconds.
    Workers of this process are started unless the context leaves the work to others.
    """
    watch = await _watch(
        ticket, timeout_s, None, context, on_progress, work=context.ingests, monotonic=monotonic
    )
    woken, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(woken.set)

    with watch.engine.watchers.waking(wake):
        while (pause_s := watch.report(await offload(watch.look))) is not None:
            left_s = watch.limit.left_s
            if await _is_woken(woken, sleep(min(interval_s, left_s))):
                await sleep(min(pause_s, left_s))  # several pages may be done at once
                woken.clear()
    return watch.status


def tenant_of(ticket: Ticket, tenant: str | None) -> str:
    """Return the ticket's tenant. Raises InputError where another one is meant."""
    if tenant not in (None, ticket.tenant_id):
        raise InputError(f"The ticket is of tenant {ticket.tenant_id!r}, not of {tenant!r}.")
    return ticket.tenant_id


async def _is_woken(woken: asyncio.Event, sleeping: Awaitable[None]) -> bool:
    """Wait for the event or the end of the sleep; return whether the event came."""
    waiting = asyncio.ensure_future(woken.wait()), asyncio.ensure_future(sleeping)
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return woken.is_set()
    finally:
        for task in waiting:
            task.cancel()


async def _watch(
    ticket: Any,
    timeout_s: float,
    tenant: str | None,
    context: SearchContext | None,
    on_progress: OnStatus | None,
    *,
    work: bool,
    is_renewed: bool = False,
    monotonic: Callable[[], float] = time.monotonic,
) -> _Watch:
    validate_arguments(timeout_s=timeout_s, tenant=tenant, work=work, on_progress=on_progress)
    if isinstance(ticket, Ticket):
        ticket, tenant = ticket.ticket_id, tenant_of(ticket, tenant)
    elif ticket is None:
        raise InputError(
            "There is no ticket to wait for: no ingestion was started."
            " The run's `outcome` says why."
        )
    elif not isinstance(ticket, str):
        raise InputError(
            f"ticket must be a Ticket or its id, but {type(ticket).__name__!r} was given."
        )
    context = context_for(context, tenant)
    engine, store = await engine_for(context), await context.storage()
    if work:
        engine.start()
    return _Watch(
        store=store,
        engine=engine,
        tenant_id=context.tenant(),
        ticket_id=ticket,
        limit=WaitLimit(timeout_s, is_renewed=is_renewed, monotonic=monotonic),
        fetches=context.fetches(),
        works=work,
        on_progress=on_progress,
    )


@dataclass(slots=True)
class _Watch:
    """A ticket whose status is read repeatedly."""

    store: Storage
    engine: IngestionEngine
    tenant_id: str
    ticket_id: str
    limit: WaitLimit
    fetches: bool
    works: bool
    on_progress: OnStatus | None
    status: TicketStatus = field(init=False)
    _known: TicketStatus | None = None
    _took_s: float = 0.0
    _is_idle: bool = False

    def look(self) -> TicketStatus:
        """Return the ticket's status. Blocks. Raises InputError, StoreError."""
        began = time.monotonic()
        self._is_idle = self.works and not self.engine.is_at_work  # before the status is read
        status = self.store.ledger.status(self.tenant_id, self.ticket_id)
        if status is None:
            raise InputError(
                f"There is no ticket {self.ticket_id} of tenant {self.tenant_id}: it is another"
                " tenant's, its collection was deleted, or it is in another database."
            )
        self._took_s = time.monotonic() - began
        return status

    def report(self, status: TicketStatus) -> float | None:
        """Report a new status; return the pause before the next look, None after the last one."""
        if status != self._known and self.on_progress is not None:
            self.on_progress(status)
        self.status = self._known = status
        left = status.left(fetch=self.fetches)
        self.limit.note(left)
        if left == 0 or self.limit.left_s <= 0:
            return None
        if self.works and self.engine.failure is not None:
            raise self.engine.failure
        if self._is_idle or status.put_off(fetch=self.fetches):
            return None
        return max(POLL_S, 10 * self._took_s)  # reading a large ticket is slow
