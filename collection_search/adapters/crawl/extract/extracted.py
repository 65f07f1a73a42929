"""The result of reading a document, and the error of one without text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....contracts.document_text import Extracted
from ....errors import ExtractionError

if TYPE_CHECKING:
    from ....errors import FetchReason

__all__ = ["EmptyDocumentError", "Extracted"]


class EmptyDocumentError(ExtractionError):
    """The document is valid and has no text of its own; `reason` says what it has instead."""

    def __init__(self, message: str, reason: FetchReason = "empty") -> None:
        super().__init__(message)
        self.reason: FetchReason = reason
