"""The text of a web page: the page is fetched, extracted and checked for real content."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ...contracts.page import FetchedPage, NotModified, PageKind, ReadPage, Validators
from ...errors import FetchError
from ...runtime.concurrency import compute
from ...text.headings import trimmed
from .noindex import refuses_indexing
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
    "check_content",
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
_NOTICE_CHARS: Final = 600
"""A longer text is more than a notice that a page is missing or needs a login."""
_TEASER_CHARS: Final = 3_000
"""A longer text is useful, even if the page does not show all of it."""

_SEPARATOR = re.compile(r"\s*(?:[|\u2013\u2014·»:\n]|\s-\s)\s*")
_MISSING = re.compile(
    r"""(?:(?:http\s*)?(?:error|status|fehler)?\s*(?:404|410)\b[\s.!,]*(?:error|fehler)?[\s.!,]*)?
    (?:(?:sorry|oops|ooops|hoppla)[\s,.!]*)?
    (?:(?:this\s+|the\s+|die\s+|diese\s+)?(?:requested\s+|gesuchte\s+)?
       (?:page|seite|file|document|content|article|artikel|url)?\s*
       (?:(?:was|is|could|can)?\s*(?:not|n.t)\s+(?:be\s+)?(?:found|available)
         |(?:does\s+not|doesn.t|no\s+longer)\s+exists? | gone
         |(?:wurde\s+|ist\s+|konnte\s+)?(?:leider\s+)?nicht\s+(?:mehr\s+)?
           (?:gefunden|verf[üu]gbar|vorhanden)(?:\s+werden)?
         |existiert\s+nicht(?:\s+mehr)?)
     | page\s+(?:introuvable|non\s+trouv[ée]e)
     | p[áa]gina\s+no\s+encontrada | pagina\s+non\s+trovata
    )?[\s.!]*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Matches a whole part of a title, or a whole line of text."""
_MISSING_TEXT = re.compile(
    r"""\b(?:page|article|url|address|link)\b[^.!?]{0,40}
        \b(?:looking\s+for|requested|tried\s+to\s+reach)\b[^.!?]{0,60}\b(?:not|n.t|no\s+longer|moved|removed|deleted)\b
    | \b(?:requested|gesuchte|angeforderte|aufgerufene)\s+
        (?:page|url|address|article|seite|artikel|adresse)\b[^.!?]{0,40}\b(?:not|n.t|no\s+longer|nicht)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LOGIN = re.compile(
    r"sign[\s-]?in|log[\s-]?[io]n|anmeld(?:en|ung)|einloggen|connexion|iniciar sesi[óo]n|accedi",
    re.IGNORECASE,
)
_WALL = re.compile(
    r"""\b(?:subscribe|sign\s+up|log\s*in|sign\s+in|register)\b[^.!?]{0,40}
        \bto\s+(?:continue|keep|read|access|unlock|view)\b
    | \b(?:this|the)\s+(?:article|content|story|page)\s+is\s+(?:only\s+)?
        (?:for|available\s+to|reserved\s+for)\s+(?:our\s+)?(?:paid\s+|paying\s+)?(?:subscribers|members)\b
    | \b(?:already|become)\s+a\s+(?:subscriber|paying\s+member)\b
    | \b(?:jetzt|weiter)\s*(?:lesen)?\s*mit\b[^.!?]{0,30}\b(?:abo|plus)\b
    | \bnur\s+f[üu]r\s+abonnent""",
    re.IGNORECASE | re.VERBOSE,
)


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

        The hash of a page that was rendered is that of its text, and it has no validators: without
        its scripts it is the same for ever.

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
            new_hash = hashlib.sha256(found.text.encode()).hexdigest()
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


def check_content(found: Extracted) -> FetchReason | None:
    """Return why an HTML page has no real content, or None if it has.

    >>> from collection_search.adapters.crawl.extract.extracted import Extracted
    >>> check_content(Extracted("Page not found", "Sorry! Try our search."))
    'soft_404'
    >>> check_content(Extracted("Herons", "They wade. Subscribe to continue reading."))
    'paywalled'
    """
    length = len(found.text)
    if length <= _NOTICE_CHARS:
        if _says_missing(found):
            return "soft_404"
        if found.asks_password and _LOGIN.search(f"{found.title}\n{found.text[:100]}"):
            return "needs_login"
    if length <= _TEASER_CHARS and (found.not_free or _WALL.search(found.text)):
        return "paywalled"
    return None


def _says_missing(found: Extracted) -> bool:
    beginning = f"{found.title[:200]}\n{found.text[:200]}"
    parts = [part for part in _SEPARATOR.split(beginning) if any(map(str.isalnum, part))]
    is_notice = any(_MISSING.fullmatch(part) for part in parts[:6])
    return is_notice or _MISSING_TEXT.search(found.text) is not None


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
