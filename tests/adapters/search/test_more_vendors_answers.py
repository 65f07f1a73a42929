"""What the answers of Serper, SerpApi, Exa, Linkup, Perplexity, Mojeek and Kagi become."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import SearchProviderBadResponse

TODAY = date(2026, 11, 21)
SERPER = SerperSearch(api_key="a-key", today=lambda: TODAY)
SERPAPI = SerpApiSearch(api_key="a-key", today=lambda: TODAY)
EXA = ExaSearch(api_key="a-key")
LINKUP = LinkupSearch(api_key="a-key")
PERPLEXITY = PerplexitySearch(api_key="a-key")
MOJEEK = MojeekSearch(api_key="a-key")
KAGI = KagiSearch(api_key="a-key")
VENDORS = [SERPER, SERPAPI, EXA, LINKUP, PERPLEXITY, MOJEEK, KAGI]

URL = "https://example.com/a"
SUCCESS = {"search_metadata": {"id": "1", "status": "Success"}}


def answer(value: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(status, {}, json.dumps(value).encode())


def envelope(vendor: Any, rows: Any) -> dict[str, Any]:
    if vendor is SERPER:
        return {"searchParameters": {"q": "x"}, "organic": rows, "credits": 1}
    if vendor is SERPAPI:
        return SUCCESS | {"organic_results": rows}
    if vendor is MOJEEK:
        return {"response": {"status": "OK", "head": {"results": 7}, "results": rows}}
    if vendor is KAGI:
        return {"meta": {"id": "1", "ms": 7}, "data": {"search": rows, "related_search": []}}
    return {"results": rows, "requestId": "1"}


def read(vendor: Any, value: Any) -> list[ProviderSearchResult]:
    """Return the rows, none where the answer is of another form."""
    try:
        return list(vendor.parse(answer(value)).rows)
    except SearchProviderBadResponse:
        return []


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
    ("vendor", "value", "status"),
    [
        *((vendor, envelope(vendor, []), 200) for vendor in VENDORS),
        (SERPAPI, SUCCESS | {"error": "Google hasn't returned any results for this query."}, 200),
        (SERPAPI, SUCCESS, 200),
        (LINKUP, {"statusCode": 400, "error": {"code": "SEARCH_QUERY_NO_RESULT",
                  "message": "The query did not yield any result.", "details": []}}, 400),
        (KAGI, {"meta": {"ms": 7}, "data": {}}, 200),
        (KAGI, {"meta": {"ms": 7}, "data": {"related_search": [{"title": "x"}]}}, 200),
    ],
)  # fmt: skip
def test_nothing_found_is_no_failure(vendor, value, status):
    assert list(vendor.parse(answer(value, status)).rows) == []


@pytest.mark.parametrize(
    ("vendor", "value", "more"),
    [
        (SERPAPI, {"serpapi_pagination": {"next": "https://serpapi.com/search?start=10"}}, True),
        (SERPAPI, {"serpapi_pagination": {"current": 2}}, False),
        (SERPAPI, {"serpapi_pagination": None}, False),
        (SERPAPI, {}, False),
        (SERPER, {}, None),
        (EXA, {}, False),
        (LINKUP, {}, False),
        (PERPLEXITY, {}, False),
        (MOJEEK, {}, None),
        (KAGI, {}, None),
    ],
)
def test_whether_there_is_a_further_page(vendor, value, more):
    assert vendor.parse(answer(envelope(vendor, [{"url": URL, "link": URL}]) | value)).more is more


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


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"<!doctype html><title>Log in</title>", b'{"results": [', b"[]", b"null", b"7",
     b'"no"', b"\xff\xfe\xfa", b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_is_no_object_is_a_bad_response(vendor, body):
    with pytest.raises(SearchProviderBadResponse) as error:
        vendor.parse(HttpResponse(200, {}, body))
    assert (error.value.code, error.value.http_status) == ("unknown", 200)
    assert vendor.address_variable in str(error.value)


@pytest.mark.parametrize(
    ("vendor", "value"),
    [
        *(
            (vendor, envelope(vendor, rows))
            for vendor in VENDORS
            for rows in (7, {}, "no", [7, "x"], [{}], [{"title": "A"}], [{"url": 7, "link": 7}])
        ),
        *((vendor, {}) for vendor in VENDORS),
        (SERPER, envelope(SERPER, None)),
        (SERPAPI, {"search_metadata": {"status": "Processing"}}),
        (LINKUP, envelope(LINKUP, None)),
        (KAGI, envelope(KAGI, None)),
        *((MOJEEK, {"response": value}) for value in (None, 7, {}, {"status": "OK"}, {"status": 7})),
        *((KAGI, {"data": value}) for value in (None, 7, [], "no")),
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_a_bad_response(vendor, value):
    """It is not taken for "nothing found"."""
    with pytest.raises(SearchProviderBadResponse):
        vendor.parse(answer(value))


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize("value", [None, 7, 1e308, True, [], {}, ["x"], "", "\ud83d"])
def test_odd_fields_cost_their_row_at_most(vendor, value):
    good = {"url": URL, "link": URL, "title": "A", "name": "A", "snippet": "b", "desc": "b"}
    odd = [*good, "content", "date", "score", "publishedDate", "highlights", "text", "time"]
    rows = [good, *(good | {name: value} for name in odd), value]
    page = vendor.parse(answer(envelope(vendor, rows)))
    assert len(page.rows) >= len(rows) - 2
    assert all(isinstance(row.title + row.snippet + row.source, str) for row in page.rows)


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize("value", [None, 7, 1e308, True, [], {}, ["x"], "", "\ud83d", [[]]])
def test_odd_frames_are_survived(vendor, value):
    """Any part of what surrounds the rows may be something else; no other row comes of it."""
    frame = envelope(vendor, [{"url": URL, "link": URL, "title": "A"}])
    names = [*frame, "error", "errors", "meta", "serpapi_pagination", "search_metadata"]
    found = {row.url for name in names for row in read(vendor, frame | {name: value})}
    assert found == {URL}
