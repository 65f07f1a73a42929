"""ddgs: a library that reads the result pages of public search engines; no key, no API."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import NO_OPTIONS, Applied, OptionName, SearchOptions, utc_today
from ...contracts.search import SearchAdapterResponse
from ...errors import (
    InputError,
    MissingExtraError,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from ...ports.provider_info import ProviderInfo
from ...text.clean import to_unicode
from ...text.redaction import redact
from ..refusals import MAX_TEXT_CHARS
from .http.query_limits import DOMAINS, fit_query, supported_options
from .http.result_page import RowNames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from ...contracts.search import ProviderSearchResult
    from ...settings import Settings

_OK: Final = 200
_MAX_QUERY_CHARS: Final = 400
_OWN_CODES: Final = {"GB": "uk"}
_NAMES: Final = RowNames(url="href", snippet="body")
_NOTHING: Final = "no results found"
_NOTICE: Final = (
    "ddgs reads the result pages of public search engines, in changing order: its answers cannot "
    "be reproduced, and the engines may stop them at any time."
)


class DdgsSearch:
    """Searches with ddgs (extra `[ddgs]`), which calls several engines in its own threads.

    Blocks; safe to use from several threads. `client` replaces `ddgs.DDGS`. Raises
    MissingExtraError without the library.
    """

    provider_name = "ddgs"
    info: ClassVar = ProviderInfo(name="ddgs", source="ddgs", page_size=10)
    supports: ClassVar[Mapping[OptionName, Applied]] = supported_options(
        "freshness", "language", "country", emulated=DOMAINS
    )

    def __init__(self, *, client: Callable[..., Any] | None = None, timeout: float = 10.0) -> None:
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
        if importlib.util.find_spec("ddgs") is None:
            raise MissingExtraError(
                "The provider ddgs needs an extra. Run: pip install 'collection-search[ddgs]'"
            )
        self._client = client
        self.timeout = timeout

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the adapter. Raises MissingExtraError."""
        return cls(timeout=settings.search_timeout_s)

    def search(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,
        options: SearchOptions | None = None,
    ) -> SearchAdapterResponse:
        """Return up to `max_results` rows, best first; `timeout` is in seconds, for each engine.

        Raises SearchProviderUnavailable without results, which may mean that all engines failed.
        """
        if max_results < 1:
            raise InputError(f"max_results must be 1 or more, got {max_results}.")
        options = options or NO_OPTIONS
        if not options.restricts:
            options = options.model_copy(update={"include_domains": ()})
        applied = self.applied(options)
        asked, notices = fit_query(
            to_unicode(query), options, applied, title="ddgs", chars=_MAX_QUERY_CHARS
        )
        return SearchAdapterResponse(
            results=self._rows(
                asked,
                {"max_results": max_results, **_keywords(applied, options)},
                timeout or self.timeout,
            ),
            status_code=_OK,
            cost_usd=0.0,
            notices=[_NOTICE, *notices],
            applied=applied,  # type: ignore[arg-type]
        )

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied; a region needs language and country together."""
        asked: list[OptionName] = [name for name in options.asked() if name in self.supports]
        made: dict[OptionName, Applied] = {name: self.supports[name] for name in asked}
        if ".." in (options.freshness or ""):
            del made["freshness"]
        if not (options.language and options.country):
            made.pop("language", None)
            made.pop("country", None)
        return made

    def _rows(
        self, query: str, keywords: Mapping[str, Any], timeout: float
    ) -> list[ProviderSearchResult]:
        errors = importlib.import_module("ddgs.exceptions")
        client = self._client or importlib.import_module("ddgs").DDGS
        try:
            found = client(timeout=math.ceil(timeout)).text(query, **keywords)
        except errors.DDGSException as error:
            raise _failure(error, errors) from error
        if not isinstance(found, list):
            raise SearchProviderBadResponse("ddgs gave no list of results. Use another provider.")
        raw = [row for row in found if isinstance(row, dict)]
        rows = [_NAMES.read(row, source="ddgs", today=utc_today) for row in raw]
        return [row for row in rows if row.url.strip()][: keywords["max_results"]]


def _keywords(applied: Mapping[OptionName, Applied], options: SearchOptions) -> dict[str, str]:
    keywords: dict[str, str] = {}
    if options.freshness and "freshness" in applied:
        keywords["timelimit"] = options.freshness[0]
    if options.country and "country" in applied:
        country = _OWN_CODES.get(options.country, options.country.lower())
        keywords["region"] = f"{country}-{options.language}"
    return keywords


def _failure(error: Exception, errors: Any) -> SearchProviderError:
    """Return the error for a failure, whose cause is often inside another error."""
    inner = next((each for each in error.args if isinstance(each, Exception)), error)
    said = redact(str(inner), most=MAX_TEXT_CHARS)
    if isinstance(inner, errors.RatelimitException):
        return SearchProviderQuotaExceeded(f"ddgs is throttled by a search engine ({said}).")
    if isinstance(error, errors.TimeoutException) or isinstance(inner, errors.TimeoutException):
        return SearchProviderTimeout(f"The search engines behind ddgs took too long ({said}).")
    if _NOTHING in said.lower():
        return SearchProviderUnavailable(
            "ddgs has no results: nothing was found, or all of its engines failed, and it does not "
            "tell which. Use other words, or another provider.",
            retryable=False,
        )
    return SearchProviderUnavailable(f"The search engines behind ddgs failed ({said}).")
