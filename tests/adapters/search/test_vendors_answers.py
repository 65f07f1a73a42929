"""What answers of the search vendors become that hold nothing, more, or something else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vendor_adapters import (
    BRAVE,
    EXA,
    GOOGLE,
    KAGI,
    LINKUP,
    MOJEEK,
    OPENALEX,
    PERPLEXITY,
    SEARXNG,
    SERPAPI,
    SERPAPI_SUCCESS,
    SERPER,
    TAVILY,
    URL,
    VENDORS,
    WIKIPEDIA,
    answer,
    envelope,
    rows_or_none,
)

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.http.json_values import read_share
from collection_search.errors import SearchProviderBadResponse

FRAMED = [
    vendor for vendor in VENDORS if vendor is not WIKIPEDIA
]  # its addresses are made of titles
FOREIGN = [{}, {"status": "ok"}, {"message": "no such route"}, {"ok": True, "data": None}]
"""What proxies and the like answer with status 200."""
ROWS = [{"url": URL, "link": URL}]


@pytest.mark.parametrize(
    ("vendor", "value", "status"),
    [
        *((vendor, envelope(vendor, []), 200) for vendor in VENDORS),
        (TAVILY, {"results": []}, 200),
        (BRAVE, {"type": "search", "query": {"original": "x"}}, 200),
        (GOOGLE, {"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}}, 200),
        (SEARXNG, {"results": [], "unresponsive_engines": []}, 200),
        (SEARXNG, {"query": "9", "results": [], "answers": [{"answer": "9"}]}, 200),
        (WIKIPEDIA, {"batchcomplete": "", "query": {"search": []}}, 200),
        (SERPAPI, SERPAPI_SUCCESS | {"error": "Google hasn't returned any results for this query."}, 200),
        (SERPAPI, SERPAPI_SUCCESS, 200),
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
        (GOOGLE, {"queries": {"nextPage": [{"startIndex": 11}]}}, True),
        (GOOGLE, {"queries": {"request": [{}]}}, False),
        (GOOGLE, {"kind": "customsearch#search", "queries": None}, False),
        (BRAVE, {"type": "search", "query": {"more_results_available": True}}, True),
        (BRAVE, {"type": "search", "query": {"more_results_available": False}}, False),
        (BRAVE, {"type": "search", "query": {"more_results_available": "no"}}, None),
        (WIKIPEDIA, {"query": {"search": []}, "continue": {"sroffset": 50}}, True),
        *(
            (SERPAPI, envelope(SERPAPI, ROWS) | value, more)
            for value, more in (
                ({"serpapi_pagination": {"next": "https://serpapi.com/search?start=10"}}, True),
                ({"serpapi_pagination": {"current": 2}}, False),
                ({"serpapi_pagination": None}, False),
                ({}, False),
            )
        ),
        *((vendor, envelope(vendor, ROWS), None) for vendor in (SERPER, MOJEEK, KAGI)),
        *((vendor, envelope(vendor, ROWS), False) for vendor in (EXA, LINKUP, PERPLEXITY)),
    ],
)
def test_whether_there_is_a_further_page(vendor, value, more):
    assert vendor.parse(answer(value)).more is more


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
        *(
            (vendor, envelope(vendor, rows))
            for vendor in (SERPER, SERPAPI, EXA, LINKUP, PERPLEXITY, MOJEEK, KAGI)
            for rows in (7, {}, "no", [7, "x"], [{}], [{"title": "A"}], [{"url": 7, "link": 7}])
        ),
        *((vendor, value) for vendor in VENDORS for value in FOREIGN),
        (BRAVE, {"type": "about:blank", "title": "Gone", "status": 200}),
        (BRAVE, {"query": {"original": "x"}}),
        (GOOGLE, {"kind": "status"}),
        (SEARXNG, {"results": []}),
        (SEARXNG, {"query": "x", "results": [{"title": "A"}, {"url": None, "title": "B"}]}),
        (SERPAPI, {"organic_results": []}),
        (MOJEEK, {"response": {"results": []}}),
        (KAGI, {"data": {}}),
        (KAGI, {"data": {"search": []}}),
        (OPENALEX, {"results": []}),
        *((TAVILY, {"results": rows}) for rows in (None, 7, {}, "no", [7, "x"], [{}])),
        *((BRAVE, {"web": web}) for web in (7, [], {}, {"results": None}, {"results": ["x"]})),
        *((GOOGLE, {"items": items}) for items in (7, {}, "no", [None], [{"title": "A"}])),
        *((SEARXNG, {"results": rows}) for rows in (None, 7, {}, ["x"], [{"url": 7}])),
        *((WIKIPEDIA, {"query": query}) for query in (None, 7, [], {}, {"search": 7})),
        (WIKIPEDIA, {"query": {"search": [{"snippet": "x"}]}}),
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
    good = {
        "url": URL,
        "link": URL,
        "doi": URL,
        "title": "A",
        "name": "A",
        "snippet": "b",
        "desc": "b",
    }
    odd = [*good, "content", "date", "score", "publishedDate", "highlights", "text", "time"]
    odd += ["description", "displayLink", "mime", "age", "page_age", "pageid"]
    rows = [good, *(good | {name: value} for name in odd), value]
    page = vendor.parse(answer(envelope(vendor, rows)))
    assert len(page.rows) >= len(rows) - 2
    assert all(isinstance(row.title + row.snippet + row.source, str) for row in page.rows)


@pytest.mark.parametrize("vendor", FRAMED, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize("value", [None, 7, 1e308, True, [], {}, ["x"], "", "\ud83d", [[]]])
def test_odd_frames_are_survived(vendor, value):
    """Any part of what surrounds the rows may be something else; no other row comes of it."""
    frame = envelope(vendor, [{"url": URL, "link": URL, "doi": URL, "title": "A"}])
    names = [*frame, "error", "errors", "meta", "serpapi_pagination", "search_metadata"]
    found = {row.url for name in names for row in rows_or_none(vendor, frame | {name: value})}
    assert found == {URL}


def test_a_byte_order_mark_is_no_trouble():
    body = json.dumps({"results": [{"url": URL}]})
    for encoding in ("utf-8-sig", "utf-16"):
        assert TAVILY.parse(HttpResponse(200, {}, body.encode(encoding))).rows


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.none()))
def test_a_score_is_a_share_or_nothing(value):
    score = read_share(value)
    assert score is None or 0 <= score <= 1
