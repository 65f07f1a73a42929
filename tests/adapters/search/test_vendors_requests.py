"""How the search vendors are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from collection_search.adapters.http import HttpRequest
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.searxng import SearxngSearch, strip_commands
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 60.0


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A server whose replies are scripted; whose dialect it would speak does not matter."""
    with ProviderServer("tavily") as running:
        yield running


def test_tavily_sends_the_key_in_a_header_and_the_depth_in_the_body():
    request = TavilySearch(api_key="tvly-key").request("asyncio", 7, 0)
    assert request == HttpRequest(
        "POST",
        "https://api.tavily.com/search",
        headers={"Authorization": "Bearer tvly-key"},
        json={"query": "asyncio", "search_depth": "basic", "max_results": 7},
    )


def test_tavily_without_a_key_says_so():
    assert TavilySearch().request("asyncio", 7, 0).headers == {"X-Tavily-Access-Mode": "keyless"}


def test_brave_counts_pages():
    request = BraveSearch(api_key=SecretStr("brave-key")).request("asyncio", 20, 2)
    assert (request.method, request.url) == (
        "GET",
        "https://api.search.brave.com/res/v1/web/search",
    )
    assert request.params == {"q": "asyncio", "count": 20, "offset": 2, "result_filter": "web"}
    assert request.headers["X-Subscription-Token"] == "brave-key"


def test_google_counts_rows_from_one_and_stays_within_a_hundred():
    adapter = GoogleSearchAdapter(api_key="google-key", search_engine_id="engine")
    assert adapter.request("asyncio", 10, 0) == HttpRequest(
        "GET",
        "https://www.googleapis.com/customsearch/v1",
        params={"key": "google-key", "cx": "engine", "q": "asyncio", "num": 10, "start": 1},
    )
    last = adapter.request("asyncio", adapter.page_size, adapter.max_pages - 1).params
    assert int(last["start"]) + int(last["num"]) == 101


def test_searxng_counts_pages_from_one_and_knows_no_number_of_rows():
    adapter = SearxngSearch(base_url="https://search.example.org/searx/")
    assert adapter.request("asyncio", 20, 1) == HttpRequest(
        "GET",
        "https://search.example.org/searx/search",
        params={"q": "asyncio", "format": "json", "pageno": 2},
    )
    guarded = SearxngSearch(base_url="https://search.example.org", api_key="for-the-proxy")
    assert guarded.request("x", 20, 0).headers == {"Authorization": "Bearer for-the-proxy"}


def test_wikipedia_counts_rows_from_zero():
    assert WikipediaSearch().request("asyncio", 50, 1) == HttpRequest(
        "GET",
        "https://en.wikipedia.org/w/api.php",
        params={
            "action": "query",
            "list": "search",
            "format": "json",
            "srsearch": "asyncio",
            "srlimit": 50,
            "sroffset": 50,
        },
    )


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("asyncio timeouts", "asyncio timeouts"),
        ("!!w asyncio", "asyncio"),
        ("!al :de <3 asyncio", "asyncio"),
        (":all <b> asyncio", "asyncio"),
        ("css !important rule", "css important rule"),
        ("python !!w", "python w"),
        ("python !!", "python"),
        ("python :de-DE async", "python de-DE async"),
        ("timeout <5 seconds", "timeout 5 seconds"),
        ("a != b, x < y, std::vector<int> :memory: <div>", None),
        ("!!w :de", ""),
        ("", ""),
    ],
)
def test_searxng_gets_no_commands(query, sent):
    """What the server would take for one is taken out; what only looks similar stays."""
    assert strip_commands(query) == (query if sent is None else sent)


def test_page_sizes_are_those_of_the_vendors():
    adapters = [TavilySearch, BraveSearch, GoogleSearchAdapter, SearxngSearch, WikipediaSearch]
    assert [adapter.page_size for adapter in adapters] == [20, 20, 10, 20, 50]


def test_serper_counts_pages_from_one():
    assert SerperSearch(api_key="serper-key").request("asyncio", 10, 1) == HttpRequest(
        "POST",
        "https://google.serper.dev/search",
        headers={"X-API-KEY": "serper-key"},
        json={"q": "asyncio", "num": 10, "page": 2},
    )


def test_serpapi_counts_rows_from_zero():
    assert SerpApiSearch(api_key="serp-key").request("asyncio", 10, 1) == HttpRequest(
        "GET",
        "https://serpapi.com/search",
        params={"engine": "google", "q": "asyncio", "num": 10, "start": 10, "api_key": "serp-key"},
    )


def test_exa_is_asked_for_what_its_price_includes():
    assert ExaSearch(api_key="exa-key").request("asyncio", 10, 0) == HttpRequest(
        "POST",
        "https://api.exa.ai/search",
        headers={"x-api-key": "exa-key"},
        json={
            "query": "asyncio",
            "type": "auto",
            "numResults": 10,
            "contents": {"highlights": True},
        },
    )


def test_linkup_is_asked_for_results_at_the_usual_depth():
    assert LinkupSearch(api_key="linkup-key").request("asyncio", 30, 0) == HttpRequest(
        "POST",
        "https://api.linkup.so/v1/search",
        headers={"Authorization": "Bearer linkup-key"},
        json={
            "q": "asyncio",
            "depth": "standard",
            "outputType": "searchResults",
            "maxResults": 30,
        },
    )


def test_perplexity_is_asked_for_results():
    assert PerplexitySearch(api_key="pplx-key").request("asyncio", 20, 0) == HttpRequest(
        "POST",
        "https://api.perplexity.ai/search",
        headers={"Authorization": "Bearer pplx-key"},
        json={"query": "asyncio", "max_results": 20},
    )


def test_mojeek_counts_rows_from_one():
    adapter = MojeekSearch(api_key="mojeek-key")
    assert adapter.request("asyncio", 10, 0).params["s"] == 1
    assert adapter.request("asyncio", 10, 2) == HttpRequest(
        "GET",
        "https://api.mojeek.com/search",
        params={"q": "asyncio", "t": 10, "s": 21, "fmt": "json", "api_key": "mojeek-key"},
    )


def test_kagi_counts_pages_from_one_and_has_ten():
    adapter = KagiSearch(api_key="kagi-key")
    assert adapter.request("asyncio", 10, 0) == HttpRequest(
        "POST",
        "https://kagi.com/api/v1/search",
        headers={"Authorization": "Bearer kagi-key"},
        json={"query": "asyncio", "limit": 10, "page": 1},
    )
    assert adapter.request("asyncio", 10, adapter.max_pages - 1).json["page"] == 10


@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        ("serper", 0.01),
        ("exa", 0.07),
        ("linkup", 0.05),
        ("perplexity", 0.05),
        ("serpapi", None),  # as in its plan
        ("mojeek", None),
        ("kagi", None),
    ],
)
def test_what_ten_searches_cost(name, dollars):
    assert LIST_PRICES.search_cost(name, 10) == dollars


@pytest.mark.parametrize(
    ("wanted", "asked", "told"),
    [
        (7, 7, []),
        (10, 10, []),
        (11, 11, ["Exa bills more than 10 results above its usual price."]),
        (
            300,
            100,
            [
                "Exa bills more than 10 results above its usual price.",
                "Exa gives at most 100 results; 300 were asked for.",
            ],
        ),
    ],
)
def test_what_exa_bills_dearer_is_told(server, wanted, asked, told):
    """One request in any case."""
    server.reply(Reply.of_json({"results": [{"url": "https://example.com/", "title": "A"}]}))
    adapter = ExaSearch(api_key="exa-key", base_url=server.base_url)
    found = adapter.search("asyncio", max_results=wanted, timeout=PATIENCE_S)
    assert [request.body["numResults"] for request in server.requests] == [asked]
    assert list(found.notices) == told


@pytest.mark.parametrize("vendor", [SerperSearch, SerpApiSearch])
def test_a_page_of_google_s_that_is_not_full_is_not_the_last(server, vendor):
    """Other boxes take the room of some rows; a page without a new one is the end."""
    rows = [{"link": "https://example.com/", "title": "A"}]
    further = {"next": "https://serpapi.com/search?start=10"}
    answer = {"organic": rows, "organic_results": rows, "serpapi_pagination": further}
    server.reply(Reply.of_json(answer))
    adapter = vendor(api_key="a-key", base_url=server.base_url)
    assert adapter.search("asyncio", max_results=10, timeout=PATIENCE_S).request_count == 1
    assert adapter.search("asyncio", max_results=50, timeout=PATIENCE_S).request_count == 2


def test_serper_gets_no_query_that_it_does_not_answer(server):
    server.reply(Reply.of_json({"organic": []}))
    adapter = SerperSearch(api_key="serper-key", base_url=server.base_url)
    found = adapter.search("word " * 1000, max_results=5, timeout=PATIENCE_S)
    assert server.requests[0].body["q"] == ("word " * 409).strip()
    assert "cut to 2044 characters" in found.notices[0]


@pytest.mark.parametrize(
    ("vendor", "reply"),
    [
        (LinkupSearch, Reply.of_json({"error": {"code": "SEARCH_QUERY_NO_RESULT"}}, 400)),
        (SerpApiSearch, Reply.of_json({"error": "Google hasn't returned any results."})),
    ],
)
def test_nothing_found_is_a_success_whatever_the_status(server, vendor, reply):
    server.reply(reply)
    adapter = vendor(api_key="a-key", base_url=server.base_url)
    found = adapter.search("asyncio", max_results=10, timeout=PATIENCE_S)
    assert (list(found.results), found.status_code, found.request_count) == ([], 200, 1)
