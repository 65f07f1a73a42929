"""What each run has spent: kept by the process, read once from the store for other runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import weakref
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from .account import Account
from .budget import RunSpending
from .spend_writer import PATIENCE_S, call_or_warn, spend_writer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...context import SearchContext
    from ...contracts.state import RunIds
    from ...ports.usage import UsageStore

    _Key: TypeAlias = "tuple[Hashable, str, str]"
    """The books, the tenant and the run."""

MAX_RUNS: Final = 10_000
"""Runs that are kept; the store knows those that were used longest ago."""
_NOT_READ: Final = "What the run has spent before cannot be read: it counts from 0."
_NOT_READ_AGAIN: Final = "What other processes have spent for the run cannot be read."

logger = logging.getLogger(__name__)


class RunSpendings:
    """The spending of runs by books, tenant and id; safe for threads."""

    def __init__(self, max_runs: int = MAX_RUNS) -> None:
        self._max_runs = max_runs
        self._lock = threading.Lock()
        self._last: OrderedDict[_Key, RunSpending] = OrderedDict()
        self._used: weakref.WeakValueDictionary[_Key, RunSpending] = weakref.WeakValueDictionary()
        """Those of open accounts as well: a second object would not know of their reservations."""

    def find(self, key: _Key) -> RunSpending | None:
        """Return the spending of a run that this process knows."""
        with self._lock:
            if (known := self._used.get(key)) is not None:
                self._keep(key, known)
            return known

    def put(self, key: _Key, spending: RunSpending) -> RunSpending:
        """Keep the spending of a run; return the one that is known already, if there is one."""
        with self._lock:
            return self._keep(key, self._used.get(key) or spending)

    def _keep(self, key: _Key, spending: RunSpending) -> RunSpending:
        self._used[key] = self._last[key] = spending
        self._last.move_to_end(key)
        while len(self._last) > self._max_runs:
            self._last.popitem(last=False)
        return spending


class RunStarts:
    """When this process began with each run: a tenant may be deleted while it goes on."""

    def __init__(self, max_runs: int = MAX_RUNS) -> None:
        self._max_runs = max_runs
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, float] = OrderedDict()

    def of(self, key: _Key) -> float:
        """Return the time at which this was first asked for the run."""
        with self._lock:
            began_at = self._known.setdefault(key, time.time())
            self._known.move_to_end(key)
            if len(self._known) > self._max_runs:
                self._known.popitem(last=False)
            return began_at


_spendings = RunSpendings()
_starts = RunStarts()


async def open_account(
    context: SearchContext, ids: RunIds, *, is_new: bool = False, is_shared: bool = False
) -> Account:
    """Return an account of the run whose ceiling holds for all of the run's accounts together.

    What a run has spent before this process took it over is read from the store, unless it `is_new`
    or has no ceiling. `is_shared`: other processes may work for it now, so it is read each time.
    """
    run_id, spending = ids["run_id"], None
    began_at = _starts.of(_key(context, run_id))
    if context.cost_limit() is not None:
        spending = await _spending_of(context, run_id, is_new=is_new, is_shared=is_shared)
    return Account(context, ids, spending, began_at=began_at)


async def share_ceiling(context: SearchContext, run_id: str, *, with_run: str) -> None:
    """Let the run, which is new, spend from the ceiling of another run of this process."""
    if context.cost_limit() is not None:
        spending = await _spending_of(context, with_run, is_new=False)
        _spendings.put(_key(context, run_id), spending)


async def _spending_of(
    context: SearchContext, run_id: str, *, is_new: bool, is_shared: bool = False
) -> RunSpending:
    key = _key(context, run_id)
    known = _spendings.find(key)
    if known is not None and not is_shared:
        return known
    spending = known or RunSpending()
    store = None if is_new else await context.usage()
    if store is not None:
        failure = _NOT_READ if known is None else _NOT_READ_AGAIN
        await _note_booked(spending, store, context.tenant(), run_id, failure=failure)
    return _spendings.put(key, spending)


async def _note_booked(
    spending: RunSpending, store: UsageStore, tenant: str, run_id: str, *, failure: str
) -> None:
    """Count what others have spent, by the books; log the `failure` where they cannot be read."""

    def note() -> None:
        spending.note_booked(run_id, store.run_total(tenant, run_id).cost_usd)

    def read() -> None:
        spend_writer().flush()  # entries of this process
        spend_writer().between_writes(note)

    reading = spend_writer().run_in_reader(partial(call_or_warn, read, failure))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await reading
    except TimeoutError:
        logger.warning(failure)


def _key(context: SearchContext, run_id: str) -> _Key:
    """Return the key of a run: a replay has books of its own."""
    books: object = context.usage_store
    if not context.fetches():
        books = context.cassette
    where = str(context.using().home) if books is None else weakref.ref(books)
    return where, context.tenant(), run_id
