"""The port of the comparisons: runs that were ranked by two profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..contracts.comparison import ProfileComparison


class ComparisonStore(Protocol):
    """The newest comparisons of every collection; no read or write crosses a tenant."""

    def add(self, comparison: ProfileComparison) -> None:
        """Store a comparison; of one collection the newest `KEPT_COMPARISONS` stay."""
        ...

    def comparisons(
        self, tenant_id: str, *, collection: str | None = None
    ) -> list[ProfileComparison]:
        """Return the comparisons of a tenant or of a collection, the oldest first.

        A deletion of the tenant or the collection deletes them.
        """
        ...
