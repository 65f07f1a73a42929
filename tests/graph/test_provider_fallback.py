"""A run whose first provider fails, with the fallback switched on: found, told, and paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def servers() -> Iterator[dict[str, ProviderServer]]:
    with ProviderServer("tavily") as tavily, ProviderServer("brave") as brave:
        yield {"tavily": tavily, "brave": brave}


def run(home: Path, servers: dict[str, ProviderServer], **settings: Any) -> dict[str, Any]:
    providers = {
        name: {"api_key": KEY, "base_url": server.base_url} for name, server in servers.items()
    }
    given = Settings(home=home, providers=providers, answer_cache_s=0, **settings)
    context = SearchContext(settings=given, provider="tavily")
    question = {"question": "asyncio", "collection_scope": "c", "purpose": "p"}
    return CollectionSearchGraph(context).run(question)[1]


def test_the_fallback_is_told(tmp_path: Path, servers: dict[str, ProviderServer]) -> None:
    """Who was asked, why and for how much stands in the output, and a flag says it at once."""
    servers["tavily"].fail("plan_used_up")
    result = run(tmp_path, servers, use_fallback=True)
    search = result["search"]
    assert result["outcome"] == "search_completed"
    assert result["flags"].count("provider_fallback") == 1
    assert search["provider"] == "brave"
    assert "since tavily failed" in search["provider_reason"]
    asked = {(step["query"], step["provider"]) for step in search["routing"]}
    queries = result["strategy"]["queries"]
    assert asked == {(query, name) for query in queries for name in ("tavily", "brave")}
    assert any("brave was asked" in notice for notice in search["notices"])
    assert result["telemetry"]["cost_usd"] == 0.005 * len(queries)
    assert {row["source"] for row in result["results"]} == {"brave"}


def test_both_failures_are_told(tmp_path: Path, servers: dict[str, ProviderServer]) -> None:
    """The first one's code counts; both are named."""
    servers["tavily"].fail("plan_used_up")
    servers["brave"].fail("unauthorized")
    result = run(tmp_path, servers, use_fallback=True)
    assert result["outcome"] == "search_failed"
    assert {error["code"] for error in result["search"]["errors"]} == {"quotaExceeded"}
    assert all("Then brave: " in error["message"] for error in result["search"]["errors"])


def test_without_the_switch_nobody_else_is_asked(
    tmp_path: Path, servers: dict[str, ProviderServer]
) -> None:
    """A second provider may send a bill: its key alone is no order."""
    servers["tavily"].fail("plan_used_up")
    result = run(tmp_path, servers)
    assert (result["outcome"], result["search"]["routing"]) == ("search_failed", [])
    assert not servers["brave"].requests


def test_the_deadline_is_that_of_both(tmp_path: Path, servers: dict[str, ProviderServer]) -> None:
    """A provider that answers nobody leaves its fallback no time, and nobody waits twice."""
    for server in servers.values():
        held = next(name for name, one in server.failures.items() if one.reply.mishap == "held")
        server.fail(held)
    result = run(tmp_path, servers, use_fallback=True, run_deadline_s=1.0)
    assert result["outcome"] == "search_failed"
    assert servers["tavily"].requests
    assert servers["brave"].requests == []


@pytest.fixture
def further() -> Iterator[dict[str, ProviderServer]]:
    with ProviderServer("serper") as serper, ProviderServer("serpapi") as serpapi:
        yield {"serper": serper, "serpapi": serpapi}


def test_several_are_asked_in_order(
    tmp_path: Path, servers: dict[str, ProviderServer], further: dict[str, ProviderServer]
) -> None:
    """Each where those before it failed, and the one behind the answer not at all."""
    servers["tavily"].fail("plan_used_up")
    further["serper"].fail("key_refused")
    order = {"use_fallback": True, "fallback_provider": "serper brave serpapi"}
    result = run(tmp_path, servers | further, **order)
    search = result["search"]
    assert search["provider"] == "brave"
    assert "since tavily and serper failed" in search["provider_reason"]
    assert not further["serpapi"].requests
    (query, *_) = result["strategy"]["queries"]
    asked = [step["provider"] for step in search["routing"] if step["query"] == query]
    assert asked == ["tavily", "serper", "brave"]
    told = [each for each in search["notices"] if "brave was asked" in each]
    assert all("tavily and serper failed" in each and "Then serper: " in each for each in told)
    assert told
    assert [each for each in search["notices"] if "same index as serper (Google)" in each]


def test_all_failures_are_told(
    tmp_path: Path, servers: dict[str, ProviderServer], further: dict[str, ProviderServer]
) -> None:
    """In the order in which they were asked."""
    servers["tavily"].fail("plan_used_up")
    servers["brave"].fail("unauthorized")
    further["serper"].fail("key_refused")
    order = {"use_fallback": True, "fallback_provider": "brave serper"}
    result = run(tmp_path, servers | further, **order)
    assert result["outcome"] == "search_failed"
    for error in result["search"]["errors"]:
        assert error["message"].index("Then brave: ") < error["message"].index("Then serper: ")
