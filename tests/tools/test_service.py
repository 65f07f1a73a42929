"""WebSearchService: every row of its contract, over the vendors' own wire formats.

A test's first words name the row that it holds.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from datetime import date
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support.loop_time import LoopTime
from support.waiting import wait_until_async

from collection_search import SearchContext
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.contracts.options import SearchOptions
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.service import SearchRequest
from collection_search.errors import (
    ConfigError,
    FetchError,
    SearchProviderError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
    WebSearchError,
)
from collection_search.runtime.spans import NULL_SINK
from collection_search.settings import ProviderAccess, Settings
from collection_search.testing import FakeClock, OpenAIServer, ProviderServer, example_context
from collection_search.testing.providers.wire import KEY
from collection_search.tools.search.route import build_route
from collection_search.tools.service import WebSearchService
from collection_search.tools.spending.account import Account
from collection_search.tools.web_search import WebSearchWorker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.search import SearchAdapterResponse


@pytest.fixture
def tavily() -> Iterator[ProviderServer]:
    with ProviderServer("tavily") as server:
        yield server


@pytest.fixture
def brave() -> Iterator[ProviderServer]:
    with ProviderServer("brave") as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, tavily: ProviderServer) -> WebSearchService:
    return WebSearchService(settings(tmp_path, tavily=tavily))


def settings(home: Path, *, key: str = KEY, **servers: ProviderServer | Any) -> Settings:
    others = {name: value for name, value in servers.items() if not is_server(value)}
    providers = {
        name: {"api_key": key, "base_url": server.base_url}
        for name, server in servers.items()
        if is_server(server)
    }
    return Settings(home=home, providers=providers, answer_cache_s=0, **others)


def is_server(value: object) -> bool:
    return isinstance(value, ProviderServer)


def asked(server: ProviderServer) -> Any:
    return server.requests[-1].body


# --- initialize, getProvider


def test_initialize_takes_credentials_and_defaults_to_tavily(tmp_path, tavily):
    """initialize: a key alone is Tavily's; the answer is a plain true."""
    service = WebSearchService(settings(tmp_path, key="another", tavily=tavily))
    assert service.initialize(KEY) is True
    assert service.get_provider() == "tavily"
    service.search("asyncio")
    assert tavily.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["", "   ", "two words", "schlüssel"])
def test_initialize_validates_credentials(service, key):
    """initialize: a key of a wrong form is a false, and what was there before stays."""
    assert service.initialize(key) is False
    assert service.search("asyncio").results


def test_initialize_asks_the_provider_where_that_is_free(service, tavily):
    """initialize: a key that Tavily refuses is a false; no search is made for that."""
    assert service.initialize("tvly-refused") is False
    assert [request.path for request in tavily.requests] == ["/usage"]
    assert service.search("asyncio").results


def test_initialize_takes_another_provider(tmp_path, tavily, brave):
    """initialize, provider: optional, and its own credentials may hold an address."""
    service = WebSearchService(settings(tmp_path, tavily=tavily), reader=Pages())
    credentials = {"api_key": KEY, "base_url": brave.base_url}
    assert service.initialize(credentials, "brave") is True
    assert service.get_provider() == "brave"
    assert service.search("asyncio").provider == "brave"


def test_initialize_refuses_an_unknown_provider(service):
    """initialize, provider: a name that nobody has is a mistake, not a refused key."""
    with pytest.raises(ConfigError, match="bing"):
        service.initialize(KEY, "bing")


def test_get_provider_returns_the_identifier(tmp_path, tavily, brave):
    """getProvider: the current one, at first the setting's."""
    assert WebSearchService(settings(tmp_path, tavily=tavily)).get_provider() == "tavily"
    chosen = settings(tmp_path, brave=brave, default_provider="brave")
    assert WebSearchService(chosen).get_provider() == "brave"


@pytest.mark.usefixtures("offline_index")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"provider": "offline", "default_provider": "brave"}, "offline"),
        ({"default_provider": "brave"}, "brave"),
        ({}, "tavily"),
    ],
)
def test_the_service_obeys_the_settings(tmp_path, tavily, brave, names, expected):
    """DefaultProvider: a `provider` that is set stands above it, Tavily's key below."""
    own = settings(tmp_path, tavily=tavily, brave=brave, **names)
    service = WebSearchService(own, reader=Pages())
    assert service.get_provider() == expected
    assert service.search("asyncio timeout").provider == expected
    asked_servers = [name for name, one in (("tavily", tavily), ("brave", brave)) if one.requests]
    assert asked_servers == [expected] * (expected != "offline")


@pytest.mark.usefixtures("offline_index")
@pytest.mark.slow
def test_a_provider_of_the_environment_is_obeyed(monkeypatch, tmp_path, tavily):
    """DefaultProvider: a query stays in the house where the environment says so."""
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", "offline")
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setenv("TAVILY_BASE_URL", tavily.base_url)
    service = WebSearchService(Settings.load(home=tmp_path))
    assert service.search("asyncio timeout").provider == "offline"
    assert not tavily.requests


@pytest.mark.usefixtures("offline_index")
@pytest.mark.slow
def test_tavily_without_a_key_is_asked_by_name_only(tmp_path, tavily):
    """DefaultProvider: no query goes to the keyless mode unless somebody names Tavily."""
    address = {"tavily": ProviderAccess(base_url=tavily.base_url)}
    own = Settings(home=tmp_path, answer_cache_s=0, providers=address)
    assert WebSearchService(own).search("asyncio timeout").provider == "offline"
    assert not tavily.requests
    named = WebSearchService(own)
    assert named.initialize(None, "tavily") is True
    assert named.get_provider() == "tavily"


# --- SearchRequest


def test_query_is_required(service, tavily):
    """query: required; names of the contract are taken in both spellings."""
    with pytest.raises(WebSearchError) as caught:
        service.search({"options": {"maxResults": 3}})
    assert caught.value.code == "invalidQuery"
    assert service.search({"query": "asyncio", "options": {"maxResults": 3}}).query == "asyncio"
    assert asked(tavily)["query"] == "asyncio"


def test_max_results_is_5_by_default(service):
    """maxResults: default 5."""
    assert len(service.search("asyncio").results) == 5


@pytest.mark.parametrize("count", [1, 10])
def test_max_results_is_1_to_10(service, count):
    """maxResults: up to 10."""
    assert (
        len(service.search({"query": "asyncio", "options": {"maxResults": count}}).results) == count
    )


@pytest.mark.parametrize("count", [0, 11, -1, "many"])
def test_max_results_beyond_is_refused(service, tavily, count):
    """maxResults: max 10, and nothing is sent for more."""
    with pytest.raises(WebSearchError) as caught:
        service.search({"query": "asyncio", "options": {"maxResults": count}})
    assert caught.value.code == "invalidQuery"
    assert not caught.value.retryable
    assert not tavily.requests


@pytest.mark.parametrize(
    ("depth", "sent", "cost"), [("basic", "basic", 0.008), ("deep", "advanced", 0.016)]
)
def test_search_depth(service, tavily, depth, sent, cost):
    """SearchDepth basic (1 credit), deep (2 credits)."""
    response = service.search({"query": "asyncio", "options": {"searchDepth": depth}})
    assert asked(tavily)["search_depth"] == sent
    assert response.routing[0].cost_usd == cost


def test_search_depth_is_basic_by_default(service, tavily):
    """searchDepth: default basic."""
    service.search("asyncio")
    assert asked(tavily)["search_depth"] == "basic"


def test_include_domains_are_preferred(service, tavily):
    """includeDomains: domains to prefer, so others may come after them."""
    service.search({"query": "asyncio", "options": {"includeDomains": ["docs.example.org"]}})
    assert asked(tavily)["include_domains"] == ["docs.example.org"]
    assert asked(tavily)["include_domains_mode"] == "prefer"


def test_include_domains_can_restrict(service, tavily):
    """IncludeDomains with domain_mode restrict: nothing else comes, exactly."""
    host = service.search("asyncio").results[0].url.split("/")[2]
    options = SearchOptions(include_domains=(host,), domain_mode="restrict")
    found = service.search(SearchRequest(query="asyncio", options=options))
    assert asked(tavily)["include_domains_mode"] == "restrict"
    assert {result.url.split("/")[2] for result in found.results} == {host}
    assert found.applied["include_domains"] == "native"


def test_exclude_domains(service, tavily):
    """excludeDomains: domains to exclude."""
    host = service.search("asyncio").results[0].url.split("/")[2]
    found = service.search({"query": "asyncio", "options": {"excludeDomains": [host]}})
    assert asked(tavily)["exclude_domains"] == [host]
    assert all(result.url.split("/")[2] != host for result in found.results)


@pytest.mark.parametrize(
    "options",
    [
        None,
        dict.fromkeys(
            [
                *("maxResults", "searchDepth", "includeDomains", "excludeDomains", "topic"),
                *("includeContent", "domainMode", "freshness", "language", "country"),
            ]
        ),
    ],
)
def test_null_is_not_given(service, tavily, options):
    """Every option is optional, and clients in typed languages send null for what is not given."""
    given = service.search({"query": "asyncio", "options": options})
    assert asked(tavily) == {
        "query": "asyncio",
        "max_results": 10,
        "search_depth": "basic",
        "include_raw_content": "markdown",
    }
    assert given.applied == service.search("asyncio").applied


@pytest.mark.parametrize("topic", ["general", "news"])
def test_topic(service, tavily, topic):
    """topic: general or news; general needs not be said."""
    service.search({"query": "asyncio", "options": {"topic": topic}})
    assert asked(tavily).get("topic", "general") == topic


def test_include_content_is_on_by_default(service, tavily):
    """includeContent: default true, and the page's text is there."""
    response = service.search("asyncio")
    assert asked(tavily)["include_raw_content"]
    assert any(result.content for result in response.results)


def test_include_content_off(service, tavily):
    """IncludeContent false: no text is asked for, none comes."""
    response = service.search({"query": "asyncio", "options": {"includeContent": False}})
    assert not asked(tavily).get("include_raw_content")
    assert all(result.content is None for result in response.results)


# --- SearchResponse and SearchResult


def test_response_names(service):
    """results, query, responseTimeMs; title, url, snippet, content, publishedDate, score."""
    dumped = service.search("  asyncio   tasks ").model_dump(by_alias=True)
    assert {"results", "query", "responseTimeMs"} <= dumped.keys()
    assert dumped["query"] == "  asyncio   tasks "
    assert dumped["responseTimeMs"] >= 0
    result = service.search("asyncio").model_dump(by_alias=True)["results"][0]
    assert set(result) == {"title", "url", "snippet", "content", "publishedDate", "score"}
    assert result["title"]
    assert result["snippet"]
    assert result["url"].startswith("https://")
    assert 0 <= result["score"] <= 1


def test_published_date(service):
    """publishedDate: where the provider gives it, as an ISO date."""
    news = service.search({"query": "asyncio", "options": {"topic": "news"}})
    assert news.results[0].published_date[:2] == "20"
    assert service.search("asyncio").results[0].published_date is None


# --- WebSearchError and the retry strategy


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        ("key_refused", "authenticationFailed"),
        ("plan_used_up", "quotaExceeded"),
        ("query_too_long", "invalidQuery"),
    ],
)
def test_errors_that_are_not_retried(service, tavily, failure, code):
    """authenticationFailed, quotaExceeded, invalidQuery: code, message, not retried."""
    tavily.fail(failure)
    with pytest.raises(WebSearchError) as caught:
        service.search("asyncio")
    assert (caught.value.code, caught.value.retryable) == (code, False)
    assert caught.value.message
    assert KEY not in caught.value.message
    assert len(tavily.requests) == 1


def test_authentication_failed_names_what_to_check(service, tavily):
    """authenticationFailed: the user is told to check the API key."""
    tavily.fail("key_refused")
    with pytest.raises(WebSearchError, match="TAVILY_API_KEY"):
        service.search("asyncio")


def test_rate_limited_is_retried_after_retry_after_ms(service, tavily):
    """rateLimited: the provider's waiting time is kept, then the search goes on."""
    tavily.reply(tavily.failures["throttled"].reply.having(Retry_After="0"), times=1)
    assert service.search("asyncio").results
    assert len(tavily.requests) == 2


def test_rate_limited_tells_retry_after_ms(tmp_path, tavily):
    """retryAfterMs: what the provider asked for, where waiting would take too long."""
    hurried = settings(tmp_path, tavily=tavily, run_deadline_s=11)
    tavily.fail("throttled_keyless")
    with pytest.raises(WebSearchError) as caught:
        WebSearchService(hurried).search("asyncio")
    assert (caught.value.code, caught.value.retryable) == ("rateLimited", True)
    assert caught.value.retry_after_ms == 12_000
    assert len(tavily.requests) == 1


def test_the_query_comes_back_as_it_was_asked(service):
    """So a caller finds the answer by its query; the provider gets the cleaned one."""
    asked = " \u201casyncio   timeout\u201d\u200b "
    assert service.search(asked).query == asked


@pytest.mark.slow
def test_service_unavailable_is_tried_three_times(service, tavily):
    """serviceUnavailable: retryable, max 3 attempts."""
    name = next(n for n, f in tavily.failures.items() if f.expected.code == "serviceUnavailable")
    tavily.fail(name)
    with pytest.raises(WebSearchError) as caught:
        service.search("asyncio")
    assert (caught.value.code, caught.value.retryable) == ("serviceUnavailable", True)
    assert len(tavily.requests) == 3


@pytest.mark.slow
async def test_timeout_is_retried_once_with_a_longer_limit(tmp_path, tavily, monkeypatch):
    """timeout: one retry, then the error says that another one might succeed."""
    limits = {"search_timeout_s": 1000, "search_retry_timeout_s": 2000, "run_deadline_s": 10_000}
    name = next(n for n, f in tavily.failures.items() if f.reply.mishap == "held")
    tavily.fail(name)
    time = LoopTime(monkeypatch)
    service = WebSearchService(settings(tmp_path, tavily=tavily, **limits))
    call = asyncio.create_task(service.asearch("asyncio"))
    await wait_until_async(lambda: len(tavily.requests) == 1)
    time.advance(1000)
    await wait_until_async(lambda: len(tavily.requests) == 2)
    time.advance(1500)  # longer than the first one had
    await asyncio.sleep(0.05)
    assert not call.done()
    time.advance(500)
    with pytest.raises(WebSearchError) as caught:
        await call
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    assert len(tavily.requests) == 2


@pytest.mark.parametrize("query", ["", "   ", "\u200b", "site:"])
def test_an_empty_or_malformed_query_is_invalid(service, tavily, query):
    """invalidQuery: the query is empty or malformed; nothing is sent."""
    with pytest.raises(WebSearchError) as caught:
        service.search(query)
    assert caught.value.code == "invalidQuery"
    assert not tavily.requests


def test_what_cannot_be_read_is_unknown(service, tavily):
    """unknown: an unexpected error."""
    name = next(n for n, f in tavily.failures.items() if f.expected.code == "unknown")
    tavily.fail(name)
    with pytest.raises(WebSearchError) as caught:
        service.search("asyncio")
    assert (caught.value.code, caught.value.retryable) == ("unknown", False)


# --- adapters, user configuration


def test_tavily_request_mapping(service, tavily):
    """TavilyAdapter: POST /search with the mapped fields; the key is in a header."""
    service.search("asyncio")
    request = tavily.requests[-1]
    assert (request.method, request.path) == ("POST", "/search")
    assert {"query", "search_depth", "max_results"} <= set(request.body)
    assert KEY not in str(request.body)
    assert not request.body.get("include_answer")


class Pages:
    """Reads every page but the second one, and notes which."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    async def read(self, url: str, **_: Any) -> Any:
        self.urls.append(url)
        if len(self.urls) == 2:
            raise FetchError("The site does not want it.", reason="robots_disallowed")
        return SimpleNamespace(text=f"All of {url}")


def test_brave_request_mapping(tmp_path, brave):
    """BraveSearchAdapter: /res/v1/web/search with X-Subscription-Token."""
    own = settings(tmp_path, brave=brave, default_provider="brave")
    WebSearchService(own, reader=Pages()).search("asyncio")
    assert brave.requests[-1].path == "/res/v1/web/search"
    assert brave.requests[-1].headers["x-subscription-token"] == KEY


@pytest.mark.parametrize("wish", [{}, {"searchDepth": "deep"}])
def test_brave_content_requires_separate_fetch(tmp_path, brave, wish):
    """BraveSearchAdapter: content extraction is a separate fetch and parse of each page."""
    own, pages = settings(tmp_path, brave=brave, default_provider="brave"), Pages()
    response = WebSearchService(own, reader=pages).search({"query": "asyncio", "options": wish})
    assert pages.urls == [result.url for result in response.results]
    assert [bool(result.content) for result in response.results] == [True, False, True, True, True]
    assert set(response.applied.values()) <= {"native", "emulated"}
    assert response.applied["include_content"] == "emulated"
    assert any("robots_disallowed (1)" in notice for notice in response.notices)


def test_no_page_is_fetched_unless_content_is_wanted(tmp_path, brave):
    """IncludeContent false: Brave's pages are left alone."""
    own, pages = settings(tmp_path, brave=brave, default_provider="brave"), Pages()
    wish = {"query": "asyncio", "options": {"includeContent": False}}
    assert WebSearchService(own, reader=pages).search(wish).results
    assert not pages.urls


def test_default_settings():
    """DefaultProvider tavily, defaultMaxResults 5, defaultSearchDepth basic, fallbackProvider brave."""
    fields = Settings.model_fields
    keys = {name: {"api_key": KEY} for name in ("exa", "brave", "tavily")}
    assert WebSearchService(Settings(providers=keys)).get_provider() == "tavily"
    assert fields["default_max_results"].default == 5
    assert fields["default_search_depth"].default == "basic"
    assert fields["fallback_provider"].default == "brave"


def test_default_max_results_and_depth_can_be_set(tmp_path, tavily):
    """defaultMaxResults, defaultSearchDepth: what requests use that say nothing."""
    own = settings(tmp_path, tavily=tavily, default_max_results=2, default_search_depth="deep")
    assert len(WebSearchService(own).search("asyncio").results) == 2
    assert asked(tavily)["search_depth"] == "advanced"


def test_the_fallback_is_asked_when_switched_on(tmp_path, tavily, brave):
    """fallbackProvider: used if the primary fails, visible in the routing."""
    tavily.fail("plan_used_up")
    own = settings(tmp_path, tavily=tavily, brave=brave, use_fallback=True)
    response = WebSearchService(own, reader=Pages()).search("asyncio")
    assert response.provider == "brave"
    assert [(one.provider, one.rationale) for one in response.routing] == [
        ("tavily", "provider_quota_exceeded"),
        ("brave", "search_completed"),
    ]
    assert response.routing[0].message


def test_the_fallback_is_opt_in(tmp_path, tavily, brave):
    """fallbackProvider: never asked unless it was switched on: it may send a bill too."""
    tavily.fail("plan_used_up")
    with pytest.raises(WebSearchError):
        WebSearchService(settings(tmp_path, tavily=tavily, brave=brave)).search("asyncio")
    assert not brave.requests


def test_the_fallback_stays_within_what_is_configured(tmp_path, tavily):
    """fallbackProvider: without a key of its own it is not asked."""
    tavily.fail("plan_used_up")
    own = settings(tmp_path, tavily=tavily, use_fallback=True)
    with pytest.raises(WebSearchError) as caught:
        WebSearchService(own).search("asyncio")
    assert caught.value.code == "quotaExceeded"


def test_the_fallback_is_not_asked_about_a_bad_query(tmp_path, tavily, brave):
    """fallbackProvider: another provider would refuse the query too."""
    tavily.fail("query_too_long")
    own = settings(tmp_path, tavily=tavily, brave=brave, use_fallback=True)
    with pytest.raises(WebSearchError):
        WebSearchService(own).search("asyncio")
    assert not brave.requests


def test_both_failures_are_told(tmp_path, tavily, brave):
    """fallbackProvider: when it fails too, the first failure's code counts and both are told."""
    tavily.fail("plan_used_up")
    brave.fail(next(n for n, f in brave.failures.items() if f.expected.code == "unknown"))
    own = settings(tmp_path, tavily=tavily, brave=brave, use_fallback=True)
    with pytest.raises(WebSearchError, match="Then brave") as caught:
        WebSearchService(own).search("asyncio")
    assert caught.value.code == "quotaExceeded"


def test_the_service_works_inside_a_running_loop(service):
    """search, asearch: the same results from both faces."""

    async def both() -> tuple[Any, Any]:
        return service.search("asyncio").results, (await service.asearch("asyncio")).results

    blocking, awaited = asyncio.run(both())
    assert blocking == awaited


# --- how the configuration goes wrong


def test_a_missing_key_is_authentication_failed(tmp_path):
    """authenticationFailed: missing API key, with the variable that gives it."""
    own = Settings(home=tmp_path, default_provider="brave")
    with pytest.raises(WebSearchError, match="BRAVE_API_KEY") as caught:
        WebSearchService(own).search("asyncio")
    assert (caught.value.code, caught.value.retryable) == ("authenticationFailed", False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"default_provider": "altavista"}, "altavista"),
        ({"default_provider": "searxng"}, "SEARXNG_URL"),
        ({"providers": {"tavily": {"api_key": KEY, "base_url": "ftp://x"}}}, "TAVILY_BASE_URL"),
        ({"use_fallback": True, "fallback_provider": "altavista"}, "altavista"),
    ],
    ids=["provider", "no address", "wrong address", "fallback"],
)
def test_a_wrong_setting_is_unknown(tmp_path, wrong, told):
    """unknown: no key can mend a provider or an address that there is not."""
    given = {"home": tmp_path, "providers": {"tavily": {"api_key": KEY}}} | wrong
    with pytest.raises(WebSearchError, match=told) as caught:
        WebSearchService(Settings(**given)).search("asyncio")
    assert (caught.value.code, caught.value.retryable) == ("unknown", False)


@pytest.mark.parametrize("fallback", ["brave", "tavily"])
def test_a_fallback_without_its_key_is_told(tmp_path, tavily, fallback):
    """fallbackProvider: what is missing is told, with the answer and with the failure."""
    own = {"use_fallback": True, "fallback_provider": fallback}
    with ProviderServer("serper") as serper:
        service = WebSearchService(
            settings(tmp_path, serper=serper, default_provider="serper", **own), reader=Pages()
        )
        notices = service.search("asyncio").notices
        serper.fail("key_refused")
        with pytest.raises(WebSearchError) as caught:
            service.search("asyncio tasks")
    (told,) = [each for each in notices if "fallback" in each]
    assert f"{fallback.upper()}_API_KEY" in told
    assert told in caught.value.message
    assert not tavily.requests


def test_a_fallback_that_needs_no_key_is_asked(tmp_path, tavily):
    """fallbackProvider: Wikipedia has none, and is asked."""
    tavily.fail("plan_used_up")
    with ProviderServer("wikipedia") as wikipedia:
        own = settings(tmp_path, tavily=tavily, use_fallback=True, fallback_provider="wikipedia")
        address = {"wikipedia": ProviderAccess(base_url=wikipedia.base_url)}
        own = own.model_copy(update={"providers": {**own.providers, **address}})
        response = WebSearchService(own, reader=Pages()).search("asyncio")
    assert [one.provider for one in response.routing] == ["tavily", "wikipedia"]
    assert response.results


# --- the rows that hold for all of it


def test_it_is_independent_of_the_llm_provider(tmp_path, tavily):
    """Overview: works independently of the LLM provider; none is asked, whichever is set."""
    with OpenAIServer() as models:
        found = [
            WebSearchService(settings(tmp_path, tavily=tavily, **model)).search("asyncio").results
            for model in (
                {},
                {
                    "model": "openai:gpt-4o-mini",
                    "openai_api_key": "k",
                    "openai_base_url": models.base_url,
                },
            )
        ]
        assert models.requests == []
    assert found[0] == found[1]


def test_users_bring_their_own_keys(tmp_path, tavily):
    """Overview: each user of a process searches with the own key; another's fails alone."""
    mine = WebSearchService(settings(tmp_path, tavily=tavily))
    other = WebSearchService(settings(tmp_path, key="tvly-of-another", tavily=tavily))
    sent = []
    for service in (mine, other, mine):
        with nullcontext() if service is mine else pytest.raises(WebSearchError):
            service.search("asyncio")
        sent.append(tavily.requests[-1].headers["authorization"])
    assert sent == [f"Bearer {KEY}", "Bearer tvly-of-another", f"Bearer {KEY}"]


class Failing:
    """Fails in the same way each time, and notes the time that it was given."""

    provider_name = "tavily"

    def __init__(self, error: SearchProviderError) -> None:
        self.error = error
        self.timeouts: list[float] = []

    def search(self, query: str, *, max_results: int, timeout: float) -> SearchAdapterResponse:
        self.timeouts.append(timeout)
        raise self.error


def test_the_backoff_is_exponential(tmp_path):
    """serviceUnavailable: retry with exponential backoff, max 3 attempts: 0.6 s, then 1.2 s."""
    clock, adapter = FakeClock(), Failing(SearchProviderUnavailable("down"))
    worker = WebSearchWorker(adapter, sleep=clock.sleep, timer=clock.monotonic)
    error = worker.run(query="asyncio", context=example_context()).outcome.meta["error"]
    assert (error["code"], len(adapter.timeouts)) == ("serviceUnavailable", 3)
    assert clock.slept == [0.6, 1.2]


async def test_the_one_retry_after_a_timeout_has_more_time(tmp_path):
    """timeout: retry once with longer timeout: 10 s, then 20 s, unless set otherwise."""
    adapter = Failing(SearchProviderTimeout("slow"))
    context = SearchContext(provider=adapter, settings=Settings(home=tmp_path))
    ids = context.ids()
    route = await build_route(context, max_results=5, sink=NULL_SINK, account=Account(context, ids))
    response = await route.arun(query="asyncio", context=context.tool_context(ids))
    assert response.outcome.meta["error"]["code"] == "timeout"
    assert adapter.timeouts == [10.0, 20.0]


def test_quota_exceeded_notifies_the_user(tmp_path, tavily):
    """quotaExceeded: do not retry, notify the user: before it is used up, and when it is."""
    own = settings(tmp_path, tavily=tavily)
    limited = {"tavily": own.providers["tavily"].model_copy(update={"quota": 2})}
    service = WebSearchService(own.model_copy(update={"providers": limited}))
    assert service.search("one").notices == []
    assert service.search("two").notices == ["tavily: 0 of 2 searches left this month"]
    with pytest.raises(WebSearchError, match="2 searches of this month are used up") as caught:
        service.search("three")
    assert (caught.value.code, caught.value.retryable) == ("quotaExceeded", False)
    assert len(tavily.requests) == 2


@pytest.mark.parametrize(
    ("adapter", "endpoint"),
    [
        (TavilySearch, "https://api.tavily.com/search"),
        (BraveSearch, "https://api.search.brave.com/res/v1/web/search"),
    ],
)
def test_default_endpoints(adapter, endpoint):
    """TavilyAdapter, BraveSearchAdapter: Endpoint, where no other address is set."""
    request = adapter(api_key=KEY).request("asyncio", 5, 0)
    assert request.url.partition("?")[0] == endpoint


@pytest.mark.parametrize(
    ("provider", "units", "cost"), [("tavily", 1, 0.008), ("tavily", 2, 0.016), ("brave", 1, 0.005)]
)
def test_pricing(provider, units, cost):
    """Pricing: Tavily $0.008 a credit, Brave by usage; each with the day it was read."""
    assert LIST_PRICES.search_cost(provider, units) == cost
    assert LIST_PRICES.price_date("search", provider) == date(2026, 11, 21)


@pytest.mark.parametrize("depth", ["basic", "deep"])
def test_deep_brings_the_full_content(tmp_path, brave, depth):
    """SearchDepth deep: full content extraction, also where only our fetch can do it."""
    own, pages = settings(tmp_path, brave=brave, default_provider="brave"), Pages()
    options = {"searchDepth": depth, "maxResults": 1, "includeContent": depth == "deep"}
    response = WebSearchService(own, reader=pages).search({"query": "asyncio", "options": options})
    url = response.results[0].url
    assert response.results[0].content == (f"All of {url}" if depth == "deep" else None)
    assert response.applied["search_depth"] == ("emulated" if depth == "deep" else "native")


def test_deep_asks_tavily_for_the_whole_page(service, tavily):
    """SearchDepth deep: Tavily itself extracts the content."""
    response = service.search({"query": "asyncio", "options": {"searchDepth": "deep"}})
    assert asked(tavily)["include_raw_content"]
    assert any(result.content for result in response.results)
    assert response.applied["search_depth"] == "native"


def test_every_option_is_answered(service):
    """Options: each one that was asked for is answered with what was made of it."""
    options = {
        "maxResults": 3,
        "searchDepth": "basic",
        "includeDomains": ["docs.example.org"],
        "excludeDomains": ["b.example"],
        "domainMode": "prefer",
        "topic": "general",
        "includeContent": False,
    }
    applied = service.search({"query": "asyncio", "options": options}).applied
    assert set(applied) == {
        "max_results",
        "search_depth",
        "include_domains",
        "exclude_domains",
        "domain_mode",
        "topic",
        "include_content",
    }
    assert "unsupported" not in applied.values()


def test_serpapi_is_there(tmp_path):
    """Future Adapters, SerpAPI: Google's results, by the same service."""
    with ProviderServer("serpapi") as server:
        service = WebSearchService(settings(tmp_path, serpapi=server), reader=Pages())
        assert service.initialize(None, "serpapi")
        assert service.search("asyncio").provider == "serpapi"
    assert server.requests[-1].path == "/search"


def test_bing_has_ended(service):
    """Future Adapters, Bing Search API: Microsoft ended it in 2025; what there is, is told."""
    with pytest.raises(ConfigError, match=r"bing.*brave.*tavily"):
        service.initialize(KEY, "bing")


@pytest.mark.parametrize("provider", ["offline", "wikipedia", "searxng"])
def test_a_key_without_a_name_is_not_given_to_a_provider_that_needs_none(
    tmp_path, tavily, provider
):
    """It would be of no use there, or reach a stranger."""
    places = {"tavily": {"base_url": tavily.base_url}, "searxng": {"base_url": "http://x:1"}}
    given = Settings(home=tmp_path, provider=provider, providers=places, answer_cache_s=0)
    service = WebSearchService(given)
    assert service.initialize(KEY) is True
    assert service.get_provider() == "tavily"
