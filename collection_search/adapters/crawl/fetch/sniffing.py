"""The kind of an answer, by its first bytes and then by its header."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ....errors import ExtractionError
from ..extract.charset import known_charset, to_utf8
from ..extract.formats import HTML_PART, begins_as_html, sniff

if TYPE_CHECKING:
    from ....contracts.page import PageKind

HEAD_BYTES: Final = 1024
"""The part of a body that decides its kind."""

_UNREADABLE_TYPES: Final = frozenset({
    "application/ecmascript", "application/javascript", "application/x-javascript", "text/css",
    "text/javascript",
})  # fmt: skip
_DECLARED: Final[dict[str, PageKind]] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-rst": "rst",
    "application/xml": "xml",
    "text/xml": "xml",
}
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:\?xml\b|(?:urlset|sitemapindex|rss|feed)\b)")
_PLAIN_HTML = re.compile(rb"\s*+<(?:!doctype\s+)?html\b", re.IGNORECASE)
"""The beginning of most pages."""
_GZIP: Final = b"\x1f\x8b\x08"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE | re.ASCII)


def sniff_page(head: bytes, declared: str = "", path: str = "") -> PageKind | None:
    r"""Return the kind of an answer by its first bytes, or None when it has no readable text.

    `declared` is the content type without parameters, `path` that of the URL: they decide only
    between kinds that the bytes allow.

    >>> sniff_page(b"<!doctype html>", "image/png"), sniff_page(b"GIF89a\0", "text/html")
    ('html', None)
    """
    if _PLAIN_HTML.match(head):
        return "html"
    head = head[:HEAD_BYTES]
    if head.startswith(_GZIP):
        return "gzip"
    try:
        kind = sniff(head)
    except ExtractionError:
        return "html" if _DECLARED.get(declared) == "html" and begins_as_html(head) else None
    if kind in {"html", "pdf"}:  # a page may contain the mark of PDF as text
        return "html" if kind == "html" or _begins_as_html(head, declared) else "pdf"
    head = to_utf8(head)
    if _CONTROL.search(head.replace(b"\x1b", b"")) or declared in _UNREADABLE_TYPES:
        return None
    return _textual(head, declared, sniff(b"", path))


@lru_cache(maxsize=256)
def charset_in(content_type: str) -> str | None:
    """Return the codec of the header's charset parameter; None when no page may use it.

    >>> charset_in('text/html; charset="UTF-8"'), charset_in("text/html; charset=utf-7")
    ('utf-8', None)
    """
    found = _CHARSET.search(content_type)
    return known_charset(found[1]) if found else None


def _begins_as_html(head: bytes, declared: str) -> bool:
    if head.startswith(b"%PDF-"):
        return False
    before = head[: head.index(b"%PDF-")]
    return declared == "text/html" or HTML_PART.match(before) is not None or b"<html" in before


def _textual(head: bytes, declared: str, by_name: PageKind) -> PageKind:
    known = _DECLARED.get(declared)
    if known == "html":
        return "html"
    if known == "xml" or _XML.match(head):
        return "xml"
    if HTML_PART.match(head) and declared in {"", "application/octet-stream"}:
        return "html"
    return known or ("text" if by_name == "html" and declared else by_name)
