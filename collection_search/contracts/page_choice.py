"""The pages that a question may bring into its collection when it is asked again."""

from __future__ import annotations

from typing import NamedTuple


class PageChoice(NamedTuple):
    """Keys of pages: those that were approved, and those that were deleted by hand."""

    approved: frozenset[str] | None = None
    """None where nobody has chosen: all may come."""
    removed: frozenset[str] = frozenset()
    asked_at: float | None = None
    """Unix time at which the question had been asked last when the refresh began; None outside."""

    @property
    def is_refresh(self) -> bool:
        """Whether a refresh asks the question again."""
        return self.asked_at is not None

    @property
    def is_reviewed(self) -> bool:
        """Whether a review has chosen the pages of the question that is asked again."""
        return self.approved is not None

    def allows(self, url_key: str) -> bool:
        """Return whether a page may come.

        >>> [PageChoice(frozenset("ab"), frozenset("b")).allows(key) for key in "abc"]
        [True, False, False]
        >>> PageChoice().allows("a")
        True
        """
        is_approved = self.approved is None or url_key in self.approved
        return is_approved and url_key not in self.removed

    def needs_review(self, url_key: str) -> bool:
        """Return whether only a review could take a page.

        >>> [PageChoice(frozenset("a"), frozenset("b")).needs_review(key) for key in "abc"]
        [False, False, True]
        >>> PageChoice().needs_review("a")
        False
        """
        return not (self.approved is None or url_key in self.approved or url_key in self.removed)
