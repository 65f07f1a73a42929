"""A client of the server's API in this process, for callers of several tenants and roles."""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
from fastapi import Request  # noqa: TC002 - FastAPI reads it

from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.server.access import Caller, Role, authenticate
from collection_search.server.app import create_app
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.process_defaults import process_settings
from collection_search.text.urls import url_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from collection_search import SearchContext
    from collection_search.adapters.stores.sqlite import SQLiteStore

ONE, TWO = "tenant-one", "tenant-two"


def _caller_of(request: Request) -> Caller:
    tenant, role = request.headers.get("x-caller", f"{ONE} admin").split()
    return Caller(tenant, f"{role} of {tenant}", Role[role])


def as_caller(tenant: str = ONE, role: str = "admin") -> dict[str, dict[str, str]]:
    """Return the arguments of a request by this caller."""
    return {"headers": {"x-caller": f"{tenant} {role}"}}


@asynccontextmanager
async def open_api(context: SearchContext | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a new app; a request without `as_caller` is that of ONE's admin.

    Given a context, the app has started: it runs graphs with these ports.
    """
    app = create_app(context)
    app.dependency_overrides[authenticate] = _caller_of
    transport = httpx.ASGITransport(app=app)
    base = "http://127.0.0.1/app/api"
    async with AsyncExitStack() as stack:
        if context is not None:
            await stack.enter_async_context(app.router.lifespan_context(app))
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=base))


def process_store() -> SQLiteStore:
    """Return the store of this process's settings."""
    store: SQLiteStore = make_adapter(process_settings(), "stores", "sqlite")
    return store


def put_page(
    url: str, text: str, *, collection: str = "docs", tenant: str = ONE, **facts: Any
) -> None:
    """Store a page of one chunk in the process's store."""
    title = str(facts.pop("title", f"Title of {url}"))
    document = Document(url, url_key(url), title, hashlib.sha256(text.encode()).hexdigest(), facts)
    process_store().collections.replace_document(
        TenantScope(tenant, collection), document, [Chunk(0, text, 0, len(text))]
    )
