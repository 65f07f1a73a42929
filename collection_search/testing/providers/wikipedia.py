"""MediaWiki's `GET /w/api.php?action=query&list=search`: errors come with status 200."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from .sample_index import SamplePage, find_hits, highlight
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    parse_int,
    refused_query,
    throttled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_LIMIT: Final = 500
_NEEDED: Final = {"action": "query", "list": "search", "format": "json"}


class Wikipedia(Dialect):
    """Wikipedia's answers: format version 1 or 2; rows have no address."""

    name = "wikipedia"
    query_field = "srsearch"
    sends_html = True
    fields: ClassVar[Mapping[str, str]] = {"title": "title", "snippet": "snippet"}
    max_query_chars = 300
    reach = 10_000

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or an error with status 200."""
        params = request.params
        if not request.path.endswith("/w/api.php"):
            return Reply.of_text("<title>Wikimedia Error</title>", 404, kind="text/html")
        if not request.headers.get("user-agent"):
            return Reply.of_text("Please set a user-agent.", 403)
        return _complaint(params) or Reply.of_json(self._found(params))

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row: a title to build the address from, and highlighted HTML."""
        return {
            "ns": 0,
            "title": page.title,
            "pageid": page.id,
            "size": 5120 + page.number,
            "wordcount": 700,
            "snippet": highlight(page.snippet, page.topic, '<span class="searchmatch">', "</span>"),
            "timestamp": page.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "batchcomplete": "",
            "query": {"searchinfo": {"totalhits": 0}, "search": rows},
        }

    def address(self, page: SamplePage, base_url: str) -> str:
        """Return where the wiki shows the page."""
        return f"{base_url}/wiki/{quote(page.title.replace(' ', '_'))}"

    def rows_asked(self, request: ProviderRequest) -> int:
        """Return `srlimit`."""
        return _limit(request.params) or 0

    def errors(self) -> VendorErrors:
        """Return the errors by their codes."""
        host = {"host": "10.64.32.21", "lag": 6.4, "type": "db"}
        lag = _error("maxlag", "Waiting for 10.64.32.21: 6.4 seconds lagged.", **host)
        lagged = lag.having(Retry_After="5", X_Database_Lag="6")
        return {
            "maxlag": (lagged, throttled(200, 5000)),
            "ratelimited": (
                _error("ratelimited", "You've exceeded your rate limit. Please wait some time."),
                throttled,
            ),
            "query_too_long": (_TOO_LONG, refused_query),
        }

    def _found(self, params: Mapping[str, str]) -> dict[str, Any]:
        pages = find_hits(params["srsearch"])
        limit, offset = _limit(params) or 0, parse_int(params.get("sroffset"), 0) or 0
        body = self.envelope([self.row(page) for page in pages[offset : offset + limit]])
        body["query"]["searchinfo"]["totalhits"] = len(pages)
        if params.get("formatversion") == "2":
            body["batchcomplete"] = True
        if len(pages) > offset + limit:
            body["continue"] = {"sroffset": offset + limit, "continue": "-||"}
        return body


def _complaint(params: Mapping[str, str]) -> Reply | None:
    for name, value in _NEEDED.items():
        if params.get(name) != value:
            return _error("badvalue", f'Unrecognized value for parameter "{name}".')
    if not params.get("srsearch"):
        return _error("missingparam", 'The "srsearch" parameter must be set.')
    if len(params["srsearch"]) > Wikipedia.max_query_chars:
        return _TOO_LONG
    limit, offset = _limit(params) or 0, parse_int(params.get("sroffset"), 0)
    if not 1 <= limit <= _MAX_LIMIT or offset is None or offset < 0:
        return _error("badinteger", 'Invalid value for integer parameter "srlimit".')
    return None


def _limit(params: Mapping[str, str]) -> int | None:
    return (
        _MAX_LIMIT
        if params.get("srlimit") == "max"
        else parse_int(params.get("srlimit"), Wikipedia.default_count)
    )


def _error(code: str, text: str, **more: Any) -> Reply:
    error = {"code": code, "info": text, **more, "*": "See https://en.example.org/w/api.php"}
    body = {"error": error, "servedby": "mw-api-ext.example"}
    return Reply.of_json(body).having(MediaWiki_API_Error=code)


_TOO_LONG: Final = _error(
    "cirrussearch-query-too-long",
    "Search request is longer than the maximum allowed length. (412 > 300)",
)
