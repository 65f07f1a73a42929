"""Contract suite for searches of a collection with filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from ...contracts.collection import Document
from ...errors import InputError
from .suite import MINE, StoreContract, axes, chunks

if TYPE_CHECKING:
    from ...contracts.collection import TenantScope

PAGES: Final[dict[str, dict[str, Any]]] = {
    "https://docs.example/tea": {
        "provider": "brave",
        "source": "docs.example",
        "published_date": "2026-01-31T12:00:00Z",
    },
    "https://docs.example/tea.PDF": {"provider": "exa", "source": "docs.example"},
    "https://blog.example:8080?p=1": {
        "provider": "exa",
        "published_date": "2026-02-01",
        "page_kind": "pdf",
    },
    "https://docs.example.org/tea": {"is_pdf": False, "published_date": "yesterday"},
}
TEA, PDF, BLOG, ORG = range(4)


class NarrowingContract(StoreContract):
    """Filters choose documents before the ranking by words and by vectors."""

    def _pages(self, scope: TenantScope = MINE, *, with_vectors: bool = False) -> None:
        if with_vectors:
            self.store.collections.bind_embedder(scope, "model:4")
        for place, (url, provenance) in enumerate(PAGES.items()):
            page = Document(url, f"key {place}", "Tea", "0" * 64, provenance)
            vectors = axes(place) if with_vectors else None
            self.store.collections.replace_document(scope, page, chunks("tea", vectors=vectors))

    @pytest.mark.parametrize("with_vectors", [False, True])
    @pytest.mark.parametrize(
        ("filters", "fits"),
        [
            (None, {TEA, PDF, BLOG, ORG}),
            ({}, {TEA, PDF, BLOG, ORG}),
            ({"is_pdf": True}, {PDF, BLOG}),
            ({"is_pdf": False}, {TEA, ORG}),
            ({"provider": "exa"}, {PDF, BLOG}),
            ({"provider": ["brave", "exa"], "is_pdf": False}, {TEA}),
            ({"source": "docs.example"}, {TEA, PDF}),
            ({"host": "Docs.Example"}, {TEA, PDF}),
            ({"host": ["blog.example:8080", "docs.example.org"]}, {BLOG, ORG}),
            ({"url_prefix": "https://docs.example/"}, {TEA, PDF}),
            ({"url_prefix": "https://docs.example"}, {TEA, PDF, ORG}),
            ({"url_prefix": "https://docs.example/%"}, set()),
            ({"url_key": ["key 0", "key 3"]}, {TEA, ORG}),
            ({"url_key": "key 0", "provider": "exa"}, set()),
            ({"published_after": "2026-01-31"}, {TEA, BLOG}),
            ({"published_after": "2026-02-01"}, {BLOG}),
            ({"published_before": "2026-01-31"}, {TEA}),
            ({"provider": []}, set()),
            ({"provider": "x' OR 1 --"}, set()),
        ],
    )
    def test_only_what_fits_is_found(
        self, filters: dict[str, Any] | None, fits: set[int], *, with_vectors: bool
    ) -> None:
        """Every given filter must match; a value is never read as SQL."""
        self._pages(with_vectors=with_vectors)
        vector = axes(0) if with_vectors else None
        found = self._found("tea", vector=vector, filters=filters)
        assert {one.document.url_key for one in found} == {f"key {place}" for place in fits}

    def test_the_limit_counts_what_fits(self) -> None:
        """Better chunks of other documents do not count for the limit."""
        for n in range(30):
            self._put(f"page{n}", "tea tea tea")
        self._put("last", "tea among many other words that make it worse")
        only = {"url_prefix": "https://example.com/last"}
        assert len(self._found("tea", limit=1, filters=only)) == 1

    @pytest.mark.parametrize(
        ("filters", "says"),
        [
            ({"tenant_id": "x"}, "no filter 'tenant_id'.*Known filters: host"),
            ({"is_pdf OR 1": True}, "no filter"),
            ({"is_pdf": "yes"}, "is_pdf takes true or false"),
            ({"provider": 3}, "provider takes a text"),
            ({"host": ["a", None]}, "host takes a text or several"),
            ({"url_prefix": ["a"]}, "url_prefix takes a text"),
            ({"published_after": "soon"}, "published_after takes a date"),
        ],
    )
    def test_other_filters_are_refused(self, filters: dict[str, Any], says: str) -> None:
        """Unknown filters are refused with and without a collection."""
        for _ in range(2):
            with pytest.raises(InputError, match=says):
                self._found("tea", filters=filters)
            self._pages()
