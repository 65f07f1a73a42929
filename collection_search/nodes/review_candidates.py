"""What a review is about: the ranked results, and which of them the collection has already."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..contracts.collection import TenantScope
from ..runtime.concurrency import offload
from ..text.loose_keys import current_key
from ..text.question_mask import QuestionMask, is_masked
from ..text.urls import url_key
from .receipts import candidates_of

if TYPE_CHECKING:
    from ..contracts.review import Gate, ReviewCandidate
    from ..contracts.state import CollectionSearchState, RankedResult
    from .stage import StageRun


def review_round(state: CollectionSearchState) -> int:
    """Return the number of this search of the run, from 1."""
    coverage = state.get("coverage")
    return 1 if coverage is None else coverage["round"] + 1


def round_id(tenant_id: str, state: CollectionSearchState) -> str:
    """Return the id of this round of the run, which is the same whenever the run goes on."""
    run_id = state["ids"]["run_id"]
    return _gate_id(tenant_id, run_id, state["started_at"], review_round(state))


def gate_id(tenant_id: str, state: CollectionSearchState) -> str:
    """Return the id of this round's gate: another question, collection or page is another gate."""
    urls = sorted(result["url"] for result in state["results"])
    asked = (state["question"], state["collection_scope"], *urls)
    return _gate_id(round_id(tenant_id, state), *asked)


def asks_for(gate: Gate, state: CollectionSearchState) -> bool:
    """Return whether a run with this state asks what the gate asks.

    The gates of earlier versions have the id of their round, and may mask other words.
    """
    if gate.gate_id != round_id(gate.tenant_id, state):
        return gate.gate_id == gate_id(gate.tenant_id, state)
    urls = {result["url"] for result in state["results"]}
    question = QuestionMask.of(state).mask(state["question"])
    return (
        {candidate["url"] for candidate in gate.candidates} == urls
        and gate.collection == state["collection_scope"]
        and (gate.question == question or is_masked(gate.question))
    )


def _gate_id(*made_of: object) -> str:
    return f"gate-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:20]}"


async def review_candidates(state: CollectionSearchState, run: StageRun) -> list[ReviewCandidate]:
    """Return the ranked results as a person reviews them, best first.

    Raises StoreError, and InputError for a result that is no candidate.
    """
    found = candidates_of(state["results"], state["candidates"])
    keys = {url: current_key(url, one["url_key"]) for url, one in found.items()}
    store = await run.context.storage()
    scope = TenantScope(run.context.tenant(), state["collection_scope"])
    wanted = [keys[result["url"]] for result in state["results"]]
    stored = await offload(store.collections.get, scope, wanted)
    known = {
        key for document, _ in stored for key in (document.url_key, *map(url_key, document.also_at))
    }
    return [
        _candidate(result, in_collection=keys[result["url"]] in known)
        for result in state["results"]
    ]


def _candidate(result: RankedResult, *, in_collection: bool) -> ReviewCandidate:
    candidate: ReviewCandidate = {
        "url": result["url"],
        "title": result["title"],
        "snippet": result["snippet"],
        "source": result["source"],
        "is_pdf": result["is_pdf"],
        "in_collection": in_collection,
        "embedding_rank_score": result["embedding_rank_score"],
        "embedding_similarity": result["embedding_similarity"],
        "heuristic_score": result["heuristic_score"],
        "explanation": result["explanation"],
    }
    if "criteria" in result:
        candidate["criteria"] = result["criteria"]
    return candidate
