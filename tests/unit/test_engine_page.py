"""One page on its way into a collection."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from typing import TYPE_CHECKING, Any, Self

import pytest

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.pages import ReadPage, Validators
from collection_search.records import IngestionItem, IngestionRequest, TenantScope
from collection_search.tools.ingestion.embedders import Embedders
from collection_search.tools.ingestion.page import PageWork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCOPE = TenantScope("local", "docs")
URL = "https://e.com/a"


class Watched(str):  # noqa: SLOT000 - it notes something
    """A text that knows which threads work on all of it."""

    threads: set[int]

    def __new__(cls, text: str) -> Self:
        watched = super().__new__(cls, text)
        watched.threads = set()
        return watched

    def _seen(self) -> str:
        self.threads.add(threading.get_ident())
        return str.__str__(self)

    def isascii(self) -> bool:
        return self._seen().isascii()

    def encode(self, *how: Any, **more: Any) -> bytes:
        return self._seen().encode(*how, **more)

    def __getitem__(self, place: Any) -> str:
        return self._seen()[place]


class OnePage:
    """A reader that knows one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def read(self, url: str, **_: Any) -> ReadPage:
        return ReadPage(url, url, None, "Tea", self.text, "html", Validators(), "b" * 64, 0.0, 200)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db")
    yield store
    store.close()


async def ingest(store: SQLiteStore, text: str, *, again: bool = False) -> dict[str, Any]:
    """Bring a page with this text into the collection, as a worker does."""
    request = IngestionRequest(SCOPE, [IngestionItem(URL, "e.com/a", "A")])
    ticket = store.ledger.refetch(SCOPE) if again else store.ledger.enqueue(request)
    assert ticket.count == 1
    claim = store.ledger.claim("worker", lease_s=60, fetch=True)
    assert claim is not None
    settings = Settings(chunk_chars=1000)
    work = PageWork(store, settings, Embedders(store.collections, settings), asyncio.Semaphore(1))
    return dict(await work.ingest(claim, OnePage(text)))


async def test_a_long_text_is_not_worked_on_in_the_loop(store: SQLiteStore) -> None:
    """Neither when it is new nor when it is looked at again."""
    for again in (False, True):
        text = Watched("Tee für alle. " * 50_000)
        done = await ingest(store, text, again=again)
        assert (done["changed"], done["chars"]) == (not again, len(text))
        assert text.threads
        assert threading.get_ident() not in text.threads


async def test_the_hash_is_that_of_the_stored_text(store: SQLiteStore) -> None:
    """Of the whole, wherever it is cut; broken characters are as they are stored."""
    text = "é\ud800" * 300_000
    await ingest(store, text)
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    expected = text.encode(errors="replace")
    assert stored.document.content_hash == hashlib.sha256(expected).hexdigest()
    last = stored.chunks[-1]
    assert (last.end, last.text) == (len(text), expected.decode()[last.start :])
    assert [chunk.ordinal for chunk in stored.chunks] == list(range(len(stored.chunks)))
