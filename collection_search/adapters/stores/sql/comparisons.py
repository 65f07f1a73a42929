"""Comparisons of two ranking profiles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ....contracts.comparison import KEPT_COMPARISONS, ProfileComparison
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connection import Database


_COLUMNS: Final = ("tenant_id", "collection", "compared_at")
_FACTS: Final = (
    "run_id",
    "question",
    "decided_by",
    "compared",
    "model",
    "min_score",
    "top10_overlap",
    "rank_correlation",
    "pages",
)


class SQLComparisons:
    """The comparisons: implements `collection_search.ports.comparisons.ComparisonStore`."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def add(self, comparison: ProfileComparison) -> None:
        """Store a comparison; of one collection the newest `KEPT_COMPARISONS` stay."""
        row = {
            "tenant_id": comparison.tenant_id,
            "collection": comparison.collection,
            "compared_at": self._clock(),
            "facts": to_json({name: getattr(comparison, name) for name in _FACTS}),
            "kept": KEPT_COMPARISONS,
        }
        with self._database.write(comparison.tenant_id) as connection:
            connection.enable_secure_delete()
            connection.execute(
                "INSERT INTO comparisons (tenant_id, collection, compared_at, facts)"
                " VALUES (:tenant_id, :collection, :compared_at, :facts)",
                row,
            )
            connection.execute(
                "DELETE FROM comparisons WHERE id IN (SELECT id FROM comparisons"
                " WHERE tenant_id = :tenant_id AND collection = :collection"
                " ORDER BY id DESC LIMIT -1 OFFSET :kept)",
                row,
            )

    def comparisons(
        self, tenant_id: str, *, collection: str | None = None
    ) -> list[ProfileComparison]:
        """Return the comparisons of a tenant or of a collection, the oldest first."""
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                "SELECT tenant_id, collection, compared_at, facts FROM comparisons"
                " WHERE tenant_id = :tenant AND (:collection IS NULL OR collection = :collection)"
                " ORDER BY id",
                {"tenant": tenant_id, "collection": collection},
            )
            return [
                ProfileComparison(
                    **{name: row[name] for name in _COLUMNS}, **json.loads(row["facts"])
                )
                for row in rows
            ]
