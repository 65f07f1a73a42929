"""Pages of the web, as the settings allow them to be read."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import ConfigError, FetchError
from ...urls import normalize_url, url_key
from ..http import USER_AGENT
from .charset import decoded
from .extraction import Extraction
from .fetch import SafeFetcher
from .policy import FetchPolicy
from .reader import PageReader
from .site import crawl_site, links_in, site_of, sitemap_urls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from typing import Self

    from ...pages import FetchedPage, PageKind
    from ...settings import Settings
    from .reader import Parser


class WebPages(PageReader):
    """The safe fetch and the extraction of one process: implements the ports of page and site."""

    def __init__(
        self,
        fetcher: SafeFetcher,
        extraction: Extraction,
        *,
        parsers: Mapping[PageKind, Parser] | None = None,
    ) -> None:
        super().__init__(fetcher, extraction, parsers=parsers)
        self._web = fetcher
        self._processes = extraction

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a reader with the settings' limits. Raises ConfigError naming the wrong one."""
        return cls(SafeFetcher(policy_of(settings)), Extraction(workers=settings.extract_processes))

    async def site(self, url: str, *, depth: int, max_pages: int) -> list[str]:
        """Return the URL and the pages of its site, in normal form, the nearest first.

        Links are followed over at most `depth` steps; the site's sitemaps count as one. What
        cannot be had is left out.
        """
        found: dict[str, str] = {url_key(url): normalize_url(url)}
        async with aclosing(self._linked(url, depth, max_pages)) as links:
            async for link in links:
                found.setdefault(url_key(link), link)
                if len(found) >= max_pages:
                    break
        if len(found) < max_pages:
            for link in await self._listed(url, depth, max_pages):
                found.setdefault(url_key(link), link)
        return list(found.values())[:max_pages]

    async def aclose(self) -> None:
        """Close this loop's connections, and end the processes."""
        await self._web.aclose()
        await self._processes.aclose()

    async def _linked(self, url: str, depth: int, max_pages: int) -> AsyncGenerator[str]:
        """Give what pages link to; those of the last step are not fetched for it."""
        if depth < 1:
            return
        crawl = crawl_site(self._web, url, depth=depth - 1, max_pages=max_pages)
        async with aclosing(crawl) as visits:
            async for visit in visits:
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


def policy_of(settings: Settings) -> FetchPolicy:
    """Return limits and manners as set. Raises ConfigError naming the wrong setting."""
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
    home, text = site_of(page.final_url), decoded(page.body, page.charset)
    return [link for link in links_in(text, page.final_url) if site_of(link) == home]
