"""Mojeek's `GET /search?fmt=json`: rows are counted from 1, the body has a status of its own."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits, highlight
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    is_within,
    not_understood,
    parse_int,
    refused,
    refused_query,
    sites_of,
    throttled,
    to_freshness,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATE: Final = re.compile(r"|day|month|year|\d{8}")
_MAX_T: Final = 100
_XML: Final = '<?xml version="1.0" encoding="UTF-8"?><response><status>OK</status></response>'


class Mojeek(Dialect):
    """Mojeek's answers: highlighted HTML without dates; XML unless the request names JSON."""

    name = "mojeek"
    sends_html = True
    key_variable = "MOJEEK_API_KEY"
    count_field = "t"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "desc"}
    reach = 1_000
    key_in_query = True

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        params = request.params
        if request.path != "/search" or request.method != "GET":
            return Reply.of_text("<h1>404 Not Found</h1>", 404, kind="text/html")
        if params.get("fmt") != "json":
            return Reply.of_text(_XML, 200, kind="text/xml")
        if params.get("api_key") != self.key:
            return _INVALID_KEY
        start, count = parse_int(params.get("s"), 1), parse_int(params.get("t"), self.default_count)
        if (
            not params.get("q")
            or not is_within(start, 1, self.reach)
            or not is_within(count, 1, _MAX_T)
        ):
            return _INVALID
        if not all(_DATE.fullmatch(params.get(name, "")) for name in ("since", "before")):
            return _INVALID
        return Reply.of_json(self._found(request, start or 1, count or 0))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what parameters and operators ask for; `before` is the day after the last."""
        params = request.params
        requested = sites_of(params["q"])
        if site := params.get("site"):
            requested |= {"include_domains": (site,), "domain_mode": "restrict"}
        last = params.get("before")
        until = str(date.fromisoformat(last) - timedelta(days=1)) if last else None
        since = params.get("since")
        first = str(date.fromisoformat(since)) if since and since.isdecimal() else None
        return SearchOptions(**requested, freshness=to_freshness(first, until))

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row; title and text are HTML."""
        return {
            "url": page.url,
            "title": highlight(page.title, "nothing", "", ""),
            "desc": highlight(page.snippet, page.topic, "<b>", "</b>"),
            "onscr": round(1 / page.number, 4),
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        head = {"query": "", "timer": 0.08, "start": 0, "return": 10, "exact": True, "dups": 0}
        return {"response": {"status": "OK", "head": {**head, "results": 1230}, "results": rows}}

    def errors(self) -> VendorErrors:
        """Return the errors: a text in the place of `OK`, whatever the HTTP status."""
        return {
            "key_refused": (_INVALID_KEY, refused),
            "key_echoed": (_error(403, f"ERROR: Invalid API Key {self.key}"), refused),
            "key_refused_inside_a_200": (_error(200, "ERROR: Invalid API Key"), refused),
            "throttled": (_error(429, "ERROR: Too Many Requests"), throttled),
            "used_up_for_the_day": (_error(429, "ERROR: Daily Limit Reached"), used_up),
            "used_up_inside_a_200": (_error(200, "ERROR: Daily Limit Reached"), used_up),
            "invalid_parameter": (_INVALID, refused_query),
            "failed_inside_a_200": (_error(200, "ERROR: Search Failed"), not_understood),
        }

    def _found(self, request: ProviderRequest, start: int, count: int) -> dict[str, Any]:
        query = self.query(request)
        pages = find_hits(query, self.options(request))[: self.reach]
        rows = [self.row(page) for page in pages[start - 1 : start - 1 + count]]
        body = self.envelope(rows)
        body["response"]["head"] |= {
            "query": query,
            "results": len(pages),
            "start": start - 1,
            "return": len(rows),
        }
        return body


def _error(status: int, text: str) -> Reply:
    return Reply.of_json({"response": {"status": text}}, status)


_INVALID_KEY: Final = _error(403, "ERROR: Invalid API Key")
_INVALID: Final = _error(400, "ERROR: Invalid Parameter")
