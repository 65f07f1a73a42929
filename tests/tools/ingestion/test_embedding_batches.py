"""Documents that are embedded together: each gets its own vectors, or its own error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from collection_search import SearchContext, Settings
from collection_search.errors import ModelError
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingestion import embedding_batches
from collection_search.tools.ingestion.embedding_batches import AT_ONCE, EmbeddingBatches
from collection_search.tools.spending.account import Account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from collection_search.contracts.collection import Embedded, Vectors


class Slow(ScriptedEmbedder):
    """One that lets others come meanwhile, and refuses one text."""

    refused: str | None = None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        await asyncio.sleep(0.01)
        found = await super().embed(texts)
        if self.refused in texts:
            raise ModelError("The text is refused.", unavailable=False)
        return found


class Books:
    """Embeds for payers, and counts the accounts that are opened."""

    def __init__(self, home: Path, embedder: ScriptedEmbedder) -> None:
        self.context = SearchContext(settings=Settings(home=home))
        self.embedder = embedder
        self.batches = EmbeddingBatches()
        self.opened: list[str] = []

    async def vectors(self, *texts: str, payer: str = "run") -> Vectors:
        async def account() -> Account:
            self.opened.append(payer)
            return Account(self.context, self.context.ids())

        return await self.batches.vectors(self.embedder, texts, payer=payer, account=account)


async def test_documents_share_requests(tmp_path: Path) -> None:
    """What comes while requests are under way goes into one; all get what they had alone."""
    embedder = Slow()
    books = Books(tmp_path, embedder)
    documents = [(f"tea {n}", f"rice {n}") for n in range(12)]
    found = await asyncio.gather(*(books.vectors(*texts) for texts in documents))
    assert len(embedder.calls) <= AT_ONCE + 1
    assert sum(map(len, embedder.calls)) == 24
    for texts, vectors in zip(documents, found, strict=True):
        alone = await ScriptedEmbedder().embed(texts)
        np.testing.assert_allclose(vectors, alone.vectors, rtol=1e-6)


async def test_payers_share_nothing(tmp_path: Path) -> None:
    """A request has the texts of one payer, whose account pays for it."""
    embedder = Slow()
    books = Books(tmp_path, embedder)
    payers = ["one", "two"] * 6
    await asyncio.gather(*(books.vectors(f"{payer} tea", payer=payer) for payer in payers))
    for call in embedder.calls:
        assert len({text.split()[0] for text in call}) == 1
    assert len(books.opened) == len(embedder.calls)


async def test_a_refused_text_is_the_failure_of_its_document(tmp_path: Path) -> None:
    """The others are asked for alone."""
    embedder = Slow()
    embedder.refused = "poison"
    books = Books(tmp_path, embedder)
    texts = ["a", "b", "tea", "poison", "rice"]
    found: list[Any] = await asyncio.gather(*map(books.vectors, texts), return_exceptions=True)
    assert [isinstance(one, ModelError) for one in found] == [text == "poison" for text in texts]


async def test_an_outage_is_asked_about_once(tmp_path: Path) -> None:
    """A model that answers nobody is not asked again for each document."""
    embedder = Slow(error=ModelError("Nobody is there.", unavailable=True))
    books = Books(tmp_path, embedder)
    found = await asyncio.gather(*(books.vectors(f"{n}") for n in range(9)), return_exceptions=True)
    assert all(isinstance(one, ModelError) for one in found)
    assert len(embedder.calls) <= AT_ONCE + 1


async def test_a_document_that_is_given_up_stops_no_other(tmp_path: Path) -> None:
    """Its task ends at once, and it is not asked for if it has waited."""
    embedder = Slow()
    books = Books(tmp_path, embedder)
    tasks = [asyncio.create_task(books.vectors(text)) for text in ("a", "b", "c", "d")]
    await asyncio.sleep(0)
    tasks[2].cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found[2], asyncio.CancelledError)
    assert [call for call in embedder.calls if "c" in call] == []
    assert all(len(one) == 1 for one in (found[0], found[1], found[3]))  # type: ignore[arg-type]


async def test_requests_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document with more texts has a request of its own."""
    monkeypatch.setattr(embedding_batches, "MAX_TEXTS", 4)
    embedder = Slow()
    books = Books(tmp_path, embedder)
    found = await asyncio.gather(*(books.vectors(*["tea"] * n) for n in (1, 1, 2, 2, 1, 9, 1)))
    assert [*map(len, found)] == [1, 1, 2, 2, 1, 9, 1]
    assert sorted(map(len, embedder.calls)) == [1, 3, 4, 9]
