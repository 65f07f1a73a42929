"""The FastAPI app: the page at `/app`, its API below `/app/api`."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from .problems import answer_problems
from .routes import answers, collections, costs, coverage, gates, health, keys, settings

API = "/app/api"
"""Path of the API."""


def create_app() -> FastAPI:
    """Return the app, alone or for `http.app` of a LangGraph server."""
    app = FastAPI(title="Collection Search", docs_url=f"{API}/docs", openapi_url=f"{API}/openapi.json")
    answer_problems(app)
    api = APIRouter(prefix=API)
    for router in (health.router,):
        api.include_router(router)
    for subject in (coverage, answers, collections):  # names of collections may contain slashes
        api.include_router(subject.router)
    for subject in (gates, costs, settings, keys):
        api.include_router(subject.router)
    app.include_router(api)
    return app
