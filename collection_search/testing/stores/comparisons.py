"""Contract suite for comparisons: runs that were ranked by two profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.collection import Deleted, TenantScope
from ...contracts.comparison import KEPT_COMPARISONS, ComparedPage, ProfileComparison
from .suite import MINE, THEIRS, StoreContract

if TYPE_CHECKING:
    from pathlib import Path

OTHER = TenantScope(MINE.tenant_id, "other")
DAY_S = 86_400.0


def comparison_of(scope: TenantScope = MINE, run_id: str = "run") -> ProfileComparison:
    """Return the comparison of one run with one page."""
    page = ComparedPage(
        url="https://example.com/ä",
        decided_rank=None,
        decided_score=None,
        decided_ingests=False,
        compared_rank=1,
        compared_score=61.5,
        compared_ingests=True,
    )
    return ProfileComparison(
        tenant_id=scope.tenant_id,
        collection=scope.collection,
        run_id=run_id,
        question="Which tea?",
        decided_by="default",
        compared="words",
        model="scripted:64",
        min_score=60.0,
        top10_overlap=0.8,
        rank_correlation=None,
        pages=[page],
    )


class ComparisonStoreContract(StoreContract):
    """Tests of the comparisons of a tenant."""

    def _add(self, scope: TenantScope = MINE, run_id: str = "run") -> None:
        self.store.comparisons.add(comparison_of(scope, run_id))

    def _runs(self, tenant_id: str = MINE.tenant_id, collection: str | None = None) -> list[str]:
        found = self.store.comparisons.comparisons(tenant_id, collection=collection)
        return [one.run_id for one in found]

    def test_a_comparison_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """With the time of the store, also from a store that is opened anew."""
        self.store.comparisons.add(replace(comparison_of(), compared_at=7.0))
        (found,) = self._reopened(tmp_path).comparisons.comparisons(MINE.tenant_id)
        assert found == comparison_of()
        assert found.compared_at == self.clock.time()

    def test_the_oldest_comes_first_and_none_is_anothers(self) -> None:
        """By tenant, and by collection where one is named."""
        for scope, run_id in ((MINE, "one"), (OTHER, "two"), (THEIRS, "three"), (MINE, "four")):
            self._add(scope, run_id)
        assert self._runs() == ["one", "two", "four"]
        assert self._runs(collection="docs") == ["one", "four"]
        assert self._runs(THEIRS.tenant_id) == ["three"]
        assert self._runs("nobody") == []

    def test_the_newest_of_a_collection_are_kept(self) -> None:
        """Those of other collections do not count."""
        self._add(OTHER, "other")
        for n in range(KEPT_COMPARISONS + 2):
            self._add(run_id=str(n))
        kept = self._runs(collection="docs")
        assert (len(kept), kept[0]) == (KEPT_COMPARISONS, "2")
        assert self._runs(collection="other") == ["other"]

    def test_comparisons_go_with_their_collection(self) -> None:
        """Whether it holds a page or not; those of other collections and tenants stay."""
        for scope in (MINE, OTHER, THEIRS):
            self._add(scope)
        self.store.collections.delete_collection(MINE)
        assert self._runs(collection="docs") == []
        assert self._runs() == ["run"]
        assert self.store.collections.delete_tenant(MINE.tenant_id) == Deleted(comparisons=1)
        assert self._runs() == []
        assert self._runs(THEIRS.tenant_id) == ["run"]

    def test_old_comparisons_are_purged(self) -> None:
        """By the time of their run."""
        self._add(run_id="old")
        self.clock.advance(DAY_S)
        self._add(run_id="young")
        assert self.store.collections.purge(MINE.tenant_id, DAY_S) == Deleted(comparisons=1)
        assert self._runs() == ["young"]
