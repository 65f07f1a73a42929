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


class Limited(Slow):
    """One that answers no request of more texts in time."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    async def embed(self, texts: Sequence[str]) -> Embedded:
        found = await super().embed(texts)
        if len(texts) > self.most:
            raise ModelError("There is no answer within 3 s.", unavailable=True)
        return found


class Flickering(Slow):
    """One that answers its second request alone."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        found = await super().embed(texts)
        if len(self.calls) != 2:
            raise ModelError("Nobody is there.", unavailable=True)
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


async def test_an_outage_is_no_failure_of_each_document(tmp_path: Path) -> None:
    """A model that answers nobody is asked for one document again, not for each."""
    embedder = Slow(error=ModelError("Nobody is there.", unavailable=True))
    books = Books(tmp_path, embedder)
    found = await asyncio.gather(*(books.vectors(f"{n}") for n in range(9)), return_exceptions=True)
    assert all(isinstance(one, ModelError) for one in found)
    assert [*map(len, embedder.calls)] == [9, 1]


async def test_a_slow_embedder_answers_each_document(tmp_path: Path) -> None:
    """One that has no time for all of them has it for one; later requests are smaller."""
    embedder = Limited(6)
    books = Books(tmp_path, embedder)
    for _ in range(2):
        await asyncio.gather(*(books.vectors(*[f"{n}"] * 2) for n in range(6)))
    sizes = [*map(len, embedder.calls)]
    assert sizes == [12, *[2] * 6, 6, 6]
    assert len(books.opened) == len(sizes)


async def test_a_document_is_never_divided(tmp_path: Path) -> None:
    """The limit of later requests is no lower than the texts of a document."""
    embedder = Limited(5)
    books = Books(tmp_path, embedder)
    for _ in range(2):
        await asyncio.gather(*(books.vectors(*["tea"] * n) for n in (1, 1, 1, 5)))
    sizes = [*map(len, embedder.calls)]
    assert sizes[:5] == [8, 1, 1, 1, 5]
    assert sorted(sizes[5:]) == [3, 5]


async def test_a_refused_text_makes_no_request_smaller(tmp_path: Path) -> None:
    """It would be refused among fewer texts as well."""
    embedder = Slow()
    embedder.refused = "poison"
    books = Books(tmp_path, embedder)
    texts = ["tea", "poison", "rice", "milk"]
    await asyncio.gather(*map(books.vectors, texts), return_exceptions=True)
    embedder.refused = None
    await asyncio.gather(*map(books.vectors, texts))
    assert [*map(len, embedder.calls)] == [4, 1, 1, 1, 1, 4]


async def test_an_outage_among_single_documents_ends_them(tmp_path: Path) -> None:
    """Two requests in a row that nobody answers are enough; what was answered is kept."""
    embedder = Flickering()
    books = Books(tmp_path, embedder)
    found = await asyncio.gather(*(books.vectors(f"{n}") for n in range(9)), return_exceptions=True)
    assert [isinstance(one, ModelError) for one in found] == [False, *[True] * 8]
    assert len(embedder.calls) == 4


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
    monkeypatch.setattr(embedding_batches, "MOST_TEXTS", 4)
    embedder = Slow()
    books = Books(tmp_path, embedder)
    found = await asyncio.gather(*(books.vectors(*["tea"] * n) for n in (1, 1, 2, 2, 1, 9, 1)))
    assert [*map(len, found)] == [1, 1, 2, 2, 1, 9, 1]
    assert sorted(map(len, embedder.calls)) == [1, 3, 4, 9]
