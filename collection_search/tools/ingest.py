"""Ingestion as its callers see it: start it for some pages, wait for the ticket."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from ..bridge import offload, run_blocking
from ..context import SearchContext
from ..errors import CollectionSearchError, IngestError, InputError
from ..records import Ticket
from .engine import IngestionEngine, engine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ports import Embedder, Storage
    from ..records import IngestionRequest, TicketStatus
    from ..settings import Settings

__all__ = ["IngestionEngine", "LedgerTrigger", "engine_of", "wait"]

POLL_S: Final = 0.05


class LedgerTrigger:
    """Writes the pages into the ledger and, unless told otherwise, wakes workers in this process.

    Implements `collection_search.ports.IngestionTrigger`. A new collection is bound to the
    embedder; without one it is searched by its words alone.
    """

    def __init__(
        self,
        store: Storage,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        wake: bool = True,
    ) -> None:
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._wake = wake

    @classmethod
    def from_settings(cls, settings: Settings, *, wake: bool = True) -> LedgerTrigger:
        """Return a trigger on the configured store and embedder. Raises ConfigError, StoreError."""
        store, embedder = run_blocking(_ports(SearchContext(settings=settings)))
        return cls(store, settings, embedder=embedder, wake=wake)

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        try:
            return await offload(self._accept, request)
        except CollectionSearchError as error:
            raise IngestError(f"The ingestion could not be started. {error}") from error

    def _accept(self, request: IngestionRequest) -> Ticket:
        engine = engine_of(self._store, self._settings, self._embedder)
        if self._embedder is not None:
            self._store.collections.bind_embedder(request.scope, self._embedder.fingerprint)
        if not self._wake:
            return self._store.ledger.enqueue(request)
        engine.embedder_of(request.scope)
        ticket = self._store.ledger.enqueue(request)
        engine.start()
        return ticket


def wait(
    ticket: Ticket | str,
    timeout_s: float = 600.0,
    *,
    tenant: str | None = None,
    context: SearchContext | None = None,
    work: bool = True,
    on_progress: Callable[[TicketStatus], None] | None = None,
) -> TicketStatus:
    """Return where the ticket stands once it is settled, or after `timeout_s`: see `settled`.

    A ticket given by its id alone, as in the graph's output, needs its `tenant`.
    Workers of this process do the work meanwhile; with `work=False` others have to. `on_progress`
    gets every new status. Blocks: a coroutine calls it through a worker thread.

    Raises InputError for a ticket that is not in this database, ConfigError, StoreError.
    """
    ticket_id, tenant_id = _named(ticket, tenant)
    context = context or SearchContext()
    store, embedder = run_blocking(_ports(context))
    engine = engine_of(store, context.using(), embedder)
    if work:
        engine.start()
    deadline = time.monotonic() + timeout_s
    known: TicketStatus | None = None
    while True:
        status = _status(store, tenant_id, ticket_id)
        if status != known and on_progress is not None:
            on_progress(status)
        if status.settled or time.monotonic() >= deadline:
            return status
        if work and engine.failure is not None:
            raise engine.failure
        known = status
        time.sleep(POLL_S)


def _named(ticket: Ticket | str, tenant: str | None) -> tuple[str, str]:
    if isinstance(ticket, Ticket):
        return ticket.ticket_id, ticket.tenant_id
    if tenant is None:
        raise InputError(f"Whose ticket is {ticket}? Give the tenant as well.")
    return ticket, tenant


def _status(store: Storage, tenant_id: str, ticket_id: str) -> TicketStatus:
    status = store.ledger.status(tenant_id, ticket_id)
    if status is None:
        raise InputError(
            f"There is no ticket {ticket_id} of tenant {tenant_id}: its collection was deleted,"
            " or it is in another database."
        )
    return status


async def _ports(context: SearchContext) -> tuple[Any, Embedder | None]:
    return await context.storage(), await context.embedder()
