"""What the doctor says of the settings' entry `web_search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from collection_search import SearchContext, Settings
from collection_search.testing import ProviderServer
from collection_search.tools.doctor.diagnosis import diagnose

if TYPE_CHECKING:
    from collection_search.tools.doctor.finding import Finding


async def functions(**entry: Any) -> list[Finding]:
    settings = Settings.load(web_search=entry or None)
    findings = (await diagnose(SearchContext(settings=settings))).findings
    return [one for one in findings if one.part == "function"]


async def test_without_an_entry_there_is_no_line() -> None:
    """The function has the provider of a run, which has a line of its own."""
    assert await functions() == []


async def test_a_switched_off_entry_is_told() -> None:
    """Its backend is not looked at."""
    [finding] = await functions(enabled=False, settings={"backend": "brave"})
    assert (finding.name, finding.state) == ("web_search", "off")
    assert finding.facts() == ["switched off in the settings: no model gets it"]


async def test_a_backend_that_answers_is_told() -> None:
    """It is asked without a paid search, at the address of the entry."""
    with ProviderServer("searxng") as server:
        [finding] = await functions(settings={"backend": "searxng", "url": server.base_url})
    assert (finding.state, finding.reachable) == ("ok", True)
    assert finding.facts() == ["configured by the settings", "reachable", "backend searxng"]


async def test_without_a_backend_the_provider_of_a_run_is_told() -> None:
    """The entry may only limit the results."""
    [finding] = await functions(settings={"max_results": 3})
    assert finding.state == "ok"
    assert finding.detail == "backend offline"


async def test_a_backend_without_its_address_is_told() -> None:
    """In the words of the command `mcp`."""
    [finding] = await functions(settings={"backend": "searxng"})
    assert finding.state == "failed"
    assert finding.detail == (
        "The backend searxng of web_search cannot be used: SearXNG needs the address of a server."
        " Set SEARXNG_URL."
    )
    assert finding.next_step.startswith("Correct the entry web_search")


async def test_a_backend_that_does_not_answer_is_told() -> None:
    """The next step names the entry, which has the address."""
    with ProviderServer("searxng") as server:
        address = server.base_url
    [finding] = await functions(settings={"backend": "searxng", "url": address})
    assert (finding.state, finding.reachable) == ("failed", False)
    assert finding.detail.startswith("backend searxng: ")
    assert finding.next_step == "Check the url of the entry web_search, and run this again."


async def test_one_provider_alone_brings_no_line() -> None:
    """Nothing else is asked for."""
    settings = Settings.load(web_search={"settings": {"backend": "searxng"}})
    found = await diagnose(SearchContext(settings=settings), provider="offline")
    assert [one.part for one in found.findings] == ["search"]
