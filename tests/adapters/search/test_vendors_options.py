"""What each vendor is sent for the options of a search, by the names in its documentation."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.http.query_limits import fit_query
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.openalex import OpenAlexSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.contracts.options import NO_OPTIONS, SearchOptions
from collection_search.testing import ProviderServer

TODAY = date(2026, 11, 21)
KEYED: dict[str, Any] = {"api_key": "a-key", "today": lambda: TODAY}
VENDORS = {
    "tavily": TavilySearch(**KEYED),
    "brave": BraveSearch(**KEYED),
    "searxng": SearxngSearch(base_url="https://search.example.org", today=lambda: TODAY),
    "google": GoogleSearchAdapter(**KEYED, search_engine_id="engine"),
    "serper": SerperSearch(**KEYED),
    "serpapi": SerpApiSearch(**KEYED),
    "exa": ExaSearch(**KEYED),
    "linkup": LinkupSearch(**KEYED),
    "perplexity": PerplexitySearch(**KEYED),
    "mojeek": MojeekSearch(**KEYED),
    "kagi": KagiSearch(**KEYED),
    "openalex": OpenAlexSearch(**KEYED),
    "wikipedia": WikipediaSearch(today=lambda: TODAY),
}
RANGE = {"freshness": "2026-01-01..2026-03-31"}
OPEN = {"freshness": "2026-01-01.."}
ONE = {"include_domains": ("a.org",), "domain_mode": "restrict"}
TWO = {"include_domains": ("a.org", "b.org"), "domain_mode": "restrict"}
NOT_ONE = {"exclude_domains": ("c.org",)}
NOT_TWO = {"exclude_domains": ("c.org", "d.org")}


def arguments(vendor: Any, options: SearchOptions) -> dict[str, Any]:
    request = vendor.request("asyncio", vendor.page_size, 0, options)
    return {**(request.params or {}), **(request.json or {})}


def added(name: str, **options: Any) -> dict[str, Any]:
    """Return what the request has, or has otherwise, for these options."""
    vendor: Any = VENDORS[name]
    usual = arguments(vendor, NO_OPTIONS)
    asked = arguments(vendor, vendor.taken(SearchOptions(**options)))
    assert usual.keys() <= asked.keys() | {"result_filter"}
    return {key: value for key, value in asked.items() if usual.get(key) != value}


@pytest.mark.parametrize(
    ("vendor", "options", "parameters"),
    [
        ("tavily", {"search_depth": "deep"}, {"search_depth": "advanced"}),
        ("tavily", ONE, {"include_domains": ["a.org"], "include_domains_mode": "restrict"}),
        (
            "tavily",
            {"include_domains": ("a.org",)},
            {"include_domains": ["a.org"], "include_domains_mode": "prefer"},
        ),
        ("tavily", NOT_TWO, {"exclude_domains": ["c.org", "d.org"]}),
        ("tavily", {"topic": "news"}, {"topic": "news"}),
        ("tavily", {"include_content": True}, {"include_raw_content": "markdown"}),
        ("tavily", {"freshness": "week"}, {"time_range": "week"}),
        ("tavily", RANGE, {"start_date": "2026-01-01", "end_date": "2026-03-31"}),
        ("tavily", OPEN, {"start_date": "2026-01-01"}),
        ("tavily", {"language": "de"}, {"language": "de", "filter_by_language": True}),
        ("tavily", {"country": "GB"}, {"country": "united kingdom"}),
        ("tavily", {"country": "AQ"}, {}),
        ("tavily", {"country": "GB", "topic": "news"}, {"topic": "news"}),
        ("brave", {"freshness": "day"}, {"freshness": "pd"}),
        ("brave", {"freshness": "week"}, {"freshness": "pw"}),
        ("brave", {"freshness": "month"}, {"freshness": "pm"}),
        ("brave", {"freshness": "year"}, {"freshness": "py"}),
        ("brave", RANGE, {"freshness": "2026-01-01to2026-03-31"}),
        ("brave", OPEN, {"freshness": "2026-01-01to2026-11-21"}),
        ("brave", {"language": "ja"}, {"search_lang": "jp"}),
        ("brave", {"language": "pt", "country": "PT"}, {"search_lang": "pt-pt", "country": "PT"}),
        ("brave", {"language": "yi", "country": "AQ"}, {}),
        ("searxng", {"freshness": "month"}, {"time_range": "month"}),
        ("searxng", RANGE, {}),
        ("searxng", {"topic": "news", "language": "de"}, {"categories": "news", "language": "de"}),
        ("searxng", {"country": "DE"}, {}),
        ("google", ONE, {"siteSearch": "a.org", "siteSearchFilter": "i"}),
        ("google", NOT_ONE, {"siteSearch": "c.org", "siteSearchFilter": "e"}),
        ("google", ONE | NOT_ONE, {"siteSearch": "a.org", "siteSearchFilter": "i"}),
        ("google", {"freshness": "week"}, {"dateRestrict": "w1"}),
        ("google", RANGE, {}),
        ("google", {"language": "he", "country": "IL"}, {"lr": "lang_iw", "gl": "il"}),
        ("google", {"language": "yi"}, {}),
        ("serper", {"freshness": "day"}, {"tbs": "qdr:d"}),
        (
            "serper",
            RANGE,
            {"tbs": "cdr:1,cd_min:01/01/2026,cd_max:03/31/2026"},
        ),
        ("serper", OPEN, {"tbs": "cdr:1,cd_min:01/01/2026,cd_max:11/21/2026"}),
        (
            "serper",
            {"language": "de", "country": "AT"},
            {"lr": "lang_de", "hl": "de", "gl": "at"},
        ),
        ("serper", {"language": "yi"}, {}),
        ("serpapi", {"freshness": "year"}, {"tbs": "qdr:y"}),
        ("serpapi", RANGE, {"tbs": "cdr:1,cd_min:01/01/2026,cd_max:03/31/2026"}),
        (
            "serpapi",
            {"language": "zh", "country": "AT"},
            {"lr": "lang_zh-CN", "hl": "zh-cn", "gl": "at"},
        ),
        ("serpapi", {"language": "he"}, {"lr": "lang_iw", "hl": "iw"}),
        ("serpapi", {"topic": "news"}, {}),
        ("exa", {"search_depth": "deep"}, {"type": "deep"}),
        (
            "exa",
            {"include_content": True},
            {"contents": {"highlights": True, "text": True}},
        ),
        ("exa", TWO, {"includeDomains": ["a.org", "b.org"]}),
        ("exa", NOT_ONE, {"excludeDomains": ["c.org"]}),
        ("exa", {"topic": "news"}, {"category": "news"}),
        ("exa", {"freshness": "week"}, {"startPublishedDate": "2026-11-14T00:00:00.000Z"}),
        (
            "exa",
            RANGE,
            {
                "startPublishedDate": "2026-01-01T00:00:00.000Z",
                "endPublishedDate": "2026-03-31T23:59:59.999Z",
            },
        ),
        ("exa", {"country": "DE", "language": "de"}, {"userLocation": "DE"}),
        ("linkup", {"search_depth": "deep"}, {"depth": "deep"}),
        ("linkup", TWO, {"includeDomains": ["a.org", "b.org"]}),
        ("linkup", NOT_ONE, {"excludeDomains": ["c.org"]}),
        ("linkup", {"freshness": "day"}, {"fromDate": "2026-11-20"}),
        ("linkup", RANGE, {"fromDate": "2026-01-01", "toDate": "2026-03-31"}),
        ("linkup", {"topic": "news", "language": "de", "country": "DE"}, {}),
        ("perplexity", TWO, {"search_domain_filter": ["a.org", "b.org"]}),
        ("perplexity", NOT_TWO, {"search_domain_filter": ["-c.org", "-d.org"]}),
        ("perplexity", ONE | NOT_ONE, {"search_domain_filter": ["a.org"]}),
        ("perplexity", {"search_depth": "deep"}, {"search_context_size": "high"}),
        ("perplexity", {"freshness": "year"}, {"search_recency_filter": "year"}),
        (
            "perplexity",
            RANGE,
            {
                "search_after_date_filter": "01/01/2026",
                "search_before_date_filter": "03/31/2026",
            },
        ),
        (
            "perplexity",
            {"language": "de", "country": "DE"},
            {"search_language_filter": ["de"], "country": "DE"},
        ),
        ("perplexity", {"topic": "news"}, {}),
        ("mojeek", ONE, {"site": "a.org"}),
        ("mojeek", TWO, {}),
        ("mojeek", {"freshness": "week"}, {"since": "20261114"}),
        ("mojeek", RANGE, {"since": "20260101", "before": "20260401"}),
        ("mojeek", {"language": "de", "country": "DE"}, {}),
        ("kagi", {"freshness": "week"}, {"filters": {"after": "2026-11-14"}}),
        ("kagi", RANGE, {"filters": {"after": "2026-01-01", "before": "2026-03-31"}}),
        ("kagi", {"country": "DE", "language": "de"}, {"filters": {"region": "de"}}),
        ("openalex", {"language": "de"}, {"filter": "language:de"}),
        (
            "openalex",
            RANGE | {"language": "de"},
            {
                "filter": "from_publication_date:2026-01-01,to_publication_date:2026-03-31,"
                "language:de"
            },
        ),
        ("openalex", OPEN, {"filter": "from_publication_date:2026-01-01"}),
        ("openalex", ONE | NOT_TWO | {"topic": "news", "country": "DE"}, {}),
        ("wikipedia", ONE | RANGE | {"topic": "news", "search_depth": "deep"}, {}),
    ],
)
def test_parameters(vendor, options, parameters):
    """Those that are documented; what a vendor cannot do is not sent."""
    assert added(vendor, **options) == parameters


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("days", ["0001-01-01..9999-12-31", "9999-12-31..", "0001-01-01.."])
def test_the_ends_of_the_calendar_are_no_failure(name, days):
    """However far a range reaches, a request can be built."""
    vendor = VENDORS[name]
    assert arguments(vendor, vendor.taken(SearchOptions(freshness=days)))


@pytest.mark.parametrize("name", ["brave", "searxng", "serper", "serpapi", "kagi", "google"])
def test_sites_are_operators_where_there_is_no_parameter(name):
    """`emulated`, and the adapter writes them into the query."""
    vendor = VENDORS[name]
    options = vendor.taken(SearchOptions(**TWO, **NOT_TWO))
    assert vendor.applied(options) == {
        "include_domains": "emulated",
        "exclude_domains": "emulated",
    }
    limits = {"chars": vendor.max_query_chars, "words": vendor.max_query_words}
    asked, _ = fit_query("asyncio", options, vendor.applied(options), title=name, **limits)
    assert asked == "asyncio (site:a.org OR site:b.org) -site:c.org -site:d.org"


def test_preferred_sites_are_left_to_the_worker():
    """Only Tavily has such a thing; with all others results of any site may come."""
    prefers = {
        name
        for name, vendor in VENDORS.items()
        if vendor.applied(vendor.taken(SearchOptions(include_domains=("a.org",))))
    }
    assert prefers == {"tavily"}


@pytest.mark.parametrize(("name", "path"), [("brave", "/res/v1/news/search"), ("serper", "/news")])
def test_news_have_an_address_of_their_own(name, path):
    vendor = VENDORS[name]
    request = vendor.request("asyncio", 10, 0, SearchOptions(topic="news"))
    assert request.url == vendor.base_url + path
    assert "result_filter" not in (request.params or {})


@pytest.mark.parametrize(
    ("count", "applied"),
    [(20, {"include_domains": "native"}), (21, {"exclude_domains": "native"})],
)
def test_perplexity_takes_twenty_domains_of_one_kind(count, applied):
    """Those that are wanted first; too many of them are left to the worker."""
    sites = tuple(f"site-{n}.example.com" for n in range(count))
    options = SearchOptions(include_domains=sites, domain_mode="restrict", **NOT_ONE)
    vendor = VENDORS["perplexity"]
    assert vendor.applied(vendor.taken(options)) == applied
    too_many = SearchOptions(exclude_domains=tuple(f"site-{n}.example.com" for n in range(21)))
    assert vendor.applied(vendor.taken(too_many)) == {}


@pytest.mark.parametrize(
    ("name", "deep", "count", "units"),
    [
        ("tavily", False, 20, 1),
        ("tavily", True, 20, 2),
        ("linkup", False, 100, 1),
        ("linkup", True, 1, 10),
        ("serper", False, 10, 1),
        ("serper", False, 11, 2),
        ("serper", True, 10, 1),
        ("exa", False, 10, 1),
        ("exa", False, 17, 2),
        ("exa", True, 10, 12 / 7),
        ("brave", True, 20, 1),
        ("perplexity", True, 20, 1),
    ],
)
def test_units_of_the_list_price(name, deep, count, units):
    """What one request costs, before it is made."""
    vendor = VENDORS[name]
    options = vendor.taken(SearchOptions(search_depth="deep" if deep else None))
    assert vendor.credits(options, count) == pytest.approx(units)


@pytest.mark.parametrize(("depth", "said"), [("deep", ["2 usual ones"]), ("basic", [])])
def test_a_deep_search_says_what_it_is_billed_as(depth, said):
    with ProviderServer("tavily") as server:
        adapter = TavilySearch(api_key=server.dialect.key, base_url=server.base_url)
        response = adapter.search(
            "asyncio", max_results=5, options=SearchOptions(search_depth=depth)
        )
    assert [notice.partition(" as ")[2].rstrip(".") for notice in response.notices] == said


def test_wikipedia_in_another_language():
    """Another wiki is asked, and its addresses are those of the results."""
    wikipedia = WikipediaSearch()
    options = SearchOptions(language="de")
    assert wikipedia.applied(options) == {"language": "emulated"}
    german = wikipedia.in_language("de")
    assert german.request("asyncio", 10, 0).url == "https://de.wikipedia.org/w/api.php"
    assert german.row({"title": "Prozess"}).url == "https://de.wikipedia.org/wiki/Prozess"
    assert wikipedia.base_url == "https://en.wikipedia.org"


def test_a_wiki_of_one_s_own_has_its_language():
    """Only Wikipedia has a wiki for each."""
    wiki = WikipediaSearch(base_url="https://wiki.example.org")
    assert wiki.applied(wiki.taken(SearchOptions(language="de"))) == {}


def test_every_brave_language_and_tavily_country_is_a_code():
    assert all(len(code) == 2 for code in VENDORS["brave"].languages)
    assert all(code.isupper() and len(code) == 2 for code in VENDORS["tavily"].countries)
    assert len(set(VENDORS["tavily"].countries.values())) == len(VENDORS["tavily"].countries)
