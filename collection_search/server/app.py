"""The FastAPI app: the page at `/app`, its API below `/app/api`."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from .routes import health

API = "/app/api"
"""Path of the API."""


def create_app() -> FastAPI:
    """Return the app, alone or for `http.app` of a LangGraph server."""
    app = FastAPI(
        title="Collection Search", docs_url=f"{API}/docs", openapi_url=f"{API}/openapi.json"
    )
    api = APIRouter(prefix=API)
    for router in (health.router,):
        api.include_router(router)
    app.include_router(api)
    return app
