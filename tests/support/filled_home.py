"""A data folder with many documents and many open gates, written through the stores."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any, Final

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.contracts.review import Gate, ReviewCandidate

if TYPE_CHECKING:
    from pathlib import Path

TENANT: Final = "local"
LARGE: Final = "large"
DOCUMENTS: Final = 5_000
GATES: Final = 200
DAY_S: Final = 86_400.0


def fill(home: Path, *, documents: int = DOCUMENTS, gates: int = GATES) -> None:
    """Write the documents into the collection `large`, and gates for it."""
    home.mkdir(parents=True, exist_ok=True)
    store = SQLiteStore(home / "collections.db")
    try:
        scope = TenantScope(TENANT, LARGE)
        for n in range(documents):
            store.collections.replace_document(scope, *_page(n))
        for n in range(gates):
            store.gates.open(_gate(n))
    finally:
        store.close()


def _page(n: int) -> tuple[Document, list[Chunk]]:
    text = f"Page {n} is about the heron number {n}, which stands in shallow water."
    digest = hashlib.sha256(text.encode()).hexdigest()
    facts = {"fetched_at": "2026-11-20T08:00:00+00:00"}
    page = Document(f"https://birds.example/{n}", f"birds.example/{n}", f"Heron {n}", digest, facts)
    return page, [Chunk(0, text, 0, len(text))]


def _gate(n: int) -> Gate:
    facts: dict[str, Any] = {
        "candidates": [_candidate(n, place) for place in range(5)],
        "threshold": 60.0,
        "deadline": time.time() + 30 * DAY_S,
        "policy": "keep_pending",
    }
    return Gate(
        f"gate-{n}",
        TENANT,
        LARGE,
        f"What does heron number {n} eat?",
        1,
        "process",
        f"thread-{n}",
        f"run-{n}",
        f"{n:032x}",
        **facts,
    )


def _candidate(n: int, place: int) -> ReviewCandidate:
    score = 90.0 - 10 * place
    return {
        "url": f"https://birds.example/{n}/{place}",
        "title": f"Heron {n}, part {place}",
        "snippet": f"What heron number {n} eats, part {place}.",
        "source": "birds.example",
        "is_pdf": False,
        "in_collection": False,
        "embedding_rank_score": score,
        "embedding_similarity": score / 100,
        "heuristic_score": score,
        "explanation": {},
    }
