"""What the page is told of the providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.served_runs import API, served

from collection_search import SearchContext, Settings

if TYPE_CHECKING:
    from pathlib import Path


async def shown(home: Path, **providers: Any) -> dict[str, dict[str, Any]]:
    settings = Settings(home=home, provider="offline", providers=providers)
    async with served(SearchContext(settings=settings)) as server:
        options = (await server.client.get(f"{API}/options")).json()
    return {one["name"]: one for one in options["providers"]}


async def test_what_is_to_be_set_is_told(tmp_path: Path) -> None:
    """The address where that is what is missing, and both parts of Google."""
    found = await shown(tmp_path)
    assert not any(one["configured"] for name, one in found.items() if name != "offline")
    assert found["searxng"]["note"] == "Set SEARXNG_URL."
    assert found["brave"]["note"] == "Set BRAVE_API_KEY."
    assert found["google"]["note"].endswith("Set GOOGLE_API_KEY and GOOGLE_SEARCH_ENGINE_ID.")
    assert found["wikipedia"]["note"] == "Set wikipedia as provider."


@pytest.mark.parametrize(
    ("name", "given", "lacking"),
    [
        ("google", {"api_key": "x"}, "GOOGLE_SEARCH_ENGINE_ID"),
        ("google", {"search_engine_id": "x"}, "GOOGLE_API_KEY"),
        ("searxng", {"api_key": "x"}, "SEARXNG_URL"),
        ("brave", {"base_url": "http://x:1"}, "BRAVE_API_KEY"),
    ],
)
async def test_half_of_a_provider_is_not_configured(
    tmp_path: Path, name: str, given: dict[str, str], lacking: str
) -> None:
    """What is missing is told alone."""
    one = (await shown(tmp_path, **{name: given}))[name]
    assert not one["configured"]
    assert one["note"].endswith(f"Set {lacking}.")


async def test_all_of_it_is_configured(tmp_path: Path) -> None:
    """Nothing is left to say but when it ends."""
    found = await shown(
        tmp_path,
        google={"api_key": "x", "search_engine_id": "x"},
        searxng={"base_url": "http://x:1"},
    )
    assert found["google"]["configured"]
    assert "Set " not in found["google"]["note"]
    assert (found["searxng"]["configured"], found["searxng"]["note"]) == (True, "")
