"""The runs of the app that serves a request, as a dependency of routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from .manager import RunManager


async def current_runs(request: Request) -> RunManager:
    """Return the app's runs. Raises HTTPException with status 503 while the server starts."""
    runs: RunManager | None = getattr(request.app.state, "runs", None)
    if runs is None:
        raise HTTPException(503, "The server has not started yet.")
    return runs


Runs = Annotated[RunManager, Depends(current_runs)]
