"""Wikipedia, and any other wiki that runs MediaWiki in the same way: no key needed."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote, urlsplit

from ...contracts.health import Health
from ...contracts.options import NO_OPTIONS, SearchOptions
from ...errors import ConfigError
from ...text.clean import to_unicode
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_path
from .http.query_limits import supported_options
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import date
    from typing import Self

    from httpx import AsyncClient

    from ...contracts.options import Applied, OptionName
    from ...contracts.search import ProviderSearchResult, SearchAdapterResponse
    from ...settings import Settings
    from ..http import HttpResponse


_LANGUAGE: Final = re.compile(r"[a-z]{2,}(?:-[a-z]+)*")
_WIKIPEDIA: Final = re.compile(r"https://[a-z-]+\.wikipedia\.org/?")
_IN_TITLES: Final = ";@$!*(),/~:"
"""The characters that MediaWiki does not quote in the address of a page."""


class WikipediaSearch(HttpSearch):
    """Searches one Wikipedia, the English one by default.

    `published_date` is the day of the last edit.
    """

    provider_name = "wikipedia"
    title = "Wikipedia"
    address_variable = "WIKIPEDIA_BASE_URL"
    default_base_url = "https://en.wikipedia.org"
    names = RowNames(dates=("timestamp",))
    method = "GET"
    path = "w/api.php"
    paging = Paging("sroffset", counts_rows=True)
    page_size = 50
    max_pages = 200
    max_query_chars = 300
    always_sends = ("query.search",)
    supports: ClassVar = supported_options(emulated=["language"])  # another wiki
    storage_rights = "allowed"  # under the licence of its texts
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
        http_client: AsyncClient | None = None,
    ) -> None:
        super().__init__(base_url=base_url, timeout=timeout, today=today, http_client=http_client)
        self.index = urlsplit(self.base_url).hostname  # each wiki has its own

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        model: str | None = None,
        http_client: AsyncClient | None = None,
    ) -> Self:
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
        return cls(base_url=base_url, timeout=settings.search_timeout_s, http_client=http_client)

    def parameters(
        self,
        query: str,
        count: int,
        options: SearchOptions,  # noqa: ARG002 - the language is the address
    ) -> dict[str, Any]:
        """Return what the call for each page sends."""
        form = {"action": "query", "list": "search", "format": "json"}
        return form | {"srsearch": query, "srlimit": count}

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied; only Wikipedia has a wiki for each language."""
        made = super().applied(options)
        if not _WIKIPEDIA.fullmatch(self.base_url):
            made.pop("language", None)
        return made

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the keyword of the port
        options: SearchOptions | None = None,
        turn: Callable[[], Awaitable[None]] | None = None,
    ) -> SearchAdapterResponse:
        """Return the same as `HttpSearch.asearch`, from the wiki in the requested language."""
        wiki = self.in_language(self.taken(options or NO_OPTIONS).language)
        return await super(WikipediaSearch, wiki).asearch(
            query, max_results=max_results, timeout=timeout, options=options, turn=turn
        )

    def in_language(self, language: str | None) -> Self:
        """Return the adapter of the wiki in this language, None for the same one."""
        wiki = copy(self)
        if language:
            wiki.base_url = f"https://{language}.wikipedia.org"
        return wiki

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError, for an error in a 200 too."""
        answer = self.answer(response)
        raw = self.listed(read_path(answer, "query", "search"), response)
        return self.page_of(raw, response, more="continue" in answer)

    def check(self) -> HttpRequest:
        """Return a search for one page: all of them are free."""
        return self.request("encyclopedia", 1, 0)

    def health(self, response: HttpResponse) -> Health:
        """Return that it searches. Raises SearchProviderError, for an error in a 200 too."""
        self.parse(response)
        return Health("it searches")

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row, with the address of its page: by title, else by id."""
        made = super().row(row)
        page_id = row.get("pageid")
        if title := to_unicode(made.title).strip():
            page = quote(title.replace(" ", "_"), safe=_IN_TITLES)
            made.url = join_url(self.base_url, f"wiki/{page}")
        else:
            made.url = join_url(self.base_url, f"w/index.php?curid={page_id}") if page_id else ""
        return made
