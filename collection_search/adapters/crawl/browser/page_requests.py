"""What the scripts of one page ask for, answered by the safe fetch."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from ....errors import FetchError
from ..extract.charset import decode_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from playwright.async_api import Route

    from ....contracts.page import FetchedPage
    from ..fetch.transfer import Received

_FETCHED: Final = frozenset({"fetch", "script", "xhr"})
"""Kinds of requests that may bring text; images, fonts, frames and the like are refused."""
_SENT: Final = ("accept", "accept-language")
_RECEIVED: Final = (
    "content-type",
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "access-control-expose-headers",
    "x-content-type-options",
)
_AT_ONCE: Final = 8
MAX_ASKED: Final = 1_000
"""Requests of all kinds, refused ones too: each one costs the driver's time and ours."""


class PartSource(Protocol):
    """A source of the scripts and data of pages."""

    async def fetch_part(
        self, url: str, *, page: str, headers: Mapping[str, str], take: Callable[[int], None]
    ) -> Received:
        """Return the answer of the address. Raises FetchError.

        `take` is told the size of each piece of the body, and raises FetchError for one too many.
        """
        ...


class PageRequests:
    """The requests of one page while it is shown, with limits of number and size.

    The page itself is answered once from what was fetched. Every other document is refused: a page
    that leads the browser elsewhere stays where it is. After `MAX_ASKED` requests, refused ones
    among them, `give_up` is called.
    """

    def __init__(
        self,
        page: FetchedPage,
        source: PartSource,
        *,
        max_requests: int,
        max_bytes: int,
        give_up: Callable[[], None],
    ) -> None:
        self.open = 0
        """Requests that wait for their answer."""
        self.asked = 0
        """Requests of all kinds."""
        self._give_up = give_up
        self._page = page
        self._source = source
        self._requests_left = max_requests
        self._bytes_left = max_bytes
        self._is_shown = False
        self._is_over = False
        self._tasks: set[asyncio.Task[Received]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, route: Route) -> None:
        """Answer or refuse a request of the browser."""
        from playwright.async_api import Error

        request = route.request
        self.asked += 1
        if self.asked > MAX_ASKED and not self._is_over:
            self.stop()
            self._give_up()
        with suppress(Error):  # the page was closed meanwhile
            if request.is_navigation_request():
                await self._answer_document(route)
            elif request.method != "GET":
                await route.abort("blockedbyclient")
            elif request.resource_type == "stylesheet":
                await route.fulfill(content_type="text/css", body="")
            elif request.resource_type in _FETCHED and self._requests_left > 0:
                self._requests_left -= 1
                self.open += 1
                try:
                    await self._answer_part(route)
                finally:
                    self.open -= 1
            else:
                await route.abort("blockedbyclient")

    def stop(self) -> None:
        """End the requests that wait, and refuse all later ones."""
        self._is_over = True
        self._requests_left = 0
        for task in self._tasks:
            task.cancel()

    async def _answer_document(self, route: Route) -> None:
        if self._is_shown:
            await route.abort("aborted")  # any other code would replace the page by an error page
            return
        self._is_shown = True
        text = decode_page(self._page.body, self._page.charset)
        await route.fulfill(content_type="text/html; charset=utf-8", body=text)

    async def _answer_part(self, route: Route) -> None:
        task = asyncio.create_task(self._fetched(route))
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks.discard(task)
        if task.cancelled() or isinstance(task.exception(), FetchError):
            await route.abort("blockedbyclient")
            return
        received = task.result()
        headers = {name: received.headers[name] for name in _RECEIVED if name in received.headers}
        await route.fulfill(status=received.status, headers=headers, body=received.body)

    async def _fetched(self, route: Route) -> Received:
        request = route.request
        headers: dict[str, str] = {
            name: request.headers[name] for name in _SENT if name in request.headers
        }
        if (own := _origin(self._page.final_url)) != _origin(request.url):
            headers["origin"] = own
        async with self._slots:
            received = await self._source.fetch_part(
                request.url, page=self._page.final_url, headers=headers, take=self._take
            )
        if received.status != HTTPStatus.OK:
            self._take(len(received.body))
        return received

    def _take(self, size: int) -> None:
        """Count what has arrived, also of parts that are still on their way."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            self._requests_left = 0
            raise FetchError("the parts of the page are too large together", reason="too_large")


def _origin(url: str) -> str:
    return "/".join(url.split("/")[:3])
