"""Mojeek: the web search of an index of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...contracts import ProviderSearchResult
from ..http import HttpRequest, joined
from .failures import FailureRules, Refusal
from .http_search import HttpSearch, ResultPage
from .reading import at, text

if TYPE_CHECKING:
    from ..http import HttpResponse


class MojeekSearch(HttpSearch):
    """Searches Mojeek, 10 results a request.

    The key is part of the address: Mojeek takes it nowhere else.
    """

    provider_name = "mojeek"
    title = "Mojeek"
    key_variable = "MOJEEK_API_KEY"
    address_variable = "MOJEEK_BASE_URL"
    needs_key = True
    default_base_url = "https://api.mojeek.com"
    page_size = 10
    max_pages = 10
    rules = FailureRules(
        texts={
            "daily|monthly|quota|credit": "quotaExceeded",
            "rate limit|too many": "rateLimited",
            r"\bkey\b": "authenticationFailed",
        }
    )

    def request(self, query: str, count: int, page: int) -> HttpRequest:
        """Return the call for one page; Mojeek's `s` counts rows from 1."""
        return HttpRequest(
            "GET",
            joined(self.base_url, "search"),
            params={
                "q": query,
                "t": count,
                "s": page * count + 1,
                "fmt": "json",
                "api_key": self.key(),
            },
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError, for an error in a 200 too."""
        answer = self.answer(response)
        if _complaint(answer):
            raise self.failure(self.refusal(response, answer), response)
        raw = self.listed(at(answer, "response", "results"), response)
        return self.page_of(raw, self._row, response)

    def refusal(self, response: HttpResponse, answer: Any) -> Refusal:
        """Return what a response says; Mojeek's errors are a sentence in `response.status`."""
        refusal = super().refusal(response, answer)
        return replace(refusal, text=_complaint(answer) or refusal.text)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("url")),
            title=text(row.get("title")),
            snippet=text(row.get("desc")),
            source=self.provider_name,
        )


def _complaint(answer: Any) -> str:
    """Return the error in an answer, such as "ERROR: Daily Limit Reached"; blank for "OK"."""
    status = text(at(answer, "response", "status")).strip()
    return "" if status.casefold() == "ok" else status
