"""Deletion of a tenant's data (collections, paused runs, answers, spending), and its space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..contracts.collection import Deleted, TenantScope
from ..errors import InputError, StoreError
from ..ports.collections import find_page, require_collection
from ..runtime.concurrency import blocking, offload
from ..settings.adapter_factory import adapter_of
from .public_arguments import context_for, validate_arguments
from .served_runs import open_served_runs
from .spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..context import SearchContext
    from ..contracts.collection import Compaction
    from ..ports import Storage
    from ..ports.usage import UsageStore


_ALL_RUNS: Final = 1_000_000


class Erased(Deleted):
    """The counts of deleted data in both stores."""

    answers: int = 0
    """Cached answers of providers and models."""
    spending: int = 0
    """Entries of spending."""
    runs: int = 0
    """Runs of a server, with their events."""


async def adelete_tenant(context: SearchContext, *, tenant: str | None = None) -> Erased:
    """Delete everything that is stored for the tenant; it returns when all of it is erased.

    `tenant` is by default the context's, else the settings'. `delete_tenant` blocks,
    `adelete_tenant` is its coroutine. Raises InputError for a tenant that is not the context's,
    ConfigError, and StoreError, after which another call deletes the rest.
    """
    store, usage, name = await _opened(context, tenant)
    await _delete_runs(context, await offload(store.gates.threads, name))
    served = await _delete_served(context, name)

    def delete() -> Erased:
        spend_writer().flush()  # the spending of an ended run may not be written yet
        answers, spending = usage.delete_tenant(name), usage.forget_tenant(name)
        deleted = store.collections.delete_tenant(name)
        counts = {"answers": answers, "spending": spending, "runs": served}
        return Erased(**deleted.model_dump(), **counts)

    return await offload(delete)


delete_tenant = blocking(adelete_tenant, "delete_tenant")
"""`adelete_tenant` for code without an event loop."""


async def adelete_collection(
    context: SearchContext, collection: str, *, tenant: str | None = None
) -> int:
    """Delete a collection with all that belongs to it; return how many documents it had.

    That includes reviews that wait for a person, and a server's runs. The collection is gone for
    everybody at once; this returns when all of it is erased. If it is interrupted before, the next
    deletion, compaction or worker erases the rest. `tenant` is by default the
    context's, else the settings'. `delete_collection` blocks, `adelete_collection` is its
    coroutine. Raises InputError for a tenant that is not the context's, ConfigError, StoreError.
    """
    validate_arguments(collection=collection)
    context = context_for(context, tenant)
    store, scope = await context.storage(), TenantScope(context.tenant(), collection)
    paused = await offload(store.gates.threads, scope.tenant_id, scope.collection)
    await _delete_runs(context, paused)
    await _delete_served(context, scope.tenant_id, scope.collection)
    return await offload(store.collections.delete_collection, scope)


delete_collection = blocking(adelete_collection, "delete_collection")
"""`adelete_collection` for code without an event loop."""


async def adelete_pages(
    context: SearchContext, collection: str, urls: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Delete pages of a collection with their data; return the known addresses and the others.

    A page that was not stored yet is deleted from the queue, and is among the others. Raises
    InvalidUrlError, and nothing is deleted then; UnknownCollectionError, StoreError.
    """
    store = (await context.storage()).collections
    scope = TenantScope(context.tenant(), collection)
    await offload(require_collection, store, scope)
    pages = await offload(lambda: {url: find_page(store, scope, url) for url in urls})
    deleted = set(await offload(store.delete_documents, scope, list(pages.values())))
    known = [url for url, key in pages.items() if key in deleted]
    return known, [url for url, key in pages.items() if key not in deleted]


async def apurge(
    context: SearchContext, older_than_s: float, *, tenant: str | None = None
) -> Erased:
    """Delete what the tenant has not used for that long, answers included.

    Entries of spending, which hold amounts and names of providers alone, stay as long as the
    settings say. `tenant` is by default the context's, else the settings'. `purge` blocks,
    `apurge` is its coroutine. Raises InputError for a tenant that is not the context's,
    ConfigError, StoreError.
    """
    validate_arguments(older_than_s=older_than_s)
    store, usage, name = await _opened(context, tenant)
    before = await offload(store.gates.threads, name)

    def delete() -> Erased:
        answers = usage.prune(older_than_s, tenant_id=name)
        deleted = store.collections.purge(name, older_than_s)
        return Erased(**deleted.model_dump(), answers=answers)

    erased = await offload(delete)
    after = await offload(store.gates.threads, name)
    await _delete_runs(context, set(before) - set(after))
    return erased


purge = blocking(apurge, "purge")
"""`apurge` for code without an event loop."""


async def acompact_store(context: SearchContext) -> Compaction:
    """Give the free space of the collections' database to the system; return its sizes.

    The databases of answers, of a server's runs and of paused runs come first; their sizes are not
    counted. Interrupted deletions are finished. `compact_store` blocks, `acompact_store` is its
    coroutine. Raises ConfigError, and StoreError when a database is damaged or the disk has no room
    for its copy, after the others have been compacted.
    """
    store = await context.storage()
    failures: list[StoreError] = []
    for compact in (_compact_usage, _compact_runs, _compact_checkpoints):
        try:
            await compact(context)
        except StoreError as error:
            failures.append(error)
    done = await offload(store.collections.compact)
    if failures:
        raise failures[0]
    return done


async def _compact_usage(context: SearchContext) -> None:
    if context.usage_store is None:  # that of a host is its own matter
        settings = context.using()
        usage = await adapter_of(settings, "usage", settings.engine)
        await offload(usage.compact)


async def _compact_runs(context: SearchContext) -> None:
    if (runs := await open_served_runs(context)) is not None:
        await offload(runs.compact)


async def _compact_checkpoints(context: SearchContext) -> None:
    settings = context.using()
    checkpoints = await adapter_of(settings, "checkpoints", settings.engine)
    await checkpoints.compact()


compact_store = blocking(acompact_store, "compact_store")
"""`acompact_store` for code without an event loop."""


async def _delete_runs(context: SearchContext, thread_ids: Iterable[str]) -> None:
    """Delete paused runs from the checkpoints of the data folder."""
    settings = context.using()
    checkpoints = await adapter_of(settings, "checkpoints", settings.engine)
    await checkpoints.delete(thread_ids)


async def _delete_served(
    context: SearchContext, tenant_id: str, collection: str | None = None
) -> int:
    """Delete the runs of a server of the data folder with their checkpoints; return how many."""
    if (runs := await open_served_runs(context)) is None:
        return 0
    known = await offload(runs.runs, tenant_id, limit=_ALL_RUNS)
    ids = [run.run_id for run in known if collection in (None, run.collection)]
    await _delete_runs(context, ids)  # first: a deletion that is interrupted finds the runs again
    deleted = await offload(runs.delete, tenant_id, collection=collection)
    await _delete_runs(context, deleted)  # what was written meanwhile
    return len(deleted)


async def _opened(
    context: SearchContext | None, tenant: str | None
) -> tuple[Storage, UsageStore, str]:
    """Return both stores and the tenant's name; nothing is deleted without a context."""
    if context is None:
        raise InputError("Give the context of the tenant whose data is to be deleted.")
    context = context_for(context, tenant)
    store, usage = await context.storage(), await context.usage()
    if usage is None:
        raise StoreError(
            "The store of answers and spending cannot be opened, so nothing was deleted."
            " The log says why."
        )
    return store, usage, context.tenant()
