"""The review graph: a person or a deadline decides, and only then is anything ingested."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from support.review_world import ADDED, DAY_S, ReviewWorld, Thread
from support.scripted_world import INPUT, fair_pages, good_pages, poor_pages
from typing_extensions import TypedDict

from collection_search import SearchContext, build_graph
from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.contracts.review import DeadlinePolicy, ReviewStatus
from collection_search.errors import (
    AlreadyDecidedError,
    ConfigError,
    IngestError,
    InputError,
    SearchProviderUnavailable,
)
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.graphs.collection_search import DORMANT
from collection_search.graphs.research_agent import graph as research_agent
from collection_search.graphs.review_sweep import LEFT_S
from collection_search.graphs.universal_ingestion import graph as universal_ingestion
from collection_search.nodes.review_candidates import round_id
from collection_search.settings.run_seal import seal_ids
from collection_search.testing import RecordingTrigger, ScriptedAdapter
from collection_search.text.loose_keys import loose_url_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from collection_search.contracts.review import Gate

BEFORE = [
    *("k_generate_strategy", "k_parallel_web_search", "k_embedding_rank"),
    *("k_premium_rank", "k_check_criteria"),
]
"""The nodes before a decision."""
ACTIVE = [*BEFORE, "k_auto_ingest"]


@pytest.fixture
def world(tmp_path: Path) -> ReviewWorld:
    return ReviewWorld(tmp_path)


def thread_of(world: ReviewWorld, **options: Any) -> Thread:
    graph = build_graph(review=True, checkpointer=InMemorySaver())
    return Thread(graph, world.context, **options)


def nodes_of(graph: Any) -> list[str]:
    return [name for name in graph.get_graph().nodes if name.startswith("k_")]


# What the graphs are made of.


def test_the_default_graph_has_no_dormant_node() -> None:
    """Nothing of the review is in the active flow."""
    assert nodes_of(build_graph()) == ACTIVE
    assert not DORMANT & set(nodes_of(build_graph()))


def test_the_review_graph_has_all_of_them() -> None:
    """The gate, the trigger and the coverage check follow the ranking, in this order."""
    graph = build_graph(review=True)
    assert nodes_of(graph) == [
        *BEFORE,
        "k_hitl_gate",
        "k_trigger_ingestion",
        "k_verify_coverage",
    ]
    assert graph.name == "collection_review"


@pytest.mark.parametrize(
    ("inserted", "expected"),
    [
        (["k_hitl_gate"], [*BEFORE, "k_hitl_gate"]),
        (["k_trigger_ingestion"], [*BEFORE, "k_trigger_ingestion"]),
        (["k_verify_coverage"], [*ACTIVE, "k_verify_coverage"]),
        (["k_verify_coverage", "k_hitl_gate"], [*BEFORE, "k_hitl_gate", "k_verify_coverage"]),
    ],
)
def test_each_dormant_node_can_be_inserted_alone(inserted: Any, expected: list[str]) -> None:
    """Any of them, in their places."""
    assert nodes_of(build_graph(review=inserted)) == expected


def test_an_unknown_node_is_refused() -> None:
    """A misspelt name is no empty choice."""
    with pytest.raises(InputError, match=r"a set of nodes: review={'k_hitl_gate'}"):
        build_graph(review="k_hitl_gate")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no dormant node 'k_gate'"):
        build_graph(review=["k_gate"])  # type: ignore[list-item]


def test_conditional_edges_carry_words() -> None:
    """The drawing says when which way is taken, in every graph."""
    for graph in (build_graph(), build_graph(review=True), universal_ingestion, research_agent):
        for edge in graph.get_graph().edges:
            assert bool(edge.data) == edge.conditional
    drawn = build_graph(review=True).get_graph().draw_mermaid()
    for words in ("nothing found", "pages approved", "nothing approved", "gaps to search for"):
        assert words in drawn


# What a person is asked.


async def test_the_request_tells_all_of_each_candidate(world: ReviewWorld) -> None:
    """Title, URL, scores and why, snippet, PDF and whether the collection has the page."""
    pages = good_pages(2)
    pages[1].url = "https://docs.example.com/manual.pdf"
    world.adapter = ScriptedAdapter(pages)
    world.context = world.context.model_copy(update={"provider": world.adapter})
    paused = await thread_of(world).start()
    assert paused.value["outcome"] == "review_pending"
    (interrupt,) = paused.interrupts
    request = interrupt.value
    assert (request["type"], request["question"]) == ("collection_review", INPUT["question"])
    assert (request["threshold"], request["deadline_policy"]) == (60.0, "approve")
    assert request["deadline"] == "2023-11-15T22:13:20Z"  # a day after the clock's begin
    by_url = {one["url"]: one for one in request["candidates"]}
    assert by_url[pages[1].url]["is_pdf"] is True
    first = request["candidates"][0]
    assert first["title"] == pages[0].title
    assert first["snippet"].startswith("How to cancel an asyncio task")
    assert first["in_collection"] is False
    assert first["embedding_rank_score"] >= first["heuristic_score"] * 0.4
    assert first["explanation"]
    assert interrupt.response_schema == request["response_schema"]
    choices = request["response_schema"]["properties"]["approved_urls"]["items"]["enum"]
    assert choices == [one["url"] for one in request["candidates"]]


async def test_a_page_that_is_stored_is_marked(world: ReviewWorld) -> None:
    """A second review of the same question shows what the collection has."""
    context = world.context.model_copy(update={"trigger": None})
    thread = Thread(build_graph(review=True, checkpointer=InMemorySaver()), context)
    await thread.start()
    url = good_pages()[0].url
    scope_pages = [(url, "A text about tasks and timeouts that is long enough to be stored.")]
    store_pages(world, scope_pages)
    thread.config = {"configurable": {"thread_id": "another"}}
    paused = await thread.start()
    known = {one["url"]: one["in_collection"] for one in paused.interrupts[0].value["candidates"]}
    assert [url for url, is_known in known.items() if is_known] == [url]


def store_pages(world: ReviewWorld, pages: list[tuple[str, str]]) -> None:
    from collection_search.contracts.collection import Chunk, Document, TenantScope
    from collection_search.text.urls import url_key

    scope = TenantScope("local", INPUT["collection_scope"])
    for url, text in pages:
        document = Document(url, url_key(url), "Title", "0" * 64)
        world.store.collections.replace_document(scope, document, [Chunk(0, text, 0, len(text))])


async def test_nothing_is_ingested_before_the_answer(world: ReviewWorld) -> None:
    """At the gate the ledger is empty; only the gate itself is stored."""
    await thread_of(world).start()
    assert world.trigger.requests == []
    assert world.store.collections.collections("local") == []
    (gate,) = world.store.gates.gates("local")
    assert (gate.state, gate.thread_id, gate.host) == ("open", "thread", "process")


# The decisions: the status row of the gate.


DECISIONS: dict[ReviewStatus, tuple[dict[str, Any], str, int]] = {
    "pending": ({}, "review_pending", 0),
    "approved": ({}, "coverage_incomplete", 6),
    "rejected": ({}, "review_rejected", 0),
    "partial": ({"approved_urls": [good_pages()[2].url]}, "coverage_incomplete", 1),
}


@pytest.mark.parametrize("status", get_args(ReviewStatus))
async def test_every_status_of_a_decision(world: ReviewWorld, status: ReviewStatus) -> None:
    """`pending` leaves the gate open, the others end the review with what was approved."""
    more, outcome, count = DECISIONS[status]
    thread = thread_of(world)
    await thread.start()
    ended = await thread.answer(status=status, **more)
    assert ended.value["outcome"] == outcome
    assert len(world.ingested()) == count
    assert bool(ended.interrupts) == (status == "pending")
    review = ended.value["review"]
    assert review is None if status == "pending" else review["status"] == status


async def test_exactly_what_was_approved_and_added_is_ingested(world: ReviewWorld) -> None:
    """Approved pages by rank, then the added one in its normal form; approver and comment stay."""
    thread = thread_of(world)
    paused = await thread.start()
    urls = [one["url"] for one in paused.interrupts[0].value["candidates"]]
    ended = await thread.answer(
        status="partial",
        approved_urls=[urls[3], urls[1]],
        added_urls=[f"{ADDED}?utm_source=mail"],
        approver="ann",
        comment="the manual is missing",
    )
    assert world.ingested() == [urls[1], urls[3], ADDED]
    for item in world.trigger.requests[0].items:
        assert item.provenance["approved_by"] == "ann"
        assert item.provenance["review"]["comment"] == "the manual is missing"
    assert world.trigger.requests[0].items[2].provenance["added_by_hand"] is True
    assert ended.value["review"]["added_urls"] == [ADDED]
    assert ended.value["ingestion"]["count"] == 3


async def test_a_review_that_an_earlier_version_began_has_the_keys_of_today(
    world: ReviewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint has its keys, which were the same for several pages."""
    old, new = good_pages(2)
    old.url, new.url = "http://www.example.com/tasks/", "https://example.com/tasks"
    world.context = world.context.model_copy(update={"provider": ScriptedAdapter([old])})
    thread = thread_of(world)
    store_pages(world, [(new.url, "Another page, which is in the collection.")])
    with monkeypatch.context() as earlier:
        earlier.setattr("collection_search.nodes.parallel_web_search.url_key", loose_url_key)
        paused = await thread.start()
    (candidate,) = (await thread.graph.aget_state(thread.config)).values["candidates"]
    assert candidate["url_key"] == "example.com/tasks"
    assert not paused.interrupts[0].value["candidates"][0]["in_collection"]
    await thread.answer(status="approved")
    (item,) = world.trigger.requests[0].items
    assert (item.url, item.url_key) == (old.url, "http://www.example.com/tasks/")


async def test_an_added_page_that_is_a_candidate_counts_once(world: ReviewWorld) -> None:
    """Adding what the search found approves it."""
    thread = thread_of(world)
    await thread.start()
    url = good_pages()[0].url
    ended = await thread.answer(status="partial", added_urls=[url, url])
    assert world.ingested() == [url]
    assert ended.value["review"]["added_urls"] == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"status": "maybe"}, "status"),
    ({"status": "partial"}, "needs approved_urls or added_urls"),
    ({"status": "rejected", "approved_urls": [good_pages()[0].url]}, "takes no URLs"),
    ({"status": "approved", "approved_urls": ["https://other.example/"]}, "is no candidate"),
    ({"status": "approved", "approved_urls": ["not a url"]}, "is no candidate"),
    ({"status": "partial", "added_urls": ["ftp://files.example/a"]}, "added_urls"),
    ({"status": "partial", "added_urls": ["javascript:alert(1)"]}, "added_urls"),
    ({"status": "partial", "added_urls": ["https://a.example/"] * 51}, "added_urls"),
    ({"status": "approved", "aproved_urls": []}, "aproved_urls"),
    ({"status": "approved", "comment": "x" * 2001}, "comment"),
]


@pytest.mark.parametrize(("decision", "said"), WRONG)
async def test_a_wrong_decision_is_refused_and_the_gate_stays_open(
    world: ReviewWorld, decision: dict[str, Any], said: str
) -> None:
    """Nothing is ingested, and a right answer still counts."""
    thread = thread_of(world)
    await thread.start()
    with pytest.raises(InputError, match=said):
        await thread.answer(**decision)
    assert world.trigger.requests == []
    assert world.store.gates.gates("local")[0].state == "open"
    ended = await thread.answer(status="approved")
    assert len(world.ingested()) == 6
    assert ended.value["review"]["status"] == "approved"


def test_the_review_refuses_auto_ingest(world: ReviewWorld) -> None:
    """Who asks for a person does not also ask to go without one."""
    with pytest.raises(InputError, match="here a person decides"):
        world.facade().run({**INPUT, "auto_ingest": True})


async def test_without_a_checkpointer_nothing_is_searched(world: ReviewWorld) -> None:
    """A run that could not be resumed is refused before it costs anything."""
    with pytest.raises(ConfigError, match="needs a checkpointer"):
        await build_graph(review=True).ainvoke(INPUT, context=world.context)
    assert world.adapter.requests == []


# The deadline.


@pytest.mark.parametrize("by", ["resume", "sweep"])
@pytest.mark.parametrize("policy", get_args(DeadlinePolicy))
async def test_every_policy_of_the_deadline(
    tmp_path: Path, policy: DeadlinePolicy, by: str
) -> None:
    """`approve` takes what reaches the threshold, never all; `reject` nothing; one waits on."""
    world = ReviewWorld(tmp_path, policy, adapter=ScriptedAdapter([*good_pages(), *poor_pages()]))
    facade = world.facade()
    paused = await facade.arun({**INPUT, "max_candidates": 12})
    assert paused["request"] is not None
    candidates, gate_id = paused["request"]["candidates"], paused["request"]["gate_id"]
    strong = [one["url"] for one in candidates if one["embedding_rank_score"] >= 60]
    assert 0 < len(strong) < len(candidates)
    world.clock.advance(DAY_S - 1)
    assert await facade.asweep() == []
    assert world.trigger.requests == []
    world.clock.advance(1)
    if by == "sweep":
        swept = await facade.asweep()
        assert [gate.gate_id for gate in swept] == ([] if policy == "keep_pending" else [gate_id])
    else:
        await facade.adecide(gate_id, {"status": "pending"})
    assert world.ingested() == (strong if policy == "approve" else [])
    gate = world.store.gates.get("local", gate_id)
    assert gate is not None
    assert gate.state == ("open" if policy == "keep_pending" else "closed")
    if policy == "approve":
        approved_by = {item.provenance["approved_by"] for item in world.trigger.requests[0].items}
        assert approved_by == {"deadline"}
        assert gate.decision["decided_at"] == paused["request"]["deadline"]
    if policy == "keep_pending":
        await facade.adecide(gate_id, {"status": "approved"})
        assert len(world.ingested()) == len(candidates)


async def test_an_answer_after_the_deadline_changes_nothing(world: ReviewWorld) -> None:
    """The policy has decided at that moment, whenever somebody looks; the answer is told so."""
    thread = thread_of(world)
    await thread.start()
    world.clock.advance(DAY_S)
    ended = await thread.answer(status="rejected", approver="late")
    assert len(world.ingested()) == 6
    assert ended.value["review"]["decided_by"] == "deadline"
    assert "answer_not_used" in ended.value["flags"]


async def test_the_facade_refuses_a_late_answer(world: ReviewWorld) -> None:
    """It changes nothing: who is too late is told so, and the sweep carries the policy out."""
    facade = world.facade()
    paused = await facade.arun(INPUT)
    assert paused["request"] is not None
    world.clock.advance(DAY_S)
    for status in ("approved", "rejected"):
        with pytest.raises(InputError, match="its policy 'approve' decides now"):
            await facade.adecide(paused["request"]["gate_id"], {"status": status})
    assert world.trigger.requests == []
    assert len(await facade.asweep()) == 1


async def test_a_sweep_leaves_other_hosts_alone(world: ReviewWorld) -> None:
    """A run in another program's checkpointer is that program's to resume."""
    await thread_of(world).start()
    world.clock.advance(DAY_S)
    assert await world.facade().asweep() == []
    with pytest.raises(InputError, match="not in the checkpoints of this data folder"):
        await world.facade().adecide(
            world.store.gates.gates("local")[0].gate_id, {"status": "approved"}
        )


async def test_a_review_of_another_host_can_be_rejected(world: ReviewWorld) -> None:
    """It leaves the list, also where its thread is gone for ever; a run that goes on obeys."""
    thread = thread_of(world)
    await thread.start()
    world.clock.advance(DAY_S + 1)
    (gate,) = world.store.gates.gates("local")
    output = await world.facade().adecide(gate.gate_id, {"status": "rejected"}, approver="ada")
    assert (output["outcome"], output["request"]) == ("review_rejected", None)
    assert output["review"] is not None
    assert world.store.gates.gates("local", state="open") == []
    with pytest.raises(AlreadyDecidedError, match="ada"):
        await world.facade().adecide(gate.gate_id, {"status": "rejected"})
    ended = await thread.answer(status="approved")
    assert ended.value["outcome"] == "review_rejected"
    assert world.trigger.requests == []


async def test_a_review_is_announced_when_its_run_waits(world: ReviewWorld) -> None:
    """Not when it is answered: a host that tells a person would tell him twice."""
    thread = thread_of(world)
    told = []
    for given in (INPUT, Command(resume={"status": "approved"})):
        stream = thread.graph.astream(
            given, thread.config, context=world.context, stream_mode="custom", durability="sync"
        )
        told.append([event["type"] async for event in stream])
    assert [types.count("review_requested") for types in told] == [1, 0]


async def test_a_sweep_closes_decided_reviews_of_other_hosts(world: ReviewWorld) -> None:
    """A week after the decision; they would be looked up by every sweep for ever."""
    thread = thread_of(world)
    await thread.start()
    await thread.answer(status="rejected", approver="ada")
    for seconds, left in ((LEFT_S, 1), (1, 0)):
        world.clock.advance(seconds)
        assert await world.facade().asweep() == []
        assert len(world.store.gates.unfinished()) == left
    (gate,) = world.store.gates.decided("local", limit=2)
    assert (gate.state, gate.decision["approver"]) == ("closed", "ada")


async def test_a_sweep_resumes_for_every_tenant(world: ReviewWorld) -> None:
    """One sweeper serves all tenants, each in its own name."""
    for tenant in ("one", "two"):
        await world.facade(tenant_id=tenant).arun(INPUT)
    world.clock.advance(DAY_S)
    swept = await world.facade().asweep()
    assert sorted(gate.tenant_id for gate in swept) == ["one", "two"]
    assert sorted(request.scope.tenant_id for request in world.trigger.requests) == ["one", "two"]


@pytest.mark.parametrize("by", ["answer", "sweep"])
async def test_a_run_keeps_its_case_and_workflow(world: ReviewWorld, by: str) -> None:
    """Who decides it need not know them: another process has a context of its own."""
    paused = await world.facade(case_id="C-7", workflow_id="import").arun(INPUT)
    assert paused["request"] is not None
    if by == "answer":
        decision = {"status": "approved"}
        await world.facade(case_id="C-8").adecide(paused["request"]["gate_id"], decision)
    else:
        world.clock.advance(DAY_S)
        await world.facade().asweep()
    facts = world.trigger.requests[0].items[0].provenance
    assert (facts["case_id"], facts["workflow_id"]) == ("C-7", "import")


async def test_the_workflow_is_the_graph_by_default(world: ReviewWorld) -> None:
    """A context without one takes the name of the graph that runs."""
    await world.facade(case_id="C-7").arun(INPUT)
    assert {span.trace.trace_name for span in world.sink.spans if span.trace} == {
        "collection_review"
    }


async def test_a_written_state_gives_no_case(world: ReviewWorld) -> None:
    """What a caller wrote into a thread is read as an identifier, or not at all."""
    thread = thread_of(world)
    await thread.start()
    wrong = {"business": {"case_id": "x" * 10_000, "workflow_id": 7}}
    await thread.graph.aupdate_state(thread.config, wrong)
    await thread.start(None)
    await thread.answer(status="approved")
    facts = world.trigger.requests[0].items[0].provenance
    assert "case_id" not in facts
    assert facts["workflow_id"] == "collection_review"


async def test_a_checkpointer_without_coroutines_is_refused(world: ReviewWorld) -> None:
    """With what to give in its place; LangGraph's own error names no class of ours."""

    class BlockingSaver(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise NotImplementedError

    graph = CollectionReviewGraph(world.context, checkpointer=BlockingSaver())
    with pytest.raises(ConfigError, match="BlockingSaver has no asynchronous methods"):
        await graph.arun(INPUT)


# Two at once, and one that died.


def test_of_two_answers_at_once_one_wins_and_the_other_is_told(world: ReviewWorld) -> None:
    """Each of the two is either in force or refused with the name of the winner."""
    paused = world.facade().run(INPUT)
    assert paused["request"] is not None
    gate_id, ends = paused["request"]["gate_id"], []

    async def decide(approver: str, status: str) -> None:
        try:
            result = await world.facade().adecide(gate_id, {"status": status}, approver=approver)
            ends.append((approver, result["review"]["approver"]))  # type: ignore[index]
        except AlreadyDecidedError as error:
            ends.append((approver, str(error)))

    async def both() -> None:
        await asyncio.gather(decide("ann", "approved"), decide("bob", "rejected"))

    asyncio.run(both())
    winner = next(said for name, said in ends if said == name)
    told = next(said for name, said in ends if said != name)
    assert f"by {winner}" in told
    assert "decided already" in told
    assert len(world.trigger.requests) == (1 if winner == "ann" else 0)


async def test_a_second_answer_over_the_graph_is_told(world: ReviewWorld) -> None:
    """Another process decided in the store while this one was asked: its decision counts."""
    thread = thread_of(world)
    paused = await thread.start()
    gate = world.store.gates.gates("local")[0]
    from collection_search.tools.reviews import settle_review, validate_decision

    rejected = validate_decision(gate, {"status": "rejected"})
    review = settle_review(gate, rejected, approver="bob", now=world.clock.time())
    assert review is not None
    world.store.gates.decide("local", gate.gate_id, review)
    ended = await thread.answer(status="approved", approver="ann")
    assert paused.interrupts
    assert world.trigger.requests == []
    assert ended.value["review"]["approver"] == "bob"


async def test_a_decided_run_whose_process_died_is_resumed(world: ReviewWorld) -> None:
    """Five minutes after the time limit a sweep goes on; before, its process may still work."""
    facade = world.facade()
    paused = await facade.arun(INPUT)
    assert paused["request"] is not None
    from collection_search.tools.reviews import settle_review, validate_decision

    gate = world.store.gates.gates("local")[0]
    answer = validate_decision(gate, {"status": "approved"})
    review = settle_review(gate, answer, approver="ann", now=world.clock.time())
    assert review is not None
    world.store.gates.decide("local", gate.gate_id, review)  # and then the power failed
    world.clock.advance(299)
    assert await facade.asweep() == []
    world.clock.advance(2)
    assert [one.gate_id for one in await facade.asweep()] == [gate.gate_id]
    assert len(world.ingested()) == 6
    assert await facade.asweep() == []


# Hosts: durability, checkpointers, parents.


class HostState(TypedDict, total=False):
    """The state of a host's graph, with the keys that it shares with ours."""

    question: str
    collection_scope: str
    outcome: str
    review: dict[str, Any] | None


class HostContext(TypedDict):
    """A context of a host that carries ours."""

    collection_search: SearchContext


def in_parent(inner: Any, checkpointer: Any) -> Any:
    """A host's graph with the review graph as one of its nodes."""

    async def before(state: HostState) -> HostState:
        return {"question": state["question"].strip()}

    parent = StateGraph(HostState, context_schema=HostContext)
    parent.add_node("before", before)
    parent.add_node("collect", inner)
    parent.add_edge(START, "before")
    parent.add_edge("before", "collect")
    parent.add_edge("collect", END)
    return parent.compile(checkpointer=checkpointer)


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, world: ReviewWorld) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with SQLiteCheckpoints(world.folder / "checkpoints.db").open() as opened:
        yield opened


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("place", ["alone", "in a parent"])
async def test_pause_and_resume_with_every_durability(
    world: ReviewWorld, saver: Any, durability: str, place: str
) -> None:
    """Approve part, add one URL, and resume on a fresh graph: exactly those are ingested."""

    def build() -> Thread:
        if place == "alone":
            graph = build_graph(review=True, checkpointer=saver)
            return Thread(graph, world.context, durability)
        context = {"collection_search": world.context}
        return Thread(in_parent(build_graph(review=True), saver), context, durability)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paused = await build().start(
            {"question": f" {INPUT['question']}", "collection_scope": "software_docs"}
        )
        (interrupt,) = paused.interrupts
        urls = [one["url"] for one in interrupt.value["candidates"]]
        ended = await build().answer(
            status="partial", approved_urls=urls[:2], added_urls=[ADDED], approver="ann"
        )
    assert world.ingested() == [*urls[:2], ADDED]
    assert ended.value["review"]["approver"] == "ann"
    assert not ended.interrupts


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_auto_ingest_with_every_durability(
    world: ReviewWorld, saver: Any, durability: str
) -> None:
    """The graph that it delegates to has no checkpoints and asks for none, without a warning."""
    context = world.context.model_copy(update={"trigger": None, "ingests": False})
    graph = build_graph(checkpointer=saver)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ended = await Thread(graph, context, durability).start({**INPUT, "auto_ingest": True})
    assert ended.value["outcome"] == "auto_ingest_triggered", ended.value["ingestion"]


# Outcomes of the review graph.


async def test_outcome_review_pending(world: ReviewWorld) -> None:
    """`review_pending`: the run waits at its gate, and `request` is what a person is asked."""
    result = await world.facade().arun(INPUT)
    assert result["outcome"] == "review_pending"
    assert result["request"] is not None
    assert [gate.gate_id for gate in await world.facade().agates()] == [
        result["request"]["gate_id"]
    ]


async def test_outcome_review_rejected(world: ReviewWorld) -> None:
    """`review_rejected`: nothing was approved, and nothing is ingested."""
    result = await world.facade().arun(INPUT)
    assert result["request"] is not None
    ended = await world.facade().adecide(result["request"]["gate_id"], {"status": "rejected"})
    assert (ended["outcome"], ended["ingestion"], ended["request"]) == (
        "review_rejected",
        None,
        None,
    )


async def test_outcome_ingestion_triggered(world: ReviewWorld) -> None:
    """`ingestion_triggered`: the flow ends with the trigger where coverage is not verified."""
    graph = build_graph(review=["k_hitl_gate", "k_trigger_ingestion"], checkpointer=InMemorySaver())
    thread = Thread(graph, world.context)
    await thread.start()
    ended = await thread.answer(status="approved")
    assert ended.value["outcome"] == "ingestion_triggered"
    assert ended.value["ingestion"]["ticket"] == "ticket-1"


async def test_outcome_of_a_trigger_that_fails(world: ReviewWorld) -> None:
    """`auto_ingest_trigger_failed`: the crawler refused; the decision is kept."""
    world.trigger.error = IngestError("the crawler is down")
    thread = thread_of(world)
    await thread.start()
    ended = await thread.answer(status="approved", approver="ann")
    assert ended.value["outcome"] == "auto_ingest_trigger_failed"
    assert ended.value["ingestion"]["error"]["message"] == "the crawler is down"
    assert ended.value["review"]["approver"] == "ann"


@pytest.mark.parametrize(
    ("adapter", "outcome"),
    [
        (ScriptedAdapter([]), "no_candidates"),
        (ScriptedAdapter(SearchProviderUnavailable("down", retryable=False)), "search_failed"),
    ],
)
async def test_outcomes_before_the_gate(world: ReviewWorld, adapter: Any, outcome: str) -> None:
    """`no_candidates` and `search_failed` end the run: nobody is asked."""
    result = await world.facade(provider=adapter).arun(INPUT)
    assert (result["outcome"], result["request"]) == (outcome, None)
    assert await world.facade().agates() == []


async def test_the_trigger_alone_takes_what_reaches_the_threshold(world: ReviewWorld) -> None:
    """Without a gate the run's threshold decides."""
    adapter = ScriptedAdapter([*good_pages(2), *fair_pages(), *poor_pages()])
    graph = build_graph(review=["k_trigger_ingestion"])
    context = world.context.model_copy(update={"provider": adapter})
    ended = await graph.ainvoke(INPUT, context=context)
    strong = {one["url"] for one in ended["results"] if one["embedding_rank_score"] >= 60}
    assert set(world.ingested()) == strong
    assert ended["review"]["decided_by"] == "threshold"


async def test_a_second_run_on_a_thread_starts_anew(world: ReviewWorld) -> None:
    """Neither decision nor coverage of the run before is left over."""
    thread = thread_of(world)
    await thread.start()
    await thread.answer(status="approved")
    paused = await thread.start()
    assert (paused.value["review"], paused.value["coverage"]) == (None, None)
    assert len(world.store.gates.gates("local")) == 2
    assert len(paused.interrupts) == 1


@pytest.mark.parametrize("first", ["approved", None])
async def test_what_was_changed_in_the_past_is_asked_anew(
    world: ReviewWorld, first: str | None
) -> None:
    """Somebody goes back and takes a page out: neither decision nor request of before is its."""
    thread = thread_of(world)
    await thread.start()
    if first:
        await thread.answer(status=first)
    graph = thread.graph
    history = [one async for one in graph.aget_state_history(thread.config)]
    before = next(one for one in history if one.next == ("k_hitl_gate",))
    results = before.values["results"][1:]
    fork = await graph.aupdate_state(before.config, {"results": results}, "k_check_criteria")
    asked = await graph.ainvoke(None, fork, context=thread.context)
    (interrupt,) = asked["__interrupt__"]
    assert [one["url"] for one in interrupt.value["candidates"]] == [one["url"] for one in results]
    decided = await thread.answer(status="rejected")
    assert decided.value["outcome"] == "review_rejected"
    decisions = [dict(gate.decision or {}) for gate in world.store.gates.gates("local")]
    assert [one.get("status") for one in decisions] == [first, "rejected"]


@pytest.mark.parametrize("is_decided", [False, True])
@pytest.mark.parametrize(
    "change", [{"collection_scope": "board"}, {"question": "Which horses won in 1970?"}], ids=str
)
async def test_another_question_or_collection_is_asked_anew(
    world: ReviewWorld, change: dict[str, Any], *, is_decided: bool
) -> None:
    """Nobody has approved the pages for that."""
    thread = thread_of(world)
    await thread.start()
    if is_decided:
        await thread.answer(status="approved")
    ingested = world.ingested()
    history = [one async for one in thread.graph.aget_state_history(thread.config)]
    before = next(one for one in history if one.next == ("k_hitl_gate",))
    fork = await thread.graph.aupdate_state(before.config, change, "k_check_criteria")
    asked = await thread.graph.ainvoke(None, fork, context=thread.context)
    request = asked["__interrupt__"][0].value
    assert change.items() <= {**request, "collection_scope": request["collection"]}.items()
    assert world.ingested() == ingested


@pytest.mark.parametrize(
    "change",
    [{"collection_scope": "board"}, {"question": "Which horses won in 1970?"}, {"results": []}],
    ids=str,
)
async def test_what_is_changed_after_the_decision_is_refused(
    world: ReviewWorld, change: dict[str, Any]
) -> None:
    """The approved pages go into no other collection, and answer no other question."""
    thread = thread_of(world)
    await thread.start()
    await thread.answer(status="approved")
    ingested = world.ingested()
    history = [one async for one in thread.graph.aget_state_history(thread.config)]
    before = next(one for one in history if one.next == ("k_trigger_ingestion",))
    fork = await thread.graph.aupdate_state(before.config, change, "k_hitl_gate")
    with pytest.raises(InputError, match="was about something else"):
        await thread.graph.ainvoke(None, fork, context=thread.context)
    assert world.ingested() == ingested


@pytest.mark.parametrize(
    "forged",
    [
        {"approver": "bob"},
        {"added_urls": [ADDED]},
        {"approved_urls": [], "added_urls": [ADDED]},
        {"decided_at": "2026-01-01T00:00:00Z"},
    ],
    ids=str,
)
async def test_a_decision_that_was_changed_ingests_nothing(
    world: ReviewWorld, forged: dict[str, Any]
) -> None:
    """Else its pages would be stored as approved by somebody who did not."""
    thread = thread_of(world)
    await thread.start()
    decided = (await thread.answer(status="approved", approver="ann")).value
    ingested = world.ingested()
    history = [one async for one in thread.graph.aget_state_history(thread.config)]
    before = next(one for one in history if one.next == ("k_trigger_ingestion",))
    change = {"review": {**decided["review"], **forged}}
    fork = await thread.graph.aupdate_state(before.config, change, "k_hitl_gate")
    with pytest.raises(InputError, match=r"not made in its review.*Nothing was ingested"):
        await thread.graph.ainvoke(None, fork, context=thread.context)
    assert world.ingested() == ingested
    await thread.graph.ainvoke(None, before.config, context=thread.context)
    assert world.ingested() == ingested * 2


async def test_a_server_s_user_makes_no_decision_in_a_state(world: ReviewWorld) -> None:
    """Only a gate knows who has decided; a host's own program may write what it knows."""
    thread = thread_of(world)
    asked = await thread.start()
    chosen = [asked.interrupts[0].value["candidates"][0]["url"]]
    review = {
        "gate_id": None, "status": "partial", "approved_urls": chosen, "added_urls": [],
        "approver": "bob", "decided_by": "person", "comment": None, "decided_at": "2026-01-01",
        "deadline": None, "round": 1,
    }  # fmt: skip
    ids = (await thread.graph.aget_state(thread.config)).values["ids"]
    home, tenant = world.context.using().home, world.context.tenant()
    ids["invocation_id"] = seal_ids(home, tenant, ids["run_id"], ids["trace_id"])
    change = {"review": review, "outcome": "search_completed", "ids": ids}
    await thread.graph.aupdate_state(thread.config, change, "k_hitl_gate")
    served: Any = {
        "configurable": {**thread.config["configurable"], "graph_id": "collection_review"}
    }
    with pytest.raises(InputError, match="not made in its review"):
        await thread.graph.ainvoke(None, served, context=thread.context)
    assert world.ingested() == []
    await thread.start(None)
    assert world.ingested() == chosen


async def test_a_review_of_a_changed_run_is_not_answered(world: ReviewWorld) -> None:
    """Its pages are not those for which the run waits: the answer would be lost."""
    thread = thread_of(world)
    await thread.start()
    await thread.start({**INPUT, "question": "How do herons catch fish?"})
    facade = CollectionReviewGraph(world.context, checkpointer=thread.graph.checkpointer)
    former, latter = await facade.agates()
    with pytest.raises(InputError, match="does not wait at this review any more"):
        await facade.adecide(former.gate_id, {"status": "approved"})
    decided = await facade.adecide(latter.gate_id, {"status": "approved"})
    assert decided["review"] is not None
    assert decided["outcome"] != "review_pending"


@pytest.mark.parametrize("by", ["answer", "sweep", "answer after the end"])
async def test_a_review_that_nobody_waits_at_is_withdrawn(world: ReviewWorld, by: str) -> None:
    """The state was changed after it was asked; neither answer nor deadline would do anything."""
    thread = thread_of(world)
    await thread.start()
    facade = CollectionReviewGraph(world.context, checkpointer=thread.graph.checkpointer)
    (former,) = await facade.agates()
    await thread.graph.aupdate_state(thread.config, {"collection_scope": "board"})
    if by == "answer":
        with pytest.raises(InputError, match="is withdrawn"):
            await facade.adecide(former.gate_id, {"status": "approved"})
    elif by == "sweep":
        world.clock.advance(DAY_S)
        assert await facade.asweep() == []
    else:
        await thread.start(None)
        latter = (await facade.agates())[-1]
        await facade.adecide(latter.gate_id, {"status": "rejected"})
        with pytest.raises(InputError, match="is withdrawn"):
            await facade.adecide(former.gate_id, {"status": "approved"})
    assert await facade.agates() == []
    assert world.trigger.requests == []


async def test_a_review_of_a_host_s_graph_is_answered_there(world: ReviewWorld) -> None:
    """Only that graph can go on with its thread, whose checkpoints a facade may see."""

    class Hosted(TypedDict):
        question: str
        collection_scope: str

    saver = InMemorySaver()
    host = StateGraph(Hosted, context_schema=SearchContext)
    host.add_node("search", build_graph(review=True))
    host.add_edge(START, "search")
    thread = Thread(host.compile(checkpointer=saver), world.context)
    await thread.start()
    facade = CollectionReviewGraph(world.context, checkpointer=saver)
    (gate,) = await facade.agates()
    with pytest.raises(InputError, match="in the program that started it"):
        await facade.adecide(gate.gate_id, {"status": "approved"})
    assert await facade.agates() == [gate]
    await thread.answer(status="approved")
    assert len(world.ingested()) == 6


CHANGES: dict[str, Any] = {
    "collection": {"collection_scope": "board"},
    "question": {"question": "Which horses won in 1970?"},
    "pages": {"results": []},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_together", [False, True])
async def test_an_answer_to_what_was_changed_approves_nothing(
    world: ReviewWorld, change: dict[str, Any], *, is_together: bool
) -> None:
    """Nobody was shown what it would be about; then it is asked."""
    thread = thread_of(world)
    await thread.start()
    answer = {"status": "partial", "added_urls": [ADDED]}
    if is_together:
        with pytest.raises(InputError, match="before this review was asked"):
            await thread.start(Command(resume=answer, update=change))
        await thread.graph.aupdate_state(thread.config, None)
    else:
        await thread.graph.aupdate_state(thread.config, change)
        with pytest.raises(InputError, match="waits for no answer"):
            await thread.answer(**answer)
    assert world.trigger.requests == []
    asked = await thread.start(None)
    assert asked.interrupts
    await thread.answer(**answer)
    assert world.ingested() == [ADDED]


@pytest.mark.parametrize("answer", [{"status": "approved"}, {}, {"f" * 32: {"status": "approved"}}])
@pytest.mark.parametrize("given", ["new", "ended", "changed"])
async def test_an_answer_that_nobody_asked_for_is_refused(
    world: ReviewWorld, given: str, answer: dict[str, Any]
) -> None:
    """LangGraph would keep it for the next question, and a new thread could not be used."""
    thread = thread_of(world)
    if given != "new":
        await thread.start()
    if given == "ended":
        await thread.answer(status="rejected")
    if given == "changed":
        await thread.graph.aupdate_state(thread.config, {"collection_scope": "board"})
    with pytest.raises(InputError, match="waits for no answer"):
        await thread.start(Command(resume=answer))
    assert (await thread.start()).interrupts
    assert world.trigger.requests == []


async def test_a_breakpoint_takes_no_answer(world: ReviewWorld) -> None:
    """The error says how the run goes on."""
    graph = build_graph(review=True, checkpointer=InMemorySaver())
    graph.interrupt_before_nodes = ["k_hitl_gate"]
    thread = Thread(graph, world.context)
    await thread.start()
    with pytest.raises(InputError, match=r"stopped before k_hitl_gate\. Call the graph with None"):
        await thread.answer(status="approved")
    assert (await thread.start(None)).interrupts


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_a_server_s_run_takes_no_answer_before_it_asks(
    world: ReviewWorld, *, is_stopped: bool
) -> None:
    """LangGraph would keep it, and the run would fail whatever is answered afterwards."""
    graph = build_graph(review=True, checkpointer=InMemorySaver())
    served: Any = {"configurable": {"thread_id": "thread", "graph_id": "collection_review"}}
    thread = Thread(graph, world.context, config=served)
    with pytest.raises(InputError, match="it has no run"):
        await thread.answer(status="approved")
    if is_stopped:
        graph.interrupt_before_nodes = ["k_hitl_gate"]
    await thread.start()
    if not is_stopped:
        await graph.aupdate_state(served, {"collection_scope": "board"})
    with pytest.raises(InputError, match=r"stopped before k_hitl_gate\. Call the graph with None"):
        await thread.answer(status="approved")
    assert (await thread.start(None)).interrupts
    decided = await thread.answer(status="approved")
    again = await thread.answer(status="rejected")
    assert again.value["review"] == decided.value["review"]


async def test_a_thread_of_another_program_has_the_same_name(tmp_path: Path) -> None:
    """Its review is neither decided nor withdrawn: the run of this thread is another one."""
    world = ReviewWorld(tmp_path)
    ours, theirs = (Thread(thread_of(world).graph, world.context) for _ in range(2))
    await ours.start()
    await theirs.start({**INPUT, "question": "How do herons catch fish?"})
    facade = CollectionReviewGraph(world.context, checkpointer=ours.graph.checkpointer)
    _, foreign = gates = await facade.agates()
    with pytest.raises(InputError, match=r"does not wait .* Nothing was changed"):
        await facade.adecide(foreign.gate_id, {"status": "approved"})
    assert await facade.agates() == gates
    world.clock.advance(DAY_S)
    assert [gate.gate_id for gate in await facade.asweep()] == [gates[0].gate_id]
    await theirs.answer(status="pending")
    assert await facade.agates() == []


async def test_who_is_second_is_told_who_was_first(
    world: ReviewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the run has gone on between his look at the gate and that at the run."""
    facade = world.facade()
    paused = await facade.arun(INPUT)
    assert paused["request"] is not None
    gate_id = paused["request"]["gate_id"]
    state_of = facade._require_state

    async def overtaken(gate: Gate) -> Any:
        state = await state_of(gate)
        await world.facade().adecide(gate_id, {"status": "approved"}, approver="ann")
        return state._replace(next=())

    monkeypatch.setattr(facade, "_require_state", overtaken)
    with pytest.raises(AlreadyDecidedError, match="decided already: approved by ann"):
        await facade.adecide(gate_id, {"status": "rejected"})


async def test_a_review_of_an_earlier_version_is_answered(world: ReviewWorld) -> None:
    """Its id names the round alone, and what is masked of a question may have changed since."""
    thread = thread_of(world)
    await thread.start()
    state = (await thread.graph.aget_state(thread.config)).values
    (gate,) = world.store.gates.gates("local")
    world.store.gates.withdraw("local", gate.gate_id)
    former = replace(gate, gate_id=round_id("local", state), question="How do I [secret]?")
    world.store.gates.open(former)
    facade = CollectionReviewGraph(world.context, checkpointer=thread.graph.checkpointer)
    await facade.adecide(former.gate_id, {"status": "approved"})
    assert len(world.ingested()) == 6


@pytest.mark.parametrize("field", ["question", "collection", "candidates"])
async def test_a_review_of_an_earlier_version_is_about_what_it_has_shown(
    world: ReviewWorld, field: str
) -> None:
    """Somebody has changed the state of the thread: it is asked anew."""
    thread = thread_of(world)
    await thread.start()
    state = (await thread.graph.aget_state(thread.config)).values
    (gate,) = world.store.gates.gates("local")
    world.store.gates.withdraw("local", gate.gate_id)
    other: Any = {"candidates": gate.candidates[1:]}.get(field, "Something else?")
    world.store.gates.open(replace(gate, gate_id=round_id("local", state), **{field: other}))
    facade = CollectionReviewGraph(world.context, checkpointer=thread.graph.checkpointer)
    with pytest.raises(InputError, match="does not wait at this review any more"):
        await facade.adecide(round_id("local", state), {"status": "approved"})
    assert (await thread.start(None)).interrupts
    assert world.trigger.requests == []


# What is told of it.


async def test_a_pause_is_no_failure_and_the_trace_goes_on(world: ReviewWorld) -> None:
    """The paused node's observation says so, and all belong to one trace over the pause."""
    thread = thread_of(world)
    await thread.start()
    ended = await thread.answer(status="approved")
    first, second = world.sink.named("k_hitl_gate")
    assert (first.failure, first.fields["paused"]) == (None, True)
    assert second.fields["status"] == "approved"
    assert second.fields["approved_count"] == 6
    traces = {span.trace.trace_id for span in world.sink.spans if span.trace is not None}
    assert traces == {ended.value["telemetry"]["trace_id"]}
    assert {"k_hitl_gate", "k_trigger_ingestion", "k_verify_coverage"} <= ended.value["telemetry"][
        "nodes"
    ].keys()


async def test_events_of_a_pause(world: ReviewWorld) -> None:
    """The custom stream tells of the open gate, and that the node waits."""
    events: list[Any] = []
    await world.facade().arun(INPUT, on_event=events.append)
    told = [event["type"] for event in events if event["node"] == "k_hitl_gate"]
    assert told == ["node_started", "review_requested", "node_paused"]
    (requested,) = [event for event in events if event["type"] == "review_requested"]
    assert (requested["candidate_count"], requested["deadline"]) == (6, "2023-11-15T22:13:20Z")


async def test_a_trigger_of_another_program_gets_the_texts(world: ReviewWorld) -> None:
    """The approved candidates keep the texts that their provider delivered."""
    pages = good_pages(1)
    pages[0].content = "The whole text of the page about cancelling tasks after a timeout."
    trigger = RecordingTrigger()
    facade = world.facade(provider=ScriptedAdapter(pages, provider_name="offline"), trigger=trigger)
    paused = await facade.arun(INPUT)
    assert paused["request"] is not None
    world.clock.advance(DAY_S / 2)
    world.store.staging.prune(0)
    await facade.adecide(paused["request"]["gate_id"], {"status": "approved"})
    (item,) = trigger.requests[0].items
    assert item.content_ref is not None
    assert world.store.staging.get("local", item.content_ref) == pages[0].content


# What is kept of it.


async def test_an_ended_run_leaves_no_checkpoint(world: ReviewWorld) -> None:
    """While it waits its candidates are kept, afterwards they are not."""
    paused = await world.facade().arun(INPUT)
    assert paused["request"] is not None
    assert await has_thread(world, paused["thread_id"])
    await world.facade().adecide(paused["request"]["gate_id"], {"status": "rejected"})
    assert not await has_thread(world, paused["thread_id"])


@pytest.mark.parametrize("what", ["tenant", "collection", "purge"])
async def test_deletion_includes_paused_runs(world: ReviewWorld, what: str) -> None:
    """With its tenant or its collection a paused run goes; a purge leaves one that is open."""
    from collection_search.tools.removal import adelete_collection, adelete_tenant, apurge

    paused = await world.facade().arun(INPUT)
    if what == "tenant":
        await adelete_tenant(world.context)
    elif what == "collection":
        store_pages(world, [("https://a.example/", "A text.")])
        await adelete_collection(world.context, INPUT["collection_scope"])
    else:
        await apurge(world.context, 0.0)
    assert await has_thread(world, paused["thread_id"]) == (what == "purge")
    assert bool(world.store.gates.gates("local")) == (what == "purge")


async def has_thread(world: ReviewWorld, thread_id: str) -> bool:
    async with SQLiteCheckpoints(world.folder / "checkpoints.db").open() as saver:
        return await saver.aget_tuple({"configurable": {"thread_id": thread_id}}) is not None


# Whose run it is.


@pytest.mark.parametrize("tenant", [None, "evil"])
async def test_a_run_goes_on_for_its_own_tenant_only(world: ReviewWorld, tenant: Any) -> None:
    """LangGraph does not keep a context: one that was forgotten is told, and nothing is decided."""
    world.context = world.context.model_copy(update={"tenant_id": "acme"})
    thread = thread_of(world)
    await thread.start()
    thread.context = world.context.model_copy(update={"tenant_id": tenant})
    with pytest.raises(InputError, match=r"started for another tenant .* as `context`"):
        await thread.answer(status="approved")
    assert world.store.gates.gates(tenant or "local") == []
    assert world.trigger.requests == []
    thread.context = world.context
    result = await thread.answer(status="approved")
    assert result.value["review"]["status"] == "approved"
    assert {request.scope.tenant_id for request in world.trigger.requests} == {"acme"}


async def test_what_waits_and_what_is_ingested_shows_no_secret_of_the_question(
    world: ReviewWorld,
) -> None:
    """The question itself is asked as it is, and a case id is no secret."""
    thread = thread_of(world)
    thread.context = world.context.model_copy(update={"case_id": "a1" * 20})
    await thread.start({**INPUT, "question": "why does api_key=abcdef1 fail in Python?"})
    (gate,) = world.store.gates.gates("local")
    await thread.answer(status="approved")
    (request,) = world.trigger.requests
    shown = f"{gate.question} {request.question} {[one.provenance for one in request.items]}"
    assert "abcdef1" not in shown
    assert {one.provenance["case_id"] for one in request.items} == {"a1" * 20}
    assert gate.question == request.question == "why does api_key=[secret] fail in Python?"
