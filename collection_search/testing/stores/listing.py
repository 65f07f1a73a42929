"""Contract suite for the lists of documents and their freshness."""

from __future__ import annotations

from typing import Final

from ...contracts.collection import TenantScope
from ...contracts.stored_lists import DocumentAges, DocumentPage
from .suite import MINE, THEIRS, StoreContract, chunks, document

OTHER: Final = TenantScope(MINE.tenant_id, "other")


class ListingContract(StoreContract):
    """Tests of lists that are read a page at a time: see `CollectionStoreContract`."""

    def _keys(self, scope: TenantScope = MINE, **part: object) -> tuple[int, list[str]]:
        page: DocumentPage = self.store.collections.documents(scope, **part)  # type: ignore[arg-type]
        return page.total, [one.url_key.removeprefix("example.com/") for one in page.documents]

    def test_documents_are_listed_a_page_at_a_time(self) -> None:
        """By their keys, with the number of all; a part beyond the end is empty."""
        for name in ("c", "a", "d", "b"):
            self._put(name, f"tea {name}")
        assert self._keys() == (4, ["a", "b", "c", "d"])
        assert self._keys(offset=1, limit=2) == (4, ["b", "c"])
        assert self._keys(offset=4) == (4, [])
        assert self._keys(OTHER) == (0, [])
        assert self._keys(THEIRS) == (0, [])

    def test_a_listed_document_has_its_facts(self) -> None:
        """Its chunks, time and provenance, and whether it is a PDF."""
        self.store.collections.replace_document(
            MINE, document("tea", "ab", is_pdf=True, provider="offline"), chunks("a", "b")
        )
        (listed,) = self.store.collections.documents(MINE).documents
        assert (listed.url, listed.title) == ("https://example.com/tea", "Title of tea")
        assert (listed.chunks, listed.is_pdf) == (2, True)
        assert listed.stored_at == self.clock.time()
        assert listed.provenance["provider"] == "offline"

    def test_documents_are_searched_by_title_and_url(self) -> None:
        """All words count, in any case and order; signs of patterns are characters."""
        for name in ("gr\u00fcner-tee", "GR\u00dcNER-apfel", "tee_100%"):
            self._put(name, f"text of {name}")
        assert self._keys(search="Gr\u00dcner")[0] == 2  # noqa: PLR2004
        assert self._keys(search="TEE gr\u00fcner") == (1, ["gr\u00fcner-tee"])
        assert self._keys(search="title apfel", limit=1) == (1, ["GR\u00dcNER-apfel"])
        assert self._keys(search="0%") == (1, ["tee_100%"])
        assert self._keys(search="e_1") == (1, ["tee_100%"])
        assert self._keys(search="g%r")[0] == 0

    def test_freshness_is_that_of_the_oldest_and_newest_document(self) -> None:
        """By collection, without empty ones and those of others."""
        first = self.clock.time()
        self._put("a", "tea")
        self._put("theirs", "tea", scope=THEIRS)
        self.clock.advance(60)
        self._put("b", "coffee")
        self._put("c", "coffee", scope=OTHER)
        assert self.store.collections.freshness(MINE.tenant_id) == {
            "docs": DocumentAges(first, first + 60),
            "other": DocumentAges(first + 60, first + 60),
        }
        self.store.collections.delete_document(OTHER, "example.com/c")
        assert list(self.store.collections.freshness(MINE.tenant_id)) == ["docs"]
        assert self.store.collections.freshness("nobody") == {}

    def test_runs_that_brought_documents(self) -> None:
        """Each once; documents without a run have none."""
        for name, facts in (("a", {"run_id": "r2"}), ("b", {"run_id": "r1"}), ("c", {})):
            page = document(name, name, **facts)
            self.store.collections.replace_document(MINE, page, chunks(name))
        self._put("d", "d")
        assert self.store.collections.runs(MINE) == ["r1", "r2"]
        assert self.store.collections.runs(OTHER) == []
