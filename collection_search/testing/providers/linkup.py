"""Linkup's `POST /v1/search`: a search without hits is a 400, an empty account a 429."""

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
    timed_out,
    to_freshness,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_DOMAINS: Final = 100
_CHOICES: Final = {
    "depth": ("flash", "fast", "standard", "deep"),
    "outputType": ("searchResults",),
}
"""Other outputs than rows are left out here."""
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d(T.*)?")


class Linkup(Dialect):
    """Linkup's answers: whole passages; every error has a code, and many share a status."""

    name = "linkup"
    key_variable = "LINKUP_API_KEY"
    count_field = "maxResults"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "name", "snippet": "content"}
    reach = 100

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows, or the error of the first check that fails."""
        if request.path != "/v1/search" or request.method != "POST":
            return _error(404, "NOT_FOUND", f"Cannot {request.method} {request.path}")
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _UNAUTHORIZED
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("q"), str) or not body["q"]:
            return _invalid("q", "q should not be empty")
        return _complaint(body) or self._found(body, self.options(request))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the body asks for; texts are always in the answer."""
        body = request.body
        return SearchOptions(
            search_depth="deep" if body.get("depth") == "deep" else None,
            include_domains=tuple(body.get("includeDomains") or ()),
            exclude_domains=tuple(body.get("excludeDomains") or ()),
            domain_mode="restrict" if body.get("includeDomains") else "prefer",
            freshness=to_freshness(body.get("fromDate"), body.get("toDate")),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row; the title is called `name`."""
        return {
            "type": "text",
            "name": page.title,
            "url": page.url,
            "content": f"{page.snippet}\n\nMore of it.",
            "favicon": f"https://{page.host}/favicon.ico",
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {"results": rows}

    def errors(self) -> VendorErrors:
        """Return the errors; of the four with status 429, two pass after a wait."""
        no_credit = "You do not have enough credits to perform this request."
        depths = "depth must be one of the following values: fast, deep"
        key_echoed = _error(401, "UNAUTHORIZED", f"Unauthorized action with {self.key}")
        queue_full = _error(429, "TASKS_QUEUE_LIMIT_EXCEEDED", "Too many tasks are pending.")
        budget_used_up = _error(429, "EXCEED_BUDGET_LIMIT", "The API key has reached its limit.")
        payment_asked_for = _error(402, "PAYMENT_REQUIRED", "A payment signature is missing.")
        deadline_exceeded = _error(504, "REQUEST_DEADLINE_EXCEEDED", "The deadline was exceeded.")
        return {
            "key_refused": (_UNAUTHORIZED, refused),
            "key_echoed": (key_echoed, refused),
            "address_not_allowed": (_error(403, "IP_NOT_WHITELISTED", "Forbidden action"), refused),
            "throttled": (_error(429, "TOO_MANY_REQUESTS", "Too many requests."), throttled),
            "queue_full": (queue_full, throttled),
            "no_credit": (_error(429, "INSUFFICIENT_FUNDS_CREDITS", no_credit), used_up),
            "budget_used_up": (budget_used_up, used_up),
            "payment_asked_for": (payment_asked_for, used_up),
            "invalid_parameter": (_invalid("depth", depths), refused_query),
            "deadline_exceeded": (deadline_exceeded, timed_out),
        }

    def _found(self, body: Mapping[str, Any], requested: SearchOptions) -> Reply:
        count = min(body.get("maxResults", self.default_count), self.reach)
        rows = [self.row(page) for page in find_hits(body["q"], requested)[:count]]
        return Reply.of_json(self.envelope(rows)) if rows else _NO_RESULT


def _complaint(body: Mapping[str, Any]) -> Reply | None:
    for name, choices in _CHOICES.items():
        if body.get(name) not in choices:
            values = ", ".join(choices)
            return _invalid(name, f"{name} must be one of the following values: {values}")
    if not is_within(body.get("maxResults", Linkup.default_count), 1, 1_000_000):
        return _invalid("maxResults", "maxResults must be a positive number")
    for name in ("includeDomains", "excludeDomains"):
        if len(body.get(name) or ()) > _MAX_DOMAINS:
            return _invalid(name, f"{name} must contain no more than 100 elements")
    for name in ("fromDate", "toDate"):
        if not _DAY.fullmatch(str(body.get(name, "2026-03-03"))):
            return _invalid(name, f"{name} must be a valid ISO 8601 date string")
    return None


def _error(status: int, code: str, text: str, *details: Mapping[str, str]) -> Reply:
    error = {"code": code, "message": text, "details": list(details)}
    return Reply.of_json({"statusCode": status, "error": error}, status)


def _invalid(field: str, text: str) -> Reply:
    detail = {"field": field, "message": text}
    return _error(400, "VALIDATION_ERROR", "Validation failed", detail)


_UNAUTHORIZED: Final = _error(401, "UNAUTHORIZED", "Unauthorized action")
_NO_RESULT: Final = _error(400, "SEARCH_QUERY_NO_RESULT", "The query did not yield any result.")
