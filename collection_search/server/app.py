"""The FastAPI app: the page at `/app`, its API below `/app/api`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse

from ..settings.process_defaults import process_settings
from .app_tasks import AppTasks
from .asgi import API, PAGE
from .lifespan import serve_runs
from .middleware import protect
from .opened import own_context
from .page_files import mount_page
from .problems import answer_problems
from .refreshes import Refreshes
from .routes import (
    answers,
    collections,
    costs,
    coverage,
    gates,
    health,
    ingestions,
    keys,
    options,
    runs,
    settings,
)

if TYPE_CHECKING:
    from ..context import SearchContext


def create_app(context: SearchContext | None = None, *, owns_process: bool = False) -> FastAPI:
    """Return the app, alone or for `http.app` of a LangGraph server. Raises ConfigError.

    `context` has the host's settings and ports for all runs, by default those of the process; its
    `tenant_id` is the tenant of all callers, and refused where tokens name theirs. With
    `owns_process` the app is all that the process does. A page for its OpenAPI would load scripts
    from elsewhere, so there is none.
    """
    base = own_context(context)
    app = FastAPI(
        title="Collection Search",
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        lifespan=serve_runs,
    )
    app.state.context, app.state.owns_process = base, owns_process
    app.state.tasks = AppTasks()
    app.state.refreshes = Refreshes(app.state.tasks)
    api = APIRouter(prefix=API)
    for router in (health.router, options.router, runs.router, ingestions.router):
        api.include_router(router)
    for subject in (coverage, answers, collections):  # names of collections may contain slashes
        api.include_router(subject.router)
    for subject in (gates, costs, settings, keys):
        api.include_router(subject.router)
    app.include_router(api)
    mount_page(app)
    answer_problems(app)
    protect(app, base.settings or process_settings())
    return app


def serve_app() -> FastAPI:
    """Return the app for a process of its own: the root leads to the page."""
    app = create_app(owns_process=True)
    app.add_api_route("/", _to_page, include_in_schema=False)
    return app


async def _to_page() -> RedirectResponse:
    return RedirectResponse(f"{PAGE}/")


def __getattr__(name: str) -> Any:
    """Return the `app` that servers load by name, made on first use."""
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = made = create_app(owns_process=True)
    return made
