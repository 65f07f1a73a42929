"""Title and text of a document, from its bytes: HTML, PDF, Markdown, reStructuredText, plain text.

A hostile document can make a parser of HTML or PDF hang: read untrusted documents in a process
that can be killed. The limits below do not replace that.
"""

from __future__ import annotations

import re
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from ....errors import ExtractionError, InvalidUrlError
from ....text.clean import to_unicode
from ....text.headings import heading_mark, trimmed, without_heading_marks, write_headings
from ....text.urls import normalize_url
from .charset import decode_page, to_utf8
from .markup import markdown_text, rst_text

if TYPE_CHECKING:
    from collections.abc import Iterator

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
PDF_PAGES: Final = 2_000
"""Further pages of a PDF are not read, nor is its text beyond `TEXT_BYTES` characters."""

TAGS: Final = 600_000
"""A page with more angle brackets is refused."""
ATTRIBUTES: Final = 2_000
"""A page with more in one tag is refused: parsers compare every two of them."""

_SHORT_TEXT: Final = 100
_TITLE_CHARS: Final = 200
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+)?html\b", re.IGNORECASE
)
_QUOTED = re.compile(r"""=\s*+(?:"[^"]*"|'[^']*')""")
_ENDLESS_TAG = re.compile(rf"<[a-zA-Z](?:[^<>\s/]*+[\s/]++){{{ATTRIBUTES}}}")
_NOT_FREE = re.compile(r""""isAccessibleForFree"\s*:\s*"?false\b""", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_ATTRIBUTES_ERROR: Final = "The page has a tag with thousands of attributes."
_PDFIUM: Final = threading.Lock()  # the library is not safe to use from two threads


@dataclass(frozen=True, slots=True)
class Extracted:
    """Title and text of a document, with marks that a page may have."""

    title: str
    """Empty when the document names none."""
    text: str
    canonical_url: str | None = None
    """The address that an HTML page names as its own, in normal form."""
    not_free: bool = False
    """The page's metadata mark its text as not free."""
    asks_password: bool = False
    """The page has a field for a password."""


class EmptyDocumentError(ExtractionError):
    """The document is valid and has no text."""


def sniff(data: bytes, name: str = "") -> DocumentKind:
    """Return what the bytes are; the name's suffix decides only between kinds of plain text.

    Raises ExtractionError for binary data that is no PDF.

    >>> sniff(b"%PDF-1.7", "paper.txt"), sniff(b"# Title", "read.md"), sniff(b"<!doctype html>")
    ('pdf', 'markdown', 'html')
    """
    head = to_utf8(data[:1024])
    if b"%PDF-" in head and not _HTML.match(head):  # the page may contain the mark as text
        return "pdf"
    if b"\0" in head:
        raise ExtractionError("The file is neither text nor PDF.")
    if _HTML.match(head):
        return "html"
    by_name = KINDS.get(PurePath(name).suffix.lower(), "text")
    return "text" if by_name == "pdf" else by_name


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
    if kind == "pdf":
        found = _from_pdf(data)
    else:
        text = decode_page(data, charset)
        found = _from_html(text) if kind == "html" and text.strip() else _from_text(text, kind)
    if not found.text.strip():
        raise EmptyDocumentError("The document holds no text.")
    return found


def _from_text(text: str, kind: DocumentKind) -> Extracted:
    text = to_unicode(_CONTROLS.sub("", text))
    if kind in {"markdown", "rst"}:
        text = markdown_text(text) if kind == "markdown" else rst_text(text)
    else:
        text = write_headings(text)
    lines = (line.strip() for line in without_heading_marks(text).splitlines())
    first = next((line for line in lines if any(map(str.isalnum, line))), "")
    return Extracted(first if len(first) <= _TITLE_CHARS else "", trimmed(text))


def _from_html(page: str) -> Extracted:
    import trafilatura

    if page.count("<") > TAGS:
        raise ExtractionError(f"The page has more than {TAGS:,} tags.")
    if _ENDLESS_TAG.search(_QUOTED.sub("= ", page)):
        raise ExtractionError(_ATTRIBUTES_ERROR)
    tree = trafilatura.load_html(page)
    if tree is None:
        raise ExtractionError("The page cannot be read as HTML.")
    if tree.xpath(f"boolean(//*[count(@*) > {ATTRIBUTES}])"):  # the pattern above can miss some
        raise ExtractionError(_ATTRIBUTES_ERROR)
    title, canonical_url = _html_title(tree), _canonical_url(tree)  # extraction changes the tree
    asks_password = bool(tree.xpath("boolean(//input[@type='password'])"))
    _mark_headings(tree)
    text = trafilatura.extract(tree, fast=True, include_comments=False) or ""
    if len(text) < _SHORT_TEXT:  # no article in it, such as a list of links
        text = max(text, trafilatura.html2txt(tree), key=len)
    return Extracted(
        to_unicode(title),
        to_unicode(write_headings(text.replace("\N{PILCROW SIGN}", "").replace("\f", "\n"))),
        canonical_url,
        not_free=_NOT_FREE.search(page) is not None,
        asks_password=asks_password,
    )


def _mark_headings(tree: Any) -> None:
    for level in range(1, 7):
        for heading in tree.iter(f"h{level}"):
            heading.text = f"{heading_mark(level)}{(heading.text or '').lstrip()}"


def _html_title(tree: Any) -> str:
    titles = (" ".join(node.itertext()) for tag in ("title", "h1") for node in tree.iter(tag))
    return next((" ".join(title.split()) for title in titles if title.strip()), "")


def _canonical_url(tree: Any) -> str | None:
    for link in tree.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            with suppress(InvalidUrlError):
                return normalize_url((link.get("href") or "").strip())
    return None


def _from_pdf(data: bytes) -> Extracted:
    import pypdfium2

    try:
        with _PDFIUM, pypdfium2.PdfDocument(data) as document:
            title = ""
            with suppress(UnicodeDecodeError):  # half a character at its end, for instance
                title = document.get_metadata_value("Title").strip()
            text = "\n\f".join(_pdf_pages(document))
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"The PDF cannot be read: {error}") from error
    return Extracted(to_unicode(title), to_unicode(text.replace("\r\n", "\n").strip(" \t\n")))


def _pdf_pages(document: Any) -> Iterator[str]:
    room = TEXT_BYTES
    for number in range(min(len(document), PDF_PAGES)):
        with closing(document[number]) as page, closing(page.get_textpage()) as textpage:
            text: str = textpage.get_text_range()
        yield text[:room].replace("\f", "\n")
        room -= len(text)
        if room <= 0:
            return
