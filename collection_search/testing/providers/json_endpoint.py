"""A search endpoint of one's own, with the descriptions by which the settings make it a provider.

There are two forms: a GET with nested results and a key header of its own, and a POST with nested
fields and a bearer token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

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
    throttled,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SIZE: Final = 20
"""Most rows of an answer."""
_HIGHEST_SCORE: Final = 50.0


class JsonEndpoint(Dialect):
    """`GET /api/search`: the rows are at `data.items`, their snippets are HTML."""

    name = "intranet"
    key_variable = "INTRANET_API_KEY"
    sends_html = True
    count_field = "limit"
    fields: ClassVar[Mapping[str, str]] = {"url": "link", "title": "name", "snippet": "summary"}
    reach = MAX_SIZE
    knows_the_end = True
    description: ClassVar[Mapping[str, Any]] = {
        "path": "/api/search",
        "query": "q",
        "count": "limit",
        "page_size": MAX_SIZE,
        "key_header": "X-Api-Key",
        "params": {"format": "json", "drafts": False},
        "results": "data.items",
        "fields": {
            "url": "link",
            "title": "name",
            "snippet": "summary",
            "content": "body.text",
            "published_date": "dates.0",
            "score": "relevance",
        },
        "score_scale": _HIGHEST_SCORE,
    }
    """What the settings have as `providers.intranet.json_api`."""
    path: ClassVar[str] = "/api/search"
    method: ClassVar[str] = "GET"

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows, or the error of the first check that fails."""
        if request.path != self.path or request.method != self.method:
            return Reply.of_json({"error": "no such page"}, 404)
        if not self._is_known(request):
            return _KEY_REFUSED
        return self._complaint(request) or Reply.of_json(
            self.envelope(
                [self.row(page) for page in find_hits(self.query(request))][
                    : self.rows_asked(request)
                ]
            )
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row; its text is one level below."""
        return {
            "id": page.id,
            "link": page.url,
            "name": highlight(page.title, "nothing", "", ""),
            "summary": highlight(page.snippet, page.topic, "<mark>", "</mark>"),
            "body": {"format": "plain", "text": f"{page.snippet} {page.topic.capitalize()}."},
            "dates": [page.published.isoformat()],
            "relevance": _HIGHEST_SCORE / page.number,
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {"status": "ok", "data": {"items": rows, "total": 7}}

    def errors(self) -> VendorErrors:
        """Return the errors: a word or an object with words in `error`."""
        echoed = {"error": {"message": f"the key {self.key} is not valid"}}
        return {
            "key_refused": (_KEY_REFUSED, refused),
            "key_echoed": (Reply.of_json(echoed, 401), refused),
            "throttled": (Reply.of_json({"error": "slow down"}, 429), throttled),
            "used_up": (
                Reply.of_json({"error": {"code": "DAILY_LIMIT", "message": "no more"}}, 429),
                used_up,
            ),
            "limit_too_high": (_TOO_MANY, refused_query),
            "without_the_list": (
                Reply.of_json({"data": {"hits": [], "took": 3}}),
                not_understood(200, names="hits, took"),
            ),
        }

    def _is_known(self, request: ProviderRequest) -> bool:
        return request.headers.get("x-api-key") == self.key

    def _complaint(self, request: ProviderRequest) -> Reply | None:
        params = request.params
        if (params.get("format"), params.get("drafts")) != ("json", "false") or not params.get("q"):
            return Reply.of_json({"error": "a parameter is missing"}, 400)
        return None if is_within(parse_int(params.get("limit"), 10), 1, MAX_SIZE) else _TOO_MANY


class JsonPostEndpoint(JsonEndpoint):
    """`POST /find`: the query stands in an object, the rows at `hits`; plain texts, no number."""

    sends_html = False
    count_field = "size"
    path = "/find"
    method = "POST"
    default_count = MAX_SIZE
    description: ClassVar[Mapping[str, Any]] = {
        "path": "find",
        "method": "POST",
        "query": "query.text",
        "params": {"query": {"lang": ["en", "de"]}, "index": "wiki"},
        "results": "hits",
        "fields": {"url": "doc.link", "title": "doc.name", "snippet": "doc.summary"},
    }

    def query(self, request: ProviderRequest) -> str:
        """Return what the request searches for."""
        return str(request.body["query"]["text"])

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row, which wraps the document."""
        return {"doc": {"link": page.url, "name": page.title, "summary": page.snippet}, "rank": 1}

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {"hits": rows, "took": 3}

    def errors(self) -> VendorErrors:
        """Return the errors without that of a number that is not sent."""
        known = dict(super().errors())
        del known["limit_too_high"]
        known["without_the_list"] = (
            Reply.of_json({"results": [], "took": 3}),
            not_understood(200, names="results, took"),
        )
        return known

    def _is_known(self, request: ProviderRequest) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.key}"

    def _complaint(self, request: ProviderRequest) -> Reply | None:
        body = request.body
        if not isinstance(body, dict) or body.get("index") != "wiki":
            return Reply.of_json({"error": "index is missing"}, 400)
        return None


_KEY_REFUSED: Final = Reply.of_json({"error": "unknown key"}, 401)
_TOO_MANY: Final = Reply.of_json({"error": f"limit is {MAX_SIZE} at most"}, 400)
