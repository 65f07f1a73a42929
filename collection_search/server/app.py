"""The FastAPI app: the page at `/app`, its API below `/app/api`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI

from ..settings.process_defaults import process_settings
from .asgi import API
from .middleware import protect
from .problems import answer_problems
from .routes import answers, collections, costs, coverage, gates, health, keys, settings


def create_app() -> FastAPI:
    """Return the app, alone or for `http.app` of a LangGraph server. Raises ConfigError.

    A page for its OpenAPI would load scripts from elsewhere, so there is none.
    """
    app = FastAPI(
        title="Collection Search", docs_url=None, redoc_url=None, openapi_url=f"{API}/openapi.json"
    )
    answer_problems(app)
    api = APIRouter(prefix=API)
    for router in (health.router,):
        api.include_router(router)
    for subject in (coverage, answers, collections):  # names of collections may contain slashes
        api.include_router(subject.router)
    for subject in (gates, costs, settings, keys):
        api.include_router(subject.router)
    app.include_router(api)
    protect(app, process_settings())
    return app


def __getattr__(name: str) -> Any:
    """Return the process's own `app`, made on first use."""
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = made = create_app()
    return made
