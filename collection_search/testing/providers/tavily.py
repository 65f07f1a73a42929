"""Tavily's `POST /search`: bearer key or keyless, no paging."""

from __future__ import annotations

import re
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import MAX_DOMAINS, SearchOptions
from .sample_index import SamplePage, find_hits
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    refused,
    refused_query,
    throttled,
    to_freshness,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHOICES: Final = {
    "search_depth": {"basic", "advanced", "fast", "ultra-fast"},
    "topic": {"general", "news", "finance"},
    "include_domains_mode": {"restrict", "prefer"},
    "time_range": {*("day", "week", "month", "year"), *"dwmy"},
    "include_raw_content": {True, False, "markdown", "text"},
}
_FORMS: Final = {
    "start_date": re.compile(r"\d{4}-\d\d-\d\d"),
    "end_date": re.compile(r"\d{4}-\d\d-\d\d"),
    "country": re.compile(r"[a-z]{3,}( [a-z]+)*"),
    "language": re.compile(r"[a-z]{2}"),
}
_PERIODS: Final = {"d": "day", "w": "week", "m": "month", "y": "year"}
_COUNTRIES: Final = {"germany": "DE", "france": "FR", "united kingdom": "GB"}
"""A few of those that are known by name."""
_MAX_DOMAINS: Final = {"include_domains": 300, "exclude_domains": 150}

_SUFFIXES: Final = {"gov", "edu", "gov.uk", "ac.uk", "nhs.uk"}
"""Some of the domains below which everybody has their own: not one of these is a site."""


class Tavily(Dialect):
    """Tavily's answers: JSON bodies; every fourth page has no text."""

    name = "tavily"
    key_variable = "TAVILY_API_KEY"
    query_field = "query"
    count_field = "max_results"
    default_count = 5
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "content"}
    max_query_chars = 400
    reach = 20

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows, or the error of the first check that fails."""
        if (request.method, request.path) == ("GET", "/usage"):
            return self._usage(request)
        if request.path != "/search":
            return Reply.of_json({"detail": "Not Found"}, 404)
        if request.method != "POST":
            return Reply.of_json({"detail": "Method Not Allowed"}, 405, Allow="POST")
        if not self._may_enter(request.headers):
            return _error(401, "Unauthorized: missing or invalid API key.")
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            return _invalid("missing", "query", "Field required", None)
        return _complaint(body) or Reply.of_json(self._found(body, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the body asks for; domains are restricted unless it says otherwise."""
        body = request.body
        dates = to_freshness(body.get("start_date"), body.get("end_date"))
        return SearchOptions(
            search_depth="deep" if body.get("search_depth") == "advanced" else None,
            include_domains=tuple(body.get("include_domains") or ())[:MAX_DOMAINS],
            exclude_domains=tuple(body.get("exclude_domains") or ())[:MAX_DOMAINS],
            domain_mode=body.get("include_domains_mode") or "restrict",
            topic="news" if body.get("topic") == "news" else None,
            include_content=bool(body.get("include_raw_content")),
            freshness=_PERIODS.get(body.get("time_range"), body.get("time_range")) or dates,
            language=body.get("language"),
            country=_COUNTRIES.get(body.get("country", "")),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row of a general search."""
        return {
            "title": page.title,
            "url": page.url,
            "content": page.snippet,
            "score": round(0.99 / page.number**0.5, 6),
            "raw_content": None,
            "favicon": f"https://{page.host}/favicon.ico",
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "query": "",
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": rows,
            "response_time": 1.09,
            "request_id": "123e4567-e89b-12d3-a456-426614174111",
        }

    def errors(self) -> VendorErrors:
        """Return the errors of the keyed and the keyless service."""
        key_echoed = _error(401, f"Unauthorized: the API key {self.key} is invalid.")
        throttled_reply = _error(429, "Your request has been blocked due to excessive requests.")
        plan_used_up = _error(432, "This request exceeds your plan's set usage limit.")
        pay_as_you_go_used_up = _error(433, "This request exceeds the pay-as-you-go limit.")
        return {
            "key_refused": (_error(401, "Unauthorized: missing or invalid API key."), refused),
            "key_echoed": (key_echoed, refused),
            "forbidden": (Reply.of_json({"detail": "Not authenticated"}, 403), refused),
            "throttled": (throttled_reply, throttled),
            "throttled_keyless": (_KEYLESS_LIMIT, throttled(429, 12_000)),
            "plan_used_up": (plan_used_up, used_up),
            "pay_as_you_go_used_up": (pay_as_you_go_used_up, used_up),
            "suffix_as_domain": (_no_domains("include_domains", ["gov.uk"]), refused_query),
            "not_in_the_plan": (_NOT_IN_THE_PLAN, refused_query),
            "query_too_long": (_TOO_LONG, refused_query),
            "invalid_list": (_too_many(25), refused_query),
        }

    def _usage(self, request: ProviderRequest) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Unauthorized: missing or invalid API key.")
        account = {"current_plan": "Researcher", "plan_usage": 130, "plan_limit": 1000}
        paid = {"paygo_usage": 0, "paygo_limit": 0}
        return Reply.of_json({"key": {"usage": 60, "limit": None}, "account": account | paid})

    def _may_enter(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization")
        if given is None:
            return headers.get("x-tavily-access-mode") == "keyless"
        return given == f"Bearer {self.key}"

    def _found(self, body: Mapping[str, Any], requested: SearchOptions) -> dict[str, Any]:
        pages = find_hits(body["query"], requested)[: body.get("max_results", self.default_count)]
        rows = [self._asked_row(page, body) for page in pages]
        answer = self.envelope(rows) | {"query": body["query"]}
        if body.get("include_usage"):
            answer["usage"] = {"credits": 2 if body.get("search_depth") == "advanced" else 1}
        return answer

    def _asked_row(self, page: SamplePage, body: Mapping[str, Any]) -> dict[str, Any]:
        row = self.row(page)
        if body.get("include_raw_content") and page.number % 4:
            row["raw_content"] = f"{page.title}\n\n{page.snippet}"
        if body.get("topic") == "news":
            row["published_date"] = format_datetime(page.published, usegmt=True)
        return row


def _complaint(body: Mapping[str, Any]) -> Reply | None:
    if not body["query"].strip():
        return _error(400, "Query is missing.")
    if len(body["query"]) > Tavily.max_query_chars:
        return _TOO_LONG
    asked = body.get("max_results", Tavily.default_count)
    if not isinstance(asked, int) or not 0 <= asked <= Tavily.reach:
        return _too_many(asked)
    for name, most in _MAX_DOMAINS.items():
        if len(body.get(name) or ()) > most:
            return _error(400, f"Max {most} domains are allowed in {name}.")
        if (given := body.get(name)) and all(domain in _SUFFIXES for domain in given):
            return _no_domains(name, given)
    return _complaint_about_options(body)


def _complaint_about_options(body: Mapping[str, Any]) -> Reply | None:
    for name, choices in _CHOICES.items():
        if body.get(name) is not None and body[name] not in choices:
            listed = sorted(map(str, choices))
            return _invalid("literal_error", name, f"Input should be {listed}", body[name])
    for name, form in _FORMS.items():
        if body.get(name) is not None and not form.fullmatch(str(body[name])):
            return _invalid("value_error", name, "Input should be of another form", body[name])
    if body.get("country") and body.get("topic", "general") != "general":
        return _error(400, "Country can be used with the general topic only.")
    return None


def _no_domains(name: str, given: Any) -> Reply:
    suffix = "Domains must have a valid suffix (e.g., 'tavily.com' instead of 'tavily')."
    return _error(400, f"All domains in {name} are invalid: {given}. {suffix}")


def _error(status: int, text: str) -> Reply:
    return Reply.of_json({"detail": {"error": text}}, status)


def _invalid(kind: str, name: str, text: str, value: Any) -> Reply:
    complaint = {"type": kind, "loc": ["body", name], "msg": text, "input": value}
    return Reply.of_json({"detail": [complaint]}, 422)


def _too_many(asked: Any) -> Reply:
    text = "Input should be less than or equal to 20"
    return _invalid("less_than_equal", "max_results", text, asked)


_NOT_IN_THE_PLAN: Final = _error(403, "This feature is not available on your current plan.")
_TOO_LONG: Final = _error(400, "Query is too long. Max query length is 400 characters.")
_KEYLESS_LIMIT: Final = Reply.of_json(
    {
        "error": {
            "code": "rate_limit_exceeded",
            "message": "Too many keyless requests from this address.",
            "window": "minute",
            "retry_after_seconds": 12,
            "next_actions": ["Wait and try again.", "Sign up for an API key."],
        }
    },
    429,
)
