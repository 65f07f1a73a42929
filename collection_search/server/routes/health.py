"""Health of the server."""

from __future__ import annotations

from fastapi import APIRouter

from ... import __version__

router = APIRouter(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Return `ok` and the version; needs no token."""
    return {"status": "ok", "version": __version__}
