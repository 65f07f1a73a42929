"""Gaps of a collection become the queries of a further round, within the bound of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.review_world import ReviewWorld, Thread

from collection_search import build_graph
from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.testing import ScriptedQueryModel

if TYPE_CHECKING:
    from pathlib import Path

TEA = "How long does green tea steep?"
KETTLE = "descale an electric kettle with vinegar"
INPUT = {"question": TEA, "collection_scope": "kitchen"}
TEA_PAGE = ProviderSearchResult(
    url="https://tea.example.org/green",
    title="Steeping green tea",
    snippet="How long green tea steeps: two minutes at eighty degrees.",
    source="tea.example.org",
    content="Green tea steeps for two minutes at eighty degrees. Longer steeping makes it bitter.",
)
KETTLE_PAGE = ProviderSearchResult(
    url="https://kettle.example.org/lime",
    title="Descale an electric kettle",
    snippet="Descale an electric kettle with vinegar and water, then rinse it twice.",
    source="kettle.example.org",
    content=(
        "To descale an electric kettle, boil vinegar with water in it and leave it for an hour."
        " Then rinse the kettle twice."
    ),
)


class Web:
    """A provider whose pages change."""

    provider_name = "offline"

    def __init__(self) -> None:
        self.pages = [TEA_PAGE]
        self.asked: list[str] = []

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return all pages for every query."""
        self.asked.append(query)
        return SearchAdapterResponse(self.pages[:max_results], status_code=200)


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def world(tmp_path: Path, web: Web) -> ReviewWorld:
    world = ReviewWorld(tmp_path)
    world.context = world.context.model_copy(
        update={
            "provider": web,
            "trigger": None,
            "settings": world.context.using().model_copy(update={"coverage_timeout_s": 60.0}),
            "model": ScriptedQueryModel([TEA, "green tea steeping time", KETTLE]),
        }
    )
    return world


def thread_of(world: ReviewWorld) -> Thread:
    return Thread(build_graph(review=True, checkpointer=InMemorySaver()), world.context)


async def test_a_gap_is_searched_for_and_closed(world: ReviewWorld, web: Web) -> None:
    """What the collection does not answer is searched anew, reviewed again, and then answered."""
    thread = thread_of(world)
    await thread.start({**INPUT, "max_rounds": 2})
    web.pages = [KETTLE_PAGE, TEA_PAGE]
    paused = await thread.answer(status="approved", approver="ann")
    first = paused.value["coverage"]
    assert first["gaps"] == [KETTLE]
    assert first["round"] == 1
    (interrupt,) = paused.interrupts
    assert interrupt.value["round"] == 2
    assert [one["url"] for one in interrupt.value["candidates"]] == [KETTLE_PAGE.url]
    assert web.asked[3:]
    assert set(web.asked) <= set(first["searched"])
    ended = await thread.answer(status="approved", approver="bob")
    assert ended.value["outcome"] == "coverage_verified"
    assert ended.value["coverage"]["gaps"] == []
    assert ended.value["coverage"]["round"] == 2
    assert ended.value["review"]["approver"] == "bob"
    nodes = ended.value["telemetry"]["nodes"]
    assert [nodes[name]["visits"] for name in ("k_hitl_gate", "k_verify_coverage")] == [2, 2]
    tokens = [nodes[name]["input_tokens"] for name in ("k_generate_strategy", "k_verify_coverage")]
    assert all(tokens)  # the second search was planned too
    assert ended.value["telemetry"]["input_tokens"] == sum(tokens)


@pytest.mark.parametrize("max_rounds", [0, 1])
async def test_the_rounds_are_bounded(world: ReviewWorld, web: Web, max_rounds: int) -> None:
    """A gap that stays open ends the run after the last round, as `coverage_incomplete`."""
    other = replace(KETTLE_PAGE, url="https://other.example.org/x", title="Soup", snippet="Soup.")
    thread = thread_of(world)
    state: Any = await thread.start({**INPUT, "max_rounds": max_rounds})
    web.pages = [replace(other, content="Soup of potatoes and onions.")]
    gates = 0
    while state.interrupts:
        gates += 1
        state = await thread.answer(status="approved")
    assert gates == max_rounds + 1
    assert state.value["outcome"] == "coverage_incomplete"
    assert state.value["coverage"]["gaps"] == [KETTLE]


async def test_a_round_that_finds_nothing_new_ends_the_run(world: ReviewWorld, web: Web) -> None:
    """Pages that were decided on are not asked about again."""
    thread = thread_of(world)
    await thread.start({**INPUT, "max_rounds": 3})
    ended = await thread.answer(status="approved")
    assert not ended.interrupts
    assert ended.value["outcome"] == "coverage_incomplete"
    assert ended.value["search"]["result_count"] == 0
    assert ": no further page found. Before: 1 ranked, best score " in ended.value["summary"]
    coverage = ended.value["coverage"]
    assert coverage["next_queries"] == []
    assert set(web.asked) <= {*coverage["searched"], TEA}


async def test_the_twin_of_a_page_is_not_asked_about_later(world: ReviewWorld, web: Web) -> None:
    """An address with the same title and snippet is decided on with the first one."""
    twin = replace(web.pages[0], url=f"{web.pages[0].url}?a=1")
    web.pages = [*web.pages, twin]
    thread = thread_of(world)
    await thread.start({**INPUT, "max_rounds": 3})
    web.pages = [twin]
    ended = await thread.answer(status="approved")
    assert not ended.interrupts
    assert ended.value["search"]["result_count"] == 0


async def test_what_was_rejected_does_not_come_back(world: ReviewWorld, web: Web) -> None:
    """Not in the round after the next one either; what was ingested before stays the outcome."""
    web.pages = [TEA_PAGE, replace(KETTLE_PAGE, url="https://other.example.org/soup")]
    thread = thread_of(world)
    paused = await thread.start({**INPUT, "max_rounds": 3})
    first = [one["url"] for one in paused.interrupts[0].value["candidates"]]
    web.pages = [*web.pages, replace(KETTLE_PAGE, content="Soup.", title="Soup", snippet="Soup.")]
    paused = await thread.answer(status="partial", approved_urls=[TEA_PAGE.url])
    second = [one["url"] for one in paused.interrupts[0].value["candidates"]]
    assert second == [KETTLE_PAGE.url]
    assert not set(first) & set(second)
    ended = await thread.answer(status="rejected")
    assert ended.value["outcome"] == "coverage_incomplete"
    assert ended.value["review"]["status"] == "rejected"
