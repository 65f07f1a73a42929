"""A worker's response as that of the search service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.service import Attempt, SearchResponse, ServiceSearchResult
from .route import attempt_of

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ...contracts.search import WebSearchResponse


def service_response(
    response: WebSearchResponse, query: str, options: SearchOptions, *, response_time_ms: int
) -> SearchResponse:
    """Return the response to a query, with contents where the options ask for them."""
    meta, shown = response.outcome.meta, set(ServiceSearchResult.model_fields)
    if not options.include_content:
        shown.remove("content")
    rows = [{name: getattr(result, name) for name in shown} for result in response.results]
    return SearchResponse(
        results=[ServiceSearchResult(**row) for row in rows],
        query=query,
        response_time_ms=response_time_ms,
        provider=meta["provider"],
        routing=[
            Attempt.model_validate(each) for each in meta.get("routing", [attempt_of(response)])
        ],
        applied={name: told["applied"] for name, told in meta.get("options", {}).items()},
        notices=meta["notices"],
        cached=meta.get("cached", False),
    )
