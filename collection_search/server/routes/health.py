"""Health of the server, and its figures for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from ... import __version__
from ...runtime.concurrency import offload
from ..access import Operator  # noqa: TC001 - FastAPI reads it
from ..runs.current import Runs  # noqa: TC001

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

router = APIRouter(tags=["health"])


@router.get("/health")
async def health(_: Runs) -> dict[str, str]:
    """Return `ok` and the version; needs no token. Its status is 503 until the server has started.

    Neither database nor provider is asked.
    """
    return {"status": "ok", "version": __version__}


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, _: Operator) -> Response:
    """Return the process's figures in Prometheus' text format."""
    from ...tools.metrics_export import make_metrics_app

    settings = request.app.state.context.settings
    return _Delegated(await offload(make_metrics_app, settings))


class _Delegated(Response):
    """The answer of another ASGI application."""

    def __init__(self, app: Any) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
