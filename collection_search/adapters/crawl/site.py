"""The pages of one site, found in its sitemaps and by its links.

Untrusted pages are not parsed here. Addresses are found by patterns whose time is proportional to
the size of the page.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urljoin, urlsplit

from ...contracts.page import FetchedPage
from ...errors import FetchError, InvalidUrlError
from ...text.urls import normalize_url, url_key
from .extract.charset import decode_page
from .fetch.decompression import Decoder
from .tags import tags_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

    from ...contracts.page import NotModified, PageKind, Validators

SITEMAP_KINDS: Final[frozenset[PageKind]] = frozenset({"xml", "gzip", "text"})
SITEMAP_BYTES: Final = 20_000_000
"""Limit of an unpacked sitemap."""
MAX_SITEMAPS: Final = 50
MAX_LINKS: Final = 5_000
"""Limit for one page."""

_SLICE: Final = 1 << 18
_OVERLAP: Final = 1 << 12
_LOCATION = re.compile(
    r"<(?:[\w.-]{1,20}:)?loc\s{0,99}>\s{0,99}(?:<!\[CDATA\[\s{0,99})?([^<\]\s]{1,2000}+)"
)
_INDEX = re.compile(r"<(?:[\w.-]{1,20}:)?sitemapindex\b")
_NO_PAGE: Final = (
    ".7z", ".avi", ".bmp", ".css", ".csv", ".doc", ".docx", ".eot", ".exe", ".gif", ".gz", ".ico",
    ".jpeg", ".jpg", ".js", ".json", ".m4a", ".mov", ".mp3", ".mp4", ".ogg", ".png", ".ppt",
    ".pptx", ".rar", ".svg", ".tar", ".tif", ".tiff", ".ttf", ".wav", ".webm", ".webp", ".woff",
    ".woff2", ".xls", ".xlsx", ".xml", ".zip",
)  # fmt: skip


class PageSource(Protocol):
    """A source of pages, such as `SafeFetcher`."""

    async def fetch(
        self,
        url: str,
        *,
        validators: Validators | None = None,
        accept: frozenset[PageKind] = ...,
        source: str | None = None,
    ) -> FetchedPage | NotModified:
        """Return the page; `source` is the page that contains its URL. Raises FetchError."""
        ...

    async def sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the site's robots.txt names. Raises FetchError."""
        ...


@dataclass(frozen=True, slots=True)
class Visit:
    """One address of the site, with its page or the error."""

    url: str
    depth: int
    """Links between the start and this page."""
    page: FetchedPage | None = None
    error: FetchError | None = None


async def crawl_site(
    source: PageSource,
    start: str,
    *,
    depth: int = 1,
    max_pages: int = 100,
    fits: Callable[[str], bool] | None = None,
) -> AsyncGenerator[Visit]:
    """Yield the pages of the start's site, nearest first, each once.

    At most `max_pages` addresses are fetched, including those that fail. Links are followed over
    at most `depth` steps, never to another host, and only to addresses that `fits` takes. Raises
    InvalidUrlError for a wrong start.
    """
    waiting = deque([(start, 0)])
    seen = {url_key(start)}
    site = site_of(start)
    for _ in range(max_pages):
        if not waiting:
            return
        url, level = waiting.popleft()
        visit = await _visited(source, url, level, start)
        page = visit.page
        if page is not None:
            if level == 0:
                site = site_of(page.final_url)  # the start may have moved
            elif site_of(page.final_url) != site or _is_known(page.final_url, url, seen):
                continue
            if level < depth and page.kind == "html":
                new = _unseen(filter(fits, await own_links(page)), seen)
                waiting.extend((link, level + 1) for link in new)
        yield visit


async def sitemap_urls(
    source: PageSource,
    start: str,
    *,
    max_urls: int = 1_000,
    fits: Callable[[str], bool] | None = None,
) -> list[str]:
    """Return the addresses of the start's site that its sitemaps list, in normal form.

    `fits` chooses among them. Sitemaps are those that robots.txt names, else `/sitemap.xml`.
    Raises FetchError when none of them can be read, InvalidUrlError for a start that is not a URL.
    """
    start = normalize_url(start)
    site, found, seen = site_of(start), list[str](), set[str]()
    waiting = deque(await source.sitemaps(start) or [urljoin(start, "/sitemap.xml")])
    queued = set(waiting)
    first_error: FetchError | None = None
    is_any_read = False
    for _ in range(MAX_SITEMAPS):
        if not waiting or len(found) >= max_urls:
            break
        try:
            page = await source.fetch(waiting.popleft(), accept=SITEMAP_KINDS, source=start)
            if not isinstance(page, FetchedPage):
                continue
            is_index, listed = await asyncio.to_thread(_listed, page)
        except FetchError as error:
            first_error = first_error or error
            continue
        is_any_read = True
        if is_index:
            waiting.extend(new for new in dict.fromkeys(listed) if new not in queued)
            queued.update(listed)
            continue
        pages = (url for text in listed if (url := link_target("", text)) and site_of(url) == site)
        found.extend(_unseen(filter(fits, pages), seen))
    if first_error is not None and not is_any_read:
        raise first_error
    return found[:max_urls]


def site_of(url: str) -> str:
    """Return the key of a site: the host without `www.`, with a port other than 80 and 443.

    >>> site_of("https://www.example.com/a") == site_of("http://example.com/b")
    True
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").removesuffix(".")
    return host if parts.port in {None, 80, 443} else f"{host}:{parts.port}"


def links_in(text: str, address: str) -> list[str]:
    """Return the http(s) addresses of a page's links, in normal form, in order.

    Links with `nofollow` and links to pictures, archives and similar files are left out.

    >>> links_in('<a href="/b?x=1&amp;y=2#top">b</a>', "https://example.com/a")
    ['https://example.com/b?x=1&y=2']
    """
    base = next(tags_in(text, "base"), {}).get("href")
    if base:
        address = link_target(address, base) or address
    found: dict[str, None] = {}
    for anchor in tags_in(text, "a"):
        target = anchor.get("href")
        if not target or "nofollow" in anchor.get("rel", "").lower().split():
            continue
        link = link_target(address, target)
        if link and not link.partition("?")[0].lower().endswith(_NO_PAGE):
            found[link] = None
        if len(found) >= MAX_LINKS:
            break
    return list(found)


async def _visited(source: PageSource, url: str, depth: int, start: str) -> Visit:
    try:
        page = await source.fetch(url, source=start if depth else None)
    except FetchError as error:
        return Visit(url, depth, error=error)
    return Visit(url, depth, page=page if isinstance(page, FetchedPage) else None)


def _is_known(final_url: str, url: str, seen: set[str]) -> bool:
    """Return whether a redirect led to a known page; add the page to `seen`."""
    key = url_key(final_url)
    if key == url_key(url):
        return False
    known = key in seen
    seen.add(key)
    return known


async def own_links(page: FetchedPage) -> list[str]:
    """Return the links of a page to its own site."""

    def read() -> list[str]:
        home, text = site_of(page.final_url), decode_page(page.body, page.charset)
        return [link for link in links_in(text, page.final_url) if site_of(link) == home]

    return read() if len(page.body) <= _OVERLAP else await asyncio.to_thread(read)


def _listed(page: FetchedPage) -> tuple[bool, list[str]]:
    """Return whether the sitemap is an index, and its addresses."""
    body = _unpacked(page.body) if page.kind == "gzip" else page.body
    text = decode_page(body, page.charset)
    if page.kind == "text" and "<" not in text[:_OVERLAP]:
        return False, [line.strip() for line in text.split("\n") if line.strip()]
    return _INDEX.search(text[:_OVERLAP]) is not None, list(_locations(text))


def _unpacked(body: bytes) -> bytes:
    decoder, parts, size = Decoder("gzip", max_ratio=100), list[bytes](), 0
    for piece in decoder.feed(body):
        parts.append(piece)
        size += len(piece)
        if size > SITEMAP_BYTES:
            raise FetchError("the sitemap is too large", reason="too_large")
    decoder.finish()
    return b"".join(parts)


def _locations(text: str) -> Iterator[str]:
    """Yield the addresses slice by slice, so that other threads can run."""
    end = 0
    for start in range(0, len(text), _SLICE):
        for found in _LOCATION.finditer(text, max(start, end), start + _SLICE + _OVERLAP):
            if found.start() >= start + _SLICE:
                break
            end = found.end()
            yield unescape(found[1])


def link_target(address: str, target: str) -> str | None:
    """Return the target of a link in normal form, or None if it is no http(s) URL."""
    try:
        return normalize_url(urljoin(address, target))
    except (InvalidUrlError, ValueError):
        return None


def _unseen(urls: Iterable[str], seen: set[str]) -> list[str]:
    """Return the addresses whose keys are not in `seen`, and add their keys to it."""
    new: dict[str, str] = {}
    for url in urls:
        if (key := url_key(url)) not in seen:
            new.setdefault(key, url)
    seen.update(new)
    return list(new.values())
