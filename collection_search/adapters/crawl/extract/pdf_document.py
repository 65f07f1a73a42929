"""Title and text of a PDF, page by page."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from ....errors import ExtractionError
from ....text.clean import to_unicode
from .extracted import Extracted
from .hyphenation import join_hyphenated
from .pdf_title import is_title, title_on

if TYPE_CHECKING:
    from collections.abc import Iterator

PDF_PAGES: Final = 2_000
PDF_CHARS: Final = 10_000_000
"""Further pages of a PDF are not read, nor is its text beyond these characters."""
_PDFIUM: Final = threading.Lock()  # the library is not safe to use from two threads


def read_pdf(data: bytes) -> Extracted:
    """Return title and text of a PDF. Raises ExtractionError for a damaged or protected one."""
    import pypdfium2

    try:
        with _PDFIUM, pypdfium2.PdfDocument(data) as document:
            title = _named_title(document)
            pages = list(_pages(document))
            if not is_title(title):
                title = next(filter(None, (page_title for _, page_title in pages[:2])), "")
            missing = len(document) > len(pages)
            cut = sum(len(text) for text, _ in pages) >= PDF_CHARS
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"The PDF cannot be read: {error}") from error
    text = join_hyphenated("\n\f".join(text for text, _ in pages).replace("\r\n", "\n"))
    return Extracted(
        to_unicode(join_hyphenated(title)),
        to_unicode(text.strip(" \t\n")),
        truncated_at_page=len(pages) if missing or cut else None,
    )


def _named_title(document: Any) -> str:
    with suppress(UnicodeDecodeError):  # half a character at its end, for instance
        return " ".join(document.get_metadata_value("Title").split())
    return ""


def _pages(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the text of each page, and what looks like a title on the first two."""
    room = PDF_CHARS
    for number in range(min(len(document), PDF_PAGES)):
        with closing(document[number]) as page, closing(page.get_textpage()) as textpage:
            text: str = textpage.get_text_range()
            title = title_on(textpage) if number < 2 else ""  # noqa: PLR2004 - a cover may be blank
        yield text[:room].replace("\f", "\n"), title
        room -= len(text)
        if room <= 0:
            return
