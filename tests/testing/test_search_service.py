"""The double of the search service: scripted answers, simulated errors, recorded requests."""

from __future__ import annotations

import inspect
import re
import socket
from typing import TYPE_CHECKING, get_args

import pytest

from collection_search import Settings
from collection_search.contracts.options import SearchOptions
from collection_search.contracts.service import SearchRequest, SearchResponse
from collection_search.errors import ConfigError, ErrorCode, WebSearchError
from collection_search.settings import registry
from collection_search.testing import FakeClock
from collection_search.testing.search_service import (
    MockWebSearchService,
    service_error,
    service_results,
)
from collection_search.tools.service import WebSearchService

if TYPE_CHECKING:
    from pathlib import Path

METHODS = ("initialize", "ainitialize", "get_provider", "search", "asearch")


@pytest.mark.parametrize("name", METHODS)
def test_it_has_the_methods_of_the_service(name: str) -> None:
    """With the same parameters, so that it can stand anywhere in its place."""
    double, real = getattr(MockWebSearchService, name), getattr(WebSearchService, name)
    assert inspect.signature(double) == inspect.signature(real)
    assert inspect.iscoroutinefunction(double) == inspect.iscoroutinefunction(real)
    public = {one for one in vars(WebSearchService) if not one.startswith("_")}
    assert public == {*METHODS, "settings"}
    assert isinstance(MockWebSearchService().settings, Settings)


def test_it_may_be_given_where_the_service_is_asked_for() -> None:
    """A function that is annotated with the service takes it, also for a type checker."""
    settings = Settings(default_max_results=2)
    service: WebSearchService = MockWebSearchService(service_results(3), settings=settings)
    assert isinstance(service, WebSearchService)
    assert service.settings is settings
    assert len(service.search("asyncio").results) == 3


def test_specific_queries_have_specific_results() -> None:
    """By the whole query, a part of it, a pattern, or anything of the request; first match first."""
    service = (
        MockWebSearchService(service_results(1, about="default"))
        .on("asyncio", service_results(1, about="whole"))
        .on_words("C++ (new)", service_results(1, about="part"))
        .on(re.compile(r"^how\b"), service_results(1, about="pattern"))
        .on(lambda asked: asked.options.topic == "news", service_results(1, about="topic"))
    )
    found = {
        "asyncio": "whole",
        "what is c++ (NEW)?": "part",
        "how to cancel": "pattern",
        "asyncio tasks": "default",
    }
    for query, about in found.items():
        assert service.search(query).results == service_results(1, about=about)
    asked = SearchRequest(query="tasks", options=SearchOptions(topic="news"))
    assert service.search(asked).results == service_results(1, about="topic")


def test_answers_come_in_order_and_the_last_one_stays() -> None:
    """Errors among them."""
    service = MockWebSearchService().on(
        "a", service_results(1), service_error("timeout"), service_results(2)
    )
    assert len(service.search("a").results) == 1
    with pytest.raises(WebSearchError):
        service.search("a")
    assert [len(service.search("a").results) for _ in range(3)] == [2, 2, 2]


def test_without_a_script_nothing_is_found() -> None:
    """That is a success."""
    response = MockWebSearchService(latency_ms=7).search("anything at all")
    assert isinstance(response, SearchResponse)
    assert (response.results, response.query, response.provider) == (
        [],
        "anything at all",
        "tavily",
    )
    assert [each.provider for each in response.routing] == ["tavily"]


@pytest.mark.parametrize("code", get_args(ErrorCode))
def test_every_error_of_the_service_can_be_simulated(code: ErrorCode) -> None:
    """For some requests or for all that follow, with the time to wait."""
    service = MockWebSearchService(service_results(1))
    expected = service.fail(code, retry_after_ms=1500, times=2)
    for _ in range(2):
        with pytest.raises(WebSearchError) as caught:
            service.search("a")
        assert caught.value is expected
        assert (caught.value.code, caught.value.retry_after_ms) == (code, 1500)
        retryable = code in {"rateLimited", "serviceUnavailable", "timeout"}
        assert caught.value.retryable is retryable
        assert caught.value.message
    assert len(service.search("a").results) == 1
    service.fail(code)
    for _ in range(3):
        with pytest.raises(WebSearchError):
            service.search("a")
    service.recover()
    assert len(service.search("a").results) == 1


def test_requests_are_recorded() -> None:
    """Whole, in order, failed ones too; what cannot be a request is none."""
    service = MockWebSearchService()
    service.search({"query": "a", "options": {"maxResults": 3, "searchDepth": "deep"}})
    service.fail("rateLimited")
    with pytest.raises(WebSearchError):
        service.search("b")
    assert service.queries == ["a", "b"]
    assert service.requests[0].options == SearchOptions(max_results=3, search_depth="deep")


@pytest.mark.parametrize(
    "request_", ["", "  ", {"query": "a", "options": {"maxResults": 11}}, {"question": "a"}]
)
def test_what_the_service_refuses_is_refused(request_: object) -> None:
    """With the code `invalidQuery`, and without being recorded."""
    service = MockWebSearchService()
    for each in (service.search, WebSearchService().search):
        with pytest.raises(WebSearchError) as caught:
            each(request_)  # type: ignore[arg-type]
        assert (caught.value.code, caught.value.retryable) == ("invalidQuery", False)
    assert service.requests == []


def test_results_are_cut_as_the_service_cuts_them() -> None:
    """Five by default, and no content where none is wanted."""
    service = MockWebSearchService(service_results(9))
    assert len(service.search("a").results) == 5
    options = SearchOptions(max_results=7, include_content=False)
    results = service.search(SearchRequest(query="a", options=options)).results
    assert len(results) == 7
    assert not any(result.content for result in results)
    assert all(result.content for result in service.search("a").results)


async def test_latency_is_the_clocks() -> None:
    """It is told, and nobody waits for it."""
    clock = FakeClock()
    service = MockWebSearchService(service_results(1), latency_ms=234, clock=clock)
    assert (await service.asearch("a")).response_time_ms == 234
    assert service.search("a").response_time_ms == 234
    assert clock.slept == [0.234, 0.234]


async def test_the_coroutine_gives_the_same() -> None:
    """From the same script."""
    service = MockWebSearchService(service_results(1), service_error("quotaExceeded"))
    assert (await service.asearch("a")).results == service_results(1)
    with pytest.raises(WebSearchError, match="used up"):
        await service.asearch("a")


async def test_it_is_initialized_like_the_service() -> None:
    """Provider and key are remembered; an empty or refused key is False, not an error."""
    service = MockWebSearchService()
    assert service.get_provider() == "tavily"
    assert service.initialize("a key", "brave")
    assert service.get_provider() == "brave"
    assert not service.initialize(" ", "exa")
    assert not await service.ainitialize({"api_key": ""}, "exa")
    assert service.get_provider() == "brave"
    service.accepts_key = False
    assert not service.initialize("a key")
    assert service.credentials[0] == ("a key", "brave")
    with pytest.raises(ConfigError, match="no search adapter called 'altavista'"):
        service.initialize("a key", "altavista")


def test_a_whole_response_can_be_scripted() -> None:
    """With whatever routing and notices the test is about."""
    response = SearchResponse(
        results=[], query="a", response_time_ms=3, provider="brave", notices=["Low on credits."]
    )
    assert MockWebSearchService(response).search("a") is response


@pytest.mark.slow
async def test_no_call_leaves_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """MockWebSearchService: no actual API calls, whichever provider and key it stands for."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    service = MockWebSearchService(service_results(2))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for provider in registry.BUILTIN["search"]:
        assert service.initialize("a key", provider)
        assert service.search("a").provider == provider
        assert (await service.asearch("a")).results


@pytest.mark.parametrize("request_", ["", "\u200b", "site:", {"query": "a", "options": 3}])
def test_refusals_have_the_words_of_the_service(request_: object, tmp_path: Path) -> None:
    """One check stands behind both."""
    told = []
    for each in (MockWebSearchService(), WebSearchService(Settings(home=tmp_path))):
        with pytest.raises(WebSearchError) as caught:
            each.search(request_)  # type: ignore[arg-type]
        told.append((caught.value.code, str(caught.value)))
    assert told[0] == told[1]
