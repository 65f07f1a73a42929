"""Title and text of a document, as a reader of its kind found them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Extracted"]


@dataclass(frozen=True, slots=True)
class Extracted:
    """Title and text of a document, with marks that a page may have.

    Headings are lines as in Markdown (`## Title`). In the text of a PDF a form feed after a line
    end begins a page: passages name their page by it.
    """

    title: str
    """Empty when the document names none."""
    text: str
    canonical_url: str | None = None
    """The address that an HTML page names as its own, absolute or relative to the page's."""
    not_free: bool = False
    """The page's metadata mark its text as not free."""
    asks_password: bool = False
    """The page has a field for a password."""
    truncated_at_page: int | None = None
    """The last page of a PDF whose text was read, if there are more."""
