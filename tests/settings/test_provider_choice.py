"""Which provider is asked where nobody names one, and what stands above that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collection_search import SearchContext
from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.settings.provider_choice import SERVICE_ORDER, choose_provider

KEYS = {"TAVILY_API_KEY": "tvly-x", "BRAVE_API_KEY": "BSA-x", "SEARXNG_URL": "http://localhost:1"}


async def chosen(monkeypatch: pytest.MonkeyPatch, *variables: str, **settings: str) -> list[str]:
    for variable in variables:
        monkeypatch.setenv(variable, KEYS.get(variable, "x"))
    return list(await choose_provider(Settings.load(**settings)))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ((), "offline"),
        (("SEARXNG_URL",), "searxng"),
        (("SEARXNG_URL", "BRAVE_API_KEY"), "brave"),
        (("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"), "tavily"),
        (("GOOGLE_API_KEY", "GOOGLE_SEARCH_ENGINE_ID"), "offline"),
    ],
)
async def test_auto_takes_the_first_that_is_configured(
    monkeypatch: pytest.MonkeyPatch, variables: tuple[str, ...], expected: str
) -> None:
    """Tavily, Brave, SearXNG, else offline; Google's API is ending and is never taken by itself."""
    name, reason = await chosen(monkeypatch, *variables)
    assert name == expected
    assert expected == "offline" or f"{variables[-1]} is set" in reason


async def test_the_preferred_provider_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """`default_provider` is taken when it is usable, whatever else is."""
    assert await chosen(monkeypatch, *KEYS, default_provider="wikipedia") == [
        "wikipedia",
        "the default_provider of the settings",
    ]


async def test_a_preferred_provider_without_key_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was chosen in its place, and what is missing, is said."""
    name, reason = await chosen(monkeypatch, "TAVILY_API_KEY", default_provider="brave")
    assert name == "tavily"
    assert "brave cannot be used" in reason
    assert "BRAVE_API_KEY" in reason


async def test_a_context_gives_the_adapter_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `auto` chose is named in every run."""
    monkeypatch.setenv("SEARXNG_URL", KEYS["SEARXNG_URL"])
    found = await SearchContext(provider="auto").search_provider()
    assert found.adapter.provider_name == "searxng"
    assert "SEARXNG_URL is set" in found.reason


async def test_a_blank_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blanks in the file or the environment do not make a provider usable."""
    monkeypatch.setenv("SEARXNG_URL", KEYS["SEARXNG_URL"])
    settings = Settings.load(providers={"brave": {"api_key": "  "}, "tavily": {"api_key": "x"}})
    assert await choose_provider(settings) == (
        "tavily",
        "the first that is configured: by the settings",
    )
    blank = Settings.load(providers={"brave": {"api_key": "  "}})
    assert (await choose_provider(blank))[0] == "searxng"


async def test_what_is_asked_for_comes_before_what_is_set() -> None:
    """The caller's name, then the setting `provider`; `auto` among the caller's is a choice too."""
    settings = Settings(provider="wikipedia", default_provider="offline")
    assert await choose_provider(settings, "exa") == ("exa", "asked for")
    assert (await choose_provider(settings)).name == "wikipedia"
    assert (await choose_provider(settings, "auto")).name == "offline"


async def test_the_order_is_an_argument() -> None:
    """An order names what is tried, what comes last, and whether `default_provider` may fail."""
    keys = {"brave": {"api_key": "BSA-x"}, "exa": {"api_key": "x"}}
    settings = Settings(providers=keys)
    assert (await choose_provider(settings)).name == "brave"
    exa_first = replace(SERVICE_ORDER, configured=("exa", "brave"))
    assert (await choose_provider(settings, order=exa_first)).name == "exa"
    none = replace(SERVICE_ORDER, configured=(), last="wikipedia")
    assert (await choose_provider(settings, order=none)).name == "wikipedia"


async def test_the_service_keeps_a_default_provider_that_cannot_be_used() -> None:
    """It fails when it is asked, with what is missing; the graph's order passes it over."""
    settings = Settings(default_provider="brave", providers={"exa": {"api_key": "x"}})
    assert (await choose_provider(settings)).name == "exa"
    assert (await choose_provider(settings, order=SERVICE_ORDER)).name == "brave"


async def test_a_default_provider_that_there_is_not_is_refused() -> None:
    """A name that nobody has is a mistake, which no other provider covers up."""
    with pytest.raises(ConfigError, match="altavista"):
        await choose_provider(Settings(default_provider="altavista"))
