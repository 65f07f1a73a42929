"""Which provider is asked where nobody names one, and what stands above that."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from support.other_packages import install_package

from collection_search import SearchContext
from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.settings.provider_choice import AUTO_ORDER, SERVICE_ORDER, choose_provider

if TYPE_CHECKING:
    from pathlib import Path

ENDPOINT = {
    "base_url": "http://x:1",
    "json_api": {"query": "q", "results": "", "fields": {"url": "u", "title": "t"}},
}
NO_ORDER = replace(AUTO_ORDER, configured=())
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
        (("KAGI_API_KEY", "SEARXNG_URL"), "searxng"),
        (("LINKUP_API_KEY",), "linkup"),
        (("PERPLEXITY_API_KEY",), "perplexity"),
        (("SERPAPI_API_KEY",), "serpapi"),
        (("KAGI_API_KEY",), "kagi"),
        (("MOJEEK_API_KEY",), "mojeek"),
        (("OPENALEX_API_KEY",), "openalex"),
        (("MOJEEK_API_KEY", "OPENALEX_API_KEY", "SERPAPI_API_KEY"), "serpapi"),
        (("SERPAPI_API_KEY", "KAGI_API_KEY", "LINKUP_API_KEY"), "linkup"),
    ],
)
async def test_auto_takes_the_first_that_is_configured(
    monkeypatch: pytest.MonkeyPatch, variables: tuple[str, ...], expected: str
) -> None:
    """Tavily, Brave, SearXNG, Serper, Exa, then the others, else offline."""
    name, reason = await chosen(monkeypatch, *variables)
    assert name == expected
    assert expected == "offline" or f"{variables[-1]} is set" in reason


@pytest.mark.parametrize(
    ("today", "further", "expected"),
    [
        (date(2026, 12, 31), {}, "google"),
        (date(2026, 12, 31), {"openalex": {"api_key": "x"}}, "google"),
        (date(2026, 12, 31), {"mojeek": {"api_key": "x"}}, "mojeek"),
        (date(2027, 1, 1), {"openalex": {"api_key": "x"}}, "openalex"),
        (date(2027, 1, 1), {}, "offline"),
    ],
)
async def test_google_is_the_last_search_of_the_whole_web(
    monkeypatch: pytest.MonkeyPatch, today: date, further: dict[str, Any], expected: str
) -> None:
    """Until its API ends; from then on it is passed over."""
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    monkeypatch.setenv("GOOGLE_SEARCH_ENGINE_ID", "x")
    name, reason = await choose_provider(Settings.load(providers=further), today=today)
    assert name == expected
    if name == "google":
        assert "GOOGLE_API_KEY and GOOGLE_SEARCH_ENGINE_ID are set" in reason
    if today.year == 2027:
        assert "google was passed over (its API was to end on 2027-01-01); " in reason


async def test_endpoints_of_the_settings_come_at_last() -> None:
    """In their order, and after every provider that is configured."""
    settings = Settings(providers={"wiki": ENDPOINT, "intranet": ENDPOINT})
    assert await choose_provider(settings) == (
        "wiki",
        "the first that is configured: by the settings",
    )
    keyed = {**settings.providers, "openalex": {"api_key": "x"}}
    assert (await choose_provider(Settings(providers=keyed))).name == "openalex"
    assert (await choose_provider(settings, order=NO_ORDER)).name == "offline"


@pytest.mark.parametrize(
    ("providers", "told"),
    [
        ({"google": {"api_key": "x"}}, "google lacks GOOGLE_SEARCH_ENGINE_ID"),
        ({"searxng": {"api_key": "x"}}, "searxng lacks SEARXNG_URL"),
        ({"tavily": {"base_url": "http://x:1"}}, "tavily lacks TAVILY_API_KEY"),
        ({"brave": {"api_key": " "}}, "brave lacks BRAVE_API_KEY"),
        ({"wikipedia": {"base_url": "http://x:1"}}, "wikipedia is taken by name only"),
        (
            {"google": {"api_key": "x"}, "wikipedia": {"base_url": "http://x:1"}},
            "google lacks GOOGLE_SEARCH_ENGINE_ID; wikipedia is taken by name only",
        ),
    ],
)
async def test_what_is_given_and_not_taken_is_named(providers: dict[str, Any], told: str) -> None:
    """Nobody is told that nothing is configured who has configured something."""
    name, reason = await choose_provider(Settings(providers=providers))
    assert name == "offline"
    assert reason == (
        f"{told}; no other provider is configured: the documentation on this machine is searched"
    )


async def test_keys_of_models_are_no_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the form of a provider's key; a package's own provider is one."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.setenv(variable, "x")
    reason = (await choose_provider(Settings.load())).reason
    assert reason.startswith("no provider is configured: ")


async def test_another_package_s_provider_is_taken_by_name_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it needs is not known here; it is named."""
    install_package(tmp_path, monkeypatch, "our_notes", notes="our_notes:Notes")
    monkeypatch.setenv("NOTES_API_KEY", "x")
    monkeypatch.setenv("WIKIPEDIA_BASE_URL", "http://x:1")
    name, reason = await choose_provider(Settings.load())
    assert name == "offline"
    assert reason.startswith("notes and wikipedia are taken by name only; ")


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
