"""Brave's `GET /res/v1/web/search`: the offset is an index of pages, not of rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from ...errors import SearchProviderAuthenticationFailed, SearchProviderInvalidQuery
from .sample_index import SamplePage, find_hits, highlight
from .wire import (
    Dialect,
    ExpectedError,
    ProviderRequest,
    Reply,
    VendorErrors,
    parse_int,
    refused_query,
    sites_of,
    throttled,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MONTHLY_LEFT: Final = 1_993
"""Requests left this month, as the headers of every answer say."""

_WEB: Final = "/res/v1/web/search"
_NEWS: Final = "/res/v1/news/search"
_MAX_COUNT: Final = 20
_MAX_NEWS: Final = 50
_MAX_OFFSET: Final = 9
_PERIODS: Final = {"pd": "day", "pw": "week", "pm": "month", "py": "year"}
_DAY: Final = r"\d{4}-\d\d-\d\d"
_FORMS: Final = {
    "freshness": re.compile(rf"|p[dwmy]|{_DAY}to{_DAY}"),
    "country": re.compile(
        "|ALL|A[RTU]|B[ER]|C[AHLN]|D[EK]|ES|F[IR]|G[BR]|HK|I[DNT]|JP|KR|M[XY]|N[LOZ]|P[HLT]|RU|S[AE]"
        "|T[RW]|US|ZA"
    ),
    "search_lang": re.compile(
        "|ar|eu|bn|bg|ca|zh-han[st]|hr|cs|da|nl|en|en-gb|et|fi|fr|gl|de|el|gu|he|hi|hu|is|it|jp|kn"
        "|ko|lv|lt|ms|ml|mr|nb|pl|pt-br|pt-pt|pa|ro|ru|sr|sk|sl|es|sv|ta|te|th|tr|uk|vi"
    ),
}


def _remaining(second: int, month: int) -> dict[str, str]:
    return {
        "X_RateLimit_Limit": "1, 2000",
        "X_RateLimit_Policy": "1;w=1, 2000;w=2592000",
        "X_RateLimit_Remaining": f"{second}, {month}",
        "X_RateLimit_Reset": "1, 1419704",
    }


_LIMITS: Final = _remaining(1, MONTHLY_LEFT)


class Brave(Dialect):
    """Brave's answers: compressed where allowed; a query without hits has no `web`."""

    name = "brave"
    sends_html = True
    key_variable = "BRAVE_API_KEY"
    count_field = "count"
    default_count = _MAX_COUNT
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "description"}
    max_query_chars = 400
    max_query_words = 50
    reach = _MAX_COUNT * (_MAX_OFFSET + 1)

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        if request.path not in {_WEB, _NEWS} or request.method != "GET":
            return Reply.of_json({"type": "ErrorResponse", "error": {"status": 404}}, 404)
        if request.headers.get("x-subscription-token") != self.key:
            return _TOKEN_REFUSED
        most = _MAX_NEWS if request.path == _NEWS else _MAX_COUNT
        reply = _complaint(request.params, most) or self._found(request)
        return reply.zipped() if "gzip" in request.headers.get("accept-encoding", "") else reply

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what parameters, operators and the endpoint ask for."""
        params = request.params
        fresh = params.get("freshness")
        return SearchOptions(
            **sites_of(params["q"]),
            topic="news" if request.path == _NEWS else None,
            freshness=_PERIODS.get(fresh) or fresh.replace("to", "..") if fresh else None,
            language=params.get("search_lang", "")[:2] or None,
            country=params.get("country", "").replace("ALL", "") or None,
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row with highlighted HTML and a date without a zone; no score."""
        return {
            "title": highlight(page.title, "nothing", "", ""),
            "url": page.url,
            "is_source_local": False,
            "is_source_both": False,
            "description": highlight(page.snippet, page.topic, "<strong>", "</strong>"),
            "page_age": page.published.strftime("%Y-%m-%dT%H:%M:%S"),
            "profile": {"name": page.host, "url": page.url, "long_name": page.host, "img": None},
            "language": "en",
            "family_friendly": True,
            "type": "search_result",
            "subtype": "generic",
            "meta_url": {"scheme": "https", "netloc": page.host, "hostname": page.host},
            "age": "3 days ago" if page.number % 2 else page.published.strftime("%B %d, %Y"),
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "query": {"original": "", "more_results_available": False},
            "mixed": {"type": "mixed", "main": [], "top": [], "side": []},
            "type": "search",
            "web": {"type": "search", "results": rows, "family_friendly": True},
        }

    def errors(self) -> VendorErrors:
        """Return the errors; a refused token is retried: Brave may refuse a valid one."""
        invalid_parameter = _invalid("count", "Input should be less than or equal to 20", "25")
        echoed = _error(422, _REFUSAL_CODE, f"The token {self.key} is invalid.")
        busy = _limit("RATE_LIMITED", quota_current=15)
        over = _limit("RATE_LIMITED", quota_current=2000)
        return {
            "token_refused": (_TOKEN_REFUSED, _TOKEN_ERROR),
            "token_echoed": (echoed, _TOKEN_ERROR),
            "throttled": (busy.having(**_remaining(0, MONTHLY_LEFT)), throttled(429, 1000)),
            "throttled_without_a_hint": (busy, throttled),
            "quota_used_up": (over.having(**_remaining(0, 0)), used_up),
            "quota_limited": (_limit("QUOTA_LIMITED", quota_current=2001), used_up),
            "option_not_in_plan": (_OPTION_NOT_IN_PLAN, _PLAN_ERROR),
            "invalid_parameter": (invalid_parameter, refused_query),
        }

    def _found(self, request: ProviderRequest) -> Reply:
        params = request.params
        count = parse_int(params.get("count"), _MAX_COUNT) or 0
        start = count * (parse_int(params.get("offset"), 0) or 0)
        pages = find_hits(params["q"], self.options(request))
        rows = [self.row(page) for page in pages[start : start + count]]
        if request.path == _NEWS:
            news = [_as_news(row) for row in rows]
            answer = {"type": "news", "query": {"original": params["q"]}, "results": news}
            return Reply.of_json(answer).having(**_LIMITS)
        body = self.envelope(rows)
        more = len(pages) > start + count
        body["query"] = {"original": params["q"], "more_results_available": more}
        if not body["web"]["results"]:
            del body["web"]
        return Reply.of_json(body).having(**_LIMITS)


def _as_news(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row as the other endpoint gives it."""
    names = ("title", "url", "description", "age", "page_age", "meta_url")
    return {"type": "news_result", "breaking": False, **{name: row[name] for name in names}}


def _complaint(params: Mapping[str, str], most: int) -> Reply | None:
    query = params.get("q", "")
    if not 1 <= len(query) <= Brave.max_query_chars or len(query.split()) > Brave.max_query_words:
        return _invalid("q", "String should have at most 400 characters and 50 words", query)
    count, offset = parse_int(params.get("count"), _MAX_COUNT), parse_int(params.get("offset"), 0)
    if count is None or not 1 <= count <= most:
        return _invalid("count", f"Input should be less than or equal to {most}", params["count"])
    if offset is None or not 0 <= offset <= _MAX_OFFSET:
        return _invalid("offset", "Input should be less than or equal to 9", params["offset"])
    for name, form in _FORMS.items():
        if not form.fullmatch(params.get(name, "")):
            return _invalid(name, "Input should be one of the documented values", params[name])
    return None


def _error(status: int, code: str, detail: str, **meta: Any) -> Reply:
    error = {"id": "redacted", "status": status, "detail": detail, "meta": meta, "code": code}
    return Reply.of_json({"type": "ErrorResponse", "error": error, "time": 1_773_685_964}, status)


def _invalid(name: str, text: str, value: str) -> Reply:
    complaint = {"type": "less_than_equal", "loc": ["query", name], "msg": text, "input": value}
    detail = "Unable to validate request parameter(s)"
    return _error(422, "VALIDATION", detail, errors=[complaint])


def _limit(code: str, *, quota_current: int) -> Reply:
    meta: dict[str, Any] = {"plan": "Free", "rate_limit": 1, "rate_current": 1}
    meta |= {"quota_limit": 2000, "quota_current": quota_current}
    meta |= {"org_rate_limit": None, "org_rate_current": 0}
    text = "Request rate limit exceeded for plan"
    return _error(429, code, text, **meta, component="rate_limiter")


_REFUSAL_CODE: Final = "SUBSCRIPTION_TOKEN_INVALID"
_TOKEN_REFUSED: Final = _error(
    422,
    _REFUSAL_CODE,
    "The provided subscription token is invalid.",
    component="authentication",
)
_TOKEN_ERROR: Final = ExpectedError(
    SearchProviderAuthenticationFailed,
    "authenticationFailed",
    422,
    waits_s=(0.6,),
    names="BRAVE_API_KEY",
)
_OPTION_NOT_IN_PLAN: Final = _error(
    400,
    "OPTION_NOT_IN_PLAN",
    "The option is not subscribed in the plan.",
    component="authentication",
)
_PLAN_ERROR: Final = ExpectedError(
    SearchProviderInvalidQuery, "invalidQuery", 400, names="plan that has it"
)
