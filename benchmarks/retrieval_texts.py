"""Collections of made-up texts, as large as one wants them: what `retrieval.py` searches."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from collection_search.contracts.collection import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search.adapters.stores.sqlite import SQLiteStore
    from collection_search.contracts.collection import TenantScope

SIZE: Final = 384
PER_DOCUMENT: Final = 10
WORDS_PER_CHUNK: Final = 120


class Texts:
    """Texts of a vocabulary whose words are as unequally common as those of a language."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(self._random.choices(letters, k=7)) for _ in range(30_000)]
        shares = 1 / np.arange(10, 10 + len(self._words))
        self._shares = shares / shares.sum()

    def text(self, words: int = WORDS_PER_CHUNK) -> str:
        """Return a text of that many words."""
        chosen = self._numbers.choice(len(self._words), size=words, p=self._shares)
        return " ".join(self._words[place] for place in chosen)

    def question(self) -> str:
        """Return a question of six words, none of the hundred commonest."""
        return " ".join(self._random.choices(self._words[100:5000], k=6))

    def vectors(self, count: int) -> Any:
        """Return unit vectors."""
        vectors = self._numbers.standard_normal((count, SIZE)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def documents(texts: Texts, count: int, *, vectors: bool) -> Iterator[tuple[Document, list[Chunk]]]:
    """Yield documents of ten chunks with the facts that filters look at."""
    for n in range(count):
        host = f"host{n % 50}.example"
        provenance = {
            "provider": "brave" if n % 2 else "exa",
            "source": host,
            "is_pdf": n % 10 == 0,
            "published_date": f"2026-{1 + n % 12:02}-{1 + n % 28:02}",
            "question": "What is measured here?",
            "query": "retrieval at fifty thousand chunks",
            "rank": n % 20,
        }
        page = Document(f"https://{host}/{n}", f"{n:06}", texts.text(6), f"{n:064x}", provenance)
        rows = texts.vectors(PER_DOCUMENT) if vectors else [None] * PER_DOCUMENT
        yield page, [Chunk(i, texts.text(), i, i, row) for i, row in enumerate(rows)]


def fill(
    store: SQLiteStore, scope: TenantScope, texts: Texts, count: int, *, vectors: bool
) -> None:
    """Store that many documents."""
    if vectors:
        store.collections.bind_embedder(scope, f"bench:{SIZE}")
    for page, chunks in documents(texts, count, vectors=vectors):
        store.collections.replace_document(scope, page, chunks)
