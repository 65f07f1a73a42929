"""A search by words finds the same chunks whichever way a filter takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.testing.stores.suite import MINE, THEIRS, chunks, document

if TYPE_CHECKING:
    from collection_search.adapters.stores.sqlite import SQLiteStore

COUNT = 120


def fill(store: SQLiteStore) -> None:
    """Store pages with one to six mentions of tea, the longer the later."""
    for n in range(COUNT):
        page = document(f"{n:03}", f"{n}", provider="brave" if n % 2 else "exa", is_pdf=n % 40 == 0)
        text = " ".join([*["tea"] * (1 + n % 6), *["water"] * (n // 6), "cup" if n == 7 else "pot"])
        store.collections.replace_document(MINE, page, chunks(text))


def found(store: SQLiteStore, filters: dict[str, object] | None, limit: int) -> list[str]:
    results = store.collections.search(MINE, "tea", limit=limit, filters=filters)
    return [one.document.url_key for one in results]


@pytest.mark.parametrize("limit", [1, 2, 5, 40, 200])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize(
    "filters",
    [{"provider": "brave"}, {"is_pdf": True}, {"url_key": "example.com/007"}, {"provider": "x"}],
)
def test_a_filter_keeps_the_order(
    store: SQLiteStore, filters: dict[str, object], limit: int, others: bool
) -> None:
    """Broad ones ask the best chunks, narrow ones know theirs; other collections change nothing."""
    fill(store)
    if others:
        store.collections.replace_document(THEIRS, document("x"), chunks("tea tea"))
    fits = {
        "provider": lambda n: filters["provider"] == ("brave" if n % 2 else "exa"),
        "is_pdf": lambda n: n % 40 == 0,
        "url_key": lambda n: n == 7,
    }[next(iter(filters))]
    everything = found(store, None, COUNT)
    assert len(everything) == COUNT
    wanted = [key for key in everything if fits(int(key[-3:]))]
    assert found(store, filters, limit) == wanted[:limit]


def test_other_collections_are_never_found(store: SQLiteStore) -> None:
    """Whether there is another one or not."""
    store.collections.replace_document(MINE, document("mine"), chunks("green tea"))
    assert len(store.collections.search(MINE, "tea")) == 1
    store.collections.replace_document(THEIRS, document("theirs"), chunks("tea tea tea"))
    assert [one.document.url_key for one in store.collections.search(MINE, "tea")] == [
        "example.com/mine"
    ]
