"""Exa's `POST /search`: rows have no text unless it is asked for, and no score."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import MAX_DOMAINS, SearchOptions
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

_TYPES: Final = {
    *("auto", "neural", "keyword", "fast", "instant", "lite"),
    *("deep", "deep-lite", "deep-reasoning"),
}
_CATEGORIES: Final = {
    *(None, "company", "news", "publication", "personal site", "financial report", "people"),
}
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z)?")


class Exa(Dialect):
    """Exa's answers: texts and highlights on request; authors and dates may be null."""

    name = "exa"
    key_variable = "EXA_API_KEY"
    query_field = "query"
    count_field = "numResults"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "text"}
    reach = 100

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows, or the error of the first check that fails."""
        if request.path != "/search" or request.method != "POST":
            return _error(404, "NOT_FOUND", f"Cannot {request.method} {request.path}")
        if request.headers.get("x-api-key") != self.key:
            return _INVALID_KEY
        body = request.body
        return _complaint(body) or Reply.of_json(self._found(body, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the body asks for; a location may be more than a country."""
        body = request.body
        where = body.get("userLocation")
        return SearchOptions(
            search_depth="deep" if body.get("type") == "deep" else None,
            include_domains=tuple(body.get("includeDomains") or ())[:MAX_DOMAINS],
            exclude_domains=tuple(body.get("excludeDomains") or ())[:MAX_DOMAINS],
            domain_mode="restrict" if body.get("includeDomains") else "prefer",
            topic="news" if body.get("category") == "news" else None,
            include_content=bool((body.get("contents") or {}).get("text")),
            freshness=to_freshness(body.get("startPublishedDate"), body.get("endPublishedDate")),
            country=where if isinstance(where, str) else None,
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row with all that can be asked for."""
        published = page.published.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return {
            "id": page.url,
            "title": page.title,
            "url": page.url,
            "publishedDate": published if page.number % 2 else None,
            "author": None if page.number % 3 else "A. Nonymous",
            "text": f"{page.title}\n\n{page.snippet}",
            "highlights": [page.snippet],
            "highlightScores": [0.46],
            "image": f"https://{page.host}/picture.png",
            "favicon": f"https://{page.host}/favicon.ico",
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "requestId": "b5947044c4b78efa9552a7c89b306d95",
            "resolvedSearchType": "neural",
            "results": rows,
            "searchTime": 612.4,
            "costDollars": {"total": 0.007, "search": {"neural": 0.007}},
        }

    def errors(self) -> VendorErrors:
        """Return the errors; every one except the rate limit has a tag."""
        limit = "You've exceeded your Exa rate limit of 10 requests per second."
        budget = "This API key has reached its budget."
        not_in_the_plan = _error(403, "ACCESS_DENIED", "Your plan does not include this feature.")
        no_credit = _error(402, "NO_MORE_CREDITS", "You have exceeded your credits limit.")
        return {
            "key_refused": (_INVALID_KEY, refused),
            "key_echoed": (_error(401, "INVALID_API_KEY", f"Invalid API key: {self.key}"), refused),
            "not_in_the_plan": (not_in_the_plan, refused_query),
            "throttled": (Reply.of_json({"error": limit}, 429), throttled),
            "no_credit": (no_credit, used_up),
            "budget_used_up": (_error(402, "API_KEY_BUDGET_EXCEEDED", budget), used_up),
            "invalid_body": (_invalid("query: Required"), refused_query),
        }

    def _found(self, body: Mapping[str, Any], requested: SearchOptions) -> dict[str, Any]:
        wanted = body.get("contents") or {}
        left_out = [name for name in ("text", "highlights") if not wanted.get(name)]
        if "highlights" in left_out:
            left_out.append("highlightScores")
        pages = find_hits(body["query"], requested)[: body.get("numResults", self.default_count)]
        rows = [self.row(page) for page in pages]
        for row in rows:
            for name in left_out:
                del row[name]
        return self.envelope(rows)


def _complaint(body: Any) -> Reply | None:
    if not isinstance(body, dict):
        return _invalid("Expected object")
    if not isinstance(body.get("query"), str) or not body["query"].strip():
        return _invalid("query: Required")
    if body.get("type", "auto") not in _TYPES:
        return _invalid("type: Invalid enum value")
    if not isinstance(body.get("contents") or {}, dict):
        return _invalid("contents: Expected object")
    if not is_within(body.get("numResults", Exa.default_count), 1, Exa.reach):
        return _error(400, "INVALID_NUM_RESULTS", "numResults must be from 1 to 100")
    return _complaint_about_options(body)


def _complaint_about_options(body: Mapping[str, Any]) -> Reply | None:
    if body.get("category") not in _CATEGORIES:
        return _invalid("category: Invalid enum value")
    where = body.get("userLocation")
    if isinstance(where, str) and not re.fullmatch("[A-Z]{2}", where):
        return _invalid("userLocation: Invalid country code")
    for name in ("startPublishedDate", "endPublishedDate"):
        if not _TIME.fullmatch(str(body.get(name, "2026-03-03"))):
            return _invalid(f"{name}: Invalid datetime")
    return None


def _error(status: int, tag: str, text: str) -> Reply:
    request_id = "67207943fab9832d162b5317f4cef830"
    return Reply.of_json({"requestId": request_id, "error": text, "tag": tag}, status)


def _invalid(text: str) -> Reply:
    return _error(400, "INVALID_REQUEST_BODY", text)


_INVALID_KEY: Final = _error(401, "INVALID_API_KEY", "Invalid API key")
