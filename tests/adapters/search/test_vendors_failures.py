"""What the search vendors' refusals become: code, retry, waiting time and message."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)

if TYPE_CHECKING:
    from collection_search.adapters.search.http.vendor import Vendor

KEY = "open-sesame/4+tests"
TAVILY = TavilySearch(api_key=KEY)
KEYLESS = TavilySearch()
BRAVE = BraveSearch(api_key=KEY)
GOOGLE = GoogleSearchAdapter(
    api_key=KEY, search_engine_id="engine", today=lambda: date(2026, 11, 21)
)
SEARXNG = SearxngSearch(base_url="http://localhost:8080")
WIKIPEDIA = WikipediaSearch()
VENDORS = [TAVILY, BRAVE, GOOGLE, SEARXNG, WIKIPEDIA]

CLASSES = {
    "authenticationFailed": SearchProviderAuthenticationFailed,
    "rateLimited": SearchProviderQuotaExceeded,
    "quotaExceeded": SearchProviderQuotaExceeded,
    "invalidQuery": SearchProviderInvalidQuery,
    "serviceUnavailable": SearchProviderUnavailable,
    "timeout": SearchProviderTimeout,
    "unknown": SearchProviderBadResponse,
}
RETRYABLE = {"rateLimited", "serviceUnavailable", "timeout"}


def refused(vendor: Vendor, status: int, body: Any = "", **headers: str) -> SearchProviderError:
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    sent = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(SearchProviderError) as error:
        vendor.parse(HttpResponse(status, named, sent.encode()))
    return error.value


def google(code: int, text: str, reason: str, **more: Any) -> dict[str, Any]:
    errors = [{"message": text, "domain": "usageLimits", "reason": reason}]
    return {"error": {"code": code, "message": text, "errors": errors, **more}}


def brave(status: int, code: str, **meta: Any) -> dict[str, Any]:
    error = {"status": status, "code": code, "detail": "Said by Brave.", "meta": meta}
    return {"type": "ErrorResponse", "error": error, "time": 1773685964}


def wiki(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": "Said by the wiki.", "*": "See the help."}}


PER = "Quota exceeded for quota metric 'Queries' and limit 'Queries per {}' of service 'x'."
BAD_KEY = {"details": [{"@type": "x", "reason": "API_KEY_INVALID"}], "status": "INVALID_ARGUMENT"}
EXHAUSTED = {"status": "RESOURCE_EXHAUSTED"}
KEYLESS_LIMIT = {"code": "rate_limit", "message": "Too many.", "retry_after_seconds": 37}


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (301, "unknown"), (302, "unknown"), (304, "unknown"),
        (400, "invalidQuery"), (401, "authenticationFailed"), (402, "quotaExceeded"),
        (404, "unknown"), (405, "unknown"), (408, "timeout"), (410, "unknown"),
        (414, "invalidQuery"), (422, "invalidQuery"), (429, "rateLimited"),
        (500, "serviceUnavailable"), (502, "serviceUnavailable"), (503, "serviceUnavailable"),
        (504, "timeout"), (520, "serviceUnavailable"), (599, "serviceUnavailable"),
    ],
)  # fmt: skip
def test_the_status_decides_where_nothing_else_is_said(vendor, status, code):
    for body in ("", "<h1>Sorry</h1>", {}, {"error": None}, [], "null", "{"):
        error = refused(vendor, status, body)
        assert type(error) is CLASSES[code]
        assert (error.code, error.retryable, error.http_status) == (code, code in RETRYABLE, status)
        assert error.retry_in_ms is None
        assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize(
    ("vendor", "status", "body", "code"),
    [
        (TAVILY, 401, {"detail": {"error": "Unauthorized: invalid API key."}}, "authenticationFailed"),
        (TAVILY, 403, {"detail": "Not authenticated"}, "authenticationFailed"),
        (TAVILY, 429, {"detail": {"error": "Excessive requests."}}, "rateLimited"),
        (TAVILY, 432, {"detail": {"error": "Exceeds your plan's limit."}}, "quotaExceeded"),
        (TAVILY, 433, {"detail": {"error": "Exceeds pay-as-you-go."}}, "quotaExceeded"),
        (TAVILY, 400, {"detail": {"error": "Query is too long."}}, "invalidQuery"),
        (TAVILY, 422, {"detail": [{"loc": ["body", "q"], "msg": "missing"}]}, "invalidQuery"),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT | {"window": "minute"}}, "rateLimited"),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT | {"window": "day"}}, "quotaExceeded"),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT | {"window": 7}}, "rateLimited"),
        (BRAVE, 422, brave(422, "SUBSCRIPTION_TOKEN_INVALID"), "authenticationFailed"),
        (BRAVE, 422, brave(422, "VALIDATION"), "invalidQuery"),
        (BRAVE, 429, brave(429, "RATE_LIMITED", quota_limit=2000, quota_current=15), "rateLimited"),
        (BRAVE, 429, brave(429, "RATE_LIMITED", quota_limit=9, quota_current=9), "quotaExceeded"),
        (BRAVE, 429, brave(429, "RATE_LIMITED", quota_limit=0, quota_current=9), "rateLimited"),
        (BRAVE, 429, brave(429, "RATE_LIMITED", quota_limit=None, quota_current="x"), "rateLimited"),
        (BRAVE, 429, brave(429, "QUOTA_LIMITED"), "quotaExceeded"),
        (BRAVE, 200, brave(429, "RATE_LIMITED"), "rateLimited"),
        (GOOGLE, 400, google(400, "API key not valid.", "badRequest", **BAD_KEY), "authenticationFailed"),
        (GOOGLE, 400, google(400, "API key not valid. Pass one.", "badRequest"), "authenticationFailed"),
        (GOOGLE, 400, google(400, "Bad Request", "keyInvalid"), "authenticationFailed"),
        (GOOGLE, 400, google(400, "Invalid argument.", "badRequest"), "invalidQuery"),
        (GOOGLE, 403, google(403, "Not enabled.", "accessNotConfigured"), "authenticationFailed"),
        (GOOGLE, 403, google(403, "Daily Limit Exceeded", "dailyLimitExceeded"), "quotaExceeded"),
        (GOOGLE, 403, google(403, "Slow down", "userRateLimitExceeded"), "rateLimited"),
        (GOOGLE, 429, google(429, PER.format("minute"), "rateLimitExceeded", **EXHAUSTED), "rateLimited"),
        (GOOGLE, 429, google(429, PER.format("day"), "rateLimitExceeded", **EXHAUSTED), "quotaExceeded"),
        (GOOGLE, 200, google(429, PER.format("day"), "rateLimitExceeded"), "quotaExceeded"),
        (GOOGLE, 200, google(429, PER.format("minute"), "rateLimitExceeded"), "rateLimited"),
        (GOOGLE, 200, google(503, "Backend error", "backendError"), "serviceUnavailable"),
        (GOOGLE, 200, {"error": {"message": "Something else"}}, "unknown"),
        (GOOGLE, 429, [google(429, PER.format("day"), "rateLimitExceeded")], "quotaExceeded"),
        (SEARXNG, 400, {"error": "No query"}, "invalidQuery"),
        (SEARXNG, 403, "<!doctype html><title>403 Forbidden</title>", "unknown"),
        (SEARXNG, 429, "Too Many Requests", "rateLimited"),
        (WIKIPEDIA, 200, wiki("ratelimited"), "rateLimited"),
        (WIKIPEDIA, 200, wiki("maxlag"), "rateLimited"),
        (WIKIPEDIA, 200, wiki("cirrussearch-too-busy-error"), "rateLimited"),
        (WIKIPEDIA, 200, wiki("cirrussearch-backend-error"), "serviceUnavailable"),
        (WIKIPEDIA, 200, wiki("internal_api_error_DBQueryError"), "serviceUnavailable"),
        (WIKIPEDIA, 200, wiki("cirrussearch-query-too-long"), "invalidQuery"),
        (WIKIPEDIA, 200, wiki("badvalue"), "invalidQuery"),
        (WIKIPEDIA, 200, wiki("missingparam"), "invalidQuery"),
        (WIKIPEDIA, 200, wiki("of-tomorrow"), "unknown"),
        (TAVILY, 429, {"error": {"code": "INSUFFICIENT_FUNDS_CREDITS"}}, "quotaExceeded"),
        (TAVILY, 400, {"error": {"code": "EXCEED_BUDGET_LIMIT"}}, "quotaExceeded"),
        (TAVILY, 200, {"error": "Said with success."}, "unknown"),
    ],
)  # fmt: skip
def test_the_vendor_s_own_words_come_first(vendor, status, body, code):
    error = refused(vendor, status, body)
    assert type(error) is CLASSES[code], error
    assert (error.code, error.http_status) == (code, status)


def test_a_refused_token_of_brave_may_be_tried_once_more():
    """It is seen now and then with a good key; no other refused key is tried again."""
    assert refused(BRAVE, 422, brave(422, "SUBSCRIPTION_TOKEN_INVALID")).retryable
    assert not refused(BRAVE, 401).retryable
    assert not refused(GOOGLE, 403).retryable


@pytest.mark.parametrize(
    ("vendor", "status", "body", "headers", "milliseconds"),
    [
        (TAVILY, 429, "", {"retry_after": "7"}, 7000),
        (TAVILY, 503, "", {"retry_after": "1.2345"}, 1235),
        (TAVILY, 429, "", {"retry_after": "soon"}, None),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT}, {}, 37_000),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT}, {"retry_after": "3"}, 3000),
        (KEYLESS, 429, {"error": KEYLESS_LIMIT}, {"retry_after": "soon"}, 37_000),
        (KEYLESS, 429, {"error": {"retry_after_seconds": "x"}}, {}, None),
        (BRAVE, 429, brave(429, "RATE_LIMITED"), {"x_ratelimit_reset": "1, 1419704"}, 1000),
        (BRAVE, 429, brave(429, "RATE_LIMITED"), {"x_ratelimit_reset": "x, y"}, None),
        (BRAVE, 429, brave(429, "QUOTA_LIMITED"), {"x_ratelimit_reset": "1, 1419704"}, None),
        (BRAVE, 429, "", {"x_ratelimit_reset": "1, 9", "retry_after": "4"}, 4000),
        (SEARXNG, 429, "Too Many Requests", {}, None),
        (WIKIPEDIA, 200, wiki("maxlag"), {"retry_after": "5"}, 5000),
        (GOOGLE, 429, "", {"retry_after": "86400"}, 86_400_000),
    ],
)
def test_how_long_the_vendor_asks_to_wait(vendor, status, body, headers, milliseconds):
    assert refused(vendor, status, body, **headers).retry_in_ms == milliseconds


def test_a_date_to_come_is_a_wait_from_now():
    to_come = datetime.now(UTC) + timedelta(hours=2)
    wait = refused(TAVILY, 429, retry_after=format_datetime(to_come, usegmt=True)).retry_in_ms
    assert wait is not None
    assert 3_600_000 < wait <= 7_200_000


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refused(BRAVE, 422, brave(422, "SUBSCRIPTION_TOKEN_INVALID")), ["BRAVE_API_KEY", "HTTP 422, SUBSCRIPTION_TOKEN_INVALID: Said by Brave."]),
        (refused(TAVILY, 401), ["Check TAVILY_API_KEY"]),
        (refused(KEYLESS, 401), ["Set TAVILY_API_KEY"]),
        (refused(TAVILY, 422, {"detail": [{"loc": ["body", "query"], "msg": "Required"}, {"msg": "x"}]}), ["body.query: Required; x"]),
        (refused(TAVILY, 432), ["quota", "another provider"]),
        (refused(GOOGLE, 404), ["GOOGLE_BASE_URL"]),
        (refused(SEARXNG, 403, "<title>403</title>"), ["json", "search.formats", "settings.yml", "HTTP 403"]),
        (refused(SEARXNG, 429, "Too Many Requests"), ["limiter", "Too Many Requests"]),
        (refused(SEARXNG, 302, location="https://en.wikipedia.org/"), ["SEARXNG_URL", "redirects to https://en.wikipedia.org/"]),
        (refused(WIKIPEDIA, 403, "Please set a user-agent."), ["WIKIPEDIA_BASE_URL", "set a user-agent"]),
        (refused(WIKIPEDIA, 200, wiki("of-tomorrow")), ["of-tomorrow: Said by the wiki."]),
        (refused(TAVILY, 503, "<style>p{}</style><h1>Out of\n order</h1><script>x()"), ["(HTTP 503: Out of order)"]),
    ],
)  # fmt: skip
def test_a_message_says_what_happened_and_what_to_do(error, said):
    assert [part for part in said if part not in str(error)] == []


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_hex(text: str) -> str:
    return text.encode().hex()


def in_html(text: str) -> str:
    return text.replace("/", "&#47;").replace("+", "&#43;")


@pytest.mark.parametrize("vendor", [TAVILY, BRAVE, GOOGLE], ids=lambda vendor: vendor.title)
@pytest.mark.parametrize("form", [str, quote, quote_plus, json.dumps, in_base64, in_hex, in_html])
def test_no_message_shows_the_key(vendor, form):
    """Vendors repeat it in sentences, addresses and pages, some quote it."""
    for status, body in (
        (401, {"error": {"message": f"The key {form(KEY)} is refused."}}),
        (403, {"detail": {"error": f"?key={form(KEY)}&q=x"}}),
        (400, f"<pre>GET /search?token_is={form(KEY)} HTTP/1.1</pre>"),
        (429, {"error": {"code": form(KEY), "message": "x"}}),
        (200, f"{form(KEY)}"),
        (200, {"error": f"{form(KEY)}"}),
    ):
        error = refused(vendor, status, body)
        known = (KEY, quote(KEY), quote_plus(KEY), in_base64(KEY), in_hex(KEY), in_html(KEY))
        assert [each for each in known if each in str(error)] == []
        assert error.__cause__ is None


def test_a_key_in_a_redirect_is_not_shown():
    error = refused(GOOGLE, 302, location=f"https://x.example/?k={quote_plus(KEY).lower()}&q=x")
    assert "x.example" in str(error)
    assert "sesame" not in str(error)


@pytest.mark.parametrize("before", range(3960, 4002, 3))
def test_half_a_key_is_not_shown(before):
    """A page is read up to a limit, which may fall into the key."""
    error = refused(TAVILY, 400, f"<{'x' * before}> {KEY} end")
    assert "open-s" not in str(error)


def test_a_long_text_is_cut_and_stays_in_one_line():
    error = refused(TAVILY, 400, {"detail": {"error": "line\n\x1b[31m" * 100_000}})
    assert len(str(error)) < 600
    assert str(error).isprintable()


@settings(deadline=None)
@given(
    st.integers(200, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "detail", "code", "message", "errors", "reason", "status",
                                 "meta", "details", "loc", "msg", "quota_limit", "window", "info"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)  # fmt: skip
def test_any_error_body_is_a_typed_error(status, error):
    """Whatever stands where an error is described."""
    raised = []
    for vendor in VENDORS:
        for body in (error, {"error": error}, {"detail": error}):
            try:
                vendor.parse(HttpResponse(status, {}, json.dumps(body).encode()))
            except SearchProviderError as typed:
                raised.append(typed)
    assert all(each.http_status == status and str(each) for each in raised)
    assert len(raised) == 3 * len(VENDORS) or status < 300
