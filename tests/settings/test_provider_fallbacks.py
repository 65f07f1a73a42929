"""Several fallbacks: their order, what they lack, and whose index they search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import SearchContext
from collection_search.errors import ConfigError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

KEYED = {name: {"api_key": "made-up-0123456789"} for name in ("serper", "serpapi", "brave")}


async def route(home: Path, fallback: str, first: str = "serper", **given: Any) -> Any:
    settings = Settings(
        home=home,
        use_fallback=True,
        fallback_provider=fallback,
        **{"providers": KEYED, **given},
    )
    found, notices = await SearchContext(settings=settings, provider=first).search_providers()
    return [one.adapter.provider_name for one in found], notices


async def test_they_come_in_the_order_of_the_setting(tmp_path: Path) -> None:
    """Each once, and the first provider not again."""
    names, notices = await route(tmp_path, "wikipedia  serper brave wikipedia")
    assert names == ["serper", "wikipedia", "brave"]
    assert notices == []


async def test_one_that_cannot_be_used_is_left_out_alone(tmp_path: Path) -> None:
    """Each says what it lacks; those behind it stay."""
    providers = {**KEYED, "google": {"api_key": "x"}, "searxng": {"api_key": "x"}}
    names, notices = await route(
        tmp_path, "google searxng tavily brave wikipedia", providers=providers
    )
    assert names == ["serper", "brave", "wikipedia"]
    assert len(notices) == 3
    for notice, lacking in zip(
        notices, ("GOOGLE_SEARCH_ENGINE_ID", "SEARXNG_URL", "TAVILY_API_KEY"), strict=True
    ):
        assert lacking in notice


async def test_an_address_does_not_make_a_trial_a_fallback(tmp_path: Path) -> None:
    """Tavily without a key answers few searches, wherever it is reached."""
    names, (notice,) = await route(
        tmp_path, "tavily", providers={**KEYED, "tavily": {"base_url": "http://x:1"}}
    )
    assert names == ["serper"]
    assert "TAVILY_API_KEY" in notice


async def test_the_same_index_is_told(tmp_path: Path) -> None:
    """Another name is not another index; it is asked all the same."""
    names, (notice,) = await route(tmp_path, "brave serpapi")
    assert names == ["serper", "brave", "serpapi"]
    assert "serpapi searches the same index as serper (Google)" in notice
    assert (await route(tmp_path, "serpapi", first="brave"))[1] == []


async def test_each_wiki_has_its_own_index(tmp_path: Path) -> None:
    """Two languages are two; the English one is that of the plain name."""
    assert (await route(tmp_path, "wikipedia:de", first="wikipedia"))[1] == []
    _, (notice,) = await route(tmp_path, "wikipedia:en", first="wikipedia")
    assert "en.wikipedia.org" in notice


@pytest.mark.parametrize("fallback", ["brave brvae", "brvae brave"])
async def test_one_that_nobody_knows_is_refused(tmp_path: Path, fallback: str) -> None:
    """Wherever it stands."""
    with pytest.raises(ConfigError, match="'brvae'"):
        await route(tmp_path, fallback)


async def test_none_is_no_fallback(tmp_path: Path) -> None:
    """An empty text names nobody."""
    assert await route(tmp_path, " ") == (["serper"], [])
