"""A search provider over HTTP: sends a vendor's requests, page after page, within a time limit."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ....contracts.options import NO_OPTIONS, SearchOptions
from ....contracts.search import ProviderSearchResult, RawSearchResult, SearchAdapterResponse
from ....errors import InputError, SearchProviderError, SearchProviderInvalidQuery
from ....runtime.concurrency import run_blocking
from ....text.clean import to_unicode
from ...http import HttpError, Transmit, send
from ...httpx_client import choose_transmit
from ...rate_headers import read_stated_rate
from .health_check import check_vendor_health
from .query_limits import fit_query
from .result_page import ResultPage
from .vendor import SUCCESS, Vendor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import date
    from typing import Self

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ....contracts.health import Health
    from ....contracts.options import Applied, OptionName
    from ....contracts.search import StatedRate
    from ....settings import Settings
    from ....settings.provider_access import ProviderAccess
    from ...http import HttpRequest, HttpResponse

    WaitTurn = Callable[[], Awaitable[None]]

__all__ = ["HttpSearch", "ResultPage"]

_LOGGER = logging.getLogger(__name__)
_NOTHING_FOUND: Final = 200
"""The status that is reported for an empty answer with a status of failure."""


class HttpSearch(Vendor):
    """Searches a vendor's API; safe to share between threads and event loops.

    Subclass it with the data of `Vendor`, `parameters` and `parse`. `timeout` is in seconds and for
    all pages of a search together. `http_client` makes the calls in place of the built-in session.
    """

    transmit: Transmit = staticmethod(send)
    """The function that makes one call; tests replace it."""

    def __init__(
        self,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        timeout: float = 10.0,
        today: Callable[[], date] | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        super().__init__(api_key=api_key, base_url=base_url, today=today)
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
        self.timeout = timeout
        if http_client is not None:
            self.transmit = choose_transmit(http_client)

    @classmethod
    def from_settings(cls, settings: Settings, *, http_client: AsyncClient | None = None) -> Self:
        """Return the adapter with the key and address of the settings. Raises ConfigError."""
        arguments = cls.arguments(settings.access(cls.provider_name))
        return cls(**arguments, timeout=settings.search_timeout_s, http_client=http_client)

    @classmethod
    def arguments(cls, access: ProviderAccess) -> dict[str, Any]:
        """Return the constructor's arguments from the provider's settings."""
        return {"api_key": access.api_key, "base_url": access.base_url}

    def search(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,
        options: SearchOptions | None = None,
        turn: WaitTurn | None = None,
    ) -> SearchAdapterResponse:
        """Return the same as `asearch`. Blocks, inside a running event loop too."""
        return run_blocking(
            self.asearch(
                query, max_results=max_results, timeout=timeout, options=options, turn=turn
            )
        )

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the keyword of the port
        options: SearchOptions | None = None,
        turn: WaitTurn | None = None,
    ) -> SearchAdapterResponse:
        """Return up to `max_results` rows, best first, from several pages if necessary.

        `turn` is awaited before every page but the first; its time does not count. Titles and
        snippets are as the vendor sent them, HTML included: the worker cleans and filters them.
        Raises SearchProviderError when the first page fails; when a later one fails, the rows so
        far are returned with a notice.
        """
        if max_results < 1:
            raise InputError(f"max_results must be 1 or more, got {max_results}.")
        options = self.taken(options or NO_OPTIONS)
        applied = self.applied(options)
        asked, notices = fit_query(
            self.prepared(to_unicode(query)),
            options,
            applied,
            title=self.title,
            chars=self.max_query_chars,
            words=self.max_query_words,
        )
        found = _Found(
            timeout or self.timeout, [*notices, *self._notices(max_results, options)], applied
        )
        count, pages = self._paging(max_results)
        for number in range(pages):
            try:
                if number and turn:
                    await found.pause(turn)
                request = self.request(asked, count, number, options)
                page = await self._page(
                    request, found, self.parse_further if number else self.parse
                )
                found.credits += self.credits(options, count)
                for row in page.rows if not options.include_content else ():
                    row.content = None
            except SearchProviderError as error:
                if number == 0:
                    raise _naming(applied, error) from error.__cause__
                found.notices.append(f"Only {number} of {pages} pages could be read. {error}")
                found.complete = False
                return found.response(max_results)
            is_new = found.add(page)
            if len(found.rows) >= max_results or not is_new or not self._goes_on(page, count):
                break
        if self.page_is_open and 0 < len(found.rows) < max_results:
            found.notices.append(
                f"{self.title} gave {len(found.rows)} of {max_results} results asked for."
            )
        return found.response(max_results)

    def price(self, max_results: int, options: SearchOptions) -> tuple[int, float]:
        """Return the most requests, and units of the list price, of such a search."""
        count, pages = self._paging(max_results)
        return pages, pages * self.credits(options, count)

    def _paging(self, max_results: int) -> tuple[int, int]:
        """Return how many rows each request asks for, and how many requests there are at most."""
        full = self.full_page(max_results)
        return min(max_results, full), min(math.ceil(max_results / full), self.max_pages)

    async def acheck(
        self,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - as in `asearch`
    ) -> Health:
        """Return reachability, key and account as a free call shows. Raises SearchProviderError."""
        return await check_vendor_health(self, self.transmit, timeout or self.timeout)

    async def _page(
        self, request: HttpRequest, found: _Found, parse: Callable[[HttpResponse], ResultPage]
    ) -> ResultPage:
        """Return one page of results; the request is counted in `found`."""
        too_late = f"no answer within {found.timeout_s:g} s"
        if (left_s := found.left_s()) <= 0:
            raise self.unanswered("timeout", too_late)
        found.requests += 1
        try:
            response = await self.transmit(request, timeout_s=left_s)
        except HttpError as error:  # its own cause may show the address, and in it a key
            reason = too_late if error.kind == "timeout" else str(error)
            raise self.unanswered(error.kind, reason) from None
        page = self.read(parse, response)
        found.rate = read_stated_rate(response.headers) or found.rate
        found.status = response.status if response.status in SUCCESS else _NOTHING_FOUND
        return page

    def _goes_on(self, page: ResultPage, count: int) -> bool:
        if page.more is not None:
            return page.more
        return not self.fills_pages or len(page.raw) >= count

    def _notices(self, max_results: int, options: SearchOptions) -> Iterator[str]:
        """Yield notices about the vendor's limits and prices."""
        if options.search_depth == "deep" and (units := self.credits(options, 1)) > 1:
            yield f"{self.title} bills a deep search as {units:.3g} usual ones."
        if (full := self.full_page(max_results)) > self.page_size:
            yield f"{self.title} bills more than {self.page_size} results above its usual price."
        if max_results > (reach := full * self.max_pages):
            yield f"{self.title} gives at most {reach} results; {max_results} were asked for."
        if sunset := self.sunset():
            _warn_once(sunset)
            yield sunset


def _naming(
    applied: Mapping[OptionName, Applied], error: SearchProviderError
) -> SearchProviderError:
    """Return the error; of a refused search it names the options that the vendor was sent."""
    if not (isinstance(error, SearchProviderInvalidQuery) and applied):
        return error
    sent = ", ".join(applied)
    return SearchProviderInvalidQuery(
        f"{error} Options that it was sent: {sent}.", http_status=error.http_status
    )


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class _Found:
    """The results of the pages so far, and the time limit for further ones."""

    timeout_s: float
    notices: list[str]
    applied: Mapping[OptionName, Applied] = field(default_factory=dict)
    started: float = field(default_factory=_now)
    rows: dict[str, ProviderSearchResult] = field(default_factory=dict)
    """By address: pages of results may overlap."""
    raw: list[RawSearchResult] = field(default_factory=list)
    requests: int = 0
    credits: float = 0
    status: int = 0
    quota_remaining: int | None = None
    cost_usd: float | None = None
    complete: bool = True
    rate: StatedRate | None = None

    async def pause(self, turn: WaitTurn) -> None:
        """Wait for the turn without counting its time."""
        paused = _now()
        await turn()
        self.started += _now() - paused

    def left_s(self) -> float:
        """Return how many seconds are left; none or less when the time is over."""
        return self.started + self.timeout_s - _now()

    def add(self, page: ResultPage) -> bool:
        """Add the page and return whether it has a new row."""
        before = len(self.rows)
        for row in page.rows:
            self.rows.setdefault(row.url, row)
        self.raw.extend(page.raw)
        self.notices.extend(page.notices)
        self.quota_remaining = page.quota_remaining
        self.complete &= page.complete
        if page.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + page.cost_usd
        return len(self.rows) > before

    def response(self, max_results: int) -> SearchAdapterResponse:
        """Return the response of the port."""
        return SearchAdapterResponse(
            results=list(self.rows.values())[:max_results],
            status_code=self.status,
            raw_results=self.raw,
            quota_remaining=self.quota_remaining,
            request_count=self.requests,
            credits=self.credits,
            cost_usd=self.cost_usd,
            notices=list(dict.fromkeys(self.notices)),
            applied=self.applied,  # type: ignore[arg-type]
            complete=self.complete,
            rate=self.rate,
        )


@cache
def _warn_once(sentence: str) -> None:
    _LOGGER.warning("%s", sentence)
