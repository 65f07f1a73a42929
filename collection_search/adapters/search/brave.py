"""Brave: the web search of an index of its own."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...text.validation import whole_number
from ..retry_after import parse_numbers
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import LACKS_OPTION, FailureRules
from .http.json_values import read_path
from .http.query_limits import DOMAINS, drop_empty, supported_options
from .http.regions import map_codes
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ...errors import ErrorCode
    from ..http import HttpResponse
    from ..refusals import VendorRefusal

_PERIODS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_LANGUAGES: Final = map_codes(
    "ar eu bn bg ca hr cs da nl en et fi fr gl de el gu he hi hu is it kn ko lv lt ms ml mr nb pl"
    " pa ro ru sr sk sl es sv ta te th tr uk vi"
) | {"ja": "jp", "no": "nb", "pt": "pt-pt", "zh": "zh-hans"}
_COUNTRIES: Final = map_codes(
    "AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES"
    " SE CH TW TR GB US"
)
_UNLIMITED: Final = 0
"""The limit that Brave reports for a plan without one."""


class BraveSearch(HttpSearch):
    """Searches Brave, at most 20 results a request and 200 a query."""

    provider_name = "brave"
    title = "Brave Search"
    index = "Brave"
    key_variable = "BRAVE_API_KEY"
    address_variable = "BRAVE_BASE_URL"
    needs_key = True
    default_base_url = "https://api.search.brave.com"
    names = RowNames(snippet="description", dates=("page_age", "age"))
    method = "GET"
    path = "res/v1/web/search"
    news_path = "res/v1/news/search"
    key_header = "X-Subscription-Token"
    paging = Paging("offset")  # pages, not rows
    page_size = 20
    max_pages = 10
    max_query_chars = 400
    max_query_words = 50
    supports: ClassVar = supported_options(
        "freshness", "language", "country", emulated=[*DOMAINS, "topic"]
    )  # news have another endpoint
    languages = _LANGUAGES
    countries = _COUNTRIES
    storage_rights = "by plan"
    rules = FailureRules(
        codes={
            "SUBSCRIPTION_TOKEN_INVALID": "authenticationFailed",  # comes with status 422
            "QUOTA_LIMITED": "quotaExceeded",
            "OPTION_NOT_IN_PLAN": "invalidQuery",
        },
        sentences={"OPTION_NOT_IN_PLAN": LACKS_OPTION},
        once_more=frozenset({"SUBSCRIPTION_TOKEN_INVALID"}),  # seen with good keys too
    )

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends."""
        chosen = {
            "result_filter": None if options.topic == "news" else "web",
            "freshness": self._freshness(options) if options.freshness else None,
            "country": options.country,
            "search_lang": self.languages[options.language] if options.language else None,
        }
        return {"q": query, "count": count} | drop_empty(chosen)

    def login(self) -> dict[str, str]:
        """Return the header with the key, and those for the form of the answer."""
        return super().login() | {"Accept": "application/json", "Accept-Encoding": "gzip"}

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results; without hits no `web`. Raises SearchProviderError."""
        answer = self.answer(response)
        web = answer if answer.get("type") == "news" else answer.get("web")
        raw = [] if web is None else self.listed(read_path(web, "results"), response)
        more = read_path(answer, "query", "more_results_available")
        return self.page_of(
            raw,
            response,
            more=more if isinstance(more, bool) else None,
            quota_remaining=_left_this_month(response),
        )

    def is_answer(self, answer: Any) -> bool:
        """Return whether it is an answer of the web or news search: without hits its type tells."""
        return read_path(answer, "type") in ("search", "news")

    def meaning(self, refusal: VendorRefusal) -> ErrorCode:
        """Return the error code of a refusal; only its counters show that a quota is used up."""
        meta = refusal.error.get("meta")
        limit = whole_number(read_path(meta, "quota_limit"), least=_UNLIMITED + 1)
        current = whole_number(read_path(meta, "quota_current"), least=limit)
        is_used_up = limit is not None and current is not None
        if refusal.status == HTTPStatus.TOO_MANY_REQUESTS and is_used_up:
            return "quotaExceeded"
        return super().meaning(refusal)

    def wait_s(self, response: HttpResponse) -> float | None:
        """Return the seconds until the shortest rate limit is reset."""
        resets = parse_numbers(response.headers.get("x-ratelimit-reset"))
        return resets[0] if resets else None

    def _freshness(self, options: SearchOptions) -> str:
        """Return the parameter for a word or a range; an open range ends today."""
        if word := _PERIODS.get(options.freshness or ""):
            return word
        first, last = options.published(self.today())
        return f"{first}to{last or self.today()}"


def _left_this_month(response: HttpResponse) -> int | None:
    """Return how many requests are left in the longest of the time windows."""
    limits = parse_numbers(response.headers.get("x-ratelimit-limit"))
    left = parse_numbers(response.headers.get("x-ratelimit-remaining"))
    return None if not left or (limits and limits[-1] == _UNLIMITED) else left[-1]
