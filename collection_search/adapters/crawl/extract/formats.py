"""Title and text of a document, from its bytes: HTML, PDF, Markdown, reStructuredText, plain text.

A hostile document can make a parser of HTML or PDF hang: read untrusted documents in a process
that can be killed. The limits below do not replace that.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final, Literal

from ....errors import ExtractionError
from ....text.clean import to_unicode
from ....text.headings import trimmed, without_heading_marks, write_headings
from .charset import decode_page, to_utf8
from .extracted import EmptyDocumentError, Extracted
from .markup import markdown_text, rst_text
from .xml_beginning import xml_kind

DocumentKind = Literal["html", "pdf", "markdown", "rst", "text"]

KINDS: Final[dict[str, DocumentKind]] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".txt": "text",
    ".pdf": "pdf",
}
"""Kind of a file by its suffix, in small letters."""

TEXT_BYTES: Final = 10_000_000
PDF_BYTES: Final = 30_000_000
_TITLE_CHARS: Final = 200
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+)?html\b", re.IGNORECASE
)
HTML_PART: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*+<(?:!--|/?(?:head|body|title|script|style|meta|link|iframe|table|div
    |span|font|center|article|section|main|header|nav|form|img|ul|ol|h[1-6]|br|p|a|b)[\s>/])""",
    re.IGNORECASE | re.VERBOSE,
)
"""The beginning of a page without its first tags."""
_NUL_SHARE: Final = 20
"""A page may have one NUL in so many bytes; what has more is binary."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def sniff(data: bytes, name: str = "") -> DocumentKind:
    """Return what the bytes are; the name's suffix decides only between kinds of plain text.

    Raises ExtractionError for binary data that is no PDF.

    >>> sniff(b"%PDF-1.7", "paper.txt"), sniff(b"# Title", "read.md"), sniff(b"<!doctype html>")
    ('pdf', 'markdown', 'html')
    """
    head = to_utf8(data[:1024])
    bare = head.replace(b"\0", b"")  # a page may have NULs, which browsers ignore
    if _HTML.match(bare):
        return "html"
    if b"%PDF-" in head:
        return "pdf"
    by_name = KINDS.get(PurePath(name).suffix.lower(), "text")
    if len(bare) < len(head) and not (by_name == "html" and begins_as_html(head)):
        raise ExtractionError("The file is neither text nor PDF.")
    return "text" if by_name == "pdf" else by_name


def begins_as_html(head: bytes) -> bool:
    r"""Return whether the bytes begin with an element of HTML and have hardly a NUL.

    >>> begins_as_html(b"<p>Some words, a\0 and others"), begins_as_html(b"<p>\0" * 9)
    (True, False)
    """
    bare = head.replace(b"\0", b"")
    return HTML_PART.match(bare) is not None and _NUL_SHARE * (len(head) - len(bare)) <= len(head)


def extract(data: bytes, name: str = "", charset: str | None = None) -> Extracted:
    r"""Return the document's title and text; `charset` is what its server named, if any.

    Raises ExtractionError when it is too large, damaged or protected, EmptyDocumentError when it
    holds no text; a retry with the same bytes fails again.

    Headings are lines as in Markdown: see `collection_search.text.headings`. A page of a PDF ends
    in a form feed.

    >>> extract(b"# Greetings\n\nHello, *world*.", "hello.md").text
    '# Greetings\n\nHello, world.'
    """
    kind = sniff(data, name)
    limit = PDF_BYTES if kind == "pdf" else TEXT_BYTES
    if len(data) > limit:
        raise ExtractionError(f"The document is larger than {limit // 1_000_000} MB.")
    found = _read(data, kind, charset)
    if not found.text.strip():
        raise EmptyDocumentError("The document holds no text.")
    return found


def _read(data: bytes, kind: DocumentKind, charset: str | None) -> Extracted:
    """Return the document; each reader is loaded for the first document of its kind."""
    if kind == "pdf":
        from .pdf_document import read_pdf

        return read_pdf(data)
    text = decode_page(data, charset)
    if kind == "html" and text.strip():
        return _from_markup(text)
    return _from_text(text, kind)


def _from_markup(text: str) -> Extracted:
    kind = xml_kind(text)
    if kind == "other":
        raise ExtractionError("The document is XML. Of XML only XHTML, RSS and Atom are read.")
    if kind == "feed":
        from .feed_document import read_feed

        return read_feed(text)
    from .html_document import read_html

    return read_html(text)


def _from_text(text: str, kind: DocumentKind) -> Extracted:
    text = to_unicode(_CONTROLS.sub("", text))
    if kind in {"markdown", "rst"}:
        text = markdown_text(text) if kind == "markdown" else rst_text(text)
    else:
        text = write_headings(text)
    lines = (line.strip() for line in without_heading_marks(text).splitlines())
    first = next((line for line in lines if any(map(str.isalnum, line))), "")
    return Extracted(first if len(first) <= _TITLE_CHARS else "", trimmed(text))
