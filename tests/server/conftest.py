"""The API without a server process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.api_client import ONE, open_api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx


@pytest.fixture
def operated_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the admins of the first tenant the server's operator."""
    monkeypatch.setenv("COLLECTION_SEARCH_TENANT", ONE)


@pytest.fixture
async def api() -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of the API; see `support.api_client`."""
    async with open_api() as client:
        yield client
