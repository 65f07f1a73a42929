"""Kagi's `POST /api/v1/search`: results in groups; errors as lists in a new and an old form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits, highlight
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    is_within,
    refused,
    refused_query,
    sites_of,
    throttled,
    to_freshness,
    unavailable,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILTERS: Final = {
    "after": re.compile(r"\d{4}-\d\d-\d\d"),
    "before": re.compile(r"\d{4}-\d\d-\d\d"),
    "region": re.compile("[a-z]{2}|no_region"),
}
_MAX_LIMIT: Final = 1_024
_MAX_PAGE: Final = 10
_META: Final = {"trace": "76d2cbd0bb4d5cf0", "node": "europe-west4", "ms": 143}


class Kagi(Dialect):
    """Kagi's answers: highlighted HTML; a query without hits has no group `search`."""

    name = "kagi"
    sends_html = True
    key_variable = "KAGI_API_KEY"
    query_field = "query"
    count_field = "limit"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "snippet"}
    reach = _MAX_LIMIT * _MAX_PAGE
    knows_the_end = False

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        if request.path != "/api/v1/search" or request.method != "POST":
            return _errors(404, "general.not_found", "No such endpoint.")
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _INVALID_TOKEN
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            return _INVALID_QUERY
        is_in_range = (
            body["query"].strip()
            and is_within(body.get("limit", self.default_count), 1, _MAX_LIMIT)
            and is_within(body.get("page", 1), 1, _MAX_PAGE)
        )
        filters = body.get("filters") or {}
        known = all(
            name in _FILTERS and _FILTERS[name].fullmatch(filters[name]) for name in filters
        )
        if not is_in_range or not known:
            return _INVALID_QUERY
        return Reply.of_json(self._found(body, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what operators and filters ask for; the days of the filters are included."""
        filters = request.body.get("filters") or {}
        return SearchOptions(
            **sites_of(request.body["query"]),
            freshness=to_freshness(filters.get("after"), filters.get("before")),
            country=filters.get("region"),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row of the group `search`; not every one has a time."""
        row: dict[str, Any] = {
            "url": page.url,
            "title": highlight(page.title, "nothing", "", ""),
            "snippet": highlight(page.snippet, page.topic, "<b>", "</b>"),
            "time": page.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "image": {"url": "/proxy/picture?c=4", "height": 90, "width": 120},
            "props": {},
        }
        if page.number % 2 == 0:
            del row["time"]
        return row

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {"meta": dict(_META), "data": {"search": rows}}

    def errors(self) -> VendorErrors:
        """Return the errors as they are seen (`errors`) and as first documented (`error`)."""
        key_echoed = _errors(400, "general.invalid_token", f"Token {self.key} failed to verify.")
        no_credit_old_form = _error(400, 101, "Insufficient credit", api_balance=0.0)
        return {
            "key_refused": (_INVALID_TOKEN, refused),
            "key_echoed": (key_echoed, refused),
            "key_refused_old_form": (_error(401, 2, "Unauthorized"), refused),
            "throttled": (_error(429, 1, "Too many requests"), throttled),
            "no_credit": (_error(402, 101, "Insufficient credit", api_balance=0.0), used_up),
            "no_credit_old_form": (no_credit_old_form, used_up),
            "invalid_query": (_INVALID_QUERY, refused_query),
            "invalid_query_old_form": (_error(400, 1, "Missing q parameter"), refused_query),
            "internal_error": (_error(500, 0, "Internal error"), unavailable),
        }

    def _found(self, body: Mapping[str, Any], requested: SearchOptions) -> dict[str, Any]:
        limit, page = body.get("limit", self.default_count), body.get("page", 1)
        pages = find_hits(body["query"], requested)[limit * (page - 1) : limit * page]
        answer = self.envelope([self.row(each) for each in pages])
        answer["data"]["related_search"] = [{"url": "/search?q=more", "title": "more"}]
        if not pages:
            del answer["data"]["search"]
        return answer


def _errors(status: int, code: str, text: str) -> Reply:
    complaint = {"code": code, "message": text}
    return Reply.of_json({"meta": dict(_META), "data": None, "errors": [complaint]}, status)


def _error(status: int, code: int, text: str, **meta: Any) -> Reply:
    complaint = {"code": code, "msg": text, "ref": None}
    body = {"meta": {**_META, **meta}, "data": None, "error": [complaint]}
    return Reply.of_json(body, status)


_INVALID_TOKEN: Final = _errors(400, "general.invalid_token", "Token signature failed to verify.")
_INVALID_QUERY: Final = _errors(400, "search.invalid_query", "The query is not valid.")
