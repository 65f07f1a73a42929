"""What a row of each search vendor becomes."""

from __future__ import annotations

import pytest
from support.vendor_adapters import (
    BRAVE,
    EXA,
    GOOGLE,
    KAGI,
    LINKUP,
    MOJEEK,
    PERPLEXITY,
    SEARXNG,
    SERPAPI,
    SERPER,
    TAVILY,
    URL,
    WIKIPEDIA,
    answer,
    envelope,
)

from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import SearchProviderUnavailable


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
    assert SEARXNG.parse(answer({"query": "x", "results": [key_value]})).rows == []


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
    response = answer(
        {"type": "search", "web": {"results": []}}, **{n: h for n, h in headers.items() if h}
    )
    assert BRAVE.parse(response).quota_remaining == left


def test_searxng_says_which_engines_failed():
    failed = [["bing", "timeout"], ["brave", "Suspended: CAPTCHA"], [], [7], "qwant"]
    page = SEARXNG.parse(answer({"results": [{"url": URL}], "unresponsive_engines": failed}))
    assert "bing (timeout), brave (Suspended: CAPTCHA), qwant" in page.notices[0]
    with pytest.raises(SearchProviderUnavailable, match=r"bing \(timeout\)") as error:
        SEARXNG.parse(answer({"results": [], "unresponsive_engines": failed}))
    assert (error.value.code, error.value.retryable) == ("serviceUnavailable", True)


@pytest.mark.parametrize(
    ("vendor", "row", "result"),
    [
        (
            SERPER,
            {"title": "A", "link": URL, "snippet": "b", "date": "3 days ago", "position": 1},
            ProviderSearchResult(URL, "A", "b", "serper", published_date="2026-11-18"),
        ),
        (
            SERPAPI,
            {"title": "A", "link": URL, "snippet": "b", "date": "Mar 3, 2026", "position": 1},
            ProviderSearchResult(URL, "A", "b", "serpapi", published_date="2026-03-03"),
        ),
        (
            EXA,
            {"title": "A", "url": URL, "publishedDate": "2026-03-03T09:30:00.000Z", "score": 0.4,
             "highlights": ["b", "c"], "text": "the whole page"},
            ProviderSearchResult(
                URL, "A", "b … c", "exa", score=0.4, content="the whole page",
                published_date="2026-03-03T09:30:00+00:00",
            ),
        ),
        (
            LINKUP,
            {"name": "A", "url": URL, "content": "b", "type": "text"},
            ProviderSearchResult(URL, "A", "b", "linkup", content="b"),
        ),
        (
            PERPLEXITY,
            {"title": "A", "url": URL, "snippet": "b", "date": "2026-03-03",
             "last_updated": "2026-11-01"},
            ProviderSearchResult(URL, "A", "b", "perplexity", published_date="2026-03-03"),
        ),
        (
            MOJEEK,
            {"url": URL, "title": "A", "desc": "<b>b</b> &amp; c"},
            ProviderSearchResult(URL, "A", "<b>b</b> &amp; c", "mojeek"),
        ),
        (
            KAGI,
            {"url": URL, "title": "A", "snippet": "<b>b</b>", "time": "2026-03-03T09:30:00Z"},
            ProviderSearchResult(
                URL, "A", "<b>b</b>", "kagi", published_date="2026-03-03T09:30:00+00:00"
            ),
        ),
    ],
    ids=lambda each: getattr(each, "provider_name", ""),
)  # fmt: skip
def test_a_row(vendor, row, result):
    """HTML stays for the worker to clean."""
    page = vendor.parse(answer(envelope(vendor, [row])))
    assert page.rows == [result]
    assert page.raw == [row]


def test_a_row_of_exa_may_lack_nearly_everything():
    """The worker makes a title of the address, and drops what has no text at all."""
    bare = {"id": URL, "url": URL, "title": None, "publishedDate": None, "author": None}
    page = EXA.parse(answer({"results": [bare, bare | {"highlights": None, "score": None}]}))
    assert page.rows == [ProviderSearchResult(URL, "", "", "exa")] * 2
    assert page.more is False


@pytest.mark.parametrize("highlights", [None, [], [""], [None, 7], "b", {}])
def test_exa_s_text_stands_in_for_what_is_not_highlighted(highlights):
    row = {"url": URL, "highlights": highlights, "text": "word " * 100}
    snippet = EXA.parse(answer({"results": [row]})).rows[0].snippet
    assert snippet.startswith("word word")
    assert 230 < len(snippet) <= 240


@pytest.mark.parametrize(
    ("balance", "left"),
    [
        (0.5, "$0.50"), (1, "$1.00"), (0.004, "$0.004"), (0, "$0.00"), (-0.2, "$0.00"),
        (4.2, None), (1e300, None), (None, None), ("0.2", None), (True, None), (10**400, None),
        (float("nan"), None), (float("-inf"), "$0.00"), ([], None),
    ],
)  # fmt: skip
def test_what_is_left_at_kagi(balance, left):
    """A low balance is told in its own unit: dollars are no number of searches."""
    page = KAGI.parse(answer({"meta": {"api_balance": balance}, "data": {"search": []}}))
    assert page.quota_remaining is None
    assert list(page.notices) == ([f"Kagi: {left} of the balance left"] if left else [])
    assert list(KAGI.parse(answer({"meta": balance, "data": {}})).notices) == []
