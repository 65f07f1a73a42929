"""Contract suite for searches of a collection with filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from ...contracts.collection import OWN_METADATA, OWN_PROVIDER, Document
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
            ({"published_date": "2026-01-31"}, {TEA}),
            ({"published_date": ["2026-01-31T12:00:00Z", "2026-02-01"]}, {TEA, BLOG}),
            ({"source": "https://docs.example/tea"}, {TEA}),
            ({"metadata": {"provider": "exa", "page_kind": "pdf"}}, {BLOG}),
            ({"metadata": {"is_pdf": False}}, {ORG}),
            ({"metadata": {"is_pdf": 0}}, set()),
            ({"metadata": {"title": "Tea", "is_pdf": [False, None]}}, {ORG}),
            ({"metadata": {"x') OR 1 --": "y"}}, set()),
            ({"metadata": {"provider": "x' OR 1 --"}}, set()),
            ({"metadata": {}, "provider": "brave"}, {TEA}),
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

    @pytest.mark.parametrize(
        ("filters", "fits"),
        [
            ({"metadata": {"mood": "calm"}}, {0}),
            ({"metadata": {"mood": ["calm", "merry"]}}, {0, 1}),
            ({"metadata": {"mood": "calm", "year": 2026.0}}, {0}),
            ({"metadata": {"year": True}}, set()),
            ({"metadata": {"checked": True}}, {1}),
            ({"metadata": {'a"b.c[0]': "odd"}}, {1}),
            ({"metadata": {"tags": "green"}}, {0, 2}),
            ({"metadata": {"tags": ["black", 7.0]}}, {0, 1}),
            ({"metadata": {"tags": "[]"}}, set()),
            ({"metadata": {"tags": "x"}}, set()),
            ({"metadata": {"provider": "langchain"}}, set()),
            ({"metadata": dict.fromkeys(map(str, range(100)), "x")}, set()),
            ({"source": "notes.txt"}, {0}),
            ({"provider": "me"}, {1}),
            ({"is_pdf": True}, {0}),
            ({"is_pdf": False}, {1, 2}),
            ({"published_date": "2026-01-31"}, {0}),
            ({"published_after": "2026-01-01"}, {0}),
            ({"published_before": "2026-01-31"}, {0, 1}),
        ],
    )
    def test_a_callers_own_metadata_is_compared(
        self, filters: dict[str, Any], fits: set[int]
    ) -> None:
        """By its own names, and by those that pages have."""
        own: list[dict[str, Any]] = [
            {
                "mood": "calm",
                "year": 2026,
                "source": "notes.txt",
                "is_pdf": True,
                "tags": ["green", 7],
            }
            | {"published_date": "2026-01-31T08:00:00Z"},
            {"mood": "merry", "checked": True, 'a"b.c[0]': "odd", "provider": "me"}
            | {"published_date": "2025-12-24", "is_pdf": False, "tags": ["black", {"x": "x"}]},
            {"published_date": "some day", "tags": "green"},
        ]
        for n, metadata in enumerate(own):
            facts = {OWN_METADATA: metadata, "provider": OWN_PROVIDER}
            page = Document(f"urn:{n}", f"{n}", "Tea", "0" * 64, facts)
            self.store.collections.replace_document(MINE, page, chunks("tea"))
        found = self._found("tea", filters=filters)
        assert {int(one.document.url_key) for one in found} == fits

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
            ({"published_date": ["2026-01-31", "soon"]}, "published_date takes a date"),
            ({"metadata": "x"}, "metadata takes names with their values"),
            ({"metadata": {"x": {"$gt": 1}}}, "'x'.* takes a plain value or several"),
            ({"metadata": dict.fromkeys(map(str, range(101)), 1)}, "at most 100 names, but 101"),
        ],
    )
    def test_other_filters_are_refused(self, filters: dict[str, Any], says: str) -> None:
        """Unknown filters are refused with and without a collection."""
        for _ in range(2):
            with pytest.raises(InputError, match=says):
                self._found("tea", filters=filters)
            self._pages()
