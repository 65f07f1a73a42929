"""Linkup: search for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .http.adapter import HttpSearch
from .http.error_mapping import FailureRules
from .http.query_limits import DOMAINS, date_parameters, drop_empty, supported_options
from .http.result_page import RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions


class LinkupSearch(HttpSearch):
    """Searches Linkup, at one price for any number of results; a deep search costs ten times that.

    A search is one request: there are no further pages. Its results have no dates.
    """

    provider_name = "linkup"
    title = "Linkup"
    key_variable = "LINKUP_API_KEY"
    address_variable = "LINKUP_BASE_URL"
    needs_key = True
    default_base_url = "https://api.linkup.so"
    path = "v1/search"
    names = RowNames(title="name", snippet="content", content="content")
    page_size = 100
    always_sends = ("results",)
    supports: ClassVar = supported_options("search_depth", *DOMAINS, "include_content", "freshness")
    rules = FailureRules(
        codes={
            "TASKS_QUEUE_LIMIT_EXCEEDED": "rateLimited",
            "REQUEST_DEADLINE_EXCEEDED": "timeout",
        },
        no_hits="^SEARCH_QUERY_NO_RESULT$",  # with status 400
    )
    without_hits: ClassVar = {"results": []}

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the only call sends."""
        chosen = {
            "includeDomains": list(options.include_domains),
            "excludeDomains": list(options.exclude_domains),
        }
        return {
            "q": query,
            "depth": "deep" if options.search_depth == "deep" else "standard",
            "outputType": "searchResults",
            "maxResults": count,
            **drop_empty(chosen),
            **date_parameters(options, self.today(), fromDate="{}", toDate="{}"),
        }

    def credits(self, options: SearchOptions, count: int) -> float:  # noqa: ARG002
        """Return the price in units of a search with the depth `standard`."""
        return 10 if options.search_depth == "deep" else 1
