"""Serper: Google's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.query_limits import DOMAINS, google_parameters, supported_options
from .http.regions import GOOGLE_LANGUAGES
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ..http import HttpResponse


class SerperSearch(HttpSearch):
    """Searches Google through Serper, 10 results and one credit a request."""

    provider_name = "serper"
    title = "Serper"
    index = "Google"
    key_variable = "SERPER_API_KEY"
    address_variable = "SERPER_BASE_URL"
    needs_key = True
    default_base_url = "https://google.serper.dev"
    names = RowNames(url="link", dates=("date",))
    key_header = "X-API-KEY"
    news_path = "news"
    paging = Paging("page", first=1)
    page_size = 10  # more in one request cost two credits
    max_pages = 10
    fills_pages = False  # Google's pages hold less where other boxes take the room
    max_query_chars = 2048
    always_sends = ("organic|searchParameters",)
    supports: ClassVar = supported_options(
        "freshness", "language", "country", emulated=[*DOMAINS, "topic"]
    )  # news have another endpoint
    languages = GOOGLE_LANGUAGES
    rules = FailureRules(texts={"not enough credits": "quotaExceeded"})  # with status 400

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends."""
        return {
            "q": query,
            "num": count,
            **google_parameters(options, self.today(), self.languages),
        }

    def credits(self, options: SearchOptions, count: int) -> float:  # noqa: ARG002
        """Return the credits of one request."""
        return 2 if count > self.page_size else 1

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.answer(response)
        raw = self.listed(answer["news"] if "news" in answer else answer.get("organic"), response)
        return self.page_of(raw, response)
