"""SearXNG's `GET /search?format=json`: pages of unstated size, engines that fail one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    not_understood,
    parse_int,
    refused_query,
    sites_of,
    throttled,
    unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS: Final = 20
"""Rows of one page without the useless ones."""
_ENGINES: Final = ("bing", "mojeek")
_LANGUAGE: Final = re.compile(r"all|auto|[a-z]{2,3}(-[A-Z]{2})?")
_CHOICES: Final = {
    "time_range": {"", "day", "week", "month", "year"},
    "safesearch": {"", "0", "1", "2"},
}
_LOCAL_ANSWER: Final = re.compile(r"random string|(min|max|avg|sum)( \d+)+")
_KEY_VALUE_ROW: Final = {
    "url": None,
    "title": "",
    "content": "",
    "template": "keyvalue.html",
    "kvmap": {"Released": "1991"},
    "engine": "wikidata",
    "engines": ["wikidata"],
    "positions": [1],
    "score": 1.0,
    "category": "general",
    "parsed_url": None,
    "publishedDate": None,
}


class Searxng(Dialect):
    """A server with JSON enabled, which throttles the default agents of HTTP libraries."""

    name = "searxng"
    fields: ClassVar[Mapping[str, str]] = {"url": "url", "title": "title", "snippet": "content"}
    reach = 1_000_000
    knows_the_end = False

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or what the server says instead."""
        params = request.params
        if request.path != "/search":
            return _page("404 Not Found", 404)
        if re.match(r"(python-|aiohttp|curl|$)", request.headers.get("user-agent", "").lower()):
            return _LIMITED
        query = params.get("q", "")
        if query.lstrip().startswith("!!"):
            return Reply(302, headers={"Location": "https://en.wikipedia.org/wiki/Special:Search"})
        if params.get("format") != "json":
            return _page("SearXNG", 200)
        if complaint := _complaint(params):
            return complaint
        number = parse_int(params.get("pageno"), 1) or 1
        return Reply.of_json(self._found(query.strip(), number, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what parameters and operators ask for."""
        params = request.params
        return SearchOptions(
            **sites_of(params["q"]),
            topic="news" if params.get("categories") == "news" else None,
            freshness=params.get("time_range") or None,
            language=params.get("language", "").partition("-")[0] or None,
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row; its engines come in any order."""
        engines = _ENGINES if page.number % 2 else _ENGINES[::-1]
        row: dict[str, Any] = {
            "url": page.url,
            "title": page.title,
            "content": page.snippet,
            "engine": engines[0],
            "template": "default.html",
            "parsed_url": [*urlsplit(page.url)[:3], "", "", ""],
            "img_src": "",
            "thumbnail": "",
            "priority": "",
            "engines": list(engines),
            "positions": [page.number, page.number + 1],
            "score": 8.0 / page.number,
            "category": "general",
            "publishedDate": None,
        }
        if page.number % 2:
            date = page.published.strftime("%Y-%m-%dT%H:%M:%S")
            row |= {"publishedDate": date, "pubdate": date.replace("T", " ")}
        return row

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "query": "",
            "results": rows,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [["duckduckgo", "CAPTCHA"]] if rows else [],
        }

    def rows_asked(self, request: ProviderRequest) -> int:  # noqa: ARG002 - the server decides
        """Return the size of a page: there is no parameter for it."""
        return _ROWS

    def errors(self) -> VendorErrors:
        """Return the errors; a server without JSON is one of configuration."""
        json_disabled = _page("403 Forbidden", 403)
        unknown_format = _page("SearXNG", 200)
        invalid_value = _error('Invalid value "english" for parameter language')
        all_engines_down = Reply.of_json(self.envelope([]) | {"unresponsive_engines": _ALL_DOWN})
        external_bang = Reply(302, headers={"Location": "https://en.wikipedia.org/wiki/Asyncio"})
        return {
            "json_disabled": (json_disabled, not_understood(403, names="json")),
            "unknown_format": (unknown_format, not_understood),
            "limited": (_LIMITED, throttled),
            "invalid_value": (invalid_value, refused_query),
            "all_engines_down": (all_engines_down, unavailable),
            "external_bang": (external_bang, not_understood),
        }

    def _found(self, query: str, number: int, requested: SearchOptions) -> dict[str, Any]:
        if _LOCAL_ANSWER.fullmatch(query):
            answer = {"url": None, "engine": None, "template": "answer/legacy.html", "answer": "9"}
            return self.envelope([]) | {"query": query, "answers": [answer]}
        pages = find_hits(query, requested)[_ROWS * (number - 1) : _ROWS * number]
        rows = [self.row(page) for page in pages]
        if rows and number == 1:
            twin = self.row(pages[0]) | {"url": f"{pages[0].url}?utm_source=feed"}
            rows = [rows[0], dict(_KEY_VALUE_ROW), *rows[1:], twin]
        return self.envelope(rows) | {"query": query}


def _complaint(params: Mapping[str, str]) -> Reply | None:
    if not params.get("q"):
        return _error("No query")
    page = parse_int(params.get("pageno"), 1)
    if page is None or page < 1:
        return _error(f'Invalid value "{params["pageno"]}" for parameter pageno')
    if not _LANGUAGE.fullmatch(params.get("language") or "all"):
        return _error(f'Invalid value "{params["language"]}" for parameter language')
    for name, choices in _CHOICES.items():
        if params.get(name, "") not in choices:
            return _error(f'Invalid value "{params[name]}" for parameter {name}')
    return None


def _error(text: str) -> Reply:
    return Reply.of_json({"error": text}, 400)


def _page(title: str, status: int) -> Reply:
    text = f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1></html>"
    return Reply.of_text(text, status, kind="text/html")


_LIMITED: Final = Reply.of_text("Too Many Requests", 429)
_ALL_DOWN: Final = [[engine, "Suspended: access denied"] for engine in _ENGINES]
