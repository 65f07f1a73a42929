"""The text of a web page: the page is fetched, extracted and checked for real content."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ...contracts.page import FetchedPage, NotModified, PageKind, ReadPage, Validators
from ...errors import FetchError
from ...runtime.concurrency import compute
from ...text.headings import trimmed
from .noindex import refuses_indexing
from .notices import check_content
from .site import link_target, site_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ...errors import FetchReason
    from .extract.extracted import Extracted

__all__ = [
    "Fetcher",
    "Parser",
    "ReadPage",
    "Renderer",
    "TextSource",
    "WebPageReader",
]

Parser: TypeAlias = "Callable[[FetchedPage], Awaitable[Extracted | None]]"
"""Replaces the built-in extraction for one kind of page, for instance OCR for scanned PDFs.

None leaves the page to the built-in extraction. Pages are untrusted: a parser sets its own limits.
An empty text raises FetchError (`empty`)."""

_SUFFIXES: Final[Mapping[PageKind, str]] = {
    "html": ".html",
    "xml": ".html",
    "pdf": ".pdf",
    "markdown": ".md",
    "rst": ".rst",
    "text": ".txt",
}
_INLINE_BYTES: Final = 1_000_000


class Fetcher(Protocol):
    """A source of pages, as bytes."""

    async def fetch(
        self, url: str, *, validators: Validators | None = None
    ) -> FetchedPage | NotModified:
        """Return the page. Raises FetchError."""
        ...


class TextSource(Protocol):
    """A source of the text of documents."""

    async def extract(self, body: bytes, *, name: str, charset: str | None = None) -> Extracted:
        """Return title and text. Raises FetchError."""
        ...


class Renderer(Protocol):
    """A browser that runs the scripts of pages."""

    async def render(self, page: FetchedPage) -> FetchedPage:
        """Return the page with the markup that its scripts made, without validators.

        Raises FetchError (`render_failed`, `too_large`), ConfigError without a browser.
        """
        ...


class WebPageReader:
    """A reader of web pages, for many calls at once. It does not close fetcher and extraction.

    With a `renderer`, pages whose text a script writes (`needs_javascript`) are read as a browser
    shows them. `parsers` replace the extraction for kinds of pages. With an `index_agent`, the name
    of this crawler, pages that ask it not to index them are refused. They are requested in full
    then: the answer that a page has not changed does not say whether it asks for that.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        extraction: TextSource,
        *,
        parsers: Mapping[PageKind, Parser] | None = None,
        index_agent: str | None = None,
        renderer: Renderer | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._renderer = renderer
        self._index_agent = index_agent
        self._extraction = extraction
        self._parsers = dict(parsers or {})

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return the page's text, or NotModified if validators or the hash of its bytes match.

        The hash of a page that was rendered is that of its title and its text, and it has no
        validators: without its scripts it is the same for ever.

        Raises FetchError: the errors of fetching, extraction and the renderer, `noindex`, and
        `empty`, `soft_404`, `paywalled`, `needs_login`, `needs_javascript` or `challenge` for a
        page without real content.
        """
        agent = self._index_agent
        fetched = await self._fetcher.fetch(url, validators=None if agent else validators)
        if isinstance(fetched, NotModified):
            return fetched
        page = fetched
        self._check_indexing(page)
        is_small = len(page.body) <= _INLINE_BYTES
        new_hash = page.content_hash if is_small else await compute(lambda: fetched.content_hash)
        if new_hash == content_hash:
            return NotModified(page.url, page.final_url, page.validators, page.fetched_at)
        try:
            found = await self._extracted(page)
        except FetchError as error:
            if self._renderer is None or error.reason != "needs_javascript":
                raise
            page = await self._renderer.render(page)
            self._check_indexing(page)
            found = await self._extracted(page)
            new_hash = _hash_of(found)
            if new_hash == content_hash:
                return NotModified(page.url, page.final_url, page.validators, page.fetched_at)
        if page.kind == "html" and (reason := check_content(found)):
            raise FetchError(_MESSAGES[reason], reason=reason, status=page.status)
        return ReadPage(
            url=page.url,
            final_url=page.final_url,
            canonical_url=_same_site(found.canonical_url, page.final_url),
            title=found.title,
            text=found.text,
            kind=page.kind,
            validators=page.validators,
            content_hash=new_hash,
            fetched_at=page.fetched_at,
            status=page.status,
            truncated_at_page=found.truncated_at_page,
        )

    def _check_indexing(self, page: FetchedPage) -> None:
        if self._index_agent and refuses_indexing(page, self._index_agent):
            raise FetchError(_MESSAGES["noindex"], reason="noindex", status=page.status)

    async def _extracted(self, page: FetchedPage) -> Extracted:
        parser = self._parsers.get(page.kind)
        found = await parser(page) if parser else None
        if found is None:
            found = await self._built_in(page)
        if not found.text.strip():
            raise FetchError(_MESSAGES["empty"], reason="empty", status=page.status)
        return replace(found, text=trimmed(found.text))

    async def _built_in(self, page: FetchedPage) -> Extracted:
        if suffix := _SUFFIXES.get(page.kind):
            name = f"page{suffix}"
            return await self._extraction.extract(page.body, name=name, charset=page.charset)
        text = f"A {page.kind} file is no page to read."
        raise FetchError(text, reason="unsupported_type", status=page.status)


def _hash_of(found: Extracted) -> str:
    return hashlib.sha256(f"{found.title}\n{found.text}".encode(errors="replace")).hexdigest()


def _same_site(address: str | None, page: str) -> str | None:
    """Return the address in normal form if it is on the page's host, with or without www.

    A relative one is joined with the page's.
    """
    address = link_target(page, address) if address else None
    return address if address and site_of(address) == site_of(page) else None


_MESSAGES: Final[Mapping[FetchReason, str]] = {
    "empty": "The page holds no text.",
    "soft_404": "The page says that it does not exist.",
    "paywalled": "The page shows the beginning of a text that must be paid for.",
    "needs_login": "The page asks for a password.",
    "noindex": "The page asks not to be indexed.",
}
