"""Reviews that people decided, in a real store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from collection_search.contracts.review import Gate
from collection_search.text.timestamps import iso_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from collection_search.contracts.review import Review, ReviewCandidate
    from collection_search.ports import Storage

LEXICAL = {"scale": "lexical", "model": None}
TENANT = "local"
COLLECTION = "software_docs"


def shown_page(name: str, score: float, **facts: Any) -> ReviewCandidate:
    """Return a candidate of a review."""
    page = {
        "url": f"https://docs.example.com/{name}",
        "title": f"About {name}",
        "snippet": f"What {name} is.",
        "source": "docs.example.com",
        "is_pdf": False,
        "in_collection": False,
        "embedding_rank_score": score,
        "embedding_similarity": 0.5,
        "heuristic_score": score,
        "explanation": LEXICAL,
    }
    return cast("ReviewCandidate", page | facts)


def decide_review(
    store: Storage,
    name: str,
    pages: Mapping[str, tuple[float, bool]],
    *,
    tenant: str = TENANT,
    collection: str = COLLECTION,
    decided_by: str = "person",
    added: tuple[str, ...] = (),
    after_s: float = 60.0,
    **facts: Any,
) -> Gate:
    """Open a review of pages, each with its score and whether it is approved, and decide it."""
    shown = [shown_page(page, score, **facts) for page, (score, _) in pages.items()]
    opened = store.gates.open(open_gate(name, shown, tenant=tenant, collection=collection))
    approved = [one["url"] for one in shown if pages[one["title"].removeprefix("About ")][1]]
    review = {
        "gate_id": name,
        "status": "partial" if approved or added else "rejected",
        "approved_urls": approved,
        "added_urls": list(added),
        "approver": "ann",
        "decided_by": decided_by,
        "comment": None,
        "decided_at": iso_time(opened.opened_at + after_s),
        "deadline": None,
        "round": 1,
    }
    return store.gates.decide(tenant, name, cast("Review", review))


def open_gate(
    name: str,
    shown: list[ReviewCandidate],
    *,
    tenant: str = TENANT,
    collection: str = COLLECTION,
) -> Gate:
    """Return a gate to open."""
    return Gate(
        gate_id=name,
        tenant_id=tenant,
        collection=collection,
        question=f"What is {name}?",
        round=1,
        host="process",
        thread_id=None,
        run_id="run",
        trace_id="trace",
        candidates=shown,
        threshold=60.0,
        deadline=4_000_000_000.0,
        policy="approve",
    )


def decide_strictly(store: Storage, count: int = 10, **facts: Any) -> None:
    """Decide reviews in which people approve pages from about 75 points on only."""
    prefix = "-".join(str(one) for one in facts.values() if isinstance(one, str))
    for number in range(count):
        pages = {
            f"page-{number}-{place}": (score, score > 75)
            for place, score in enumerate((92.0, 85.0, 73.0, 70.0, 66.0, 62.0))
        }
        decide_review(store, f"strict-{prefix}-{number}", pages, **facts)
