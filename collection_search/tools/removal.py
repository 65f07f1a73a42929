"""What is deleted of a tenant wherever it is kept: collections, answers, spending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.collection import Deleted
from ..errors import StoreError
from ..runtime.concurrency import offload, run_blocking
from .spending.writer import spend_writer

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import Storage
    from ..ports.usage import UsageStore


class Erased(Deleted):
    """What a deletion took away, of both stores."""

    answers: int = 0
    """Answers of providers and models, kept so that they need not be paid twice."""
    spending: int = 0
    """Entries of what was spent."""


def delete_tenant(context: SearchContext) -> Erased:
    """Delete everything that is kept for the context's tenant; the other tenants' stays.

    Raises ConfigError, StoreError: what was not deleted then is by the next call. Blocks.
    """
    return run_blocking(adelete_tenant(context))


async def adelete_tenant(context: SearchContext) -> Erased:
    """Return what `delete_tenant` returns, from within an event loop."""
    store, usage = await _stores(context)
    return await offload(_delete_tenant, store, usage, context.tenant())


def purge(context: SearchContext, older_than_s: float) -> Erased:
    """Delete what the context's tenant has not used for that long, answers included.

    What was spent stays in the books, which hold amounts and names of providers alone, until they
    are as old as the settings say. Raises ConfigError, StoreError. Blocks.
    """
    return run_blocking(apurge(context, older_than_s))


async def apurge(context: SearchContext, older_than_s: float) -> Erased:
    """Return what `purge` returns, from within an event loop."""
    store, usage = await _stores(context)
    return await offload(_purge, store, usage, context.tenant(), older_than_s)


async def _stores(context: SearchContext) -> tuple[Storage, UsageStore]:
    store, usage = await context.storage(), await context.usage()
    if usage is None:
        raise StoreError(
            "Where answers and spending are kept cannot be opened, so nothing was deleted."
            " The log says why."
        )
    return store, usage


def _delete_tenant(store: Storage, usage: UsageStore, tenant: str) -> Erased:
    spend_writer().flush()  # a run that is over may have spending on its way
    answers, spending = usage.delete_tenant(tenant), usage.forget_tenant(tenant)
    deleted = store.collections.delete_tenant(tenant)
    return Erased(**deleted.model_dump(), answers=answers, spending=spending)


def _purge(store: Storage, usage: UsageStore, tenant: str, older_than_s: float) -> Erased:
    answers = usage.prune(older_than_s, tenant_id=tenant)
    deleted = store.collections.purge(tenant, older_than_s)
    return Erased(**deleted.model_dump(), answers=answers)
