"""What the search vendors' answers become."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.http.json_values import published, share
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import SearchProviderBadResponse, SearchProviderUnavailable

TODAY = date(2026, 11, 21)
TAVILY = TavilySearch()
BRAVE = BraveSearch(api_key="brave-key", today=lambda: TODAY)
GOOGLE = GoogleSearchAdapter(api_key="google-key", search_engine_id="engine")
SEARXNG = SearxngSearch(base_url="http://localhost:8080")
WIKIPEDIA = WikipediaSearch()
VENDORS = [TAVILY, BRAVE, GOOGLE, SEARXNG, WIKIPEDIA]

URL = "https://example.com/a"


def answer(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    return HttpResponse(status, named, json.dumps(value).encode())


def test_a_row_of_tavily():
    row = {"title": "A", "url": URL, "content": "b", "score": 0.93, "raw_content": None}
    news = row | {"published_date": "Tue, 03 Mar 2026 09:30:00 GMT", "score": 17}
    page = TAVILY.parse(answer({"results": [row, news], "response_time": 1.1}))
    assert page.rows == [
        ProviderSearchResult(URL, "A", "b", "tavily", score=0.93),
        ProviderSearchResult(URL, "A", "b", "tavily", published_date="2026-03-03T09:30:00+00:00"),
    ]
    assert page.raw == [row, news]
    assert page.more is False


def test_a_row_of_brave():
    """HTML stays for the worker to clean; a date has no zone, or is a number of days ago."""
    row = {"title": "A &amp; B", "url": URL, "description": "<strong>x</strong> &lt; 3"}
    rows = [
        row | {"page_age": "2026-03-03T09:30:00", "age": "March 3, 2026"},
        row | {"age": "3 days ago"},
        row | {"age": "soon"},
    ]
    page = BRAVE.parse(answer({"type": "search", "web": {"results": rows}}))
    assert page.rows[0] == ProviderSearchResult(
        URL,
        "A &amp; B",
        "<strong>x</strong> &lt; 3",
        "brave",
        published_date="2026-03-03T09:30:00+00:00",
    )
    assert [row.published_date for row in page.rows[1:]] == ["2026-11-18", None]
    assert page.more is None


def test_a_row_of_google():
    row = {"title": "A", "link": URL, "snippet": "Mar 3, 2025 ... b", "mime": "application/pdf"}
    page = GOOGLE.parse(answer({"items": [row | {"displayLink": "example.com"}, row]}))
    assert page.rows[0] == ProviderSearchResult(
        URL, "A", "Mar 3, 2025 ... b", "example.com", content_type="application/pdf"
    )
    assert page.rows[1].source == "google"
    assert page.quota_remaining is None


def test_a_google_row_may_lack_a_snippet():
    assert GOOGLE.parse(answer({"items": [{"link": URL, "title": "A"}]})).rows[0].snippet == ""


def test_a_row_of_searxng():
    """Its score compares within one answer only, so it stays in the raw row."""
    row = {"url": URL, "title": "A", "content": "b", "score": 8.0, "publishedDate": None}
    dated = row | {"publishedDate": "2026-03-03T09:30:00", "engines": ["bing", "brave"]}
    page = SEARXNG.parse(answer({"results": [row, dated], "unresponsive_engines": []}))
    assert page.rows == [
        ProviderSearchResult(URL, "A", "b", "searxng"),
        ProviderSearchResult(URL, "A", "b", "searxng", published_date="2026-03-03T09:30:00+00:00"),
    ]
    assert page.raw[0]["score"] == 8.0
    assert page.more is None


def test_rows_of_searxng_without_an_address_are_skipped():
    key_value = {"template": "keyvalue.html", "url": None, "title": "", "kvmap": {"a": "b"}}
    labelled = {"template": "keyvalue.html", "url": URL, "title": "facts"}
    rows = [key_value, {"url": URL, "title": "A"}, labelled]
    assert [row.title for row in SEARXNG.parse(answer({"results": rows})).rows] == ["A"]
    assert SEARXNG.parse(answer({"results": [key_value]})).rows == []


@pytest.mark.parametrize(
    ("row", "url"),
    [
        ({"title": "Asyncio"}, "https://en.wikipedia.org/wiki/Asyncio"),
        ({"title": "C++ (language)"}, "https://en.wikipedia.org/wiki/C%2B%2B_(language)"),
        ({"title": "What? 50% & é/ß"}, "https://en.wikipedia.org/wiki/What%3F_50%25_%26_%C3%A9/%C3%9F"),
        ({"title": "  ", "pageid": 7}, "https://en.wikipedia.org/w/index.php?curid=7"),
        ({"title": None, "pageid": 7}, "https://en.wikipedia.org/w/index.php?curid=7"),
        ({"title": "\ud83d broken"}, "https://en.wikipedia.org/wiki/%3F_broken"),
    ],
)  # fmt: skip
def test_a_row_of_wikipedia_gets_an_address(row, url):
    page = WIKIPEDIA.parse(answer({"query": {"search": [row]}}))
    assert [row.url for row in page.rows] == [url]


def test_a_row_of_wikipedia():
    row = {
        "ns": 0,
        "title": "Asyncio",
        "pageid": 7,
        "snippet": 'An <span class="searchmatch">event</span> loop',
        "timestamp": "2026-03-03T09:30:00Z",
    }
    page = WIKIPEDIA.parse(answer({"batchcomplete": "", "query": {"search": [row]}}))
    assert page.rows == [
        ProviderSearchResult(
            "https://en.wikipedia.org/wiki/Asyncio",
            "Asyncio",
            'An <span class="searchmatch">event</span> loop',
            "wikipedia",
            published_date="2026-03-03T09:30:00+00:00",
        )
    ]
    assert page.more is False


@pytest.mark.parametrize(
    ("vendor", "value"),
    [
        (TAVILY, {"results": []}),
        (BRAVE, {"type": "search", "query": {"original": "x"}}),
        (BRAVE, {"type": "search", "web": {"results": []}}),
        (GOOGLE, {"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}}),
        (SEARXNG, {"results": [], "unresponsive_engines": []}),
        (SEARXNG, {"results": [], "answers": [{"answer": "9"}]}),
        (WIKIPEDIA, {"batchcomplete": "", "query": {"search": []}}),
    ],
)
def test_nothing_found_is_no_failure(vendor, value):
    page = vendor.parse(answer(value))
    assert list(page.rows) == []


@pytest.mark.parametrize(
    ("vendor", "value", "more"),
    [
        (GOOGLE, {"queries": {"nextPage": [{"startIndex": 11}]}}, True),
        (GOOGLE, {"queries": {"request": [{}]}}, False),
        (GOOGLE, {"queries": None}, False),
        (BRAVE, {"query": {"more_results_available": True}}, True),
        (BRAVE, {"query": {"more_results_available": False}}, False),
        (BRAVE, {"query": {"more_results_available": "no"}}, None),
        (WIKIPEDIA, {"query": {"search": []}, "continue": {"sroffset": 50}}, True),
    ],
)
def test_whether_there_is_a_further_page(vendor, value, more):
    assert vendor.parse(answer(value)).more is more


@pytest.mark.parametrize(
    ("limit", "remaining", "left"),
    [
        ("1, 2000", "0, 1993", 1993),
        (None, "14", 14),
        ("50, 0", "49, 0", None),  # a plan without a monthly limit
        ("1, 2000", "0, -3", 0),
        ("1, 2000", "many", None),
        ("1, 2000", None, None),
    ],
)
def test_what_is_left_of_the_month_at_brave(limit, remaining, left):
    headers = {"x_ratelimit_limit": limit, "x_ratelimit_remaining": remaining}
    response = answer({"web": {"results": []}}, **{n: h for n, h in headers.items() if h})
    assert BRAVE.parse(response).quota_remaining == left


def test_searxng_says_which_engines_failed():
    failed = [["bing", "timeout"], ["brave", "Suspended: CAPTCHA"], [], [7], "qwant"]
    page = SEARXNG.parse(answer({"results": [{"url": URL}], "unresponsive_engines": failed}))
    assert "bing (timeout), brave (Suspended: CAPTCHA), qwant" in page.notices[0]
    with pytest.raises(SearchProviderUnavailable, match=r"bing \(timeout\)") as error:
        SEARXNG.parse(answer({"results": [], "unresponsive_engines": failed}))
    assert (error.value.code, error.value.retryable) == ("serviceUnavailable", True)


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"<!doctype html><title>Log in</title>", b'{"results": [', b"[]", b"null", b"7",
     b'"no"', b"\xff\xfe\xfa", b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_is_no_object_is_a_bad_response(vendor, body):
    with pytest.raises(SearchProviderBadResponse) as error:
        vendor.parse(HttpResponse(200, {}, body))
    assert (error.value.code, error.value.retryable) == ("unknown", False)
    assert error.value.http_status == 200
    assert vendor.address_variable in str(error.value)


@pytest.mark.parametrize(
    ("vendor", "value"),
    [
        *((TAVILY, {"results": rows}) for rows in (None, 7, {}, "no", [7, "x"], [{}])),
        (TAVILY, {}),
        *((BRAVE, {"web": web}) for web in (7, [], {}, {"results": None}, {"results": ["x"]})),
        *((GOOGLE, {"items": items}) for items in (7, {}, "no", [None], [{"title": "A"}])),
        *((SEARXNG, {"results": rows}) for rows in (None, 7, {}, ["x"], [{"url": 7}])),
        *((WIKIPEDIA, {"query": query}) for query in (None, 7, [], {}, {"search": 7})),
        (WIKIPEDIA, {"query": {"search": [{"snippet": "x"}]}}),
    ],
)
def test_an_answer_of_another_form_is_a_bad_response(vendor, value):
    """It is not taken for "nothing found"."""
    with pytest.raises(SearchProviderBadResponse):
        vendor.parse(answer(value))


@pytest.mark.parametrize("value", [None, 7, True, [], {}, ["x"], "", "\ud83d"])
def test_odd_fields_cost_their_row_at_most(value):
    good = {"url": URL, "link": URL, "title": "A", "snippet": "b", "content": "b"}
    fields = [*good, "description", "score", "displayLink", "mime", "age", "page_age", "pageid"]
    rows = [good, *(good | {name: value} for name in fields), value]
    for vendor, envelope in (
        (TAVILY, {"results": rows}),
        (BRAVE, {"web": {"results": rows}}),
        (GOOGLE, {"items": rows}),
        (SEARXNG, {"results": rows}),
        (WIKIPEDIA, {"query": {"search": rows}}),
    ):
        page = vendor.parse(answer(envelope))
        assert len(page.rows) >= len(rows) - 3
        assert all(isinstance(row.title + row.snippet + row.source, str) for row in page.rows)


def test_a_byte_order_mark_is_no_trouble():
    body = json.dumps({"results": [{"url": URL}]})
    for encoding in ("utf-8-sig", "utf-16"):
        assert TAVILY.parse(HttpResponse(200, {}, body.encode(encoding))).rows


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), st.integers(), st.none(), st.datetimes().map(str)))
def test_any_date_is_read_or_left_out(value):
    """What comes out is ISO 8601 and reads the same again."""
    read = published(value, today=TODAY)
    assert read is None or published(read, today=TODAY) == read


@settings(deadline=None)
@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.none()))
def test_a_score_is_a_share_or_nothing(value):
    score = share(value)
    assert score is None or 0 <= score <= 1
