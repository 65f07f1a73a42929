"""A caller's collection, found before a route works with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from fastapi import Path

from ..contracts.collection import TenantScope
from ..ports.collections import require_collection
from ..runtime.concurrency import offload

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.collection import CollectionInfo
    from ..ports import Storage
    from .access import Caller

CollectionName = Annotated[str, Path(description="Name of the collection; it may contain slashes.")]


class OpenedCollection(NamedTuple):
    """A collection of the caller's tenant."""

    context: SearchContext
    store: Storage
    scope: TenantScope
    info: CollectionInfo


async def open_collection(caller: Caller, name: str) -> OpenedCollection:
    """Return the caller's collection. Raises UnknownCollectionError, also for another tenant's."""
    context = caller.context()
    store, scope = await context.storage(), TenantScope(caller.tenant, name)
    info = await offload(require_collection, store.collections, scope)
    return OpenedCollection(context, store, scope, info)
