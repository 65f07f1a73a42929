"""The result of reading a document, and the error of one without text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....errors import ExtractionError

if TYPE_CHECKING:
    from ....errors import FetchReason


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
    truncated_at_page: int | None = None
    """The last page of a PDF whose text was read, if there are more."""


class EmptyDocumentError(ExtractionError):
    """The document is valid and has no text of its own; `reason` says what it has instead."""

    def __init__(self, message: str, reason: FetchReason = "empty") -> None:
        super().__init__(message)
        self.reason: FetchReason = reason
