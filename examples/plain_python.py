"""A question, a collection, and its passages, by plain functions: offline and without a key.

The pages go into the data folder of your settings; `COLLECTION_SEARCH_HOME` names another one.
"""

from __future__ import annotations

import sys

from collection_search import CollectionSearchGraph, retrieve, verify_coverage, wait

QUESTION = "How do I cancel an asyncio task after a timeout?"
COLLECTION = "plain-python"


def main(question: str = QUESTION) -> int:
    """Search, collect, ask; return the exit code."""
    given = {"question": question, "collection_scope": COLLECTION, "auto_ingest": True}
    _, result = CollectionSearchGraph().run(given)
    print(result["summary"])
    if result["ingestion"] is None or result["ingestion"]["ticket"] is None:
        return 3
    status = wait(result["ingestion"]["ticket"], timeout_s=60)
    print(f"\n{status.stored} of {status.count} pages stored")
    for passage in retrieve(question, collection=COLLECTION, k=3):
        print(f"\n[{passage.n}] {passage.title} ({passage.score:.0f})\n    {passage.url}")
    coverage = verify_coverage(question, collection=COLLECTION)
    print(f"\n{coverage['answered_ratio']:.0%} of the queries are answered")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
