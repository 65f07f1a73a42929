"""How a search over HTTP goes on: pages, time, notices; and what a vendor of one's own takes."""

from __future__ import annotations

import asyncio
import logging
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.http import HttpRequest, join_url
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.http.adapter import HttpSearch, ResultPage
from collection_search.adapters.search.http.json_values import read_text
from collection_search.adapters.search.http.query_limits import cut_query
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.contracts.options import NO_OPTIONS, SearchOptions
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import (
    InputError,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.testing import ProviderServer
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search.adapters.http import HttpResponse

PATIENCE_S = 60.0


class ExampleSearch(HttpSearch):
    """All that a vendor of one's own takes, here over SearXNG's wire format."""

    provider_name = "example"
    title = "Example"
    key_variable = "EXAMPLE_API_KEY"
    address_variable = "EXAMPLE_BASE_URL"
    default_base_url = "https://api.example.com"
    page_size = 5

    def request(
        self, query: str, count: int, page: int, options: SearchOptions = NO_OPTIONS
    ) -> HttpRequest:
        params = {"q": query, "format": "json", "pageno": page + 1}
        return HttpRequest("GET", join_url(self.base_url, "search"), params=params)

    def parse(self, response: HttpResponse) -> ResultPage:
        return self.page_of(self.listed(self.answer(response).get("results"), response), response)

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            read_text(row.get("url")),
            read_text(row.get("title")),
            read_text(row.get("content")),
            "example",
        )


class Endless(ExampleSearch):
    max_pages = 10


class Confused(ExampleSearch):
    """Has a mistake in it."""

    def parse(self, response: HttpResponse) -> ResultPage:
        return self.page_of([response.json()["no such key"]], response)


@pytest.fixture
def searxng() -> Iterator[ProviderServer]:
    with ProviderServer("searxng") as server:
        yield server


def rows(*numbers: int) -> Reply:
    urls = [f"https://example.com/{number}" for number in numbers]
    return Reply.of_json({"results": [{"url": url, "title": url} for url in urls]})


def test_a_vendor_of_one_s_own(searxng):
    searxng.reply(rows(1, 2, 3, 4, 5))
    found = ExampleSearch(base_url=searxng.base_url).search("x", max_results=3, timeout=PATIENCE_S)
    assert [row.url[-1] for row in found.results] == ["1", "2", "3"]
    assert (found.status_code, found.request_count, list(found.notices)) == (200, 1, [])
    assert len(found.raw_results) == 5


def test_pages_that_repeat_end_the_search(searxng):
    """A vendor that gives the same rows again and again is asked twice; each row comes once."""
    searxng.reply(rows(1, 2, 3, 4, 5, 5))
    adapter = Endless(base_url=searxng.base_url)
    found = adapter.search("x", max_results=50, timeout=PATIENCE_S)
    assert [row.url[-1] for row in found.results] == ["1", "2", "3", "4", "5"]
    assert found.request_count == len(searxng.requests) == 2


def test_a_page_that_is_not_full_is_the_last(searxng):
    searxng.reply(rows(1, 2))
    found = Endless(base_url=searxng.base_url).search("x", max_results=50, timeout=PATIENCE_S)
    assert found.request_count == len(searxng.requests) == 1


@pytest.mark.parametrize(("failure", "said"), [("limited", "limiter"), ("reset", "out of reach"),
                                               ("html", "a web page"), ("redirect", "redirects")])  # fmt: skip
def test_paid_rows_are_not_thrown_away(searxng, failure, said):
    """Whatever becomes of a further page; the status is that of the page that was read."""
    searxng.fail(failure, after=1)
    adapter = SearxngSearch(base_url=searxng.base_url)
    found = adapter.search("python", max_results=60, timeout=PATIENCE_S)
    assert found.results
    assert (found.status_code, found.request_count) == (200, 2)
    assert found.notices[-1].startswith("Only 1 of 3 pages could be read.")
    assert said in found.notices[-1]


class SteppingLoop(asyncio.SelectorEventLoop):
    """Its time can be moved on."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


def test_the_time_limit_is_for_all_pages_together(searxng):
    """A page for which no time is left is not asked for, and not counted."""

    class Slow(Endless):
        def parse(self, response: HttpResponse) -> ResultPage:
            loop.ahead_s += 0.6 * PATIENCE_S
            searxng.reply(rows(6, 7, 8, 9, 10))
            return super().parse(response)

    searxng.reply(rows(1, 2, 3, 4, 5))
    with asyncio.Runner(loop_factory=SteppingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SteppingLoop)
        search = Slow(base_url=searxng.base_url).asearch("x", max_results=30, timeout=PATIENCE_S)
        found = runner.run(search)
    assert len(found.results) == 10
    assert found.request_count == len(searxng.requests) == 2
    assert [notice.partition(": ")[0] for notice in found.notices] == [
        "Only 2 of 6 pages could be read. Example took too long"
    ]


def test_a_vendor_that_never_answers(searxng):
    searxng.fail("held")
    with pytest.raises(SearchProviderTimeout, match=r"within 0\.1 s") as error:
        SearxngSearch(base_url=searxng.base_url).search("x", max_results=1, timeout=0.1)
    assert error.value.retryable


def test_the_adapter_s_own_time_limit_is_used_without_another(searxng):
    searxng.fail("held")
    with pytest.raises(SearchProviderTimeout, match=r"within 0\.1 s"):
        SearxngSearch(base_url=searxng.base_url, timeout=0.1).search("x", max_results=1)


def test_nobody_listens():
    with pytest.raises(SearchProviderUnavailable, match="SEARXNG_URL") as error:
        SearxngSearch(base_url="http://127.0.0.1:9").search("x", max_results=1)
    assert (error.value.code, error.value.http_status) == ("serviceUnavailable", 503)


def test_a_mistake_in_a_vendor_is_a_bad_response(searxng):
    """An adapter raises typed errors only."""
    with pytest.raises(SearchProviderBadResponse, match="unknown form") as error:
        Confused(base_url=searxng.base_url).search("x", max_results=1, timeout=PATIENCE_S)
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.parametrize("depth", [500, 900, 960, 980])
def test_an_error_that_is_nested_deeply_is_a_typed_one(searxng, depth):
    """The parser takes what a recursive reader may not."""
    body = b'{"error": ' + b"[" * depth + b"]" * depth + b"}"
    searxng.reply(Reply(429, body, {"Content-Type": "application/json"}))
    with pytest.raises(SearchProviderError):
        SearxngSearch(base_url=searxng.base_url).search("x", max_results=1, timeout=PATIENCE_S)


@pytest.mark.parametrize("number", [0, -1])
def test_a_number_of_results_is_one_or_more(number):
    with pytest.raises(InputError, match="max_results"):
        WikipediaSearch().search("x", max_results=number)


@pytest.mark.parametrize("query", ["", "  ", "!!w", ":de <3"])
def test_a_query_of_commands_alone_is_not_sent(searxng, query):
    with pytest.raises(SearchProviderInvalidQuery, match="no word"):
        SearxngSearch(base_url=searxng.base_url).search(query, max_results=1)
    assert searxng.requests == []


@pytest.mark.parametrize(
    ("query", "chars", "words", "cut"),
    [
        ("one two three", None, None, "one two three"),
        ("one two three", 13, 3, "one two three"),
        ("one two three", 12, None, "one two"),
        ("one two three", 7, None, "one two"),
        ("one two three", 6, None, "one"),
        ("one two three", None, 2, "one two"),
        ("one two three", 5, 2, "one"),
        ("one", 2, None, "on"),
        (" one\n two ", 99, 9, "one two"),
    ],
)
def test_a_query_is_cut_between_words(query, chars, words, cut):
    assert cut_query(query, chars=chars, words=words) == cut


def test_a_cut_query_is_noted():
    """Brave takes fifty words."""
    with ProviderServer("brave") as server:
        adapter = BraveSearch(api_key=server.dialect.key, base_url=server.base_url)
        whole = adapter.search("asyncio " * 50, max_results=1, timeout=PATIENCE_S)
        cut = adapter.search("asyncio " * 51, max_results=1, timeout=PATIENCE_S)
        assert server.dialect.query(server.requests[1]) == " ".join(["asyncio"] * 50)
    assert list(whole.notices) == []
    assert list(cut.notices) == [
        "The query was cut to 399 characters, as Brave Search takes no more."
    ]


def test_asking_for_more_than_there_is_is_noted():
    """Tavily has no second page."""
    with ProviderServer("tavily") as server:
        adapter = TavilySearch(api_key=server.dialect.key, base_url=server.base_url)
        found = adapter.search("asyncio", max_results=21, timeout=PATIENCE_S)
    assert (len(found.results), found.request_count) == (20, 1)
    assert list(found.notices) == ["Tavily gives at most 20 results; 21 were asked for."]


@pytest.mark.parametrize(
    ("today", "notice"),
    [
        (date(2026, 12, 31), "Google Custom Search ends on 2027-01-01: plan for another provider."),
        (date(2027, 1, 1), "Google Custom Search was to end on 2027-01-01: use another provider."),
    ],
)
def test_google_says_when_it_ends(today, notice):
    """With every answer; from that day on, with every failure too."""
    with ProviderServer("google") as server:
        adapter = GoogleSearchAdapter(
            api_key=server.dialect.key,
            search_engine_id=ENGINE_ID,
            base_url=server.base_url,
            today=lambda: today,
        )
        found = adapter.search("asyncio", max_results=3, timeout=PATIENCE_S)
        server.fail("not_found")
        with pytest.raises(SearchProviderBadResponse) as error:
            adapter.search("asyncio", max_results=3, timeout=PATIENCE_S)
    assert list(found.notices) == [notice]
    assert (notice in str(error.value)) == (today.year == 2027)


def test_the_end_is_logged_once(searxng, caplog):
    """Once in a process, however many adapters and searches there are."""

    class Ending(ExampleSearch):
        title = "Some example"
        ends_on = date(2030, 1, 1)

    searxng.reply(rows(1))
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        Ending(base_url=searxng.base_url).search("x", max_results=1, timeout=PATIENCE_S)
    said = [record.getMessage() for record in caplog.records if "example" in record.getMessage()]
    assert said == ["Some example ends on 2030-01-01: plan for another provider."]


def test_a_refused_search_names_the_options_that_were_sent():
    """One that the plan lacks can be left out then."""
    with ProviderServer("brave") as server:
        adapter = BraveSearch(api_key=server.key, base_url=server.base_url)
        server.fail("option_not_in_plan")
        options = SearchOptions(freshness="week", country="DE", include_content=True)
        with pytest.raises(SearchProviderInvalidQuery) as refused:
            adapter.search("asyncio", max_results=3, timeout=PATIENCE_S, options=options)
        with pytest.raises(SearchProviderInvalidQuery) as usual:
            adapter.search("asyncio", max_results=3, timeout=PATIENCE_S)
    assert "Options that it was sent: freshness, country." in str(refused.value)
    assert "Options" not in str(usual.value)
    assert refused.value.http_status == usual.value.http_status == 400


@pytest.mark.parametrize(
    ("query", "asked", "said"),
    [
        ("asyncio", 60, ["SearXNG gave 46 of 60 results asked for."]),
        ("sqlite", 10, ["SearXNG gave 8 of 10 results asked for."]),
        ("asyncio", 40, []),
        ("qzxv jwkpf", 40, []),
    ],
)
def test_fewer_results_than_asked_for_are_told_where_no_reach_is_known(searxng, query, asked, said):
    """SearXNG's engines decide how many there are on a page, and how many pages."""
    adapter = SearxngSearch(base_url=searxng.base_url)
    found = adapter.search(query, max_results=asked, timeout=PATIENCE_S)
    assert [each for each in found.notices if "asked for" in each] == said


@pytest.mark.parametrize("engines", [[["bing", "Suspended: CAPTCHA"]], []])
def test_engines_that_a_further_page_leaves_out_are_no_failure(searxng, engines):
    """SearXNG lists a suspended engine for every page, also where it has no such page."""
    searxng.reply(
        Reply.of_json({"query": "x", "results": [], "unresponsive_engines": engines}), after=1
    )
    adapter = SearxngSearch(base_url=searxng.base_url)
    found = adapter.search("asyncio", max_results=40, timeout=PATIENCE_S)
    assert found.results
    assert len(searxng.requests) == 2
    assert not [
        each for each in found.notices if "could be read" in each or "found nothing" in each
    ]
