"""What the doubles of the newer vendors check, answer and leave out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.sample_index import find_hits
from collection_search.testing.providers.wire import KEY, ProviderRequest

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN = "qzxv jwkpf"
BEARER = {"authorization": f"Bearer {KEY}"}
DEFAULTS: dict[str, tuple[str, str, dict[str, str], dict[str, Any]]] = {
    "serper": ("POST", "/search", {"x-api-key": KEY}, {"q": "asyncio"}),
    "serpapi": ("GET", "/search", {}, {"api_key": KEY, "engine": "google", "q": "asyncio"}),
    "exa": ("POST", "/search", {"x-api-key": KEY}, {"query": "asyncio"}),
    "linkup": (
        "POST",
        "/v1/search",
        BEARER,
        {"q": "asyncio", "depth": "standard", "outputType": "searchResults"},
    ),
    "perplexity": ("POST", "/search", BEARER, {"query": "asyncio"}),
    "mojeek": ("GET", "/search", {}, {"api_key": KEY, "fmt": "json", "q": "asyncio"}),
    "kagi": ("POST", "/api/v1/search", BEARER, {"query": "asyncio"}),
}


def ask(vendor: str, **changes: Any) -> tuple[int, Any]:
    """Return status and JSON body, or text; `None` takes an argument out, `headers` replaces."""
    method, path, headers, arguments = DEFAULTS[vendor]
    method, path = changes.pop("method", method), changes.pop("path", path)
    headers = changes.pop("headers", headers)
    arguments = {k: v for k, v in {**arguments, **changes}.items() if v is not None}
    is_query = DEFAULTS[vendor][0] == "GET"
    request = ProviderRequest(
        method,
        path,
        {name: str(value) for name, value in arguments.items()} if is_query else {},
        headers,
        body=None if is_query else arguments,
    )
    reply = DIALECTS[vendor]().answer(request)
    is_json = reply.headers["Content-Type"] == "application/json"
    return reply.status, json.loads(reply.body) if is_json else reply.body.decode()


def rows(vendor: str, **changes: Any) -> list[dict[str, Any]]:
    """Return the rows of a good answer."""
    status, body = ask(vendor, **changes)
    assert status == 200, body
    return LISTS[vendor](body)


LISTS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "serper": lambda body: body["organic"],
    "serpapi": lambda body: body["organic_results"],
    "exa": lambda body: body["results"],
    "linkup": lambda body: body["results"],
    "perplexity": lambda body: body["results"],
    "mojeek": lambda body: body["response"]["results"],
    "kagi": lambda body: body["data"]["search"],
}


@pytest.mark.parametrize("vendor", DEFAULTS)
def test_ten_rows_unless_asked_for_others(vendor):
    """The best ten, under the vendor's own names."""
    fields = DIALECTS[vendor].fields
    answered = rows(vendor)
    assert [row[fields["url"]] for row in answered] == [
        page.url for page in find_hits("asyncio")[:10]
    ]
    assert all(row[fields["title"]] for row in answered)


@pytest.mark.parametrize("vendor", DEFAULTS)
def test_other_methods_and_paths_are_unknown(vendor):
    """What an adapter appends to the address has to be right."""
    other = {"GET": "POST", "POST": "GET"}[DEFAULTS[vendor][0]]
    assert ask(vendor, method=other)[0] == 404
    assert ask(vendor, path="/find")[0] == 404


@pytest.mark.parametrize(
    ("vendor", "changes", "status"),
    [
        ("serper", {"headers": {}}, 403),
        ("serper", {"headers": BEARER}, 403),
        ("serper", {"q": None}, 400),
        ("serper", {"q": ""}, 400),
        ("serper", {"q": "x" * 2048}, 200),
        ("serper", {"q": "x" * 2049}, 400),
        ("serper", {"num": 101}, 400),
        ("serper", {"num": "10"}, 400),
        ("serper", {"page": 0}, 400),
        ("serper", {"tbs": "qdr:w"}, 200),
        ("serper", {"tbs": "week"}, 400),
        ("serper", {"gl": "de", "hl": "de"}, 200),
        ("serper", {"gl": "DE"}, 400),
        ("serper", {"hl": "german"}, 400),
        ("serper", {"path": "/news"}, 200),
        ("serpapi", {"api_key": None}, 401),
        ("serpapi", {"api_key": "wrong"}, 401),
        ("serpapi", {"q": None}, 400),
        ("serpapi", {"engine": "altavista"}, 400),
        ("serpapi", {"engine": None}, 200),
        ("serpapi", {"path": "/search.json"}, 200),
        ("serpapi", {"num": 0}, 400),
        ("serpapi", {"num": "ten"}, 400),
        ("serpapi", {"start": -1}, 400),
        ("serpapi", {"tbs": "qdr:d", "gl": "de", "hl": "de"}, 200),
        ("serpapi", {"tbs": "day"}, 400),
        ("serpapi", {"gl": "germany"}, 400),
        ("exa", {"headers": {}}, 401),
        ("exa", {"query": None}, 400),
        ("exa", {"query": " "}, 400),
        ("exa", {"type": "abyss"}, 400),
        ("exa", {"contents": True}, 400),
        ("exa", {"numResults": 0}, 400),
        ("exa", {"numResults": 101}, 400),
        ("exa", {"category": "news", "userLocation": "DE"}, 200),
        ("exa", {"category": "sport"}, 400),
        ("exa", {"userLocation": "de"}, 400),
        ("exa", {"startPublishedDate": "2026-03-01T00:00:00.000Z"}, 200),
        ("exa", {"startPublishedDate": "week"}, 400),
        ("linkup", {"headers": {}}, 401),
        ("linkup", {"headers": {"authorization": KEY}}, 401),
        ("linkup", {"q": ""}, 400),
        ("linkup", {"depth": None}, 400),
        ("linkup", {"depth": "abyss"}, 400),
        ("linkup", {"outputType": None}, 400),
        ("linkup", {"maxResults": 0}, 400),
        ("linkup", {"includeDomains": ["docs.example.org"] * 100}, 200),
        ("linkup", {"includeDomains": ["a.org"]}, 400),
        ("linkup", {"includeDomains": ["a.org"] * 101}, 400),
        ("linkup", {"fromDate": "2026-01-01"}, 200),
        ("linkup", {"fromDate": "yesterday"}, 400),
        ("perplexity", {"headers": {}}, 401),
        ("perplexity", {"headers": {"authorization": "Bearer wrong"}}, 401),
        ("perplexity", {"query": None}, 422),
        ("perplexity", {"query": ""}, 400),
        ("perplexity", {"max_results": 21}, 400),
        ("perplexity", {"search_recency_filter": "decade"}, 400),
        ("perplexity", {"search_domain_filter": ["a.org", "b.org"]}, 200),
        ("perplexity", {"search_domain_filter": ["a.org", "-b.org"]}, 400),
        ("perplexity", {"search_domain_filter": ["a.org"] * 21}, 400),
        ("perplexity", {"search_domain_filter": ["-a.org"] * 20}, 200),
        ("perplexity", {"search_recency_filter": "hour"}, 200),
        ("perplexity", {"search_after_date_filter": "3/1/2026"}, 200),
        ("perplexity", {"search_after_date_filter": "2026-03-01"}, 400),
        (
            "perplexity",
            {"search_after_date_filter": "03/01/2026", "search_recency_filter": "day"},
            400,
        ),
        ("perplexity", {"search_language_filter": ["de"]}, 200),
        ("perplexity", {"search_language_filter": ["german"]}, 400),
        ("perplexity", {"country": "DE"}, 200),
        ("perplexity", {"country": "de"}, 400),
        ("mojeek", {"api_key": None}, 403),
        ("mojeek", {"q": None}, 400),
        ("mojeek", {"t": 101}, 400),
        ("mojeek", {"s": 0}, 400),
        ("mojeek", {"s": "first"}, 400),
        ("mojeek", {"since": "20260101", "before": "20260301"}, 200),
        ("mojeek", {"since": "2026-01-01"}, 400),
        ("kagi", {"headers": {}}, 400),
        ("kagi", {"headers": {"authorization": f"Bot {KEY}"}}, 400),
        ("kagi", {"query": None}, 400),
        ("kagi", {"query": " "}, 400),
        ("kagi", {"limit": 1025}, 400),
        ("kagi", {"page": 11}, 400),
    ],
)
def test_requests_are_checked(vendor, changes, status):
    """Key first, then every parameter that the vendor limits."""
    assert ask(vendor, **changes)[0] == status


def test_each_vendor_says_in_its_own_way_that_nothing_was_found():
    """An empty list, no list, an error text in a 200, and a 400."""
    body = {
        "serper": ask("serper", q=UNKNOWN),
        "serpapi": ask("serpapi", q=UNKNOWN),
        "exa": ask("exa", query=UNKNOWN),
        "linkup": ask("linkup", q=UNKNOWN),
        "perplexity": ask("perplexity", query=UNKNOWN),
        "mojeek": ask("mojeek", q=UNKNOWN),
        "kagi": ask("kagi", query=UNKNOWN),
    }
    assert {name for name, (status, _) in body.items() if status != 200} == {"linkup"}
    assert body["linkup"][1]["error"]["code"] == "SEARCH_QUERY_NO_RESULT"
    assert "organic_results" not in body["serpapi"][1]
    assert body["serpapi"][1]["search_metadata"]["status"] == "Success"
    assert body["serpapi"][1]["error"].startswith("Google hasn't returned any results")
    assert "search" not in body["kagi"][1]["data"]
    for vendor in ("serper", "exa", "perplexity", "mojeek"):
        assert LISTS[vendor](body[vendor][1]) == []


@pytest.mark.parametrize(
    ("vendor", "third_page"),
    [
        ("serper", {"num": 10, "page": 3}),
        ("serpapi", {"num": 10, "start": 20}),
        ("mojeek", {"t": 10, "s": 21}),
        ("kagi", {"limit": 10, "page": 3}),
    ],
)
def test_pages_are_counted_as_the_vendor_counts(vendor, third_page):
    """By pages from 1, by rows from 0, by rows from 1."""
    first = rows(vendor, **third_page)[0]
    assert first[DIALECTS[vendor].fields["url"]] == find_hits("asyncio")[20].url


@pytest.mark.parametrize(
    ("vendor", "second_page"), [("serper", {"page": 2}), ("serpapi", {"start": 10})]
)
def test_a_page_of_google_may_hold_less(vendor, second_page):
    """Another box takes a place; further pages follow all the same."""
    assert [len(rows(vendor)), len(rows(vendor, **second_page))] == [10, 9]


def test_serpapi_names_the_next_page():
    """None after the last page, and no word of pages where there is but one."""
    following = [ask("serpapi", start=start)[1]["serpapi_pagination"] for start in (0, 40)]
    assert "start=10" in following[0]["next"]
    assert following[1] == {"current": 5}
    assert "serpapi_pagination" not in ask("serpapi", q="sqlite")[1]


def test_mojeek_knows_the_number_of_hits():
    """Its head counts rows from 0, its parameter from 1."""
    head = ask("mojeek", s=41)[1]["response"]["head"]
    assert (head["results"], head["start"], head["return"]) == (45, 40, 5)


def test_mojeek_answers_xml_unless_told():
    """As documented."""
    assert ask("mojeek", fmt=None)[1].startswith("<?xml")


def test_google_shows_dates_as_people_write_them():
    """Relative in the first week, later the day, or none."""
    for vendor in ("serper", "serpapi"):
        dates = [row.get("date") for row in rows(vendor)]
        assert dates[:5] == ["1 day ago", "2 days ago", "3 days ago", None, "5 days ago"]
        assert dates[8] == "Feb 22, 2026"


def test_serper_answers_more_than_rows():
    """Boxes on the first page; more than ten rows cost two credits."""
    body = ask("serper", num=20)[1]
    assert {"answerBox", "knowledgeGraph", "peopleAlsoAsk"} <= body.keys()
    assert (body["credits"], ask("serper")[1]["credits"]) == (2, 1)
    assert "answerBox" not in ask("serper", page=2)[1]


def test_exa_gives_texts_when_asked():
    """Neither text nor highlights without a word about contents; never a score."""
    assert not {"text", "highlights", "highlightScores", "score"} & rows("exa")[0].keys()
    assert rows("exa", contents={"text": True})[0]["text"].endswith(find_hits("asyncio")[0].snippet)
    asked = rows("exa", contents={"highlights": {"numSentences": 1}})
    assert asked[0]["highlights"] == [find_hits("asyncio")[0].snippet]
    assert "text" not in asked[0]
    assert {row["author"] for row in asked} == {None, "A. Nonymous"}
    assert [row["publishedDate"] for row in asked[:2]] == ["2026-03-02T09:30:00.000Z", None]


def test_limits_of_rows():
    """Where there are no pages, there is a most."""
    assert len(rows("exa", query="python", numResults=100)) == 100
    assert len(rows("linkup", q="python", maxResults=500)) == 100
    assert len(rows("perplexity", query="python", max_results=20)) == 20


def test_perplexity_refuses_at_the_edge_or_behind_it():
    """Without a key a web page, with a wrong one JSON."""
    assert "openresty" in ask("perplexity", headers={})[1]
    error = ask("perplexity", headers={"authorization": "Bearer no"})[1]["error"]
    assert (error["type"], error["code"]) == ("invalid_api_key", 401)


def test_html_is_marked():
    """Kagi and Mojeek highlight what was found."""
    for vendor, snippet in (("kagi", "snippet"), ("mojeek", "desc")):
        row = rows(vendor)[0]
        assert "<b>asyncio</b>" in row[snippet]
        assert "&amp;" in row["title"]


def test_what_a_request_asks_for():
    """The dialects read the size of a page from the request."""
    names = {
        "serper": "num",
        "serpapi": "num",
        "exa": "numResults",
        "linkup": "maxResults",
        "perplexity": "max_results",
        "mojeek": "t",
        "kagi": "limit",
    }
    for vendor, name in names.items():
        in_address = ProviderRequest("GET", "/", {name: "7"}, {}, body={name: 7})
        nothing = ProviderRequest("GET", "/", {}, {}, body={})
        assert DIALECTS[vendor]().rows_asked(in_address) == 7
        assert DIALECTS[vendor]().rows_asked(nothing) == 10
