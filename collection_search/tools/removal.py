"""What is deleted of a tenant wherever it is kept: collections, answers, spending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.collection import Deleted
from ..errors import InputError, StoreError
from ..runtime.concurrency import blocking, offload
from .public_arguments import context_for, validate_arguments
from .spending.spend_writer import spend_writer

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


async def adelete_tenant(context: SearchContext, *, tenant: str | None = None) -> Erased:
    """Delete everything that is kept for the tenant; the other tenants' stays.

    `tenant` is by default the context's, else the settings'. `delete_tenant` blocks,
    `adelete_tenant` is its coroutine. Raises InputError for a tenant that is not the context's,
    ConfigError, StoreError: what was not deleted then is by the next call.
    """
    context = _whose(context, tenant)
    store, usage = await _stores(context)
    return await offload(_delete_tenant, store, usage, context.tenant())


delete_tenant = blocking(adelete_tenant, "delete_tenant")
"""`adelete_tenant` for code without an event loop."""


async def apurge(
    context: SearchContext, older_than_s: float, *, tenant: str | None = None
) -> Erased:
    """Delete what the tenant has not used for that long, answers included.

    What was spent stays in the books, which hold amounts and names of providers alone, until they
    are as old as the settings say. `tenant` is by default the context's, else the settings'.
    `purge` blocks, `apurge` is its coroutine. Raises InputError for a tenant that is not the
    context's, ConfigError, StoreError.
    """
    validate_arguments(older_than_s=older_than_s)
    context = _whose(context, tenant)
    store, usage = await _stores(context)
    return await offload(_purge, store, usage, context.tenant(), older_than_s)


purge = blocking(apurge, "purge")
"""`apurge` for code without an event loop."""


def _whose(context: SearchContext | None, tenant: str | None) -> SearchContext:
    if context is None:  # nothing is deleted by default
        raise InputError("Give the context of the tenant whose data is to be deleted.")
    return context_for(context, tenant)


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
