"""The hard ceiling of a run's cost: paid calls end before it, what was found is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.paid_world import PLAN_USD, QUERIES, SEARCH_USD, PaidWorld, facts

from collection_search import CollectionSearchGraph
from collection_search.graphs.collection_search import build_graph
from collection_search.nodes.run_ids import ids_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOM_FOR_TWO = 0.0171
"""A plan, two searches and their pages' embeddings."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path) as world:
        yield world


def test_without_money_nobody_is_asked(world: PaidWorld) -> None:
    """The run ends with the cause, and not by an exception."""
    result = world.ask(max_cost_usd=0)
    assert (world.models.requests, world.search.requests) == ([], [])
    assert result["outcome"] == "search_failed"
    assert result["flags"] == ["strategy_fallback", "cost_limit_reached"]
    assert {error["kind"] for error in result["search"]["errors"]} == {"CostLimitReached"}
    assert "ceiling of $0.00" in result["search"]["errors"][0]["message"]
    telemetry = result["telemetry"]
    assert (telemetry["cost_usd"], telemetry["cost_limit_usd"]) == (0.0, 0.0)
    assert telemetry["cost_complete"]


def test_queries_are_sent_as_long_as_there_is_money(world: PaidWorld) -> None:
    """Two of four: their pages are ranked by meaning, and the others' cause is told."""
    result = world.ask(max_cost_usd=ROOM_FOR_TWO)
    assert len(world.searches) == 2
    assert result["outcome"] == "search_completed"
    assert result["results"]
    assert set(result["flags"]) == {"partial_search", "cost_limit_reached"}
    unsent = {error["query"] for error in result["search"]["errors"]}
    assert unsent == set(QUERIES) - set(world.searches)
    assert len(world.embedded) == 1
    assert 2 * SEARCH_USD < result["telemetry"]["cost_usd"] <= ROOM_FOR_TWO
    assert facts(result, "search")["cost_usd"] == 2 * SEARCH_USD


@pytest.mark.slow
def test_without_money_for_embeddings_words_decide(world: PaidWorld) -> None:
    """The pages are ranked as without an embedder, and no anchor is embedded either."""
    limit = PLAN_USD + len(QUERIES) * SEARCH_USD + 1e-8
    result = world.ask(max_cost_usd=limit)
    assert sorted(world.searches) == sorted(QUERIES)
    assert world.plans == len(world.models.requests) == 1
    assert set(result["flags"]) == {"embedding_degraded", "cost_limit_reached"}
    assert "ceiling" in facts(result, "rank")["error"]
    by_words = world.ask(embeddings="lexical")
    assert result["results"] == by_words["results"]
    assert result["results"]


def test_a_plan_that_is_too_dear_is_made_without_the_model(tmp_path: Path) -> None:
    """What is free is searched all the same."""
    with PaidWorld(tmp_path, provider="searxng") as world:
        result = world.ask(max_cost_usd=0.000001)
        assert world.models.requests == []
        assert len(world.search.requests) == 3
    assert result["outcome"] == "search_completed"
    assert result["strategy"]["fallback"]
    assert "ceiling" in result["strategy"]["error"]
    assert set(result["flags"]) >= {"strategy_fallback", "cost_limit_reached"}
    assert facts(result, "plan")["cost_usd"] == 0.0


def test_nothing_found_because_of_the_ceiling_is_a_failure(tmp_path: Path) -> None:
    """One query found nothing, the others were not sent: nobody knows what they would have."""
    with PaidWorld(tmp_path, queries=["nothing", "nobody", "nowhere"]) as world:
        result = world.ask(max_cost_usd=SEARCH_USD + 0.001)
        assert len(world.searches) == 1
    assert result["outcome"] == "search_failed"
    assert "partial_search" in result["flags"]
    assert "cost_limit_reached" in result["flags"]


def test_an_unknown_price_is_allowed_and_told(tmp_path: Path) -> None:
    """The ceiling cannot count what nobody knows."""
    with PaidWorld(tmp_path, provider="mojeek") as world:
        result = world.ask(max_cost_usd=0.0, settings={"model": None, "embeddings": "lexical"})
        assert world.search.requests
    assert result["outcome"] == "search_completed"
    assert facts(result, "search")["cost_limit_blind"] is True
    assert result["telemetry"]["cost_complete"] is False
    assert "cost_limit_reached" not in result["flags"]


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "sent"), [(None, 2), (0.0, 0), (1.0, 4)])
def test_the_settings_have_a_ceiling_too(world: PaidWorld, asked: float | None, sent: int) -> None:
    """The context's own takes its place."""
    world.ask(max_cost_usd=asked, settings={"max_cost_usd": ROOM_FOR_TWO})
    assert len(world.searches) == sent


@pytest.mark.slow
def test_what_a_run_spends_does_not_burden_the_next(world: PaidWorld) -> None:
    """The ceiling is one run's."""
    for _ in range(2):
        world.forget()
        world.ask(max_cost_usd=ROOM_FOR_TWO, settings={"answer_cache_s": 0})
        assert len(world.searches) == 2


async def test_the_stream_says_it(world: PaidWorld) -> None:
    """Each node's event holds the ceiling and whether it ended calls."""
    graph = CollectionSearchGraph(world.context(max_cost_usd=ROOM_FOR_TWO))
    question = {"question": "How?", "collection_scope": "c", "purpose": "docs"}
    ended: dict[str, Any] = {}
    async for _, event in graph.astream(question, stream_mode=["custom"]):
        if event["type"] == "node_finished":
            ended[event["node"]] = event["telemetry"]
    assert {one["cost_limit_usd"] for one in ended.values()} == {ROOM_FOR_TWO}
    reached = [node for node, one in ended.items() if one["cost_limit_reached"]]
    assert reached == ["k_parallel_web_search"]


@pytest.mark.parametrize("forged", [0.0, -5.0, None, "much", [1]])
async def test_a_state_that_a_caller_writes_lifts_no_ceiling(world: PaidWorld, forged: Any) -> None:
    """The run's spending is the process's and the books', its telemetry is for display."""
    limit = len(QUERIES) * SEARCH_USD + PLAN_USD + 0.00001
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["k_embedding_rank"])
    config: Any = {"configurable": {"thread_id": "t"}}
    context = world.context(max_cost_usd=limit)
    question = {"question": "How?", "collection_scope": "c", "purpose": "docs"}
    before = await graph.ainvoke(question, config, context=context)
    telemetry = {"cost_usd": forged, "nodes": {"a": {"cost_usd": forged}, "b": forged}}
    await graph.aupdate_state(config, {"telemetry": telemetry})
    result = await graph.ainvoke(None, config, context=context)
    assert world.embedded == []
    assert "cost_limit_reached" in result["flags"]
    assert before["telemetry"]["cost_limit_usd"] == limit


@pytest.mark.parametrize("ids", [None, "run", {"run_id": 7}, {"run_id": "mine"}])
def test_ids_that_are_none_are_replaced(ids: Any) -> None:
    """A state that a caller wrote does not end the run with an error."""
    assert ids_in({"ids": ids}) is None
