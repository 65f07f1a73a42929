"""Perplexity's `POST /search`: errors like OpenAI's, but with the status where a code would be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    is_within,
    refused,
    refused_query,
    throttled,
    to_freshness,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_DOMAINS: Final = 20
_CHOICES: Final = {
    "search_mode": {None, "web", "academic", "sec"},
    "search_recency_filter": {None, "hour", "day", "week", "month", "year"},
    "search_context_size": {None, "low", "medium", "high"},
}
_DAY: Final = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})")
_DATES: Final = ("search_after_date_filter", "search_before_date_filter")
_MAX_LANGUAGES: Final = 10


class Perplexity(Dialect):
    """Perplexity's answers: days without a time; an empty account looks like a wrong key."""

    name = "perplexity"
    key_variable = "PERPLEXITY_API_KEY"
    query_field = "query"
    count_field = "max_results"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "snippet"}
    reach = 20

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows, or the error of the first check that fails."""
        if request.path != "/search" or request.method != "POST":
            return Reply.of_json({"detail": "Not Found"}, 404)
        given = request.headers.get("authorization")
        if given is None:
            return _EDGE_401
        if given != f"Bearer {self.key}":
            return _KEY_REFUSED
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            return _FIELD_REQUIRED
        return _complaint(body) or Reply.of_json(self._found(body, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the body asks for; more of each page counts as a deep search."""
        body = request.body
        domains = body.get("search_domain_filter") or ()
        recency = body.get("search_recency_filter")
        allowed = tuple(domain for domain in domains if not domain.startswith("-"))
        dates = to_freshness(
            _iso(body.get("search_after_date_filter")), _iso(body.get("search_before_date_filter"))
        )
        return SearchOptions(
            search_depth="deep" if body.get("search_context_size") == "high" else None,
            include_domains=allowed,
            exclude_domains=tuple(domain[1:] for domain in domains if domain.startswith("-")),
            domain_mode="restrict" if allowed else "prefer",
            freshness=dates if recency is None else recency.replace("hour", "day"),
            language=next(iter(body.get("search_language_filter") or ()), None),
            country=body.get("country"),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row; its dates are days, or null."""
        day = page.published.date().isoformat()
        return {
            "title": page.title,
            "url": page.url,
            "snippet": f"{page.snippet}\n\nMore of it.",
            "date": day if page.number % 3 else None,
            "last_updated": day if page.number % 2 else None,
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "results": rows,
            "id": "e38104d5-6bd7-4d82-bc4e-0a21179d1f77",
            "server_time": None,
        }

    def errors(self) -> VendorErrors:
        """Return the errors; the type of a 401 says what is wrong."""
        exceeded = "You exceeded your current quota, please check your plan and billing details."
        key_echoed = _error(401, "invalid_api_key", f"Invalid API key provided: {self.key}.")
        throttled_reply = _error(429, "rate_limit_exceeded", "Request rate limit exceeded.")
        hinted = throttled_reply.having(Retry_After="3")
        return {
            "key_refused": (_KEY_REFUSED, refused),
            "key_echoed": (key_echoed, refused),
            "key_refused_at_the_edge": (_EDGE_401, refused),
            "forbidden": (_error(403, "permission_denied", "This key may not search."), refused),
            "throttled": (throttled_reply, throttled),
            "throttled_with_a_hint": (hinted, throttled(429, 3000)),
            "quota_used_up": (_error(401, "insufficient_quota", exceeded), used_up),
            "invalid_parameter": (_invalid("max_results must be from 1 to 20"), refused_query),
            "invalid_list": (_FIELD_REQUIRED, refused_query),
        }

    def _found(self, body: Mapping[str, Any], requested: SearchOptions) -> dict[str, Any]:
        pages = find_hits(body["query"], requested)[: body.get("max_results", self.default_count)]
        return self.envelope([self.row(page) for page in pages])


def _complaint(body: Mapping[str, Any]) -> Reply | None:
    if not body["query"].strip():
        return _invalid("query must not be empty")
    if not is_within(body.get("max_results", Perplexity.default_count), 1, Perplexity.reach):
        return _invalid("max_results must be from 1 to 20")
    for name, choices in _CHOICES.items():
        if body.get(name) not in choices:
            return _invalid(f"{name} is none of its values")
    domains = body.get("search_domain_filter") or ()
    if len(domains) > _MAX_DOMAINS or len({domain.startswith("-") for domain in domains}) > 1:
        return _invalid("search_domain_filter takes 20 domains to allow, or 20 to deny")
    return _complaint_about_options(body)


def _complaint_about_options(body: Mapping[str, Any]) -> Reply | None:
    dates = [body[name] for name in _DATES if body.get(name) is not None]
    if not all(_DAY.fullmatch(date) for date in dates):
        return _invalid("dates are written %m/%d/%Y")
    if dates and body.get("search_recency_filter"):
        return _invalid("search_recency_filter cannot be combined with dates")
    languages = body.get("search_language_filter") or ()
    if len(languages) > _MAX_LANGUAGES or not all(
        re.fullmatch("[a-z]{2}", each) for each in languages
    ):
        return _invalid("search_language_filter takes 10 codes of ISO 639-1")
    if not re.fullmatch("[A-Z]{2}", body.get("country") or "US"):
        return _invalid("country is a code of ISO 3166-1")
    return None


def _iso(date: str | None) -> str | None:
    match = _DAY.fullmatch(date or "")
    return f"{match[3]}-{match[1]:0>2}-{match[2]:0>2}" if match else None


def _error(status: int, kind: str, text: str) -> Reply:
    return Reply.of_json({"error": {"message": text, "type": kind, "code": status}}, status)


def _invalid(text: str) -> Reply:
    return _error(400, "invalid_request", text)


_KEY_REFUSED: Final = _error(
    401,
    "invalid_api_key",
    "Invalid API key provided. You can find your API key at "
    "https://www.perplexity.ai/settings/api.",
)
_EDGE_401: Final = Reply.of_text(
    "<html>\r\n<head><title>401 Authorization Required</title></head>\r\n<body>\r\n"
    "<center><h1>401 Authorization Required</h1></center>\r\n<hr><center>openresty</center>\r\n"
    "</body>\r\n</html>\r\n",
    401,
    kind="text/html",
)
_FIELD_REQUIRED: Final = Reply.of_json(
    {"detail": [{"type": "missing", "loc": ["body", "query"], "msg": "Field required"}]}, 422
)
