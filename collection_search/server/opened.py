"""What a caller works with: the context of the tenant, and a collection in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from ..context import SearchContext
from ..contracts.collection import TenantScope
from ..errors import ConfigError
from ..ports.collections import require_collection
from ..runtime.concurrency import offload
from .collection_paths import decode_name

if TYPE_CHECKING:
    from ..contracts.collection import CollectionInfo
    from ..ports import Storage
    from .access import Caller

CollectionName = Annotated[
    str,
    Path(description="Name of the collection; its slashes are written as %2F."),
    AfterValidator(decode_name),
]


class OpenedCollection(NamedTuple):
    """A collection of the caller's tenant."""

    context: SearchContext
    store: Storage
    scope: TenantScope
    info: CollectionInfo


def own_context(given: SearchContext | None) -> SearchContext:
    """Return the app's own context; a tenant that it names is that of its settings, too.

    All callers without a token have that tenant, and it is the operator's. Raises ConfigError where
    the settings ask for tokens: then each caller's names the tenant.
    """
    base = given or SearchContext()
    if base.tenant_id is None:
        return base
    settings = base.using()
    if settings.server_auth:
        raise ConfigError(
            f"The context of the app names the tenant {base.tenant_id!r}, but server_auth is on,"
            " and each caller's token names the tenant. Leave out tenant_id, and issue the tokens"
            " with --tenant."
        )
    own = settings.model_copy(update={"tenant": base.tenant_id})
    return base.model_copy(update={"settings": own})


async def base_context(request: Request) -> SearchContext:
    """Return the app's own context: the host's settings and ports, by default the process's."""
    return getattr(request.app.state, "context", None) or SearchContext()


Base = Annotated[SearchContext, Depends(base_context)]


def context_of(base: SearchContext, caller: Caller) -> SearchContext:
    """Return the context for the caller's tenant."""
    return base.model_copy(update={"tenant_id": caller.tenant})


async def open_collection(base: SearchContext, caller: Caller, name: str) -> OpenedCollection:
    """Return the caller's collection. Raises UnknownCollectionError, also for another tenant's."""
    context = context_of(base, caller)
    store, scope = await context.storage(), TenantScope(caller.tenant, name)
    info = await offload(require_collection, store.collections, scope)
    return OpenedCollection(context, store, scope, info)
