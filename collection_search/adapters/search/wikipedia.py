"""Wikipedia, and any other wiki that runs MediaWiki in the same way: no key needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...contracts import ProviderSearchResult
from ...errors import ConfigError
from ...text import plain
from ..http import HttpRequest, joined
from .failures import FailureRules
from .http_search import HttpSearch, ResultPage
from .reading import at, published, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from typing import Self

    from ...settings import Settings
    from ..http import HttpResponse


_LANGUAGE: Final = re.compile(r"[a-z]{2,}(?:-[a-z]+)*")
_IN_TITLES: Final = ";@$!*(),/~:"
"""What MediaWiki does not quote in the address of a page."""


class WikipediaSearch(HttpSearch):
    """Searches one Wikipedia, the English one by default.

    `published_date` is the day of the last edit.
    """

    provider_name = "wikipedia"
    title = "Wikipedia"
    address_variable = "WIKIPEDIA_BASE_URL"
    default_base_url = "https://en.wikipedia.org"
    page_size = 50
    max_pages = 200
    max_query_chars = 300
    rules = FailureRules(
        codes={
            "ratelimited": "rateLimited",
            "maxlag": "rateLimited",
            "cirrussearch-too-busy-error": "rateLimited",
            "cirrussearch-backend-error": "serviceUnavailable",
            "internal_api_error*": "serviceUnavailable",
            "readonly": "serviceUnavailable",
            "cirrussearch-*": "invalidQuery",
            "bad*": "invalidQuery",
            "missing*": "invalidQuery",
        },
        sentences={"authenticationFailed": "{name} refuses this client. Check {address}."},
    )

    def __init__(
        self,
        *,
        base_url: str | None = None,
        timeout: float = 10.0,
        today: Callable[[], date] | None = None,
    ) -> None:
        super().__init__(base_url=base_url, timeout=timeout, today=today)

    @classmethod
    def from_settings(cls, settings: Settings, *, model: str | None = None) -> Self:
        """Return the adapter; `model` is a language such as `de`. Raises ConfigError."""
        base_url = settings.access(cls.provider_name).base_url
        if model is not None:
            if base_url:
                raise ConfigError(
                    f"Give a language or {cls.address_variable}, not both: remove one of them."
                )
            if not _LANGUAGE.fullmatch(model):
                raise ConfigError(f"wikipedia:{model} is no language: write it like wikipedia:de.")
            base_url = f"https://{model}.wikipedia.org"
        return cls(base_url=base_url, timeout=settings.search_timeout_s)

    def request(self, query: str, count: int, page: int) -> HttpRequest:
        """Return the call for one page; MediaWiki's `sroffset` counts rows from 0."""
        return HttpRequest(
            "GET",
            joined(self.base_url, "w/api.php"),
            params={
                "action": "query",
                "list": "search",
                "format": "json",
                "srsearch": query,
                "srlimit": count,
                "sroffset": page * count,
            },
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError, for an error in a 200 too."""
        answer = self.answer(response)
        raw = self.listed(at(answer, "query", "search"), response)
        return self.page_of(raw, self._row, response, more="continue" in answer)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=self._url(row),
            title=text(row.get("title")),
            snippet=text(row.get("snippet")),
            source=self.provider_name,
            published_date=published(row.get("timestamp"), today=self.today()),
        )

    def _url(self, row: dict[str, Any]) -> str:
        """Return the address of a page: by title, as the wiki itself shows it, else by id."""
        if title := plain(text(row.get("title"))).strip():
            return joined(self.base_url, f"wiki/{quote(title.replace(' ', '_'), safe=_IN_TITLES)}")
        page_id = row.get("pageid")
        return joined(self.base_url, f"w/index.php?curid={page_id}") if page_id else ""
