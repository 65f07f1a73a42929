"""What refusals of Serper, SerpApi, Exa, Linkup, Perplexity, Mojeek and Kagi become."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.errors import SearchProviderError, SearchProviderQuotaExceeded

if TYPE_CHECKING:
    from collection_search.adapters.search.http.vendor import Vendor

KEY = "open-sesame/4+tests"
SERPER = SerperSearch(api_key=KEY)
SERPAPI = SerpApiSearch(api_key=KEY)
EXA = ExaSearch(api_key=KEY)
LINKUP = LinkupSearch(api_key=KEY)
PERPLEXITY = PerplexitySearch(api_key=KEY)
MOJEEK = MojeekSearch(api_key=KEY)
KAGI = KagiSearch(api_key=KEY)
VENDORS = [SERPER, SERPAPI, EXA, LINKUP, PERPLEXITY, MOJEEK, KAGI]
RETRYABLE = {"rateLimited", "serviceUnavailable", "timeout"}


def refused(vendor: Vendor, status: int, body: Any = "", **headers: str) -> SearchProviderError:
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    sent = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(SearchProviderError) as error:
        vendor.parse(HttpResponse(status, named, sent.encode()))
    return error.value


def serper(status: int, text: str) -> dict[str, Any]:
    return {"message": text, "statusCode": status}


def exa(tag: str) -> dict[str, Any]:
    return {"requestId": "1", "error": "Said by Exa.", "tag": tag}


def linkup(status: int, code: str) -> dict[str, Any]:
    return {"statusCode": status, "error": {"code": code, "message": "Said.", "details": []}}


def openai_like(kind: str, code: Any = None, text: str = "Said by Perplexity.") -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, "code": code}}


def mojeek(status: str) -> dict[str, Any]:
    return {"response": {"status": status}}


def kagi(code: Any, text: str, *, balance: Any = 4.2, name: str = "error") -> dict[str, Any]:
    return {"meta": {"api_balance": balance}, "data": None, name: [{"code": code, "msg": text}]}


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (302, "unknown"), (400, "invalidQuery"), (401, "authenticationFailed"),
        (402, "quotaExceeded"), (403, "authenticationFailed"), (404, "unknown"), (408, "timeout"),
        (414, "invalidQuery"), (422, "invalidQuery"), (429, "rateLimited"),
        (500, "serviceUnavailable"), (503, "serviceUnavailable"), (504, "timeout"),
    ],
)  # fmt: skip
def test_the_status_decides_where_nothing_else_is_said(vendor, status, code):
    """A page of a gateway says nothing of its own, even if it repeats the query."""
    query = "?q=invalid api key, not enough credits, quota, monthly limit, out of searches"
    for body in ("", f"<h1>Sorry</h1>{query}, hasn't returned any results", {}, [], "null", "{"):
        error = refused(vendor, status, body)
        assert (error.code, error.retryable, error.http_status) == (code, code in RETRYABLE, status)


@pytest.mark.parametrize(
    ("vendor", "status", "body", "code"),
    [
        (SERPER, 403, serper(403, "Unauthorized."), "authenticationFailed"),
        (SERPER, 429, serper(429, "Too many requests"), "rateLimited"),
        (SERPER, 400, serper(400, "Not enough credits"), "quotaExceeded"),
        (SERPER, 400, serper(400, "Missing query parameter"), "invalidQuery"),
        (SERPAPI, 401, {"error": "Invalid API key. It is here: https://x.example"}, "authenticationFailed"),
        (SERPAPI, 429, {"error": "You are exceeding the hourly throughput limit."}, "rateLimited"),
        (SERPAPI, 429, {"error": "Your account has run out of searches."}, "quotaExceeded"),
        (SERPAPI, 200, {"error": "Your account has run out of searches."}, "quotaExceeded"),
        (SERPAPI, 200, {"error": "Your searches for the month are exhausted."}, "quotaExceeded"),
        (SERPAPI, 400, {"error": "Missing query `q` parameter."}, "invalidQuery"),
        (SERPAPI, 200, {"error": "We couldn't get it.", "search_metadata": {"status": "Error"}}, "unknown"),
        (SERPAPI, 503, {"error": "We couldn't get valid results."}, "serviceUnavailable"),
        (EXA, 401, exa("INVALID_API_KEY"), "authenticationFailed"),
        (EXA, 429, exa("RATE_LIMITED"), "rateLimited"),
        (EXA, 402, exa("NO_MORE_CREDITS"), "quotaExceeded"),
        (EXA, 402, exa("API_KEY_BUDGET_EXCEEDED"), "quotaExceeded"),
        (EXA, 403, exa("NO_MORE_CREDITS"), "quotaExceeded"),
        (EXA, 400, exa("INVALID_REQUEST_BODY"), "invalidQuery"),
        (LINKUP, 401, linkup(401, "UNAUTHORIZED"), "authenticationFailed"),
        (LINKUP, 403, linkup(403, "FORBIDDEN"), "authenticationFailed"),
        (LINKUP, 429, linkup(429, "TOO_MANY_REQUESTS"), "rateLimited"),
        (LINKUP, 429, linkup(429, "TASKS_QUEUE_LIMIT_EXCEEDED"), "rateLimited"),
        (LINKUP, 429, linkup(429, "INSUFFICIENT_FUNDS_CREDITS"), "quotaExceeded"),
        (LINKUP, 429, linkup(429, "EXCEED_BUDGET_LIMIT"), "quotaExceeded"),
        (LINKUP, 400, linkup(400, "VALIDATION_ERROR"), "invalidQuery"),
        (LINKUP, 400, linkup(400, "SEARCH_QUERY_NO_RESULT_OF_TOMORROW"), "invalidQuery"),
        (LINKUP, 504, linkup(504, "REQUEST_DEADLINE_EXCEEDED"), "timeout"),
        (PERPLEXITY, 401, "<html><title>401 Authorization Required</title>", "authenticationFailed"),
        (PERPLEXITY, 401, openai_like("invalid_api_key", 401), "authenticationFailed"),
        (PERPLEXITY, 401, openai_like("insufficient_quota", 401), "quotaExceeded"),
        (PERPLEXITY, 401, openai_like("", None, "You exceeded your current quota."), "quotaExceeded"),
        (PERPLEXITY, 429, openai_like("rate_limit_exceeded"), "rateLimited"),
        (PERPLEXITY, 422, {"detail": [{"loc": ["body", "query"], "msg": "missing"}]}, "invalidQuery"),
        (PERPLEXITY, 400, openai_like("invalid_request", 400), "invalidQuery"),
        (MOJEEK, 200, mojeek("ERROR: Daily Limit Reached"), "quotaExceeded"),
        (MOJEEK, 403, mojeek("Monthly query limit reached"), "quotaExceeded"),
        (MOJEEK, 200, mojeek("ERROR: Invalid API Key"), "authenticationFailed"),
        (MOJEEK, 200, mojeek("ERROR: Rate limit exceeded"), "rateLimited"),
        (MOJEEK, 200, mojeek("ERROR: Something new"), "unknown"),
        (MOJEEK, 400, mojeek("ERROR: No keywords"), "invalidQuery"),
        (MOJEEK, 429, mojeek("ERROR: Slow down"), "rateLimited"),
        (KAGI, 401, kagi(1, "Unauthorized"), "authenticationFailed"),
        (KAGI, 401, kagi(1, "Who is this?", balance=0), "authenticationFailed"),
        (KAGI, 400, kagi("general.invalid_token", "No.", name="errors"), "authenticationFailed"),
        (KAGI, 400, kagi(2, "Token signature failed to verify.", name="errors"), "authenticationFailed"),
        (KAGI, 429, kagi(2, "Too many requests"), "rateLimited"),
        (KAGI, 429, kagi(2, "Too many requests", balance=0), "quotaExceeded"),
        (KAGI, 403, kagi(3, "Forbidden", balance=-0.1), "quotaExceeded"),
        (KAGI, 400, kagi(4, "Insufficient credit to perform this request."), "quotaExceeded"),
        (KAGI, 200, kagi(4, "x", balance=0.0), "quotaExceeded"),
        (KAGI, 200, kagi(4, "x", balance=0.0, name="errors"), "quotaExceeded"),
        (KAGI, 200, kagi(4, "x"), "unknown"),
        (KAGI, 400, kagi(5, "Missing query"), "invalidQuery"),
        (KAGI, 500, kagi(6, "Oops", balance=0), "serviceUnavailable"),
    ],
)  # fmt: skip
def test_the_vendor_s_own_words_come_first(vendor, status, body, code):
    error = refused(vendor, status, body)
    assert error.code == code, error
    assert error.http_status == status
    assert error.retryable == (code in RETRYABLE)
    assert isinstance(error, SearchProviderQuotaExceeded) == (
        code in {"rateLimited", "quotaExceeded"}
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refused(SERPER, 403, serper(403, "Unauthorized.")), ["Check SERPER_API_KEY", "(HTTP 403: Unauthorized.)"]),
        (refused(EXA, 402, exa("NO_MORE_CREDITS")), ["quota", "NO_MORE_CREDITS: Said by Exa."]),
        (refused(LINKUP, 429, linkup(429, "EXCEED_BUDGET_LIMIT")), ["HTTP 429, EXCEED_BUDGET_LIMIT: Said."]),
        (refused(PERPLEXITY, 401, "<html><title>401</title><h1>Required</h1>"), ["Check PERPLEXITY_API_KEY", "Required"]),
        (refused(MOJEEK, 200, mojeek("ERROR: Daily Limit Reached")), ["quota", "ERROR: Daily Limit Reached"]),
        (refused(MOJEEK, 200, mojeek("ERROR: Invalid API Key")), ["Check MOJEEK_API_KEY"]),
        (refused(KAGI, 401, kagi("auth", "Unknown key")), ["Check KAGI_API_KEY", "HTTP 401, auth: Unknown key"]),
        (refused(KAGI, 200, {"data": None}), ["KAGI_BASE_URL"]),
    ],
)  # fmt: skip
def test_a_message_says_what_happened_and_what_to_do(error, said):
    assert [part for part in said if part not in str(error)] == []


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
def test_retry_after_is_understood(vendor):
    assert refused(vendor, 429, retry_after="7").retry_in_ms == 7000
    assert refused(vendor, 429, retry_after="soon").retry_in_ms is None


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize("form", [str, quote, quote_plus, json.dumps])
def test_no_message_shows_the_key(vendor, form):
    """Vendors repeat it in sentences, codes, addresses and pages."""
    said = f"The key {form(KEY)} is refused."
    for status, body in (
        (401, serper(401, said)),
        (401, {"error": said, "tag": form(KEY)}),
        (401, openai_like(form(KEY), form(KEY), said)),
        (200, mojeek(f"ERROR: {said}")),
        (401, kagi(form(KEY), said)),
        (401, kagi(form(KEY), said, name="errors")),
        (400, f"<pre>GET /search?api_key={form(KEY)}&q=x HTTP/1.1</pre>"),
        (200, f"{form(KEY)}"),
    ):
        error = refused(vendor, status, body)
        assert not [known for known in (KEY, quote(KEY), quote_plus(KEY)) if known in str(error)]
        assert error.__cause__ is None


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.integers(200, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "errors", "code", "message", "msg", "status", "tag",
                                 "type", "meta", "api_balance", "response", "data", "search",
                                 "details", "detail", "results", "organic"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)  # fmt: skip
def test_any_body_is_an_answer_or_a_typed_error(status, body):
    """Whatever stands where an error is described."""
    raised = []
    sent = (body, {"error": body}, {"response": body}, {"meta": body, "data": None})
    for vendor, each in product(VENDORS, sent):
        try:
            vendor.parse(HttpResponse(status, {}, json.dumps(each).encode()))
        except SearchProviderError as error:
            raised.append(error)
    assert all(error.http_status == status and str(error) for error in raised)
    assert len(raised) == len(VENDORS) * len(sent) or status < 300
