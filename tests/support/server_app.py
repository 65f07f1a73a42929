"""The server's app without a server process: with tokens, or without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
from starlette.routing import Mount, Route

from collection_search.server.app import create_app
from collection_search.settings.access_tokens import AccessTokens, Role
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from fastapi import FastAPI

ADDRESS = "http://localhost:8000"
PARAMETER = re.compile(r"\{[^}]*\}")


def app_with(monkeypatch: pytest.MonkeyPatch, **variables: str) -> FastAPI:
    """Return the app under these settings."""
    for name, value in variables.items():
        monkeypatch.setenv(f"COLLECTION_SEARCH_{name}", value)
    process_settings.cache_clear()
    return create_app()


def client_of(app: Any, token: str | None = None, **options: Any) -> httpx.AsyncClient:
    """Return a client of the app, which sends the token."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(
        transport=transport, base_url=options.pop("base_url", ADDRESS), headers=headers, **options
    )


def issue(user: str, role: Role, tenant: str = "acme") -> str:
    """Return a new token of the process's data folder."""
    return AccessTokens(process_settings().home).add(tenant, user, role)


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Yield method and path of each route, with a value in the place of each parameter.

    Those of included routers are in the description of the API.
    """
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), PARAMETER.sub("some", path)
    for route in app.routes:
        if isinstance(route, Route):
            for method in sorted(route.methods or ()):
                yield method, PARAMETER.sub("some", route.path)
        elif isinstance(route, Mount):
            yield "GET", f"{PARAMETER.sub('some', route.path)}/some"
