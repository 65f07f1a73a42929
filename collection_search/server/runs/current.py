"""The runs of the app that serves a request, as a dependency of routes."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, HTTPException, Request

from .manager import RunManager

_NOT_STARTED: Final = (
    "The server has not started yet. Where the app is mounted in another one, that one's lifespan"
    " has to start it: async with app.router.lifespan_context(app)."
)


async def current_runs(request: Request) -> RunManager:
    """Return the app's runs. Raises HTTPException with status 503 before the app's lifespan."""
    runs: RunManager | None = getattr(request.app.state, "runs", None)
    if runs is None:
        raise HTTPException(503, _NOT_STARTED)
    return runs


Runs = Annotated[RunManager, Depends(current_runs)]
