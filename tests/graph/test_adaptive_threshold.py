"""The minimum score of a run, learnt from the decisions in its collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.decided_reviews import COLLECTION, LEXICAL, decide_strictly
from support.review_world import ReviewWorld
from support.scripted_world import INPUT, good_pages, poor_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings, build_graph
from collection_search.adapters.stores.sql.gates import SQLGates
from collection_search.errors import StoreError
from collection_search.ranking.rejudging import explain_judgement
from collection_search.testing import ScriptedAdapter
from collection_search.tools.decisions.run_threshold import find_run_threshold

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore
    from collection_search.contracts.review import Gate

AUTO = {**INPUT, "auto_ingest": True}
JUDGED = explain_judgement(LEXICAL, 12.0, relevance=1.0, reason="It answers.", model="m")


class UnreadableGates(SQLGates):
    """Gates whose decisions cannot be read."""

    def decided(self, *_: Any, **__: Any) -> list[Gate]:
        raise StoreError("the disk is gone")


@pytest.fixture
def world(tmp_path: Path) -> ReviewWorld:
    return ReviewWorld(tmp_path)


def learning(world: ReviewWorld, **ports: Any) -> SearchContext:
    settings = Settings(home=world.folder, adaptive_threshold=True)
    return world.context.model_copy(update={"settings": settings, **ports})


async def ingested_by(context: SearchContext, **given: Any) -> tuple[Any, Any]:
    """Return the receipt and the telemetry of the ingestion."""
    _, output = await CollectionSearchGraph(context).arun(AUTO | given)
    return output["ingestion"], output["telemetry"]["nodes"]["k_auto_ingest"]


def unreadable(world: ReviewWorld) -> SQLiteStore:
    world.store.gates = UnreadableGates(world.store.gates._database, clock=world.clock.time)
    return world.store


async def test_a_learnt_score_is_used_and_told(world: ReviewWorld) -> None:
    """In receipt and telemetry, with the number of decisions."""
    decide_strictly(world.store)
    receipt, facts = await ingested_by(learning(world))
    score = facts["min_score"]
    assert score > 60
    told = f"learnt from 10 decisions of people in this collection: 60 -> {score:g}"
    assert receipt["threshold"] == score
    assert receipt["threshold_reason"] == facts["threshold_reason"] == told


async def test_nothing_is_read_where_it_is_off(world: ReviewWorld) -> None:
    """As it is by default; the run says no more than before."""
    decide_strictly(world.store)
    unreadable(world)
    receipt, facts = await ingested_by(world.context)
    assert (receipt["threshold"], receipt["threshold_reason"]) == (60.0, None)
    assert not {"min_score", "threshold_reason"} & facts.keys()


@pytest.mark.parametrize(
    "where",
    [
        {"tenant": "theirs"},
        {"collection": "other"},
        {"explanation": {"scale": "dense"}},
        {"explanation": JUDGED},
    ],
    ids=["tenant", "collection", "scale", "judged"],
)
async def test_decisions_of_others_do_not_count(world: ReviewWorld, where: dict[str, Any]) -> None:
    """Another tenant's, another collection's, those on another scale or changed by a judge."""
    decide_strictly(world.store, **where)
    receipt, facts = await ingested_by(learning(world))
    assert (receipt["threshold"], facts["min_score"]) == (60.0, 60.0)
    assert receipt["threshold_reason"].startswith("the default: people decided 0 reviews")


async def test_a_deadline_teaches_nothing(world: ReviewWorld) -> None:
    decide_strictly(world.store, decided_by="deadline")
    receipt, _ = await ingested_by(learning(world))
    assert receipt["threshold_reason"].startswith("the default: people decided 0 reviews")


async def test_the_caller_s_own_score_is_obeyed(world: ReviewWorld) -> None:
    decide_strictly(world.store)
    receipt, facts = await ingested_by(learning(world), auto_ingest_min_score=61.0)
    assert (receipt["threshold"], facts["min_score"]) == (61.0, 61.0)
    assert receipt["threshold_reason"] == "as the caller asked; the default is 60"


async def test_decisions_that_cannot_be_read_end_no_run(world: ReviewWorld) -> None:
    context = learning(world, store=unreadable(world))
    receipt, _ = await ingested_by(context)
    assert receipt["threshold"] == 60.0
    cause = "the default: decisions could not be read: the disk is gone"
    assert receipt["threshold_reason"] == cause


async def test_a_refusal_tells_the_learnt_score(world: ReviewWorld) -> None:
    """The fall-back of a learnt score is ten points below it, not at 50."""
    decide_strictly(world.store)
    context = learning(world, provider=ScriptedAdapter(poor_pages()))
    receipt, facts = await ingested_by(context)
    assert receipt["error"]["kind"] == "QualityThresholdError"
    assert f"no result scores {facts['min_score'] - 10:g} or more" in receipt["error"]["message"]
    assert receipt["threshold_reason"].startswith("learnt from 10 decisions")


async def test_the_gate_has_the_learnt_score(world: ReviewWorld) -> None:
    """It is what the policy `approve` takes, and the request says why."""
    decide_strictly(world.store)
    world.context = learning(world)
    paused = await world.facade().arun(INPUT)
    request = paused["request"]
    assert request is not None
    assert request["threshold"] > 60
    reason = request["threshold_reason"]
    assert reason is not None
    assert reason.startswith("learnt from 10 decisions")
    (gate,) = world.store.gates.gates("local", collection=COLLECTION, state="open")
    assert (gate.threshold, gate.threshold_reason) == (request["threshold"], reason)
    world.clock.advance(world.context.using().gate_deadline_h * 3600)
    (swept,) = await world.facade().asweep()
    shown = {one["url"]: one["embedding_rank_score"] for one in swept.candidates}
    reaching = [url for url, score in shown.items() if score >= gate.threshold]
    assert swept.decision["approved_urls"] == reaching


async def test_without_a_gate_the_learnt_score_decides(world: ReviewWorld) -> None:
    """In a graph with `k_trigger_ingestion` alone."""
    decide_strictly(world.store)
    graph = build_graph(review=["k_trigger_ingestion"])
    output = await graph.ainvoke(INPUT, context=learning(world))
    facts = output["telemetry"]["nodes"]["k_trigger_ingestion"]
    assert facts["min_score"] > 60
    assert output["ingestion"]["threshold_reason"] == facts["threshold_reason"]
    assert len(output["ingestion"]["urls"]) <= len(good_pages())


async def test_a_run_with_a_judge_learns_from_judged_scores(world: ReviewWorld) -> None:
    """Also where the best page was clear enough to need no judge."""
    decide_strictly(world.store, explanation=JUDGED)
    state: Any = {
        "auto_ingest_min_score": 60.0,
        "collection_scope": COLLECTION,
        "results": [{"explanation": LEXICAL}, {"explanation": JUDGED}],
    }
    assert (await find_run_threshold(learning(world), state)).is_learnt
    plain = state | {"results": state["results"][:1]}
    assert not (await find_run_threshold(learning(world), plain)).is_learnt
