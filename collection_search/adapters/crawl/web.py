"""The reader of web pages and sites that the settings configure."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, FetchError
from ...runtime.concurrency import run_on_portal
from ...settings import Settings
from ...settings.adapter_factory import make_adapter
from ...text.urls import normalize_url, url_key
from ..http import user_agent
from .browser.chromium import find_chromium, shared_chromium
from .browser.rendering import PageRenderer
from .extract.pool import Extraction
from .fetch.fetcher import SafeFetcher
from .fetch.policy import FetchPolicy
from .fetch.robots import product_token
from .own_parsers import own_parsers
from .reader import WebPageReader
from .site import crawl_site, own_links, sitemap_urls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from typing import Self

    from ...contracts.page import FetchedPage, NotModified, PageKind, ReadPage, Validators
    from ...ports.pages import RequestTurns
    from .reader import Parser

KEPT_BYTES: Final = 32_000_000
"""Limit for all pages of a crawl that wait for `read`."""
KEPT_S: Final = 600.0
"""How long they wait."""


class _CrawlCache:
    """A fetcher that returns a page of a recent crawl once, and fetches all others."""

    def __init__(self, fetcher: SafeFetcher) -> None:
        self._fetcher = fetcher
        self._kept: dict[str, FetchedPage] = {}
        self._lock = threading.Lock()

    def keep(self, page: FetchedPage) -> None:
        """Store the page if there is room; old pages are removed first."""
        oldest = time.time() - KEPT_S
        with self._lock:
            kept = {key: one for key, one in self._kept.items() if one.fetched_at > oldest}
            if sum(len(one.body) for one in kept.values()) + len(page.body) <= KEPT_BYTES:
                kept[url_key(page.url)] = page
            self._kept = kept

    async def fetch(
        self, url: str, *, validators: Validators | None = None
    ) -> FetchedPage | NotModified:
        """Return the page, from the crawl if possible. Raises FetchError."""
        with self._lock:
            page = self._kept.pop(url_key(url), None)
        if page is not None and page.url == url and page.fetched_at > time.time() - KEPT_S:
            return page
        return await self._fetcher.fetch(url, validators=validators)


class WebPages(WebPageReader):
    """The page and site reader of a process, with safe fetch and extraction.

    Calls of all event loops run on the process's background loop, so that they share throttles,
    connections and robots.txt.
    """

    def __init__(
        self,
        fetcher: SafeFetcher,
        extraction: Extraction,
        *,
        parsers: Mapping[PageKind, Parser] | None = None,
        index_agent: str | None = None,
        renderer: PageRenderer | None = None,
    ) -> None:
        self._crawled = _CrawlCache(fetcher)
        super().__init__(
            self._crawled, extraction, parsers=parsers, index_agent=index_agent, renderer=renderer
        )
        self._browser = renderer
        self._web = fetcher
        self._processes = extraction

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a reader with the settings' limits. Raises ConfigError naming the wrong one."""
        extraction, policy = Extraction(workers=settings.extract_processes), build_policy(settings)
        parsers = own_parsers(settings, at_once=extraction.size)
        agent = product_token(policy.user_agent) if settings.fetch_noindex else None
        fetcher = SafeFetcher(policy, turns=_shared_turns(settings))
        renderer = build_renderer(settings, fetcher) if settings.fetch_browser else None
        return cls(fetcher, extraction, parsers=parsers, index_agent=agent, renderer=renderer)

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return what `WebPageReader.read` returns, on the background loop."""
        found = super().read(url, validators=validators, content_hash=content_hash)
        return await run_on_portal(found)

    async def site(
        self,
        url: str,
        *,
        depth: int,
        max_pages: int,
        fits: Callable[[str], bool] | None = None,
        on_found: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Return the pages of the URL's site; those fetched for their links wait for `read`.

        `on_found` is called on the caller's loop.
        """
        caller = asyncio.get_running_loop()

        def report(count: int) -> None:
            if on_found is None:
                return
            if caller is asyncio.get_running_loop():
                on_found(count)
            else:
                caller.call_soon_threadsafe(on_found, count)

        return await run_on_portal(self._site(url, depth, max_pages, fits, report))

    async def browser_version(self) -> str:
        """Return the name and version of the browser, which is started. Raises FetchError."""
        if self._browser is None:
            return ""
        return await run_on_portal(self._browser.version())

    async def aclose(self) -> None:
        """Close the connections and end the worker processes."""
        if self._browser is not None:
            await run_on_portal(self._browser.aclose())
        await run_on_portal(self._web.aclose())
        await self._processes.aclose()

    async def _site(
        self,
        url: str,
        depth: int,
        max_pages: int,
        fits: Callable[[str], bool] | None,
        report: Callable[[int], None],
    ) -> list[str]:
        found: dict[str, str] = {url_key(url): normalize_url(url)}
        async with aclosing(self._linked(url, depth, max_pages, fits)) as links:
            async for link in links:
                found.setdefault(url_key(link), link)
                report(len(found))
                if len(found) >= max_pages:
                    break
        if depth >= 1 and len(found) < max_pages:
            with suppress(FetchError):  # most sites have no sitemap
                for link in await sitemap_urls(self._web, url, max_urls=max_pages, fits=fits):
                    found.setdefault(url_key(link), link)
        return list(found.values())[:max_pages]

    async def _linked(
        self, url: str, depth: int, max_pages: int, fits: Callable[[str], bool] | None
    ) -> AsyncGenerator[str]:
        """Yield visited pages and their links; pages of the last step are not fetched."""
        if depth < 1:
            return
        crawl = crawl_site(self._web, url, depth=depth - 1, max_pages=max_pages, fits=fits)
        async with aclosing(crawl) as visits:
            async for visit in visits:
                if visit.page is not None:
                    self._crawled.keep(visit.page)
                if visit.depth:
                    yield visit.url
                if visit.page is not None and visit.page.kind == "html":
                    for link in filter(fits, await own_links(visit.page)):
                        yield link


def _shared_turns(settings: Settings) -> RequestTurns | None:
    """Return the turns that all processes on one database share; None without a database."""
    if settings.database_url is None:
        return None
    alone = Settings(database_url=settings.database_url)  # one for the rules of all pages
    return make_adapter(alone, "turns", "postgres")  # type: ignore[no-any-return]


def build_renderer(settings: Settings, fetcher: SafeFetcher) -> PageRenderer:
    """Return the renderer of the settings' browser. Raises ConfigError without one."""
    sandbox = settings.browser_sandbox
    browsers = shared_chromium(
        find_chromium(settings.browser_path, sandbox=sandbox), sandbox=sandbox
    )
    return PageRenderer(browsers, fetcher, user_agent=fetcher.policy.user_agent)


def build_policy(settings: Settings) -> FetchPolicy:
    """Return the limits and delays of the settings. Raises ConfigError naming the wrong one."""
    try:
        return FetchPolicy(
            deadline_s=settings.fetch_timeout_s,
            connect_timeout_s=min(FetchPolicy.connect_timeout_s, settings.fetch_timeout_s),
            min_delay_s=settings.fetch_delay_s,
            robots=settings.fetch_robots,
            ignore_robots_hosts=frozenset(map(str.lower, settings.fetch_ignore_robots)),
            allowed_addresses=frozenset(settings.fetch_allowed),
            egress_proxy=settings.fetch_proxy,
            user_agent=user_agent(settings.fetch_contact),
        )
    except ValueError as error:
        raise ConfigError(f"The settings of fetching are wrong: {error}") from error
