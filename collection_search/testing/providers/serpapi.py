"""SerpApi's `GET /search`: Google's results; a search without hits is a 200 with an error text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits
from .serper import FORMS, google_options
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    not_understood,
    parse_int,
    refused,
    refused_query,
    sites_of,
    throttled,
    unavailable,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_NUM: Final = 100


class SerpApi(Dialect):
    """SerpApi's answers: with the address of the next page, if any; errors have no codes."""

    name = "serpapi"
    key_variable = "SERPAPI_API_KEY"
    fields: ClassVar[Mapping[str, str]] = {"url": "link", "title": "title", "snippet": "snippet"}
    reach = 1_000
    key_in_query = True
    without_text = frozenset({15})  # its place is taken by another box

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        params = request.params
        if request.path in {"/account", "/account.json"} and request.method == "GET":
            return Reply.of_json(_ACCOUNT) if params.get("api_key") == self.key else _INVALID_KEY
        if request.path not in {"/search", "/search.json"} or request.method != "GET":
            return Reply.of_text("<h1>404 Not Found</h1>", 404, kind="text/html")
        if params.get("api_key") != self.key:
            return _INVALID_KEY
        return _complaint(params) or Reply.of_json(self._found(params, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what parameters and operators ask for."""
        params = request.params
        return SearchOptions(
            **sites_of(params["q"]),
            **google_options(params),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row of `organic_results`; not every one has a date."""
        row = {
            "position": page.number,
            "title": page.title,
            "link": page.url,
            "redirect_link": f"https://www.google.com/url?url={page.url}",
            "displayed_link": f"https://{page.host} \u203a {page.topic}",
            "favicon": f"https://{page.host}/favicon.ico",
            "date": page.age,
            "snippet": page.snippet,
            "snippet_highlighted_words": [page.topic],
            "source": page.host,
        }
        if page.number % 4 == 0:
            del row["date"]
        return row

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "search_metadata": {"id": "69a6b1", "status": "Success", "total_time_taken": 0.87},
            "search_parameters": {"engine": "google", "q": "", "device": "desktop"},
            "search_information": {
                "query_displayed": "",
                "total_results": 1230,
                "organic_results_state": "Results for exact spelling",
            },
            "organic_results": rows,
            "related_questions": [],
        }

    def errors(self) -> VendorErrors:
        """Return the errors; of the two with status 429 the text alone says which it is."""
        failed = "We couldn't get valid results for this search. Please try again later."
        account_deleted = _error(403, "The account of this API key has no permission to search.")
        throttled_reply = _error(429, "This API key exceeds the hourly throughput limit.")
        search_failed_inside_a_200 = _failed(200, "The search could not be processed.")
        return {
            "key_refused": (_INVALID_KEY, refused),
            "key_echoed": (_error(401, f"Invalid API key: {self.key}."), refused),
            "account_deleted": (account_deleted, refused),
            "throttled": (throttled_reply, throttled),
            "used_up": (_error(429, "Your account has run out of searches."), used_up),
            "no_query": (_NO_QUERY, refused_query),
            "search_failed": (_failed(503, failed), unavailable),
            "search_failed_inside_a_200": (search_failed_inside_a_200, not_understood),
        }

    def _found(self, params: Mapping[str, str], requested: SearchOptions) -> dict[str, Any]:
        num = parse_int(params.get("num"), self.default_count) or 0
        start = parse_int(params.get("start"), 0) or 0
        pages = find_hits(params["q"], requested)[: self.reach]
        shown = pages[start : start + num]
        rows = [self.row(page) for page in shown if page.number not in self.without_text]
        body = self.envelope(rows)
        body["search_parameters"] |= {"q": params["q"], "num": str(num), "start": start}
        body["search_information"]["query_displayed"] = params["q"]
        if not body["organic_results"]:
            del body["organic_results"]
            body["search_information"] |= {
                "total_results": 0,
                "organic_results_state": "Fully empty",
            }
            body["error"] = "Google hasn't returned any results for this query."
        elif len(pages) > num:
            body["serpapi_pagination"] = {"current": 1 + start // num}
            if len(pages) > start + num:
                following = f"https://serpapi.com/search.json?engine=google&start={start + num}"
                body["serpapi_pagination"] |= {"next": following, "next_link": following}
        return body


def _complaint(params: Mapping[str, str]) -> Reply | None:
    if not params.get("q"):
        return _NO_QUERY
    if (engine := params.get("engine", "google")) != "google":
        return _error(400, f"Unsupported `{engine}` search engine.")
    num, start = (
        parse_int(params.get("num"), SerpApi.default_count),
        parse_int(params.get("start"), 0),
    )
    if num is None or not 1 <= num <= _MAX_NUM:
        return _error(400, f"Unsupported `{params['num']}` num parameter.")
    if start is None or start < 0:
        return _error(400, f"Unsupported `{params['start']}` start parameter.")
    for name, form in FORMS.items():
        if name in params and not form.fullmatch(params[name]):
            return _error(400, f"Unsupported `{params[name]}` {name} parameter.")
    return None


def _error(status: int, text: str) -> Reply:
    return Reply.of_json({"error": text}, status)


def _failed(status: int, text: str) -> Reply:
    metadata = {"id": "69a6b2", "status": "Error", "total_time_taken": 20.1}
    return Reply.of_json({"search_metadata": metadata, "error": text}, status)


_INVALID_KEY: Final = _error(
    401, "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key"
)
_ACCOUNT: Final = {
    "account_id": "5ac54d6adefb2f1dba1663f5",
    "account_status": "Active",
    "plan_name": "Free Plan",
    "searches_per_month": 250,
    "plan_searches_left": 120,
    "extra_credits": 5,
    "total_searches_left": 125,
    "this_month_usage": 130,
}
_NO_QUERY: Final = _error(400, "Missing query `q` parameter.")
