"""Pages of the web, as the settings allow them to be read."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ...errors import ConfigError, FetchError
from ...runtime.concurrency import run_on_portal
from ...text.urls import normalize_url, url_key
from ..http import USER_AGENT
from .extract.charset import decode_page
from .extract.pool import Extraction
from .fetch.fetcher import SafeFetcher
from .fetch.policy import FetchPolicy
from .reader import WebPageReader
from .site import crawl_site, links_in, site_of, sitemap_urls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from typing import Self

    from ...contracts.page import FetchedPage, NotModified, PageKind, ReadPage, Validators
    from ...settings import Settings
    from .reader import Parser

KEPT_BYTES: Final = 32_000_000
"""Of all pages that a crawl keeps for those who read them."""
KEPT_S: Final = 600.0


class _Crawled:
    """A fetcher that gives a page which a crawl has just fetched, once, and fetches all others."""

    def __init__(self, fetcher: SafeFetcher) -> None:
        self._fetcher = fetcher
        self._kept: dict[str, FetchedPage] = {}
        self._lock = threading.Lock()

    def keep(self, page: FetchedPage) -> None:
        """Keep the page unless there are too many; those that nobody came for go."""
        oldest = time.time() - KEPT_S
        with self._lock:
            kept = {key: one for key, one in self._kept.items() if one.fetched_at > oldest}
            if sum(len(one.body) for one in kept.values()) + len(page.body) <= KEPT_BYTES:
                kept[url_key(page.url)] = page
            self._kept = kept

    async def fetch(
        self, url: str, *, validators: Validators | None = None
    ) -> FetchedPage | NotModified:
        """Return the page. Raises FetchError."""
        with self._lock:
            page = self._kept.pop(url_key(url), None)
        if page is not None and page.url == url and page.fetched_at > time.time() - KEPT_S:
            return page
        return await self._fetcher.fetch(url, validators=validators)


class WebPages(WebPageReader):
    """The safe fetch and the extraction of one process: implements the ports of page and site.

    Whatever loop asks, the work is done on the process's background loop: there every host has its
    turns, its connections and its robots.txt once.
    """

    def __init__(
        self,
        fetcher: SafeFetcher,
        extraction: Extraction,
        *,
        parsers: Mapping[PageKind, Parser] | None = None,
    ) -> None:
        self._crawled = _Crawled(fetcher)
        super().__init__(self._crawled, extraction, parsers=parsers)
        self._web = fetcher
        self._processes = extraction

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a reader with the settings' limits. Raises ConfigError naming the wrong one."""
        return cls(
            SafeFetcher(build_policy(settings)), Extraction(workers=settings.extract_processes)
        )

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return the page's text, or NotModified for who knows this version, as `WebPageReader`."""
        found = super().read(url, validators=validators, content_hash=content_hash)
        return await run_on_portal(found)

    async def site(
        self,
        url: str,
        *,
        depth: int,
        max_pages: int,
        on_found: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Return the URL and the pages of its site, in normal form, the nearest first.

        Links are followed over at most `depth` steps; the site's sitemaps count as one. What
        cannot be had is left out. Pages that were fetched for their links are kept for `read`,
        within a bound. `on_found` gets how many pages are known so far, on the caller's loop.
        """
        caller = asyncio.get_running_loop()

        def tell(count: int) -> None:
            if on_found is None:
                return
            if caller is asyncio.get_running_loop():
                on_found(count)
            else:
                caller.call_soon_threadsafe(on_found, count)

        return await run_on_portal(self._site(url, depth, max_pages, tell))

    async def aclose(self) -> None:
        """Close the connections, for all loops, and end the processes."""
        await run_on_portal(self._web.aclose())
        await self._processes.aclose()

    async def _site(
        self, url: str, depth: int, max_pages: int, tell: Callable[[int], None]
    ) -> list[str]:
        found: dict[str, str] = {url_key(url): normalize_url(url)}
        async with aclosing(self._linked(url, depth, max_pages)) as links:
            async for link in links:
                found.setdefault(url_key(link), link)
                tell(len(found))
                if len(found) >= max_pages:
                    break
        if len(found) < max_pages:
            for link in await self._listed(url, depth, max_pages):
                found.setdefault(url_key(link), link)
        return list(found.values())[:max_pages]

    async def _linked(self, url: str, depth: int, max_pages: int) -> AsyncGenerator[str]:
        """Give what pages link to; those of the last step are not fetched for it."""
        if depth < 1:
            return
        crawl = crawl_site(self._web, url, depth=depth - 1, max_pages=max_pages)
        async with aclosing(crawl) as visits:
            async for visit in visits:
                if visit.page is not None:
                    self._crawled.keep(visit.page)
                if visit.depth:
                    yield visit.url
                if visit.page is not None and visit.page.kind == "html":
                    for link in await asyncio.to_thread(_own_links, visit.page):
                        yield link

    async def _listed(self, url: str, depth: int, max_pages: int) -> list[str]:
        if depth < 1:
            return []
        try:
            return await sitemap_urls(self._web, url, max_urls=max_pages)
        except FetchError:
            return []  # most sites have none


def build_policy(settings: Settings) -> FetchPolicy:
    """Return limits and delays as set. Raises ConfigError naming the wrong setting."""
    for entry in settings.fetch_allowed:
        host, _, port = entry.rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"fetch_allowed: {entry!r} is no host:port, such as wiki.intra:443.")
    proxy = settings.fetch_proxy
    if proxy is not None and urlsplit(proxy).scheme not in {"http", "https"}:
        raise ConfigError("fetch_proxy needs an http(s) address.")
    try:
        return FetchPolicy(
            deadline_s=settings.fetch_timeout_s,
            connect_timeout_s=min(FetchPolicy.connect_timeout_s, settings.fetch_timeout_s),
            min_delay_s=settings.fetch_delay_s,
            robots=settings.fetch_robots,
            ignore_robots_hosts=frozenset(map(str.lower, settings.fetch_ignore_robots)),
            allowed_addresses=frozenset(settings.fetch_allowed),
            egress_proxy=proxy,
            user_agent=user_agent(settings.fetch_contact),
        )
    except ValueError as error:
        raise ConfigError(f"The settings of fetching are wrong: {error}") from error


def user_agent(contact: str | None) -> str:
    """Return how we introduce ourselves, with where we can be reached.

    >>> user_agent("crawler@example.com").endswith("; crawler@example.com)")
    True
    """
    if contact is None:
        return USER_AGENT
    if not contact.isascii() or not contact.isprintable() or set(contact) & set("()"):
        raise ConfigError("fetch_contact needs printable ASCII without brackets.")
    return f"{USER_AGENT.removesuffix(')')}; {contact})"


def _own_links(page: FetchedPage) -> list[str]:
    """Return the links of a page that stay on its site."""
    home, text = site_of(page.final_url), decode_page(page.body, page.charset)
    return [link for link in links_in(text, page.final_url) if site_of(link) == home]
