"""OpenAlex's `GET /works?search=`: abstracts as indexes, a budget a day instead of a rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from ...errors import SearchProviderQuotaExceeded
from .sample_index import SamplePage, find_hits
from .wire import (
    Dialect,
    ExpectedError,
    ProviderRequest,
    Reply,
    VendorErrors,
    parse_int,
    refused,
    refused_query,
    throttled,
    to_freshness,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SEARCHES_LEFT: Final = 90
"""Searches that the day's budget still allows, as the headers of every answer say."""

_MAX_ADDRESS: Final = 4096
_MAX_SIZE: Final = 100
_MAX_WORKS: Final = 10_000
_UNTIL_MIDNIGHT_S: Final = 6_400
_KNOWN: Final = {"search", "per_page", "page", "select", "filter", "mailto"}
_FILTERS: Final = {
    "from_publication_date": re.compile(r"\d{4}-\d\d-\d\d"),
    "to_publication_date": re.compile(r"\d{4}-\d\d-\d\d"),
    "language": re.compile(r"[a-z]{2}(-[a-z]{2})?"),
}


class OpenAlex(Dialect):
    """OpenAlex's answers; a key is not needed, but a wrong one is refused."""

    name = "openalex"
    key_variable = "OPENALEX_API_KEY"
    query_field = "search"
    count_field = "per_page"
    default_count = 25
    fields: ClassVar[Mapping[str, str]] = {"url": "id", "title": "display_name", "snippet": "type"}
    max_query_chars = 400  # what fits into an address in every script
    reach = _MAX_WORKS
    without_text = frozenset({5})

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the works of one page, or the error of the first check that fails."""
        if len(request.target) > _MAX_ADDRESS:
            return Reply.of_text("<h1>URI Too Long</h1>", 414, kind="text/html")
        key = request.headers.get("authorization")
        if key not in {None, f"Bearer {self.key}"}:
            return _KEY_REFUSED
        if request.path == "/rate-limit" and request.method == "GET":
            return Reply.of_json(_ACCOUNT) if key else _KEY_REFUSED
        if request.path != "/works" or request.method != "GET":
            return Reply.of_text("<title>404 Not Found</title>", 404, kind="text/html")
        if complaint := _complaint(request.params):
            return complaint
        budget = {
            "X_RateLimit_Limit_USD": "1" if key else "0.1",
            "X_RateLimit_Remaining_USD": str(SEARCHES_LEFT / 1000),
            "X_RateLimit_Prepaid_Remaining_USD": "0",
            "X_RateLimit_Cost_USD": "0.001",
            "X_RateLimit_Reset": str(_UNTIL_MIDNIGHT_S),
        }
        return Reply.of_json(self._found(request)).having(**budget)

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the filters ask for."""
        given = _filters(request.params)
        return SearchOptions(
            freshness=to_freshness(
                given.get("from_publication_date"), given.get("to_publication_date")
            ),
            language=given.get("language"),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a work; only every other one is open access, and one has no abstract."""
        place = {
            "id": f"doi:10.5555/{page.topic}.{page.number}",
            "is_oa": True,
            "landing_page_url": page.url,
            "pdf_url": None,
            "source": {"id": "https://openalex.org/S1", "display_name": f"Journal of {page.host}"},
            "license": "cc-by",
            "version": "publishedVersion",
        }
        closed = place | {"is_oa": False, "source": None, "license": None}
        words: dict[str, list[int]] = {}
        for at, word in enumerate(page.snippet.split()):
            words.setdefault(word, []).append(at)
        return {
            "id": f"https://openalex.org/W{page.id}",
            "doi": f"https://doi.org/10.5555/{page.topic}.{page.number}",
            "display_name": page.title,
            "type": "article",
            "publication_date": page.published.date().isoformat(),
            "primary_location": closed if page.number % 2 else place,
            "best_oa_location": None if page.number % 2 else place,
            "abstract_inverted_index": None if page.number in self.without_text else words,
        }

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        meta = {"count": 0, "db_response_time_ms": 317, "page": 1, "per_page": 25}
        more: dict[str, Any] = {"groups_count": None, "cost_usd": 0.001}
        return {"meta": meta | more, "results": rows, "group_by": []}

    def errors(self) -> VendorErrors:
        """Return the errors; a used-up budget and too many requests have the same status."""
        day = ExpectedError(
            SearchProviderQuotaExceeded,
            "quotaExceeded",
            429,
            retry_in_ms=1000 * _UNTIL_MIDNIGHT_S,
            names=self.key_variable,
        )
        return {
            "key_refused": (_KEY_REFUSED, refused),
            "budget_used_up": (_BUDGET, day),
            "throttled": (_THROTTLED, throttled(429, 1000)),
            "wildcard": (_WILDCARD, refused_query),
        }

    def _found(self, request: ProviderRequest) -> dict[str, Any]:
        params = request.params
        pages = find_hits(params["search"], self.options(request))
        size = self.rows_asked(request)
        number = parse_int(params.get("page"), 1) or 1
        selected = params["select"].split(",") if "select" in params else None
        rows = [self.row(page) for page in pages[size * (number - 1) : size * number]]
        if selected:
            rows = [{name: row[name] for name in selected} for row in rows]
        body = self.envelope(rows)
        body["meta"] |= {"count": len(pages), "page": number, "per_page": size}
        return body


def _complaint(params: Mapping[str, str]) -> Reply | None:
    if re.search(r"[?*~]", params.get("search", "")):
        return _WILDCARD
    text = next(_complaints(params), None)
    return None if text is None else _error(text)


def _complaints(params: Mapping[str, str]) -> Iterator[str]:
    if unknown := params.keys() - _KNOWN:
        yield f"{min(unknown)} is not a valid parameter."
    if not params.get("search", "").strip():
        yield "The search parameter is empty."
    size, number = parse_int(params.get("per_page"), 25), parse_int(params.get("page"), 1)
    if size is None or not 1 <= size <= _MAX_SIZE:
        yield "per_page parameter must be between 1 and 100"
    elif number is None or number < 1 or number * size > _MAX_WORKS:
        yield "Maximum results size of 10,000 records is exceeded."
    selected = set(params["select"].split(",")) if "select" in params else set()
    if unknown := selected - OpenAlex().row(find_hits("asyncio")[0]).keys():
        yield f"{min(unknown)} is not a valid select field."
    for name, value in _filters(params).items():
        if name not in _FILTERS or not _FILTERS[name].fullmatch(value):
            yield f"{name} is not a valid field with this value."


def _filters(params: Mapping[str, str]) -> dict[str, str]:
    given = (part.partition(":") for part in params.get("filter", "").split(",") if part)
    return {name: value for name, _, value in given}


def _error(text: str) -> Reply:
    body = {"error": "Invalid query parameters error.", "message": text}
    return Reply.of_json(body, 400)


_KEY_REFUSED: Final = Reply.of_json(
    {"error": "Invalid or missing API key", "message": "API key not found"}, 401
)
_WILDCARD: Final = _error("Wildcards are not supported in a search with stemming.")
_LIMIT_REACHED: Final = {"error": "Rate limit exceeded", "costUsd": 0.001, "creditsRequired": 10}
_BUDGET: Final = Reply.of_json(
    _LIMIT_REACHED
    | {
        "message": "Insufficient budget. This request costs $0.001 but you only have $0.0008"
        " remaining. Resets at midnight UTC.",
        "retryAfter": _UNTIL_MIDNIGHT_S,
        "dailyRemainingUsd": 0.0008,
    },
    429,
).having(
    Retry_After=str(_UNTIL_MIDNIGHT_S),
    X_RateLimit_Remaining_USD="0.0008",
    X_RateLimit_Cost_Required_USD="0.001",
)
_THROTTLED: Final = Reply.of_json(
    _LIMIT_REACHED | {"message": "Rate limit exceeded: 100 requests per second. Please slow down."},
    429,
).having(Retry_After="1")
_ACCOUNT: Final = {
    "api_key": "abc...xyz",
    "rate_limit": {
        "daily_budget_usd": 1,
        "daily_used_usd": 0.91,
        "daily_remaining_usd": SEARCHES_LEFT / 1000,
        "prepaid_balance_usd": 0,
        "prepaid_remaining_usd": 0,
        "resets_in_seconds": _UNTIL_MIDNIGHT_S,
        "endpoint_costs_usd": {"singleton": 0, "list": 0.0001, "search": 0.001},
    },
}
