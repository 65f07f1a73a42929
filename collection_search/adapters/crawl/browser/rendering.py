"""Pages as a browser shows them, after their scripts have run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ....contracts.page import Validators
from ....errors import FetchError
from ..fetch.public_hosts import show_host
from .chromium import WAIT_S
from .page_requests import MAX_ASKED, PageRequests

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page

    from ....contracts.page import FetchedPage
    from ...per_loop import PerLoop
    from .chromium import Chromium
    from .page_requests import PartSource

_LOOK_S: Final = 0.25
_EQUAL_LOOKS: Final = 3
"""So often in a row the page has the same length before it counts as complete."""
_WORLD: Final = "collection_search"


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The limits of one page in the browser."""

    settle_s: float = 40.0
    """After that the page is taken as it is."""
    total_s: float = 50.0
    """After that it is given up."""
    wait_s: float = WAIT_S
    """For its turn, before it is shown; the start of the browser is not part of it either."""
    max_requests: int = 200
    max_bytes: int = 20_000_000
    """Of all scripts and data together."""
    max_chars: int = 10_000_000
    """Of the markup that the scripts made."""


class PageRenderer:
    """A renderer of fetched pages; what their scripts ask for comes from `source`."""

    def __init__(
        self,
        browsers: PerLoop[Chromium],
        source: PartSource,
        *,
        user_agent: str,
        limits: RenderLimits | None = None,
    ) -> None:
        self._browsers = browsers
        self._source = source
        self._user_agent = user_agent
        self._limits = limits or RenderLimits()

    async def render(self, page: FetchedPage) -> FetchedPage:
        """Return the page with the markup that its scripts made, without validators.

        Raises FetchError (`render_failed`, `too_large`).
        """
        from playwright.async_api import Error

        browser = await self._browsers.get()
        limits = self._limits
        try:
            async with browser.profile(self._user_agent, wait_s=limits.wait_s) as profile:
                markup = await self._markup(profile, page)
        except Error as error:
            raise _failed(page, "the browser gave it up") from error
        body = f"<!doctype html>{markup}".encode("utf-8", "replace")
        return replace(page, body=body, charset="utf-8", validators=Validators())

    async def version(self) -> str:
        """Return the name and version of the browser. Raises FetchError if it does not start."""
        browser = await self._browsers.get()
        async with browser.profile(self._user_agent) as profile:
            return f"Chromium {profile.browser.version}" if profile.browser else "Chromium"

    async def aclose(self) -> None:
        """Stop the running loop's browser unless another page is in it."""
        await (await self._browsers.get()).release()

    async def _markup(self, profile: BrowserContext, page: FetchedPage) -> str:
        limits = self._limits
        time = asyncio.timeout(limits.total_s)
        requests = PageRequests(
            page,
            self._source,
            max_requests=limits.max_requests,
            max_bytes=limits.max_bytes,
            give_up=partial(_end_now, time),
        )
        try:
            async with time:
                markup = await self._shown(profile, page, requests)
        except TimeoutError as error:
            many = f"its scripts asked for more than {MAX_ASKED:,} addresses"
            late = "its scripts did not end in time"
            raise _failed(page, many if requests.asked > MAX_ASKED else late) from error
        finally:
            requests.stop()
        if markup is None:
            raise _failed(page, "its scripts have removed it")
        if not isinstance(markup, str):
            text = f"the page of {show_host(_host(page))} grows without end"
            raise FetchError(text, reason="too_large")
        return markup

    async def _shown(
        self, profile: BrowserContext, page: FetchedPage, requests: PageRequests
    ) -> Any:
        limits = self._limits
        await profile.route("**/*", requests.answer)
        tab = await profile.new_page()
        profile.on("page", _close)
        await tab.goto(page.final_url, wait_until="commit", timeout=limits.total_s * 1_000)
        view = _View(await profile.new_cdp_session(tab))
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.settle_s):
                await _settled(view, requests)
        return await view.value(_markup_script(limits.max_chars))


@dataclass(slots=True)
class _View:
    """Looks at a page from a world of its own, whose functions its scripts cannot replace."""

    session: CDPSession

    async def value(self, script: str) -> Any:
        tree = await self.session.send("Page.getFrameTree")
        frame = tree["frameTree"]["frame"]["id"]
        options = {"frameId": frame, "worldName": _WORLD}
        world = await self.session.send("Page.createIsolatedWorld", options)
        found = await self.session.send(
            "Runtime.evaluate",
            {
                "expression": script,
                "contextId": world["executionContextId"],
                "returnByValue": True,
            },
        )
        if "exceptionDetails" in found:
            from playwright.async_api import Error

            raise Error("the page cannot be looked at")
        return found["result"].get("value")


_LENGTH: Final = (
    "document.readyState === 'loading' ? -1 : document.documentElement?.outerHTML.length ?? 0"
)


def _markup_script(max_chars: int) -> str:
    """Return a script that gives the markup, 0 if it is too long, null if there is none."""
    text = "document.documentElement?.outerHTML ?? null"
    return f"(() => {{ const text = {text}; return text?.length > {max_chars} ? 0 : text }})()"


async def _settled(view: _View, requests: PageRequests) -> None:
    """Return when nothing is asked for and the page has not changed for a while."""
    last, equal = -1, 0
    while equal < _EQUAL_LOOKS:
        await asyncio.sleep(_LOOK_S)
        length = await view.value(_LENGTH)
        is_still = length == last and length != -1 and not requests.open
        last, equal = length, equal + 1 if is_still else 0


def _end_now(time: asyncio.Timeout) -> None:
    if not time.expired():
        time.reschedule(asyncio.get_running_loop().time())


async def _close(tab: Page) -> None:
    """Close a window that a script opened."""
    from playwright.async_api import Error

    with suppress(Error):
        await tab.close()


def _host(page: FetchedPage) -> str:
    return page.final_url.partition("://")[2].partition("/")[0]


def _failed(page: FetchedPage, why: str) -> FetchError:
    text = f"the page of {show_host(_host(page))} could not be shown: {why}"
    return FetchError(text, reason="render_failed", status=page.status)
