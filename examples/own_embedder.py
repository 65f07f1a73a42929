"""An embedder of your own ranks, and fills a collection: hashed parts of words, without weights."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from collection_search import CollectionSearchGraph, SearchContext, retrieve, wait
from collection_search.contracts.collection import Embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

DIMENSION: Final = 256
PART: Final = 3
QUESTION: Final = "How do I cancel an asyncio task after a timeout?"
COLLECTION: Final = "own-embedder"


class HashedParts:
    """Counts the parts of words in the places that their hashes name."""

    fingerprint = f"hashed-parts:{DIMENSION}"
    """Name and dimension: equal ones mean that vectors can be compared."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return one vector of length one for each text."""
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            padded = f" {text.lower()} "
            for start in range(len(padded) - PART + 1):
                part = padded[start : start + PART].encode(errors="replace")
                row[zlib.crc32(part) % DIMENSION] += 1
            row[0] += 1  # no text has the vector zero
            row[:] = row / np.linalg.norm(row)
        return Embedded(vectors, input_tokens=None)


def main(question: str = QUESTION) -> int:
    """Search, collect and ask with the embedder; return the exit code."""
    context = SearchContext(embeddings=HashedParts())
    given = {"question": question, "collection_scope": COLLECTION, "auto_ingest": True}
    _, result = CollectionSearchGraph(context).run(given)
    ranking = result["telemetry"]["nodes"]["k_embedding_rank"]
    print(f"{ranking['embedder']}: {ranking.get('model_not_used') or 'ranked the pages'}")
    if result["ingestion"] is None or result["ingestion"]["ticket"] is None:
        return 3
    wait(result["ingestion"]["ticket"], timeout_s=60, context=context)
    best = retrieve(question, collection=COLLECTION, context=context, k=1)[0]
    print(f"{best.title}: {best.url}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
