"""What the vendors' own descriptions of a failure become: code, message, waiting time."""

from __future__ import annotations

from typing import Any

import pytest
from support.vendor_adapters import (
    BRAVE,
    EXA,
    GOOGLE,
    KAGI,
    KEYLESS,
    LINKUP,
    MOJEEK,
    PERPLEXITY,
    SEARXNG,
    SERPAPI,
    SERPER,
    TAVILY,
    WIKIPEDIA,
    refused,
)

from collection_search.errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)

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
PER = "Quota exceeded for quota metric 'Queries' and limit 'Queries per {}' of service 'x'."
BAD_KEY = {"details": [{"@type": "x", "reason": "API_KEY_INVALID"}], "status": "INVALID_ARGUMENT"}
SERVICE_DISABLED = {"details": [{"@type": "x", "reason": "SERVICE_DISABLED"}]}
NOT_USED = "Custom Search API has not been used in project 7 before or it is disabled."
CLOSED = "This project does not have the access to Custom Search JSON API."
LACKING = "This feature is not available on your current plan."
SUFFIX = "All domains in include_domains are invalid: ['gov.uk']. Domains must have a valid suffix"
EXHAUSTED = {"status": "RESOURCE_EXHAUSTED"}
KEYLESS_LIMIT = {"code": "rate_limit", "message": "Too many.", "retry_after_seconds": 37}


def google(code: int, text: str, reason: str, **more: Any) -> dict[str, Any]:
    errors = [{"message": text, "domain": "usageLimits", "reason": reason}]
    return {"error": {"code": code, "message": text, "errors": errors, **more}}


def brave(status: int, code: str, **meta: Any) -> dict[str, Any]:
    error = {"status": status, "code": code, "detail": "Said by Brave.", "meta": meta}
    return {"type": "ErrorResponse", "error": error, "time": 1773685964}


def wiki(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": "Said by the wiki.", "*": "See the help."}}


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
        (GOOGLE, 403, google(403, "Not enabled.", "accessNotConfigured"), "invalidQuery"),
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
        (TAVILY, 400, {"detail": {"error": SUFFIX}}, "invalidQuery"),
        (TAVILY, 422, {"detail": {"error": SUFFIX}}, "invalidQuery"),
        (TAVILY, 403, {"detail": {"error": LACKING}}, "invalidQuery"),
        (TAVILY, 402, {"detail": {"error": LACKING}}, "invalidQuery"),
        (TAVILY, 432, {"detail": {"error": "Not included in your plan any more."}}, "quotaExceeded"),
        (BRAVE, 400, brave(400, "OPTION_NOT_IN_PLAN"), "invalidQuery"),
        (BRAVE, 403, brave(403, "OPTION_NOT_IN_PLAN"), "invalidQuery"),
        (GOOGLE, 403, google(403, "Disabled.", "forbidden", **SERVICE_DISABLED), "invalidQuery"),
        (GOOGLE, 403, google(403, NOT_USED, "forbidden"), "invalidQuery"),
        (GOOGLE, 403, google(403, CLOSED, "forbidden"), "invalidQuery"),
        (GOOGLE, 403, google(403, "Permission denied.", "forbidden"), "authenticationFailed"),
        (EXA, 403, {"error": "Your plan does not include this feature."}, "invalidQuery"),
        (EXA, 403, {"error": "The credits of your plan are used up."}, "authenticationFailed"),
        (SERPAPI, 403, {"error": "This engine requires the Production plan."}, "invalidQuery"),
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
        (refused(GOOGLE, 403, google(403, NOT_USED, "accessNotConfigured")), ["Enable it", "GOOGLE_API_KEY"]),
        (refused(GOOGLE, 403, google(403, CLOSED, "forbidden")), ["no new projects", "another provider"]),
        (refused(TAVILY, 400, {"detail": {"error": SUFFIX}}), ["whole domains", "gov.uk"]),
        (refused(BRAVE, 400, brave(400, "OPTION_NOT_IN_PLAN")), ["plan at Brave Search", "Leave the option out"]),
        (refused(EXA, 403, {"error": LACKING}), ["plan at Exa", "Leave the option out", LACKING]),
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
