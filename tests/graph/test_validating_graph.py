"""A wrong input, context or answer is refused with a sentence, however the graph is run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import is_invalid_resume
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel
from typing_extensions import TypedDict

from collection_search import SearchContext
from collection_search.contracts.inputs import SearchInput
from collection_search.errors import ConfigError, InputError
from collection_search.graphs import (
    collection_review,
    collection_search,
    research_agent,
    served,
    universal_ingestion,
)
from collection_search.graphs.validating_graph import ValidatingGraph
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

QUESTION = {"question": "How do I cancel an asyncio task?", "collection_scope": "python"}
INGESTION = {"collection_scope": "python", "source": "search", "query": "asyncio"}
GRAPHS = {
    "search": collection_search.graph,
    "review": collection_review.graph,
    "agent": research_agent.graph,
    "ingestion": universal_ingestion.graph,
}

WRONG_INPUTS = [
    ("search", {**QUESTION, "question": ""}, "question: give 1 or more characters"),
    ("search", {**QUESTION, "max_candidates": "many"}, "max_candidates: give a whole number"),
    ("search", {"question": "x y"}, "collection_scope: it is missing"),
    ("search", {}, "question: it is missing; collection_scope: it is missing"),
    (
        "search",
        {**QUESTION, "max_candidate": 7},
        r"max_candidate: there is no such field, did you mean max_candidates\?",
    ),
    ("search", {**QUESTION, "zzz": 7}, "zzz: there is no such field$"),
    ("search", {**QUESTION, "max_round": 1, "question": 3}, "question: give a text; max_round: "),
    ("search", "hello", "give a map of the fields"),
    ("search", Command(update={"question": ""}), "question: give 1 or more characters"),
    ("search", Command(resume=None), "The command is empty"),
    ("review", {**QUESTION, "auto_ingest": True}, "here a person decides"),
    ("review", {**QUESTION, "max_rond": 1}, r"did you mean max_rounds\?"),
    ("agent", {}, "give a question, or messages"),
    ("agent", {"questoin": "x"}, r"did you mean question\?"),
    ("agent", {"question": 3}, "question: give a text"),
    ("agent", {"messages": 3}, "messages: give a list"),
    ("agent", {"messages": [3]}, "messages: give texts, or maps with role and content$"),
    ("agent", {"messages": [{"rol": "user"}]}, "messages: give texts, or maps with role"),
    ("agent", {"messages": [{"role": "remove", "content": ""}]}, "messages: give texts, or maps"),
    ("agent", {"messages": [{"role": "tool", "content": ""}]}, "a message needs its tool_call_id$"),
    (
        "agent",
        {"messages": [("user", "x" * 20_001)]},
        "the last message is the question: give 20000 characters at most",
    ),
    ("ingestion", {"collection_scope": "x", "source": "serch"}, "source: give search or presel"),
    ("ingestion", {"collection_scope": "x", "source": "search"}, "needs a query"),
    ("ingestion", {"collection_scope": "x", "querry": "y"}, r"did you mean query\?"),
]


def of_another(graph: Any, given: Any) -> Any:
    """Return a graph that has the graph as a node, and gives it this input."""

    class Host(TypedDict, total=False):
        question: Any
        messages: Any
        collection_scope: Any
        source: Any
        hosts_own: Any

    host = StateGraph(Host)
    host.add_node("given", lambda state: given)
    host.add_node("ours", graph)
    host.add_edge(START, "given")
    host.add_edge("given", "ours")
    host.add_edge("ours", END)
    return host.compile()


async def astreamed(graph: Any, given: Any, **options: Any) -> list[Any]:
    return [chunk async for chunk in graph.astream(given, **options)]


async def heard(graph: Any, given: Any, **options: Any) -> list[Any]:
    return [one async for one in graph.astream_events(given, version="v2", **options)]


RUNS: dict[str, Callable[..., Any]] = {
    "invoke": lambda graph, given, **options: graph.invoke(given, **options),
    "ainvoke": lambda graph, given, **options: asyncio.run(graph.ainvoke(given, **options)),
    "stream": lambda graph, given, **options: list(graph.stream(given, **options)),
    "astream": lambda graph, given, **options: asyncio.run(astreamed(graph, given, **options)),
    "events": lambda graph, given, **options: asyncio.run(heard(graph, given, **options)),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(("name", "given", "says"), WRONG_INPUTS)
def test_a_wrong_input_is_refused(
    context: SearchContext, run: Callable[..., Any], name: str, given: Any, says: str
) -> None:
    """Before anything is searched, with the fields and without pydantic's words."""
    with pytest.raises(InputError, match=says) as caught:
        run(GRAPHS[name], given, context=context)
    assert "pydantic" not in str(caught.value)
    assert "troubleshooting" not in str(caught.value)
    assert isinstance(context.provider, ScriptedAdapter)
    assert context.provider.requests == []


@pytest.mark.parametrize("run", [RUNS["invoke"], RUNS["ainvoke"]], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("search", {**QUESTION, "question": ""}, "question: give 1 or more characters"),
        ("search", {"question": "x y"}, "collection_scope: it is missing"),
        ("agent", {"collection_scope": "x"}, "give a question, or messages"),
        ("ingestion", {"collection_scope": "x", "source": "serch"}, "source: give search or"),
    ],
)
def test_a_graph_inside_another_refuses_it_too(
    run: Callable[..., Any], name: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        run(of_another(GRAPHS[name], given), {})


def test_a_graph_inside_another_takes_what_it_knows(context: SearchContext) -> None:
    """The state of the graph around it has further keys."""
    ended = of_another(GRAPHS["search"], {**QUESTION, "hosts_own": 1}).invoke({}, context=context)
    assert ended["hosts_own"] == 1
    assert isinstance(context.provider, ScriptedAdapter)
    assert context.provider.requests


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"max_costs_usd": 1},
            r"max_costs_usd: there is no such field, did you mean max_cost_usd\?",
        ),
        ({"max_cost_usd": "much"}, "max_cost_usd: give a number"),
        ({"provider": {"api_key": "hunter2"}}, "provider: give a name"),
        ("offline", "give a map, or a SearchContext"),
        ([1], "give a map, or a SearchContext"),
    ],
)
def test_a_wrong_context_is_refused(
    run: Callable[..., Any], name: str, given: Any, says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        run(GRAPHS[name], INGESTION if name == "ingestion" else QUESTION, context=given)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("inner", [{"providr": "x"}, "offline", 7])
def test_a_wrong_context_within_that_of_a_host_is_refused(inner: Any) -> None:
    """As a key and as an attribute; it is not replaced by the defaults."""
    for host in ({"collection_search": inner}, SimpleNamespace(collection_search=inner)):
        with pytest.raises(ConfigError, match="The context is not valid"):
            SearchContext.found_in(host)


def test_a_map_as_an_attribute_of_a_hosts_context_is_ours() -> None:
    host = SimpleNamespace(collection_search={"case_id": "c"})
    assert SearchContext.found_in(host) == SearchContext(case_id="c")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("yes", "give a map"),
        (3, "give a map"),
        ({"status": "maybe"}, "status: give pending, approved, rejected or partial"),
        ({"status": "approved", "coment": "x"}, r"did you mean comment\?"),
        ({"status": "partial", "approved_urls": [3]}, "approved_urls.0: give a text"),
    ],
)
@pytest.mark.parametrize("is_inside", [False, True], ids=["alone", "inside another"])
def test_a_wrong_answer_is_refused_and_the_interrupt_stays(
    context: SearchContext, answer: Any, says: str, is_inside: bool
) -> None:
    saver = InMemorySaver()
    inner = collection_search.build_graph(review=True, checkpointer=None if is_inside else saver)
    graph: Any = inner
    if is_inside:
        host = of_another(inner, QUESTION).builder
        graph = host.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    asked = graph.invoke(QUESTION, config, context=context)
    assert asked["__interrupt__"]
    with pytest.raises(InputError, match=says) as caught:
        graph.invoke(Command(resume=answer), config, context=context)
    assert is_invalid_resume(caught.value)
    graph.invoke(Command(resume={"status": "rejected"}), config, context=context)
    assert graph.get_state(config).next == ()


def test_a_thread_remembers_what_an_input_leaves_out(context: SearchContext) -> None:
    """A later input of the thread needs the changed fields only; a misspelt one is still told."""
    graph = collection_search.build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(QUESTION, config, context=context)
    later = graph.invoke({"question": "What is a future?"}, config, context=context)
    assert later["question"] == "What is a future?"
    with pytest.raises(InputError) as caught:
        graph.invoke({"questoin": "x"}, config, context=context)
    assert str(caught.value) == (
        "The input is not valid. questoin: there is no such field, did you mean question?"
    )


def test_a_choice_holds_for_one_run_of_a_thread(context: SearchContext) -> None:
    """A later input ingests nothing unless it says so itself."""
    graph = collection_search.build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    chosen = {"auto_ingest": True, "auto_ingest_min_score": 0, "purpose": "one report"}
    assert graph.invoke({**QUESTION, **chosen}, config, context=context)["ingestion"]
    assert not graph.invoke(QUESTION, config, context=context)["ingestion"]
    given = SearchInput(**QUESTION)
    graph.invoke(given, config, context=context)
    kept = graph.get_state(config).values
    assert {name: kept[name] for name in SearchInput.model_fields} == given.model_dump()


def test_a_copy_validates_too(context: SearchContext) -> None:
    """A server and `with_config` run a copy."""
    copied = GRAPHS["search"].with_config(tags=["x"]).copy({"store": None})
    assert isinstance(copied, ValidatingGraph)
    with pytest.raises(InputError, match="did you mean question"):
        copied.invoke({"questoin": "x"}, context=context)
    assert copied.invoke(QUESTION, context=context)["results"]


# --- what a server gives


def runtime(context: Any) -> Any:
    return SimpleNamespace(access_context="threads.create_run", context=context)


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"max_costs_usd": 1}, r"max_costs_usd: there is no such field, did you mean max_cost_usd"),
        ({"zzz": 1, "case_id": "c"}, "zzz: there is no such field$"),
        ({"tenant_id": "victim"}, "tenant_id: there is no such field"),
        ({"store": None}, "store: there is no such field"),
    ],
)
def test_a_server_refuses_unknown_keys_of_a_context(context: Any, says: str) -> None:
    """The fields that only Python code can give are unknown to a remote caller."""
    for factory in (
        served.collection_search,
        served.collection_review,
        served.research_agent,
        served.universal_ingestion,
    ):
        with pytest.raises(ConfigError, match=says):
            factory(runtime(context))


@pytest.mark.parametrize(
    "given",
    [
        runtime(None),
        runtime({}),
        runtime({"provider": "offline", "max_cost_usd": 1}),
        runtime({"thread_id": "t", "x-request-id": "1", "langgraph_auth_user": "u", "__x": 1}),
        SimpleNamespace(access_context="assistants.read"),
        {"configurable": {"anything": 1}},
    ],
    ids=["none", "empty", "known", "the server's own", "reads", "a server without a runtime"],
)
def test_a_server_gets_the_graph(given: Any) -> None:
    assert served.collection_search(given).builder is collection_search.graph.builder


def test_a_server_knows_that_a_factory_takes_its_runtime() -> None:
    """It resolves the annotation, and would give a config otherwise."""
    hints = get_type_hints(served.collection_search, localns={"ServerRuntime": ServerRuntime})
    assert get_origin(hints["runtime"]) is ServerRuntime


class Given(BaseModel):
    """The input of the graph below."""

    number: int


class Counted(TypedDict):
    """Its state."""

    number: int


async def test_no_cancellation_is_lost_while_a_graph_runs_or_ends() -> None:
    """LangGraph suppresses one that comes while it waits for the tasks that it has ended."""
    builder = StateGraph(Counted, input_schema=Given)
    builder.add_node("count", _counted, input_schema=Given)
    builder.add_edge(START, "count")
    builder.add_edge("count", END)
    graph = ValidatingGraph.compile(builder, "count")

    async def read() -> list[Any]:
        return [one async for one in graph.astream({"number": 1}, stream_mode=["custom", "values"])]

    assert (await read())[-1] == ("values", {"number": 2})
    for ticks in range(40):
        task = asyncio.create_task(read())
        for _ in range(ticks):
            await asyncio.sleep(0)
        was_cancelled = task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() == was_cancelled, ticks


async def _counted(given: Given) -> Counted:
    return {"number": given.number + 1}
